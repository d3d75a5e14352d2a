import { remedyFor } from "../../../destinations/remedies.ts";

/** What to do about an error of a store, by its code, beside what remedies.ts says. */
const BY_CODE: Readonly<Record<string, string>> = {
  InvalidAccessKeyId:
    "The store does not know this access key ID. Check that it is complete and belongs to this store.",
  SignatureDoesNotMatch: "The secret access key does not match the access key ID. Enter both again.",
  AuthorizationHeaderMalformed: "The region does not match the bucket.",
  PermanentRedirect: "The bucket is in another region or behind another endpoint.",
  TemporaryRedirect: "The bucket is in another region or behind another endpoint.",
  NoSuchBucket: "There is no bucket of this name. Check its name, the account and the endpoint.",
  InvalidBucketName: "The store does not accept this bucket name.",
  SlowDown: "The store is busy. Try again in a minute.",
};

/** What to do where the code says nothing, by a part of the message. The first match counts. */
const BY_MESSAGE: readonly (readonly [RegExp, string])[] = [
  [
    /but the object is not there|the store keeps|does not show/,
    "The endpoint does not keep what it is sent. Check that it is the store's own.",
  ],
  [/HTTP 40[13]/, remedyFor("AccessDenied") ?? ""],
  [/HTTP 404/, "Nothing found. Check the bucket, the account and the endpoint."],
  [/HTTP 3/, "The store redirects. The bucket is in another region or behind another endpoint."],
  [/HTTP (?:5|429)/, "The store is not available. Try again in a minute."],
  [/HTTP 4/, "The store refuses the request. Check region and endpoint."],
  [/no answer in time/, "No answer within 20 seconds. Check the endpoint's host name."],
  [
    /connection failed/,
    "Connection failed. Check the endpoint's host name, and that it is reachable from the internet.",
  ],
];

/** @param message the API's message about a failed test write. */
export function adviceOn(message: string): string {
  const code = /HTTP \d{3} ([A-Za-z0-9]+)/.exec(message)?.[1] ?? "";
  const known = Object.hasOwn(BY_CODE, code) ? BY_CODE[code] : undefined;
  return remedyFor(code) ?? known ?? BY_MESSAGE.find(([words]) => words.test(message))?.[1] ?? "Check the destination.";
}

/** Whether the store refused, rather than the destination being invalid. */
export function isOfStore(message: string): boolean {
  return message.startsWith("error writing object");
}
