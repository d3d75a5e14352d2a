/**
 * Azure Blob Storage's way of saying what the scripted endpoint (s3-server.ts) does: the same
 * buckets, scripts and faults, behind addresses that begin with the account of emulators.
 */

import { AZURE_ACCOUNT, sasSignature } from "./azure-sas.ts";
import type { Answer } from "./s3-bucket.ts";
import type { S3Fault } from "./s3-signature.ts";

const META = "x-ms-meta-";
const S3_META = "x-amz-meta-";

/** What Azure calls what the endpoint calls otherwise. */
const CODES: Readonly<Record<string, readonly [status: number, code: string]>> = {
  AccessDenied: [403, "UnauthorizedBlobOverwrite"],
  BadDigest: [400, "Md5Mismatch"],
  EntityTooLarge: [413, "RequestBodyTooLarge"],
  MissingContentLength: [411, "MissingContentLengthHeader"],
  NoSuchBucket: [404, "ContainerNotFound"],
  NoSuchKey: [404, "BlobNotFound"],
  PreconditionFailed: [409, "BlobAlreadyExists"],
};

/** Whether an address is one of this dialect. */
export function isAzurePath(path: string): boolean {
  return path.startsWith(`/${AZURE_ACCOUNT}/`);
}

/** The rest of an address, as S3 has it: `/<container>/<key…>`. */
export function withoutAccount(path: string): string {
  return path.slice(AZURE_ACCOUNT.length + 1);
}

interface Asked {
  method: string;
  container: string;
  query: URLSearchParams;
  headers: Readonly<Record<string, string>>;
}

/** What is wrong with a request, whatever stands under its key. */
export function azureFault({ method, container, query, headers }: Asked, nowMs: number): S3Fault | null {
  const denied = (code: string): S3Fault => ({ status: 403, code, message: "This request is not authorized." });
  const given = query.get("sig");
  if (given === null) return { status: 401, code: "NoAuthenticationInformation", message: "There is no SAS." };
  const expiry = Date.parse(query.get("se") ?? "");
  if (given !== sasSignature(query, container) || !(expiry > nowMs)) return denied("AuthenticationFailed");
  if (query.has("ss") && query.get("ss")?.includes("b") !== true) return denied("AuthorizationServiceMismatch");
  if (query.has("ss") && query.get("srt")?.includes("o") !== true) return denied("AuthorizationResourceTypeMismatch");
  const missing = (name: string): S3Fault => ({ status: 400, code: "MissingRequiredHeader", message: name });
  if (headers["x-ms-version"] === undefined) return missing("x-ms-version");
  if (method !== "PUT") return null;
  if (headers["x-ms-blob-type"] !== "BlockBlob") return missing("x-ms-blob-type");
  if (headers["content-length"] === undefined) {
    return { status: 411, code: "MissingContentLengthHeader", message: "Content-Length is missing." };
  }
  const names = Object.keys(headers).filter((name) => name.startsWith(META));
  // C# identifiers; one with an underscore does not pass every proxy.
  if (names.some((name) => !/^[a-z][a-z0-9]*$/.test(name.slice(META.length))))
    return { status: 400, code: "InvalidMetadata", message: "A name is no identifier." };
  const foreign = Object.keys(headers).find((name) => name.startsWith("x-amz-") || name.startsWith("x-goog-"));
  return foreign === undefined ? null : { status: 400, code: "UnsupportedHeader", message: foreign };
}

/** What the SAS does not allow. Asked before the condition is, and of a key that may be taken. */
export function permissionFault(method: string, query: URLSearchParams, isTaken: boolean): S3Fault | null {
  const permissions = query.get("sp") ?? "";
  const fault = (code: string): S3Fault => ({ status: 403, code, message: "This request is not authorized." });
  if (method !== "PUT") return permissions.includes("r") ? null : fault("AuthorizationPermissionMismatch");
  if (permissions.includes("w")) return null;
  if (!permissions.includes("c")) return fault("AuthorizationPermissionMismatch");
  return isTaken ? fault("UnauthorizedBlobOverwrite") : null;
}

/** The headers of a request as the buckets know them. */
export function asS3Headers(headers: Readonly<Record<string, string>>): Record<string, string> {
  return renamed(headers, META, S3_META);
}

/**
 * An answer as Azure gives it: an ETag of its own making, the MD5 in a header, its own codes.
 * @param isScripted its code is the one to say.
 */
export function asAzureAnswer(method: string, { status, headers, body, stored }: Answer, isScripted: boolean): Answer {
  const given = renamed(headers, S3_META, META);
  const md5 = /^"([0-9a-f]{32})"$/.exec(given.etag ?? "")?.[1];
  if (md5 !== undefined) {
    given["content-md5"] = Buffer.from(md5, "hex").toString("base64");
    given.etag = '"0x8DC0FFEE"';
  }
  if (status >= 200 && status < 300) {
    return { status: status === 200 && method === "PUT" ? 201 : status, headers: given, body, stored };
  }
  const said = /<Code>([A-Za-z0-9]+)<\/Code>/.exec(`${body}`)?.[1];
  if (said === undefined) return { status, headers: given, body, stored };
  const [itsStatus, code] = (isScripted ? undefined : CODES[said]) ?? [status, said];
  const text = `${body}`.replace(`<Code>${said}</Code>`, `<Code>${code}</Code>`);
  return { status: itsStatus, headers: { ...given, "x-ms-error-code": code }, body: text, stored };
}

function renamed(headers: Readonly<Record<string, string>>, from: string, to: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.startsWith(from) ? `${to}${name.slice(from.length)}` : name,
      value,
    ]),
  );
}
