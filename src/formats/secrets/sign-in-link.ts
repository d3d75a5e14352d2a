/**
 * Links that sign in as the admin, once: `/sign-in?code=<code>`. Only holders of both secrets make
 * them: `npm start` on its own machine, and `npm run setup` for a deployment.
 */
import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto";
import { encodeUtf8, toBase64Url } from "../../base/bytes.ts";

/** How long a link works, in ms. */
export const SIGN_IN_LINK_MS = 600_000;

/** `<expiry in seconds since the epoch>.<16 random bytes>.<HMAC-SHA-256>`, in base64url. */
const CODE = /^(\d{1,12})\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}$/;

/** Both are needed to make a code. */
export interface LinkSecrets {
  /** 32 random bytes. */
  secretsKey: Uint8Array;
  adminToken: string;
}

/** `unknown`: malformed, or signed by other secrets. */
export type LinkRead = { kind: "unknown" | "expired" } | { kind: "valid"; expiresMs: number };

/**
 * A new code. Nothing is stored: the signature proves where it comes from, and the register
 * remembers its use.
 */
export function newLinkCode(secrets: LinkSecrets, nowMs: number): string {
  const expiryS = Math.floor((nowMs + SIGN_IN_LINK_MS) / 1_000);
  return signed(`${expiryS}.${toBase64Url(randomBytes(16))}`, secrets);
}

/** Reads a code. The comparison takes the same time however much of a wrong signature is right. */
export function readLinkCode(code: string, secrets: LinkSecrets, nowMs: number): LinkRead {
  const expiresMs = Number(CODE.exec(code)?.[1] ?? Number.NaN) * 1_000;
  if (Number.isNaN(expiresMs)) return { kind: "unknown" };
  const right = signed(code.slice(0, code.lastIndexOf(".")), secrets);
  if (!timingSafeEqual(encodeUtf8(right), encodeUtf8(code))) return { kind: "unknown" };
  return nowMs < expiresMs ? { kind: "valid", expiresMs } : { kind: "expired" };
}

/**
 * The key follows from both secrets: a link that lies in some history helps no guess at an
 * ADMIN_TOKEN that a person made up, and SECRETS_KEY alone opens no page.
 */
function signed(text: string, { secretsKey, adminToken }: LinkSecrets): string {
  const key = new Uint8Array(hkdfSync("sha256", secretsKey, adminToken, "sign-in link", 32));
  return `${text}.${createHmac("sha256", key).update(text).digest("base64url")}`;
}
