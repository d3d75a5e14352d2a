import { createHmac, randomBytes } from "node:crypto";
import { fromBase64, toBase64 } from "../bytes.ts";

/** What a secret begins with, so that it is known where it turns up. https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md */
const SECRET_PREFIX = "whsec_";

/** Of chance in a secret, in bytes. The same page: 24 to 64. */
const SECRET_BYTES = 32;

/** A secret that nobody has had before: `whsec_` and base64. */
export function newWebhookSecret(): string {
  return SECRET_PREFIX + toBase64(randomBytes(SECRET_BYTES));
}

/** What is signed, and sent as it was signed. */
export interface Signed {
  /** The same for every try of a call. No `.` in it: it would stand for the end of the id. */
  id: string;
  /** Of the try, in seconds since the epoch. */
  timestampS: number;
  body: string;
}

/**
 * The headers of a signed call, as Standard Webhooks has them: the id, the time, and for each secret `v1,` and the base64 of HMAC-SHA256 over
 * `id.timestamp.body`, apart by spaces.
 * @param secrets the newest first; during a rotation there are two.
 */
export function signatureHeaders(
  { id, timestampS, body }: Signed,
  secrets: readonly string[],
): { "webhook-id": string; "webhook-timestamp": string; "webhook-signature": string } {
  const text = `${id}.${timestampS}.${body}`;
  const signatures = secrets.map((secret) => {
    const key = fromBase64(secret.slice(SECRET_PREFIX.length));
    return `v1,${createHmac("sha256", key).update(text, "utf8").digest("base64")}`;
  });
  return { "webhook-id": id, "webhook-timestamp": `${timestampS}`, "webhook-signature": signatures.join(" ") };
}
