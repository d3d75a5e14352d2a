/**
 * A client of the scripted S3 endpoint that signs as the product does, and separate buckets for the
 * tests of a file.
 */
import { createHash } from "node:crypto";
import { AwsClient } from "aws4fetch";
import { afterAll, beforeAll } from "vitest";
import type { Rule } from "../support/s3-script.ts";
import { type S3Server, startS3Server } from "../support/s3-server.ts";

export const KEYS = {
  accessKeyId: "test-access-key",
  secretAccessKey: "test-secret-key",
  service: "s3",
  region: "auto",
};
export const BODY = "forty-two bytes that tell halves from wholes";

export let server: S3Server;

/** Starts {@link server} for the tests of a file, which share this module with those of others. */
export function withServer(): void {
  beforeAll(async () => {
    server = await startS3Server();
  });
  afterAll(() => server.close());
}

/** A new bucket for every test: they share the server. */
let bucketCount = 0;
export function newBucket(...rules: Rule[]): string {
  bucketCount += 1;
  const bucket = `bucket-${bucketCount}`;
  server.script(bucket, rules);
  return bucket;
}

export function urlOf(bucket: string, key = "", on = server): string {
  return `${on.url}/${bucket}${key === "" ? "" : "/"}${key.split("/").map(encodeStrictly).join("/")}`;
}

function encodeStrictly(segment: string): string {
  return encodeURIComponent(segment).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

export function sha256(body: string): string {
  return createHash("sha256").update(body).digest("hex");
}

export interface Sending {
  method?: string;
  body?: string;
  headers?: Record<string, string>;
  keys?: Partial<typeof KEYS>;
  datetime?: string;
}

/** A correctly signed request, as the product sends it. */
export function signed(
  url: string,
  { method = "GET", body, headers = {}, keys = {}, datetime }: Sending = {},
): Promise<Request> {
  return new AwsClient({ ...KEYS, ...keys }).sign(url, {
    method,
    headers: { "x-amz-content-sha256": sha256(body ?? ""), ...headers },
    ...(body === undefined ? {} : { body }),
    ...(datetime === undefined ? {} : { aws: { datetime } }),
  });
}

export async function send(url: string, sending: Sending = {}): Promise<Response> {
  return fetch(await signed(url, sending), { redirect: "manual" });
}

export function put(url: string, body = BODY, headers: Record<string, string> = {}): Promise<Response> {
  return send(url, { method: "PUT", body, headers });
}

export async function codeOf(response: Response): Promise<string> {
  return `${response.status} ${/<Code>(\w+)<\/Code>/.exec(await response.text())?.[1]}`;
}
