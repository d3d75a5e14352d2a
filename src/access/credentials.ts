import { createHash, timingSafeEqual } from "node:crypto";
import { encodeUtf8, toBase64Url } from "../bytes.ts";
import { EMAIL_MAX } from "../limits.ts";

/** What a request carries to say who sends it. */
export type Credentials = { kind: "token"; token: string } | { kind: "key"; email: string; key: string };

/** Bytes of chance in a secret. */
const SECRET_BYTES = 32;

/** What the secrets made here begin with: whoever finds one in a log or a repository can tell what it opens. */
const PREFIX = { token: "logship_token_", key: "logship_key_" } as const;

/** 32 bytes in base64url, without padding. */
const RANDOM_PART = /^[A-Za-z0-9_-]{43}$/;

/**
 * The credentials of a request: `Authorization: Bearer`, or `X-Auth-Email` with `X-Auth-Key`; nothing else is looked at, cookies and the address
 * least of all.
 * @returns null for none, for half of a pair, and for both kinds at once: who is meant then would be a guess.
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

/** Whether a secret looks like one that was made here. What does not is nobody's, and nobody has to be asked about it. */
export function looksIssued(kind: Credentials["kind"], secret: string): boolean {
  return secret.startsWith(PREFIX[kind]) && RANDOM_PART.test(secret.slice(PREFIX[kind].length));
}

/**
 * Whether a bearer, or a query, holds anything of ours: a secret that was made here, of either kind, whole or broken, or the admin's token; in either case,
 * percent-encoded or not, whatever stands around it. Such a text must never leave this service. How much of a guess is right does not show in how long it
 * takes: that depends on what was sent alone.
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

/** As it stands, and with what is percent-encoded in it decoded, once and twice: whoever gets it may do so, too. */
function readingsOf(text: string): string[] {
  const decoded = (encoded: string): string =>
    encoded
      .replaceAll(/%([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
      .toLowerCase();
  return [text, decoded(text), decoded(decoded(text))];
}

/** A new secret: shown once, then only its hash is known. */
export function newSecret(kind: Credentials["kind"]): string {
  return PREFIX[kind] + toBase64Url(crypto.getRandomValues(new Uint8Array(SECRET_BYTES)));
}

/** SHA-256, 32 bytes. The secrets are 32 bytes of chance: no salt or stretching would make guessing any harder. */
export function hashOf(secret: string): Uint8Array {
  return createHash("sha256").update(secret).digest();
}

/** In constant time: how much of a guess is right does not show. */
export function sameHash(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

/** What an address is compared by. */
export function emailKey(email: string): string {
  return email.toLowerCase();
}
