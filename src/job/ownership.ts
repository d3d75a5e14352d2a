import { createHash, createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { encodeUtf8, toBase64Url } from "../bytes.ts";
import type { Place } from "../destinations/destination.ts";
import { keyBelow, PROBE_DAY } from "../destinations/keys.ts";
import { OWNERSHIP_CHALLENGE_S } from "../limits.ts";
import type { SealingKeys } from "./secrets.ts";

/** A proof that somebody can read a destination: it is written there, and whoever gives it back has read it. */
export interface Challenge {
  token: string;
  /** Key of the object that holds it: `<path with {DATE} → 00010101>/ownership-challenge-<8 hex>.txt`. */
  key: string;
}

/** Names the format of a token, and with it what its signature is over. */
const VERSION = "1";
const TOKEN = /^1\.(\d{1,12})\.[A-Za-z0-9_-]{43}$/;

const NO_SALT = new Uint8Array();

/**
 * A challenge for one place of one account: `1.<expiry in seconds since the epoch>.<HMAC-SHA-256, base64url>`. Nothing is remembered of it. Those of one
 * second are the same, object and all, so asking again and again writes no more than that.
 */
export function issueChallenge(accountId: string, place: Place, keys: SealingKeys, nowMs: number): Challenge {
  const token = tokenOf(Math.floor(nowMs / 1_000) + OWNERSHIP_CHALLENGE_S, accountId, place, keys.current);
  const tag = createHash("sha256").update(token).digest("hex").slice(0, 8);
  return { token, key: keyBelow(place.path, PROBE_DAY, `ownership-challenge-${tag}.txt`) };
}

/** Whether a token was issued for this place of this account, and is not too old. It takes the same time however much of a wrong one is right. */
export function answersChallenge(
  token: string,
  accountId: string,
  place: Place,
  keys: SealingKeys,
  nowMs: number,
): boolean {
  const expiryS = Number(TOKEN.exec(token)?.[1] ?? Number.NaN);
  // Also where it is no number.
  if (!(nowMs < expiryS * 1_000)) return false;
  const sent = encodeUtf8(token);
  return [keys.current, keys.previous].some((key) => {
    if (key === null) return false;
    // The whole texts: an encoding that decodes to the same signature, or a zero before the time, is another token.
    const right = encodeUtf8(tokenOf(expiryS, accountId, place, key));
    return right.length === sent.length && timingSafeEqual(right, sent);
  });
}

/** Signs a list, not a concatenation: no part can reach into the next. Keys of the store are no part of it; they may be rotated. */
function tokenOf(expiryS: number, accountId: string, place: Place, key: Uint8Array): string {
  const { scheme, endpoint, accountId: storeAccount, bucket, path } = place;
  const bound = JSON.stringify([VERSION, expiryS, accountId, scheme, endpoint.href, storeAccount, bucket, path]);
  const mac = createHmac("sha256", signingKey(key)).update(bound).digest();
  return `${VERSION}.${expiryS}.${toBase64Url(new Uint8Array(mac))}`;
}

/** A key of its own (RFC 5869), so that nothing signed here can ever mean anything where the same secret encrypts. */
function signingKey(key: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", key, NO_SALT, "ownership challenge", 32));
}
