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

/** NIST SP 800-38D: what GCM is made for. A shorter tag would be easier to guess, and some ciphers take one. */
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** The runtime's ciphers are never handed these: one that is given no bytes fails at its end, and says that authentication failed. */
const NO_BYTES = new Uint8Array();

const encoder = new TextEncoder();
/** What looks like a byte order mark belongs to the text. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * AES-256-GCM over a text: `1.<iv>.<ciphertext and tag>`, base64url.
 * @param purpose authenticated with it: what was sealed for one purpose opens for no other.
 */
export function seal(text: string, purpose: string, keys: SealingKeys): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv("aes-256-gcm", keys.current, iv);
  if (purpose !== "") cipher.setAAD(encoder.encode(purpose));
  const body = text === "" ? NO_BYTES : cipher.update(text, "utf8");
  const sealed = concat([body, cipher.final(), cipher.getAuthTag()]);
  return [VERSION, toBase64Url(iv), toBase64Url(sealed)].join(".");
}

/** @returns the text, or null if no key fits (or the seal was tampered with, which looks the same). */
export function unseal(sealed: string, purpose: string, keys: SealingKeys): string | null {
  const [version, iv, body] = sealed.split(".");
  if (version !== VERSION || iv === undefined || body === undefined) return null;
  const nonce = fromBase64(iv);
  const bytes = fromBase64(body);
  if (nonce.length !== IV_BYTES || bytes.length < TAG_BYTES) return null;
  for (const key of [keys.current, keys.previous]) {
    if (key === null) continue;
    try {
      const decipher = createDecipheriv("aes-256-gcm", key, nonce);
      if (purpose !== "") decipher.setAAD(encoder.encode(purpose));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      const text = bytes.length === TAG_BYTES ? NO_BYTES : decipher.update(bytes.subarray(0, -TAG_BYTES));
      return decoder.decode(concat([text, decipher.final()]));
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

/** The purpose of the sealed destination of a replay. */
export function replayPurpose(accountId: string): string {
  return `destination_conf of a replay of account ${accountId}`;
}

/** The purpose of a sealed draft of a job. @param owner whose it is: nobody else's row opens as it. */
export function draftPurpose(accountId: string, owner: string, id: string): string {
  return `draft ${id} of ${owner} of account ${accountId}`;
}
