import { createHash, createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { encodeUtf8, toBase64Url } from "../../base/bytes.ts";
import { OWNERSHIP_CHALLENGE_S } from "../../base/limits.ts";
import { keyBelow, PROBE_DAY } from "../../formats/object/keys.ts";
import type { EncryptionKeys } from "../../formats/secrets/encrypted.ts";
import type { Place } from "../destinations/destination.ts";

/** A proof that a user can read a destination: it is written there, and must be sent back. */
export interface Challenge {
  token: string;
  /** Key of its object: `<path with {DATE} → 00010101>/ownership-challenge-<8 hex>.txt`. */
  key: string;
}

/** Format of a token, and so of the text that is signed. */
const VERSION = "1";
const TOKEN = /^1\.(\d{1,12})\.[A-Za-z0-9_-]{43}$/;

const NO_SALT = new Uint8Array();

/**
 * A challenge for one place of one account: `1.<expiry in seconds since the epoch>.<HMAC-SHA-256,
 * base64url>`. Nothing is stored. Challenges of one second are the same, so requests in quick
 * succession write one object.
 */
export function issueChallenge(accountId: string, place: Place, keys: EncryptionKeys, nowMs: number): Challenge {
  const token = tokenOf(Math.floor(nowMs / 1_000) + OWNERSHIP_CHALLENGE_S, accountId, place, keys.current);
  const tag = createHash("sha256").update(token).digest("hex").slice(0, 8);
  return { token, key: keyBelow(place.path, PROBE_DAY, `ownership-challenge-${tag}.txt`) };
}

/**
 * Whether a token was issued for this place of this account, and has not expired. The comparison
 * takes constant time.
 */
export function answersChallenge(
  token: string,
  accountId: string,
  place: Place,
  keys: EncryptionKeys,
  nowMs: number,
): boolean {
  const expiryS = Number(TOKEN.exec(token)?.[1] ?? Number.NaN);
  // Also if it is NaN.
  if (!(nowMs < expiryS * 1_000)) return false;
  const sent = encodeUtf8(token);
  return [keys.current, keys.previous].some((key) => {
    if (key === null) return false;
    // Whole texts: another encoding of the same signature, or a leading zero, is another token.
    const right = encodeUtf8(tokenOf(expiryS, accountId, place, key));
    return right.length === sent.length && timingSafeEqual(right, sent);
  });
}

/**
 * Signs a JSON list, so that no part can run into the next. Keys of the store are left out: they
 * may be rotated.
 */
function tokenOf(expiryS: number, accountId: string, place: Place, key: Uint8Array): string {
  const { scheme, endpoint, accountId: storeAccount, bucket, addressing, path } = place;
  const at = [scheme, endpoint.href, storeAccount, bucket, path, addressing];
  const bound = JSON.stringify([VERSION, expiryS, accountId, ...at]);
  const mac = createHmac("sha256", signingKey(key)).update(bound).digest();
  return `${VERSION}.${expiryS}.${toBase64Url(new Uint8Array(mac))}`;
}

/** A derived key (RFC 5869), separate from encryption with the same secret. */
function signingKey(key: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", key, NO_SALT, "ownership challenge", 32));
}
