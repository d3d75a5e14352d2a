import { createHash, createHmac } from "node:crypto";
import { toHex } from "../../../base/bytes.ts";

/** A request to be signed; it has no query. */
export interface Unsigned {
  method: string;
  /** Host and port, as in the URL. */
  host: string;
  /** As it is sent: percent-encoded. */
  path: string;
  /** Names in lower case; every one is signed. */
  headers: Readonly<Record<string, string>>;
  /** SHA-256 of the body, hex. */
  sha256: string;
  nowMs: number;
}

const ALGORITHM = "GOOG4-HMAC-SHA256";

/** Buckets are found by their name: any location will do. */
const LOCATION = "auto";

/**
 * The headers of a request, signed by Google's V4 process. The algorithm's name declares the family
 * of headers: `x-goog-*`, and no `x-amz-*` beside. `Accept-Encoding` must not be among them, as it
 * is changed on its way.
 * https://docs.cloud.google.com/storage/docs/authentication/signatures
 * https://docs.cloud.google.com/storage/docs/authentication/canonical-requests
 */
export function signGoog4(
  key: { accessKeyId: string; secretAccessKey: string },
  { method, host, path, headers, sha256, nowMs }: Unsigned,
): Record<string, string> {
  const time = `${new Date(nowMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, "")}Z`;
  const all: Record<string, string> = { ...headers, host, "x-goog-content-sha256": sha256, "x-goog-date": time };
  const names = Object.keys(all).sort();
  const signedNames = names.join(";");
  const lines = names.map((name) => `${name}:${all[name]?.trim()}\n`).join("");
  const request = [method, path, "", lines, signedNames, sha256].join("\n");
  const scope = [time.slice(0, 8), LOCATION, "storage", "goog4_request"];
  const text = [ALGORITHM, time, scope.join("/"), createHash("sha256").update(request).digest("hex")].join("\n");
  const signing = scope.reduce<string | Uint8Array>(hmac, `GOOG4${key.secretAccessKey}`);
  const credential = `${key.accessKeyId}/${scope.join("/")}`;
  const signature = toHex(hmac(signing, text));
  const authorization = `${ALGORITHM} Credential=${credential}, SignedHeaders=${signedNames}, Signature=${signature}`;
  const { host: _host, ...sent } = all;
  return { ...sent, authorization };
}

function hmac(secret: string | Uint8Array, text: string): Uint8Array {
  return createHmac("sha256", secret).update(text).digest();
}
