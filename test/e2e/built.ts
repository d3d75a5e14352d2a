/**
 * Builds the shipper once for all tests that start it as a process. A build takes seconds, and they
 * start some fifty shippers.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SHIPPER_CONFIG } from "../../tools/paths.ts";
import { buildWorker } from "../../tools/servers/dev-server.ts";

/** The environment variable that holds the path of the built script. */
export const BUILT_SHIPPER = "LOGSHIP_TEST_BUILT_SHIPPER";

export default async function setup(): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), "logship-built-"));
  const end = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    process.env[BUILT_SHIPPER] = (await buildWorker(SHIPPER_CONFIG, folder)).script;
    return end;
  } catch (error) {
    end();
    throw error;
  }
}
