import type { Meaning } from "../store/client.ts";

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
  return MEANINGS.find(([, codes]) => codes.has(code))?.[0];
}
