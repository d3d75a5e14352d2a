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
 * Whether a bearer holds anything of ours: a secret that was made here, of either kind, whole or broken, or the admin's token, whatever stands around it.
 * Such a bearer must never leave this service. Takes as long for any bearer of the same length: how much of a guess is right does not show.
 */
export function holdsOurs(bearer: string, adminToken: string): boolean {
  const [sent, admin] = [encodeUtf8(bearer), encodeUtf8(adminToken)];
  let found = Object.values(PREFIX).some((prefix) => bearer.toLowerCase().includes(prefix));
  for (let at = 0; at + admin.length <= sent.length; at++)
    found = timingSafeEqual(sent.subarray(at, at + admin.length), admin) || found;
  return found;
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
