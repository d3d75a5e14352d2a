/**
 * Calls the API in the runtime, with any environment and platform, and checks every answer's
 * envelope and shape.
 */
import { env } from "cloudflare:workers";
import { expect, inject } from "vitest";
import { type Platform, platform } from "../../../src/base/platform.ts";
import { NOON } from "../../formats/record/samples.ts";
import {
  logBinding,
  noLog,
  type ScriptedLog,
  type ScriptedQueue,
  scriptedPlatform,
  scriptedQueue,
} from "../../ship/intake/scripted.ts";
import { ACCOUNT, ADMIN_TOKEN } from "../../support/constants.ts";
import type { Answer } from "../../support/runtime/api.ts";
import { appOf } from "../../support/runtime/isolates.ts";
import { type BucketControl, bucketControl } from "../../support/s3-control.ts";
import { expectDocumented } from "./documented.ts";

export type Settings = { [name: string]: unknown };

export interface CallOptions {
  /** Overrides those of vitest.config.ts; undefined removes one. */
  settings?: Settings;
  platform?: Platform;
  headers?: Record<string, string | null> | undefined;
  /** In the path; the tests' account by default. */
  account?: string;
}

/**
 * One request, by default with the admin's token. @param path below
 * `/client/v4/accounts/{account_id}`.
 */
export async function call<T = unknown>(
  method: string,
  path: string,
  body?: unknown,
  options: CallOptions = {},
): Promise<Answer<T>> {
  const url = `http://logship.test/client/v4/accounts/${options.account ?? ACCOUNT}${path}`;
  return send<T>(url, { method, body }, options);
}

export async function send<T = unknown>(
  url: string,
  { method, body }: { method: string; body?: unknown },
  options: CallOptions = {},
): Promise<Answer<T>> {
  const { platform: world = platform } = options;
  const app = appOf(world);
  const isForm = body instanceof FormData;
  const type = body === undefined || isForm ? {} : { "content-type": "application/json" };
  const headers = headersOf({ ...type, ...options.headers });
  const isRaw = isForm || typeof body === "string" || body instanceof Uint8Array || body instanceof ReadableStream;
  const init = {
    method,
    headers,
    ...(body !== undefined && { body: (isRaw ? body : JSON.stringify(body)) as BodyInit }),
  };
  const response = await app.request(url, init, { ...env, ...options.settings } as unknown as Env);
  const answer = await checked<T>(response);
  if (!isFile(answer)) expectDocumented(method, url, answer);
  return answer;
}

/** A route's path with something for each of its parameters. */
export const filled = (path: string): string =>
  path.replace(":dataset", "functions_trace_events").replace(":script_name", "shop").replaceAll(/:\w+/g, "7");

/**
 * The bare answer to a request of the admin, for what is no envelope. @param path below the
 * account's.
 */
export async function raw(path: string, headers: CallOptions["headers"] = {}, method = "GET"): Promise<Response> {
  const url = `http://logship.test/client/v4/accounts/${ACCOUNT}${path}`;
  return appOf(platform).request(url, { method, headers: headersOf(headers) }, env);
}

/** Those of the admin, and these. */
function headersOf(more: CallOptions["headers"] = {}): Headers {
  const headers = new Headers({ authorization: `Bearer ${ADMIN_TOKEN}` });
  for (const [name, value] of Object.entries(more)) {
    if (value === null) headers.delete(name);
    else headers.set(name, value);
  }
  return headers;
}

/** The answer is lines, instead of an envelope. */
export const isFile = ({ headers }: Answer): boolean => headers.get("content-type") === "application/x-ndjson";

/** Every answer is an envelope, or lines: they are the result. */
async function checked<T>(response: Response): Promise<Answer<T>> {
  const { status, headers } = response;
  if (status === 200 && headers.get("content-type") === "application/x-ndjson") {
    const lines: unknown[] = (await response.text())
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    return { status, headers, body: { errors: [], messages: [], result: lines as T, success: true } };
  }
  expect(headers.get("content-type")).toMatch(/^application\/json\b/);
  expect(headers.get("x-request-id")).toMatch(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  const text = await response.text();
  const body = JSON.parse(text) as Answer<T>["body"];
  if (status < 300) {
    expect(body).toMatchObject({ success: true, errors: [], messages: expect.any(Array) });
  } else {
    expect(Object.keys(body).sort()).toEqual(["errors", "messages", "result", "success"]);
    expect(body).toMatchObject({ success: false, result: null, messages: [] });
    expect(body.errors.length).toBeGreaterThan(0);
    expect(body.errors.length).toBeLessThanOrEqual(100);
    for (const { code, message } of body.errors) expect([typeof code, typeof message]).toEqual(["number", "string"]);
    if (status === 503 || status === 429) expect(headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
    // Never a stack trace, never a secret.
    expect(text).not.toMatch(/\bat \S+ \(|\.ts:\d+/);
    for (const secret of [ADMIN_TOKEN, "test-secret-key", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="])
      expect(text).not.toContain(secret);
  }
  return { status, headers, body };
}

/** The errors of an answer as `[code, pointer, message]`. */
export const errorsOf = ({ body }: Answer): [code: number, pointer: string | undefined, message: string][] =>
  body.errors.map(({ code, source, message }) => [code, source?.pointer, message]);

/**
 * Expects a refusal for these reasons, and no other. @param errors as {@link errorsOf} has them.
 */
export function expectRefused(answer: Answer, status: number, ...errors: readonly (readonly unknown[])[]): void {
  expect([answer.status, errorsOf(answer)]).toEqual([status, errors]);
}

export interface Bucket {
  name: string;
  control: BucketControl;
}

/** A bucket of the scripted S3 endpoint for one test. */
export function freshBucket(): Bucket {
  const name = `api-${crypto.randomUUID()}`;
  return { name, control: bucketControl(inject("s3Url"), name) };
}

/** A world for POST events: a recording queue and log, and a fixed clock. */
export function intake(
  fails?: (call: number) => boolean,
  log = noLog(),
): {
  queue: ScriptedQueue;
  log: ScriptedLog;
  options: CallOptions;
  platform: ReturnType<typeof scriptedPlatform>;
} {
  const queue = scriptedQueue(fails);
  const world = scriptedPlatform(NOON);
  const settings = { EVENTS: queue, TRACE_LOG: logBinding(log) };
  return { queue, log, platform: world, options: { platform: world, settings } };
}

export interface Job {
  id: number;
  [field: string]: unknown;
}

export const listJobs = async (): Promise<Job[]> => (await call<Job[]>("GET", "/logship/jobs")).body.result;

/** Expects that a request had no effect: no job, nothing in the bucket. */
export async function expectNothingStored({ control }: Bucket): Promise<void> {
  expect(await listJobs()).toEqual([]);
  expect(await control.objects()).toEqual([]);
}
