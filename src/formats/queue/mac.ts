import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { concat } from "../../base/bytes.ts";
import type { Block } from "./sections.ts";

/** Type of the block, in the head. */
const SEAL = 4;

/** One of 2^128 forged seals is right. */
const SEAL_BYTES = 16;

/**
 * The seal of a message: an HMAC over its body, with a key that only this service has. Intake
 * writes nothing but records, whole and canonical; a function that is bound to the queue may write
 * anything. So a sealed message need not be parsed to know what it holds.
 */
export interface MacKey {
  /** 32 bytes. */
  key: Uint8Array;
}

/** Derived (RFC 5869), so that it is of no use for anything else that SECRETS_KEY protects. */
export function macKeyOf(secretsKey: Uint8Array): MacKey {
  return { key: new Uint8Array(hkdfSync("sha256", secretsKey, new Uint8Array(), "seal of a message", 32)) };
}

/** @param form how the body is to be read: another reading is another body. */
export function encodeMac(body: Uint8Array, form: number, { key }: MacKey): Block {
  return [SEAL, computeMac(body, form, key)];
}

/** Whether one of the keys made the seal. */
export function isAuthentic(
  blocks: ReadonlyMap<number, Uint8Array>,
  body: Uint8Array,
  form: number,
  keys: readonly MacKey[],
): boolean {
  const seal = blocks.get(SEAL);
  if (seal?.length !== SEAL_BYTES) return false;
  return keys.some(({ key }) => timingSafeEqual(seal, computeMac(body, form, key)));
}

/**
 * Stand for the lines of a part alone, or with their extra fields; no message is read in these
 * forms.
 */
const HANDED_FORM = 0;
const HANDED_WITH_EXTRAS_FORM = 1;

/**
 * The seal of lines that an isolate hands to the packer, which seals only what was sealed.
 * @param extras their extra fields; null: no record has any.
 */
export function macOfLines(
  lines: Uint8Array,
  { key }: MacKey,
  extras: Uint8Array | null = null,
): Uint8Array<ArrayBuffer> {
  return new Uint8Array(linesMac(lines, extras, key));
}

/** Whether one of the keys made the seal of these lines. @param extras as of {@link macOfLines}. */
export function areAuthentic(
  lines: Uint8Array,
  seal: Uint8Array,
  keys: readonly MacKey[],
  extras: Uint8Array | null = null,
): boolean {
  if (seal.length !== SEAL_BYTES) return false;
  return keys.some(({ key }) => timingSafeEqual(seal, linesMac(lines, extras, key)));
}

function linesMac(lines: Uint8Array, extras: Uint8Array | null, key: Uint8Array): Uint8Array {
  // Both have as many lines, so that none moves from one to the other.
  return extras === null
    ? computeMac(lines, HANDED_FORM, key)
    : computeMac(concat([lines, extras]), HANDED_WITH_EXTRAS_FORM, key);
}

function computeMac(body: Uint8Array, form: number, key: Uint8Array): Uint8Array {
  const mac = createHmac("sha256", key).update(Uint8Array.of(form)).update(body).digest();
  return mac.subarray(0, SEAL_BYTES);
}
