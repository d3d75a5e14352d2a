import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { concat, decodeStrict, fromBase64, toBase64Url } from "../../base/bytes.ts";

/** Keys of stored secrets, newest first. */
export interface EncryptionKeys {
  /** 32 bytes. */
  current: Uint8Array;
  /** Still decrypts during a rotation. */
  previous: Uint8Array | null;
}

const VERSION = "1";

/** NIST SP 800-38D. A shorter tag would be easier to forge, and some ciphers accept one. */
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** For empty texts: the runtime's ciphers fail to authenticate after an update with no bytes. */
const NO_BYTES = new Uint8Array();

const encoder = new TextEncoder();

/**
 * AES-256-GCM over a text: `1.<iv>.<ciphertext and tag>`, base64url.
 * @param purpose is authenticated, too: a text sealed for one purpose does not open for another.
 */
export function encrypt(text: string, purpose: string, keys: EncryptionKeys): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv("aes-256-gcm", keys.current, iv);
  if (purpose !== "") cipher.setAAD(encoder.encode(purpose));
  const body = text === "" ? NO_BYTES : cipher.update(text, "utf8");
  const sealed = concat([body, cipher.final(), cipher.getAuthTag()]);
  return [VERSION, toBase64Url(iv), toBase64Url(sealed)].join(".");
}

/** @returns the text; null: no key fits, or the text was tampered with, which looks the same. */
export function decrypt(sealed: string, purpose: string, keys: EncryptionKeys): string | null {
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
      return decodeStrict(concat([text, decipher.final()]));
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

/** The purpose of the sealed destination of objects of a job that are sent elsewhere. */
export function elsewherePurpose(accountId: string, job: number): string {
  return `destination_conf of set-aside objects of job ${job} of account ${accountId}`;
}

/**
 * The purpose of what is entered for a destination, between two pages of a form.
 * @param session of the browser. @param what it is entered for.
 */
export function enteredPurpose(accountId: string, session: string, what: string): string {
  return `destination entered in session ${session} for ${what} of account ${accountId}`;
}
