/**
 * The dialect of Google Cloud Storage at the scripted endpoint (s3-server.ts): a request signed
 * with GOOG4-HMAC-SHA256. It is checked here, and then means the S3 request of the same effect, so
 * that buckets and scripts are one. As at Google, `If-None-Match` means nothing to a PUT, and
 * headers of both families together are refused.
 */
import { createHash, createHmac } from "node:crypto";
import { type ReceivedRequest, refused, type S3Fault } from "./s3-signature.ts";

const ALGORITHM = "GOOG4-HMAC-SHA256";
const AUTHORIZATION =
  /^GOOG4-HMAC-SHA256 Credential=([^/,\s]+)\/(\d{8})\/([a-z0-9-]+)\/storage\/goog4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/;

export function isGoogle(headers: Readonly<Record<string, string>>): boolean {
  return headers.authorization?.startsWith(ALGORITHM) === true;
}

/**
 * The algorithm as it is published, apart from the product's own signer.
 * https://docs.cloud.google.com/storage/docs/authentication/canonical-requests
 */
export function googleFault(
  { method, path, query, headers }: ReceivedRequest,
  secrets: Readonly<Record<string, string>>,
): S3Fault | null {
  const names = Object.keys(headers);
  if (names.some((name) => name.startsWith("x-amz-")))
    return refused(400, "ExcessHeaderValues", "Multiple HTTP header values where one was expected.");
  const [, id = "", day = "", location = "", list = "", signature = ""] =
    AUTHORIZATION.exec(headers.authorization ?? "") ?? [];
  if (id === "") return refused(400, "AuthorizationHeaderMalformed", "Not a GOOG4 signature for the service storage.");
  const time = headers["x-goog-date"] ?? "";
  if (!/^\d{8}T\d{6}Z$/.test(time) || !time.startsWith(day))
    return refused(403, "AccessDenied", "No valid x-goog-date.");
  const secret = Object.hasOwn(secrets, id) ? secrets[id] : undefined;
  if (secret === undefined) return refused(403, "InvalidAccessKeyId", "The access key id does not exist.");
  const signed = list.split(";");
  const unsigned = names.filter((name) => (name === "host" || name.startsWith("x-goog-")) && !signed.includes(name));
  if (unsigned.length > 0) return refused(403, "AccessDenied", `Headers that were not signed: ${unsigned.join(", ")}`);
  // It is changed on its way to Google.
  if (signed.includes("accept-encoding"))
    return refused(403, "SignatureDoesNotMatch", "Accept-Encoding is not as it was signed.");
  if (query.size > 0) return refused(501, "NotImplemented", "Queries are not signed here.");
  const canonical = `${method}\n${path}\n\n${signed.map((name) => `${name}:${headers[name] ?? ""}\n`).join("")}\n${list}\n${headers["x-goog-content-sha256"] ?? ""}`;
  const hash = createHash("sha256").update(canonical).digest("hex");
  let key: string | Buffer = `GOOG4${secret}`;
  for (const part of [day, location, "storage", "goog4_request"]) key = createHmac("sha256", key).update(part).digest();
  const scope = `${day}/${location}/storage/goog4_request`;
  const expected = createHmac("sha256", key).update(`${ALGORITHM}\n${time}\n${scope}\n${hash}`).digest("hex");
  return expected === signature ? null : refused(403, "SignatureDoesNotMatch", "Not the signature that we calculated.");
}

/** The headers of the S3 request of the same effect. */
export function fromGoogle(headers: Readonly<Record<string, string>>): Record<string, string> {
  const meant: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (name === "if-none-match") continue;
    if (name === "x-goog-if-generation-match") meant["if-none-match"] = value === "0" ? "*" : `"generation ${value}"`;
    else meant[name.replace(/^x-goog-(meta-|content-sha256$)/, "x-amz-$1")] = value;
  }
  return meant;
}

/** The headers of an S3 answer, as Google has them. An ETag without dashes is an MD5. */
export function toGoogle(headers: Readonly<Record<string, string>>): Record<string, string> {
  const said: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) said[name.replace(/^x-amz-meta-/, "x-goog-meta-")] = value;
  const md5 = /^"([0-9a-f]{32})"$/.exec(headers.etag ?? "")?.[1];
  if (md5 === undefined) return said;
  const hash = `crc32c=AAAAAA==,md5=${Buffer.from(md5, "hex").toString("base64")}`;
  return { ...said, "x-goog-hash": hash, "x-goog-generation": "1" };
}
