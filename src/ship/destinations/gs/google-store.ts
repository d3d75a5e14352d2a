import { fromBase64, fromHex, toBase64, toHex } from "../../../base/bytes.ts";
import type { AccessKey } from "../access-keys.ts";
import type { Destination, NetworkPlatform, Place } from "../destination.ts";
import type { Meaning, PutRequest } from "../store/client.ts";
import { EMPTY_SHA256, HttpStore, keyUrl, xmlCode } from "../store/http-store.ts";
import { signGoog4 } from "./sign.ts";

export interface GoogleDestination extends Place, Destination {
  readonly credentials: AccessKey;
}

/** Our checksum, stored beside the object. */
const SHA256_META = "x-goog-meta-logship-sha256";

/** A bucket of Google Cloud Storage, by its XML API and an HMAC key. */
export function googleStore(destination: GoogleDestination, platform: NetworkPlatform): HttpStore {
  return new HttpStore(
    {
      putHeaders,
      sign: async (method, key, headers) => {
        const url = keyUrl(destination, key);
        const { host, pathname: path } = new URL(url);
        const given = Object.fromEntries(headers ?? []);
        const sha256 = given[SHA256_META] ?? EMPTY_SHA256;
        const request = { method, host, path, headers: given, sha256, nowMs: platform.now() };
        return { url, headers: new Headers(signGoog4(destination.credentials, request)) };
      },
      shown: (headers) => ({ etag: md5In(headers) ?? headers.get("etag"), sha256: headers.get(SHA256_META) }),
      code: xmlCode,
      meaning: meaningOf,
    },
    platform,
  );
}

/**
 * `x-goog-if-generation-match: 0` creates only; `If-None-Match` on a PUT is ignored.
 * https://docs.cloud.google.com/storage/docs/request-preconditions
 * There is no `Content-Encoding`: objects that have `gzip` are inflated for readers that do not ask
 * for it. https://docs.cloud.google.com/storage/docs/transcoding
 */
function putHeaders(request: PutRequest): Headers {
  const headers = new Headers({
    "content-type": request.contentType,
    [SHA256_META]: request.sha256,
  });
  if (request.md5 !== null) headers.set("content-md5", toBase64(fromHex(request.md5)));
  if (request.conditional) headers.set("x-goog-if-generation-match", "0");
  return headers;
}

/** The MD5 in `x-goog-hash: crc32c=…,md5=…`, hex; objects that were composed have none. */
function md5In(headers: Headers): string | null {
  const base64 = /(?:^|[,\s])md5=([A-Za-z0-9+/]{22}==)/.exec(headers.get("x-goog-hash") ?? "")?.[1];
  return base64 === undefined ? null : toHex(fromBase64(base64));
}

/** Codes that say more than their status does. */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  BadDigest: "moment",
  EntityTooLarge: "object",
  // Headers of two families: something before the store has added one.
  ExcessHeaderValues: "destination",
  IncompleteBody: "moment",
  InvalidBucketName: "destination",
  KeyTooLong: "object",
  NoSuchBucket: "destination",
  RequestTimeout: "moment",
  // The bucket wants its requester to pay.
  UserProjectMissing: "destination",
};

/** https://docs.cloud.google.com/storage/docs/xml-api/reference-status */
function meaningOf(status: number, code: string | null): Meaning | undefined {
  const isOfCode = status === 400 || status === 404;
  return isOfCode && code !== null && Object.hasOwn(MEANINGS, code) ? MEANINGS[code] : undefined;
}
