/**
 * The check part of our secrets. It proves, without the register, that a secret was made with this
 * deployment's SECRETS_KEY: an invented one is refused in the isolate that it reaches.
 *
 * A secret without it, or with one of a key that is no longer configured, may still be good: only
 * the register knows. `doubts.ts` bounds how often it is asked.
 */
import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { concat, encodeUtf8, fromBase64, toBase64Url, toHex } from "../../base/bytes.ts";

/** What a secret is for. A check part of one kind is none of the other. */
type Kind = "token" | "key";

/** Random bytes of a secret. 160 bits cannot be guessed, even with SECRETS_KEY. */
export const RANDOM_BYTES = 20;

/**
 * Bytes of the check part: one of 2^96 invented secrets has a right one.
 */
export const CHECK_BYTES = 12;

/** What check parts are made with. */
export interface CheckKey {
  /** Names the key, and tells nothing else of it: 16 hex digits. */
  id: string;
  /** 32 bytes. */
  key: Uint8Array;
}

/** Derived (RFC 5869), so that it is of no use for anything else that SECRETS_KEY protects. */
export function checkKeyOf(secretsKey: Uint8Array): CheckKey {
  const derived = (info: string, bytes: number): Uint8Array =>
    new Uint8Array(hkdfSync("sha256", secretsKey, new Uint8Array(), info, bytes));
  return { id: toHex(derived("id of the key of check parts", 8)), key: derived("check part of a secret", 32) };
}

/** {@link RANDOM_BYTES} and their check part, in base64url. */
export function withCheckPart(kind: Kind, random: Uint8Array, { key }: CheckKey): string {
  const mac = createHmac("sha256", key).update(`${kind}\n`).update(random).digest();
  return toBase64Url(concat([random, mac.subarray(0, CHECK_BYTES)]));
}

/**
 * Whether one of the keys made the check part of such a text. The time taken does not depend on how
 * much of a wrong one is right.
 */
export function isChecked(kind: Kind, text: string, keys: readonly CheckKey[]): boolean {
  const random = fromBase64(text).subarray(0, RANDOM_BYTES);
  const sent = encodeUtf8(text);
  let found = false;
  for (const key of keys) {
    const right = encodeUtf8(withCheckPart(kind, random, key));
    found = (right.length === sent.length && timingSafeEqual(right, sent)) || found;
  }
  return found;
}
