import { createHash, timingSafeEqual } from "node:crypto";
import { encodeUtf8 } from "../../base/bytes.ts";
import { EMAIL_MAX } from "../../base/limits.ts";
import { type CheckKey, isChecked, RANDOM_BYTES, withCheckPart } from "./check-part.ts";

/** The credentials of a request. */
export type Credentials = { kind: "token"; token: string } | { kind: "key"; email: string; key: string };

/** Prefixes of our secrets: one found in a log or a repository shows what it opens. */
const PREFIX = { token: "logship_token_", key: "logship_key_" } as const;

/** 32 bytes in base64url, without padding: random ones, and in newer secrets their check part. */
const OWN_PART = /^[A-Za-z0-9_-]{43}$/;

/**
 * Reads `Authorization: Bearer`, or `X-Auth-Email` with `X-Auth-Key`. Never cookies or the URL.
 * @returns null for none, for half of a pair, and for both kinds at once, which would be ambiguous.
 */
export function readCredentials(headers: Headers): Credentials | null {
  const [authorization, email, key] = ["authorization", "x-auth-email", "x-auth-key"].map((name) => headers.get(name));
  if (email == null && key == null) {
    const token = /^Bearer +([\u0021-\u007e]+) *$/i.exec(authorization ?? "")?.[1];
    return token === undefined ? null : { kind: "token", token };
  }
  if (authorization != null || email == null || key == null) return null;
  if (!/^[\u0021-\u007e]+$/.test(email) || email.length > EMAIL_MAX || !/^[\u0021-\u007e]+$/.test(key)) return null;
  return { kind: "key", email, key };
}

/** Whether a secret has the form of ours. One that has not needs no look-up. */
export function looksIssued(kind: Credentials["kind"], secret: string): boolean {
  return secret.startsWith(PREFIX[kind]) && OWN_PART.test(secret.slice(PREFIX[kind].length));
}

/** Whether a secret of our form has a check part that one of the keys made. */
export function provesItself(kind: Credentials["kind"], secret: string, keys: readonly CheckKey[]): boolean {
  return isChecked(kind, secret.slice(PREFIX[kind].length), keys);
}

/**
 * Whether a bearer or a query contains one of our secrets: a token or key, complete or not, or the
 * admin's token; in any case, percent-encoded or not. Such a text must never leave this service.
 * The time taken depends only on what was sent, not on how much of a guess is right.
 */
export function holdsOurs(text: string, adminToken: string): boolean {
  const admin = encodeUtf8(adminToken.toLowerCase());
  let found = false;
  for (const reading of readingsOf(text.toLowerCase())) {
    const sent = encodeUtf8(reading);
    for (const prefix of Object.values(PREFIX)) found = reading.includes(prefix) || found;
    for (let at = 0; at + admin.length <= sent.length; at++)
      found = timingSafeEqual(sent.subarray(at, at + admin.length), admin) || found;
  }
  return found;
}

/** The text as it is, and percent-decoded once and twice, as a receiver may decode it. */
export function readingsOf(text: string): string[] {
  const decoded = (encoded: string): string =>
    encoded
      .replaceAll(/%([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
      .toLowerCase();
  return [text, decoded(text), decoded(decoded(text))];
}

/** A new secret. It is shown once; only its hash is stored. */
export function newSecret(kind: Credentials["kind"], checkKey: CheckKey): string {
  return PREFIX[kind] + withCheckPart(kind, crypto.getRandomValues(new Uint8Array(RANDOM_BYTES)), checkKey);
}

/**
 * SHA-256, 32 bytes. The secrets have at least 20 random bytes: a salt or stretching would not make
 * guessing harder.
 */
export function hashOf(secret: string): Uint8Array {
  return createHash("sha256").update(secret).digest();
}

/** In constant time. */
export function sameHash(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

/** The form in which addresses are compared. */
export function emailKey(email: string): string {
  return email.toLowerCase();
}
