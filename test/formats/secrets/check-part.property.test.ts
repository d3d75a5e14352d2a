import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toBase64Url } from "../../../src/base/bytes.ts";
import { checkKeyOf } from "../../../src/formats/secrets/check-part.ts";
import { looksIssued, newSecret, provesItself } from "../../../src/formats/secrets/credentials.ts";

const kind = fc.constantFrom("token" as const, "key" as const);
const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 });
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

describe("a check part", () => {
  it("is proven by the key that made it, current or previous, and by no other", () => {
    fc.assert(
      fc.property(kind, bytes, bytes, (each, current, other) => {
        fc.pre(current.join() !== other.join());
        const [key, another] = [checkKeyOf(current), checkKeyOf(other)];
        const secret = newSecret(each, key);
        expect(looksIssued(each, secret)).toBe(true);
        for (const keys of [[key], [another, key]]) expect(provesItself(each, secret, keys)).toBe(true);
        for (const keys of [[], [another]]) expect(provesItself(each, secret, keys)).toBe(false);
      }),
    );
  });

  it("is of this secret alone: with any character changed, it proves nothing", () => {
    fc.assert(
      fc.property(kind, bytes, fc.nat({ max: 42 }), fc.nat({ max: 62 }), (each, current, place, step) => {
        const key = checkKeyOf(current);
        const secret = newSecret(each, key);
        const at = secret.length - 43 + place;
        const other = ALPHABET[(ALPHABET.indexOf(secret.charAt(at)) + 1 + step) % 64];
        expect(provesItself(each, secret.slice(0, at) + other + secret.slice(at + 1), [key])).toBe(false);
      }),
    );
  });

  it("of a token is none of a key", () => {
    const key = checkKeyOf(new Uint8Array(32));
    const own = newSecret("token", key).slice("logship_token_".length);
    expect(provesItself("key", `logship_key_${own}`, [key])).toBe(false);
  });

  it("is not in an invented secret, nor in one of a release without check parts", () => {
    const key = checkKeyOf(new Uint8Array(32));
    fc.assert(
      fc.property(kind, bytes, (each, random) => {
        const secret = `logship_${each}_${toBase64Url(random)}`;
        expect([looksIssued(each, secret), provesItself(each, secret, [key])]).toEqual([true, false]);
      }),
    );
  });

  it("is made with a key that is named without telling it", () => {
    fc.assert(
      fc.property(bytes, bytes, (a, b) => {
        const [one, same, other] = [checkKeyOf(a), checkKeyOf(a.slice()), checkKeyOf(b)];
        expect(one).toEqual(same);
        expect(one.id).toMatch(/^[0-9a-f]{16}$/);
        expect(one.id === other.id).toBe(a.join() === b.join());
        expect(one.key).not.toEqual(a);
      }),
    );
  });
});
