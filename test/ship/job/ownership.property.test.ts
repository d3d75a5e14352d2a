import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fromBase64, toBase64Url } from "../../../src/base/bytes.ts";
import type { EncryptionKeys } from "../../../src/formats/secrets/encrypted.ts";
import type { S3Place as Place } from "../../../src/ship/destinations/s3/object-store.ts";
import { answersChallenge, issueChallenge } from "../../../src/ship/job/ownership.ts";

const DAYS_7_MS = 7 * 86_400_000;

const key = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => new Uint8Array(bytes));
const keys: fc.Arbitrary<EncryptionKeys> = fc.record({ current: key, previous: fc.option(key) });
const nowMs = fc.nat({ max: 253_402_300_799_999 - DAYS_7_MS });
/**
 * Few values, so that two places often differ in one part only, or have the same parts in another
 * order.
 */
const word = fc.constantFrom("a", "b", "a/b", "", '","', "{DATE}", "{DATE}/{DATE}", "00010101", "ü", "\\");
const account = fc.oneof(fc.constantFrom("a", "b"), fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/));

const place: fc.Arbitrary<Place> = fc
  .record({
    scheme: fc.constantFrom("objstore", "r2", "s3"),
    bucket: word,
    path: fc.oneof(word, fc.string({ unit: "grapheme" })),
    endpoint: fc
      .constantFrom("https://a.example/", "https://b.example/", "https://a.example/a")
      .map((url) => new URL(url)),
    accountId: fc.option(fc.constantFrom("a", "b")),
    region: fc.constantFrom("auto", "eu-central-1"),
    sse: fc.constantFrom(null, "AES256" as const),
    isVirtual: fc.boolean(),
  })
  .map(({ isVirtual, ...at }) => ({ ...at, ...(isVirtual && { addressing: "virtual" as const }) }));

/** The data that a challenge is bound to. */
const bound = (accountId: string, at: Place): string =>
  JSON.stringify([accountId, at.scheme, at.endpoint.href, at.accountId, at.bucket, at.path, at.addressing]);

describe("an ownership challenge", () => {
  it("is answered by its token for 7 days, with its key at any place in a rotation, and by what a URL can carry", () => {
    fc.assert(
      fc.property(
        account,
        place,
        key,
        key,
        nowMs,
        fc.integer({ min: -1_000, max: DAYS_7_MS }),
        (who, at, old, fresh, now, later) => {
          const { token } = issueChallenge(who, at, { current: old, previous: null }, now);
          expect(token).toMatch(/^[A-Za-z0-9/+._-]{1,4096}$/);
          // Times are whole seconds, so up to one second is cut off.
          const isGood = later < DAYS_7_MS - (now % 1_000);
          for (const mine of [
            { current: old, previous: null },
            { current: fresh, previous: old },
            { current: old, previous: fresh },
          ])
            expect(answersChallenge(token, who, at, mine, now + later)).toBe(isGood);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("is over at the end of its 7 days, to the millisecond", () => {
    fc.assert(
      fc.property(account, place, keys, nowMs, (who, at, mine, now) => {
        const { token } = issueChallenge(who, at, mine, now);
        const end = now - (now % 1_000) + DAYS_7_MS;
        expect(answersChallenge(token, who, at, mine, end - 1)).toBe(true);
        expect(answersChallenge(token, who, at, mine, end)).toBe(false);
      }),
      { numRuns: 200 },
    );
  });

  it("is answered for no other account, scheme, endpoint, account of the store, bucket or path, and with no other key", () => {
    const seen = { same: 0, other: 0 };
    fc.assert(
      fc.property(
        account,
        account,
        place,
        place,
        fc.subarray(["scheme", "endpoint", "accountId", "bucket", "path"] as const),
        keys,
        key,
        nowMs,
        (who, other, at, elsewhere, parts, mine, foreign, now) => {
          const { token } = issueChallenge(who, at, mine, now);
          const near: Place = { ...at, region: elsewhere.region, sse: elsewhere.sse };
          for (const part of parts) Object.assign(near, { [part]: elsewhere[part] });
          for (const [account2, place2] of [
            [who, near],
            [other, near],
            [other, at],
          ] as const) {
            const isSame = bound(account2, place2) === bound(who, at);
            seen[isSame ? "same" : "other"] += 1;
            expect(answersChallenge(token, account2, place2, mine, now)).toBe(isSame);
          }
          fc.pre(toBase64Url(foreign) !== toBase64Url(mine.current));
          expect(answersChallenge(token, who, at, { current: foreign, previous: null }, now)).toBe(false);
        },
      ),
      { numRuns: 500 },
    );
    expect(Math.min(seen.same, seen.other)).toBeGreaterThan(20);
  });

  it("is not answered by a token in which anything was changed, be it only its spelling", () => {
    fc.assert(
      fc.property(
        account,
        place,
        keys,
        nowMs,
        fc.nat(),
        fc.integer({ min: 1, max: 10 ** 9 }),
        (who, at, mine, now, pick, more) => {
          const { token } = issueChallenge(who, at, mine, now);
          const [version, expiry, mac = ""] = token.split(".");
          const bytes = fromBase64(mac);
          const bit = pick % (8 * bytes.length);
          bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
          const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
          // 32 bytes are 42 2/3 characters: two bits of the last one are not decoded.
          const respelt = mac.slice(0, -1) + alphabet[alphabet.indexOf(mac.slice(-1)) ^ 1];
          expect(fromBase64(respelt)).toEqual(fromBase64(mac));
          const wrong = [
            `${version}.${expiry}.${toBase64Url(bytes)}`,
            `${version}.${Number(expiry) + more}.${mac}`,
            `${version}.0${expiry}.${mac}`,
            `${version}.${expiry}.${respelt}`,
            `${version}.${expiry}.${mac}=`,
            `2.${expiry}.${mac}`,
            `${token}\n`,
            ` ${token}`,
            token.slice(0, -1),
            `${token}A`,
          ];
          for (const other of wrong) expect(answersChallenge(other, who, at, mine, now), other).toBe(false);
        },
      ),
      { numRuns: 100 },
    );
  });

  it("is not answered by anything else, whatever somebody sends, and it never throws", () => {
    const pieces = fc
      .array(
        fc.constantFrom(
          "1",
          ".",
          "0",
          "-1",
          "1e9",
          "NaN",
          "Infinity",
          "A".repeat(43),
          "\ud800",
          "\n",
          "=",
          "99999999999",
        ),
        { maxLength: 6 },
      )
      .map((all) => all.join(""));
    fc.assert(
      fc.property(
        fc.oneof(pieces, fc.string({ unit: "binary" }), fc.constant("1.99999999999.".padEnd(57, "A"))),
        keys,
        place,
        nowMs,
        (token, mine, at, now) => {
          expect(answersChallenge(token, "a", at, mine, now)).toBe(false);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it("lies below its path, on the day that is none, under a name of its own", () => {
    fc.assert(
      fc.property(account, place, keys, nowMs, (who, at, mine, now) => {
        const one = issueChallenge(who, at, mine, now);
        const folder = at.path.replaceAll("{DATE}", "00010101");
        expect(one.key.startsWith(folder)).toBe(true);
        expect(one.key.slice(folder.length)).toMatch(
          folder === "" ? /^ownership-challenge-[0-9a-f]{8}\.txt$/ : /^\/ownership-challenge-[0-9a-f]{8}\.txt$/,
        );
        // Two requests in a second write one object; a later one writes another.
        expect(issueChallenge(who, at, mine, now - (now % 1_000))).toEqual(one);
        expect(issueChallenge(who, at, mine, now + 1_000).token).not.toBe(one.token);
      }),
      { numRuns: 200 },
    );
  });
});
