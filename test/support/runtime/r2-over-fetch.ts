/**
 * An R2 bucket whose calls are S3 requests to a service of a test, so that what is scripted or
 * counted there holds for bindings, too. Refusals are thrown as R2 throws them.
 * https://developers.cloudflare.com/r2/api/error-codes/
 */

import { env } from "cloudflare:workers";
import { createHash } from "node:crypto";
import { AwsClient } from "aws4fetch";
import { inject } from "vitest";
import { fromHex, toHex } from "../../../src/base/bytes.ts";
import { ACCESS_KEY, SECRET_KEY } from "../constants.ts";

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Numbers of R2 by status; all else is an internal error. */
const NUMBERS: Readonly<Record<number, number>> = {
  400: 10014,
  401: 10002,
  403: 10003,
  404: 10006,
  413: 100100,
  429: 10058,
  503: 10043,
};

/** @param urlOf where a key is. */
export function r2OverFetch(fetch: Fetch, urlOf: (key: string) => string): R2Bucket {
  const ask = async (method: string, key: string, headers: HeadersInit = {}, body: BodyInit | null = null) => {
    const answer = await fetch(urlOf(key), { method, headers, body, redirect: "manual" });
    if (answer.ok || answer.status === 412) return answer;
    const text = await answer.text();
    if (answer.status === 404 && text.includes("NoSuchKey")) return null;
    if (answer.status === 404 && method !== "PUT" && text === "") return null;
    throw new Error(`${method.toLowerCase()}: words of R2 (${NUMBERS[answer.status] ?? 10001})`);
  };
  return {
    put: async (key: string, value: Uint8Array | ReadableStream, options: R2PutOptions = {}) => {
      const bytes = new Uint8Array(await new Response(value as BodyInit).arrayBuffer());
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      if (toHex(options.sha256 as Uint8Array) !== sha256)
        throw new Error("put: The SHA-256 checksum you specified did not match what we received. (10037)");
      const { etagDoesNotMatch } = (options.onlyIf ?? {}) as R2Conditional;
      const headers: Record<string, string> = {
        "content-type": (options.httpMetadata as R2HTTPMetadata).contentType ?? "",
        "x-amz-content-sha256": sha256,
        ...(etagDoesNotMatch === "*" && { "if-none-match": "*" }),
      };
      for (const [name, text] of Object.entries(options.customMetadata ?? {})) headers[`x-amz-meta-${name}`] = text;
      const answer = await ask("PUT", key, headers, bytes);
      if (answer === null || answer.status === 412) return null;
      return objectOf(answer, { size: bytes.length, meta: options.customMetadata ?? {} });
    },
    head: async (key: string) => {
      const answer = await ask("HEAD", key);
      return answer === null ? null : objectOf(answer);
    },
    get: async (key: string, { range }: R2GetOptions = {}) => {
      const { offset = 0, length = 1 } = (range ?? {}) as { offset?: number; length?: number };
      const headers = range === undefined ? {} : { range: `bytes=${offset}-${offset + length - 1}` };
      const answer = await ask("GET", key, headers);
      return answer === null ? null : { ...objectOf(answer), body: answer.body };
    },
  } as unknown as R2Bucket;
}

/** Digits 0 to 9 of a bucket's name, in that of its folder: eight of them would be a day. */
const DIGITS = "ghijklmnop";
const PREFIX = "bucket-";

/** The folder of a bound bucket that is this bucket of the scripted endpoint. */
export function folderOfBucket(name: string): string {
  return PREFIX + name.slice(PREFIX.length).replace(/\d/g, (digit) => DIGITS[Number(digit)] ?? "");
}

function bucketOfFolder(folder: string): string {
  return PREFIX + folder.slice(PREFIX.length).replace(/[g-p]/g, (letter) => `${DIGITS.indexOf(letter)}`);
}

/**
 * Calls of every bound bucket go to the scripted endpoint: a key begins with the folder of its
 * bucket there. @returns what undoes it.
 */
export function bindToEndpoint(): () => void {
  const client = new AwsClient({ accessKeyId: ACCESS_KEY, secretAccessKey: SECRET_KEY, service: "s3", region: "auto" });
  const signed: Fetch = async (url, { body, headers, ...init }) => {
    const bytes = (body ?? new Uint8Array()) as Uint8Array<ArrayBuffer>;
    const all = new Headers(headers);
    all.set("x-amz-content-sha256", createHash("sha256").update(bytes).digest("hex"));
    const request = await client.sign(url, { ...init, headers: all, ...(body !== null && { body: bytes }) });
    return fetch(request, { redirect: "manual" });
  };
  const bucket = r2OverFetch(signed, (key) => {
    const segments = key.split("/");
    return `${inject("s3Url")}/${bucketOfFolder(segments[0] ?? "")}/${segments.map(encodeURIComponent).join("/")}`;
  });
  // No mock: a world restores those before its end.
  const bound = Object.getPrototypeOf(env.TRACES) as R2Bucket;
  const { put, head, get } = bound;
  Object.assign(bound, bucket);
  return () => void Object.assign(bound, { put, head, get });
}

function objectOf({ headers }: Response, sent?: { size: number; meta: Record<string, string> }): object {
  const etag = headers.get("etag")?.replaceAll('"', "") ?? "";
  const meta = headers.get("x-amz-meta-logship-sha256");
  return {
    etag,
    size: sent?.size ?? Number(headers.get("content-length")),
    checksums: /^[0-9a-f]{32}$/.test(etag) ? { md5: fromHex(etag).buffer } : {},
    customMetadata: sent?.meta ?? (meta === null ? {} : { "logship-sha256": meta }),
  };
}
