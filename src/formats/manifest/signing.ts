import { createHash } from "node:crypto";
import { fromBase64, toBase64, toBase64Url } from "../../base/bytes.ts";

/**
 * Ed25519 keys (RFC 8032) of manifests. The private one is a setting, 32 random bytes in base64;
 * the public one is shown as base64 of its SubjectPublicKeyInfo (RFC 8410), which is what stands
 * between the two lines of a PEM file.
 */

const ED25519 = { name: "Ed25519" } as const;

/** What comes before the 32 bytes of a key: DER of RFC 8410, as PKCS #8 and as a public key. */
const PRIVATE_HEAD = "MC4CAQAwBQYDK2VwBCIEIA";
const PUBLIC_HEAD = "MCowBQYDK2VwAyEA";

const KEY_BYTES = 32;

/** A public key. */
export interface PublicKey {
  /** The first 16 hex digits of the SHA-256 of its SubjectPublicKeyInfo. */
  id: string;
  /** That, in base64. */
  text: string;
}

export interface Signer {
  publicKey: PublicKey;
  sign(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array>;
}

/** @returns null: it is no key. */
export function readPrivateKey(text: string): Uint8Array<ArrayBuffer> | null {
  return /^[A-Za-z0-9+/]{43}=$/.test(text) ? fromBase64(text) : null;
}

/** @param text as {@link PublicKey.text}. @returns null: it is no public key. */
export function readPublicKey(text: string): PublicKey | null {
  if (!/^[A-Za-z0-9+/]{59}=$/.test(text) || !text.startsWith(PUBLIC_HEAD)) return null;
  const der = fromBase64(text);
  return { id: createHash("sha256").update(der).digest("hex").slice(0, 16), text };
}

/** @param seed as {@link readPrivateKey} has it. */
export async function signerOf(seed: Uint8Array<ArrayBuffer>): Promise<Signer> {
  // 16 bytes come before the seed, which base64 does not divide: they are joined as bytes.
  const head = fromBase64(`${PRIVATE_HEAD}==`);
  const der = new Uint8Array(head.length + KEY_BYTES);
  der.set(head);
  der.set(seed, head.length);
  const key = await crypto.subtle.importKey("pkcs8", der, ED25519, true, ["sign"]);
  const { x = "" } = (await crypto.subtle.exportKey("jwk", key)) as JsonWebKey;
  const point = fromBase64(x);
  const publicKey = readPublicKey(PUBLIC_HEAD + toBase64(point));
  if (publicKey === null) throw new Error("the public half of SIGNING_KEY cannot be read");
  return {
    publicKey,
    sign: async (bytes) => new Uint8Array(await crypto.subtle.sign(ED25519, key, bytes)),
  };
}

/** Whether these bytes were signed with the private half. @param key as readPublicKey has it. */
export async function isSignedBy(
  { text }: PublicKey,
  bytes: Uint8Array<ArrayBuffer>,
  signature: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const key = await crypto.subtle.importKey("spki", fromBase64(text), ED25519, false, ["verify"]);
  return crypto.subtle.verify(ED25519, key, signature, bytes);
}

/** A public key as `/.well-known/logship-keys.json` has it: a JSON Web Key (RFC 8037), and more. */
export interface PublishedKey {
  key_id: string;
  /** For `npm run verify`, and PEM files. */
  public_key: string;
  /** `current`: what is written now is signed with it. */
  state: "current" | "previous";
  kty: "OKP";
  crv: "Ed25519";
  kid: string;
  x: string;
}

export function published({ id, text }: PublicKey, state: PublishedKey["state"]): PublishedKey {
  const x = toBase64Url(fromBase64(text).slice(-KEY_BYTES));
  return { key_id: id, public_key: text, state, kty: "OKP", crv: "Ed25519", kid: id, x };
}
