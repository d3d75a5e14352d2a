import { AwsV4Signer } from "aws4fetch";
import { fromHex, toBase64 } from "../../../base/bytes.ts";
import type { AccessKey } from "../access-keys.ts";
import type { Destination, NetworkPlatform, Place } from "../destination.ts";
import type { Meaning, PutRequest } from "../store/client.ts";
import { EMPTY_SHA256, HttpStore, keyUrl, xmlCode } from "../store/http-store.ts";

export interface S3Place extends Place {
  readonly region: string;
  /** Asks the store to encrypt at rest. */
  readonly sse: "AES256" | null;
}

/** What signs the requests. */
export interface S3Destination extends S3Place, Destination {
  readonly credentials: AccessKey;
}

/**
 * Our checksum, stored beside the object: HEAD tells ours from another's even where an ETag is no
 * MD5 (encrypted by a managed key).
 */
const SHA256_META = "x-amz-meta-logship-sha256";

/** A bucket reached by signed requests, Signature V4. */
export function objectStore(destination: S3Destination, platform: NetworkPlatform): HttpStore {
  const { credentials, region, sse } = destination;
  return new HttpStore(
    {
      putHeaders: (request) => putHeaders(request, sse),
      sign: async (method, key, headers) => {
        const signer = new AwsV4Signer({
          method,
          url: keyUrl(destination, key),
          headers: headers ?? new Headers({ "X-Amz-Content-Sha256": EMPTY_SHA256 }),
          accessKeyId: credentials.accessKeyId,
          secretAccessKey: credentials.secretAccessKey,
          service: "s3",
          region,
          datetime: new Date(platform.now()).toISOString().replace(/[:-]|\.\d{3}/g, ""),
        });
        const signed = await signer.sign();
        return { url: signed.url.href, headers: signed.headers };
      },
      shown: (headers) => ({ etag: headers.get("etag"), sha256: headers.get(SHA256_META) }),
      code: xmlCode,
      meaning: meaningOf,
      region: (text, code, response) => regionIn(text, code, response, region),
    },
    platform,
  );
}

function putHeaders(request: PutRequest, sse: S3Place["sse"]): Headers {
  const headers = new Headers({
    "Content-Type": request.contentType,
    "Content-Length": `${request.bytes}`,
    "X-Amz-Content-Sha256": request.sha256,
    [SHA256_META]: request.sha256,
  });
  if (sse !== null) headers.set("x-amz-server-side-encryption", sse);
  // One integrity header alone: R2 refuses this one beside a checksum header.
  if (request.md5 !== null) headers.set("Content-MD5", toBase64(fromHex(request.md5)));
  if (request.conditional) headers.set("If-None-Match", "*");
  return headers;
}

/** What a region looks like (`eu-west-1`, `RegionOne`), so that no other text passes for one. */
const REGION = /^[A-Za-z][A-Za-z0-9]{1,11}(?:[-_][A-Za-z0-9]{1,12}){0,3}$/;

/** The region that a store names where it refuses the one of the request. */
function regionIn(text: string, code: string | null, { status, headers }: Response, asked: string): string | null {
  // Some stores name their region with every error.
  if (code !== "AuthorizationHeaderMalformed" && (status < 300 || status > 399)) return null;
  const region = /<Region>([^<]*)<\/Region>/.exec(text)?.[1] ?? headers.get("x-amz-bucket-region") ?? "";
  return REGION.test(region) && region !== asked ? region : null;
}

/** What Alibaba OSS, Tencent COS, Volcengine TOS and Huawei OBS say to a bucket in the path. */
export const VIRTUAL_ONLY =
  /^(?:SecondLevelDomainForbidden|PathStyleDomainForbidden|InvalidPathAccess|VirtualHostDomainRequired)$/;

/**
 * 400s that say something of the destination or of the moment, not of the object.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
 */
const MEANINGS: readonly (readonly [Meaning, ReadonlySet<string>])[] = [
  [
    "destination",
    new Set([
      "AuthorizationHeaderMalformed",
      "ExpiredToken",
      "IllegalLocationConstraintException",
      "InvalidBucketName",
      "InvalidToken",
      "TokenRefreshRequired",
    ]),
  ],
  ["moment", new Set(["BadDigest", "IncompleteBody", "RequestTimeout", "SlowDown", "XAmzContentSHA256Mismatch"])],
  ["object", new Set(["EntityTooLarge", "KeyTooLongError", "MaxMessageLengthExceeded"])],
];

/** What a code of S3 says beyond its status. */
export function meaningOf(status: number, code: string | null): Meaning | undefined {
  if (status === 404 || status === 410) return code === "NoSuchBucket" ? "destination" : undefined;
  if (status !== 400 || code === null) return undefined;
  return VIRTUAL_ONLY.test(code) ? "destination" : MEANINGS.find(([, codes]) => codes.has(code))?.[0];
}
