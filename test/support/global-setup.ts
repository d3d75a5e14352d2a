import type { TestProject } from "vitest/node";
import { startS3Server } from "./s3-server.ts";
import { soakSettings } from "./soak-settings.ts";
import { startTlsServer } from "./tls-server.ts";

/**
 * Starts the scripted S3 endpoint in Node for all test files of the runtime. Each uses its own
 * buckets and may set its clock.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startS3Server({ maxSkewMs: Number.POSITIVE_INFINITY });
  const secure = await startTlsServer();
  project.provide("s3Url", server.url);
  project.provide("tlsUrls", secure.urls);
  project.provide("soak", soakSettings(process.env));
  return async () => {
    secure.close();
    await server.close();
  };
}
