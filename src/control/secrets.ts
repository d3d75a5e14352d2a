import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { concat, fromBase64, toBase64Url } from "../bytes.ts";

/** Keys for what is stored encrypted, newest first. */
export interface SealingKeys {
  /** 32 bytes. */
  current: Uint8Array;
  /** Still opens during a rotation. */
  previous: Uint8Array | null;
}

const VERSION = "1";

const encoder = new TextEncoder();

/**
 * AES-256-GCM over a text: `1.<iv>.<ciphertext and tag>`, base64url.
 * @param purpose authenticated with it: what was sealed for one purpose opens for no other.
 */
export function seal(text: string, purpose: string, keys: SealingKeys): string {
  const iv = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", keys.current, iv);
  cipher.setAAD(encoder.encode(purpose));
  const sealed = concat([cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
  return [VERSION, toBase64Url(iv), toBase64Url(sealed)].join(".");
}

/** @returns the text, or null if no key fits (or the seal was tampered with, which looks the same). */
export function unseal(sealed: string, purpose: string, keys: SealingKeys): string | null {
  const [version, iv, body] = sealed.split(".");
  if (version !== VERSION || iv === undefined || body === undefined) return null;
  const bytes = fromBase64(body);
  for (const key of [keys.current, keys.previous]) {
    if (key === null) continue;
    try {
      const decipher = createDecipheriv("aes-256-gcm", key, fromBase64(iv));
      decipher.setAAD(encoder.encode(purpose));
      decipher.setAuthTag(bytes.subarray(-16));
      return new TextDecoder().decode(concat([decipher.update(bytes.subarray(0, -16)), decipher.final()]));
    } catch {
      // Not this key; the next one may fit.
    }
  }
  return null;
}

/** The purpose of a job's sealed destination. */
export function destinationPurpose(accountId: string): string {
  return `destination_conf of a job of account ${accountId}`;
}
