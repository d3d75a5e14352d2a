import { createHmac, randomBytes } from "node:crypto";
import { fromBase64, toBase64 } from "../../base/bytes.ts";

/**
 * Prefix of a secret, which makes leaks recognisable.
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
const SECRET_PREFIX = "whsec_";

/** Random bytes in a secret. The same page: 24 to 64. */
const SECRET_BYTES = 32;

/** A new random secret: `whsec_` and base64. */
export function newWebhookSecret(): string {
  return SECRET_PREFIX + toBase64(randomBytes(SECRET_BYTES));
}

/** What is signed and sent. */
export interface Signed {
  /** The same for every try of a call. Has no `.`, which would end it. */
  id: string;
  /** Of the try, in seconds since the epoch. */
  timestampS: number;
  body: string;
}

/**
 * The headers of a signed call as in Standard Webhooks. The signature is, for each secret, `v1,`
 * and the base64 of HMAC-SHA256 over `id.timestamp.body`, separated by spaces.
 * @param secrets the newest first; two during a rotation.
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
