/**
 * Verifies AWS Signature V4 header authentication: signs the received request again with an
 * independent signer, and compares.
 */
import { createHash, createHmac, type Hash, type Hmac } from "node:crypto";
import { SignatureV4 } from "@smithy/signature-v4";

/** S3's answer to a refused request. */
export interface S3Fault {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

/** The signed parts of a request, as received. */
export interface ReceivedRequest {
  readonly method: string;
  /** Still percent-encoded, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Allowed clock difference of a request, in ms.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
 */
export const MAX_SKEW_MS = 15 * 60 * 1000;

const AUTHORIZATION = /^AWS4-HMAC-SHA256 Credential=([^,\s]+),\s*SignedHeaders=([^,\s]+),\s*Signature=([0-9a-f]{64})$/;

export interface CredentialScope {
  readonly accessKeyId: string;
  readonly day: string;
  readonly region: string;
  readonly service: string;
  readonly signedHeaders: readonly string[];
  readonly signature: string;
}

/**
 * Reads the Authorization header; null if it is absent or not a Signature V4 with a complete scope.
 */
export function readScope(authorization: string | undefined): CredentialScope | null {
  const [, credential = "", signedHeaders = "", signature = ""] = AUTHORIZATION.exec(authorization ?? "") ?? [];
  const parts = credential.split("/");
  const [day, region, service, terminator] = parts.slice(-4);
  const accessKeyId = parts.slice(0, -4).join("/");
  if (terminator !== "aws4_request" || accessKeyId === "" || !day || !region || !service) return null;
  return { accessKeyId, day, region, service, signedHeaders: signedHeaders.split(";"), signature };
}

/**
 * The path is taken as received, not decoded and encoded again: AWS accepts a raw `=` in a path,
 * and the platform's local endpoint does not. A client that passes here (every segment strictly
 * encoded) works with both.
 *
 * @param secrets secret access keys by access key id.
 * @returns null if the signature is valid.
 */
export async function signatureFault(
  request: ReceivedRequest,
  secrets: Readonly<Record<string, string>>,
  nowMs: number,
  maxSkewMs: number,
): Promise<S3Fault | null> {
  const { headers } = request;
  if (headers.authorization === undefined) return refused(403, "AccessDenied", "The request is not signed.");
  const scope = readScope(headers.authorization);
  if (scope === null || scope.service !== "s3") {
    return refused(400, "AuthorizationHeaderMalformed", "Not a Signature V4 for the service s3.");
  }
  const signedAt = readAmzDate(headers["x-amz-date"]);
  if (signedAt === null) return refused(403, "AccessDenied", "The request has no valid x-amz-date.");
  if (!headers["x-amz-date"]?.startsWith(scope.day)) {
    return refused(400, "AuthorizationHeaderMalformed", "The day of the scope is not the day of x-amz-date.");
  }
  const secret = Object.hasOwn(secrets, scope.accessKeyId) ? secrets[scope.accessKeyId] : undefined;
  if (secret === undefined) return refused(403, "InvalidAccessKeyId", "The access key id does not exist.");
  if (Math.abs(nowMs - signedAt.getTime()) > maxSkewMs) {
    return refused(403, "RequestTimeTooSkewed", "The request's time and the server's are too far apart.");
  }
  const unsigned = Object.keys(headers).filter(
    (name) => (name === "host" || name.startsWith("x-amz-")) && !scope.signedHeaders.includes(name),
  );
  if (unsigned.length > 0) return refused(403, "AccessDenied", `Headers that were not signed: ${unsigned.join(", ")}`);

  if ((await expectedSignature(request, scope, secret, signedAt)) === scope.signature) return null;
  return refused(403, "SignatureDoesNotMatch", "The signature we calculated is not the one you provided.");
}

async function expectedSignature(
  request: ReceivedRequest,
  scope: CredentialScope,
  secretAccessKey: string,
  signingDate: Date,
): Promise<string | undefined> {
  const signer = new SignatureV4({
    credentials: { accessKeyId: scope.accessKeyId, secretAccessKey },
    region: scope.region,
    service: scope.service,
    sha256: Sha256,
    uriEscapePath: false, // S3 alone encodes the path once
    applyChecksum: false, // the declared hash is the one that was signed
  });
  // A signed header that did not arrive is left out, which makes the signature invalid, as it
  // should.
  const signed = Object.entries(request.headers).filter(([name]) => scope.signedHeaders.includes(name));
  const query: Record<string, string | string[]> = {};
  for (const name of request.query.keys()) query[name] = request.query.getAll(name);
  const again = await signer.sign(
    {
      method: request.method,
      protocol: "http:",
      hostname: "",
      path: request.path,
      query,
      // x-amz-content-sha256 is among them (unsigned x-amz-* were refused): the signer takes the
      // body's hash from it.
      headers: Object.fromEntries(signed),
    },
    { signingDate, signableHeaders: new Set(scope.signedHeaders) },
  );
  return readScope(again.headers.authorization)?.signature;
}

function readAmzDate(value: string | undefined): Date | null {
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(value ?? "");
  if (parts === null) return null;
  const [, year, month, day, hour, minute, second] = parts;
  const date = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(date.getTime()) ? null : date;
}

export function refused(status: number, code: string, message: string): S3Fault {
  return { status, code, message };
}

/** SHA-256, or HMAC-SHA-256 with a secret, as the class that the signer needs. */
class Sha256 {
  readonly #digest: Hash | Hmac;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#digest = secret === undefined ? createHash("sha256") : createHmac("sha256", toBytes(secret));
  }

  update(chunk: string | ArrayBuffer | ArrayBufferView): void {
    this.#digest.update(toBytes(chunk));
  }

  async digest(): Promise<Uint8Array> {
    return new Uint8Array(this.#digest.digest());
  }

  reset(): void {
    throw new Error("a digest is used once");
  }
}

function toBytes(data: string | ArrayBuffer | ArrayBufferView): Uint8Array {
  if (typeof data === "string") return new TextEncoder().encode(data);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return new Uint8Array(data);
}
