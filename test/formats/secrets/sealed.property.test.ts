import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fromBase64, toBase64Url } from "../../../src/base/bytes.ts";
import { decrypt, destinationPurpose, type EncryptionKeys, encrypt } from "../../../src/formats/secrets/encrypted.ts";

const key = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => new Uint8Array(bytes));
const keys: fc.Arbitrary<EncryptionKeys> = fc.record({ current: key, previous: fc.option(key) });

/** Empty texts, and characters that decoders drop, as often as any other. */
const text = fc.oneof(
  fc.constantFrom("", "\ufeff", "\u0000"),
  fc.string({ unit: "binary" }),
  fc.string({ unit: "binary" }).map((rest) => `\ufeff${rest}`),
);
const purpose = fc.oneof(fc.constant(""), fc.string({ unit: "binary" }));

const partsOf = (sealed: string): [string, Uint8Array, Uint8Array] => {
  const [version = "", iv = "", body = ""] = sealed.split(".");
  return [version, fromBase64(iv), fromBase64(body)];
};

describe("what is sealed", () => {
  it("opens to exactly the same text, with the key at any place in a rotation", () => {
    fc.assert(
      fc.property(text, purpose, key, key, (wanted, what, old, fresh) => {
        const before = encrypt(wanted, what, { current: old, previous: null });
        expect(decrypt(before, what, { current: old, previous: null })).toBe(wanted);
        expect(decrypt(before, what, { current: fresh, previous: old })).toBe(wanted);
        expect(decrypt(before, what, { current: old, previous: fresh })).toBe(wanted);
      }),
      { numRuns: 300 },
    );
  });

  it("opens neither with another key nor for another purpose", () => {
    fc.assert(
      fc.property(text, purpose, purpose, keys, key, (wanted, what, other, mine, foreign) => {
        const sealed = encrypt(wanted, what, mine);
        fc.pre(what !== other && toBase64Url(foreign) !== toBase64Url(mine.current));
        expect(decrypt(sealed, other, mine)).toBeNull();
        expect(decrypt(sealed, what, { current: foreign, previous: null })).toBeNull();
      }),
      { numRuns: 300 },
    );
  });

  it("does not open when any bit was flipped, or when it was cut anywhere, not even to a shorter tag", () => {
    fc.assert(
      fc.property(text, purpose, keys, fc.nat(), (wanted, what, mine, pick) => {
        const [version, iv, body] = partsOf(encrypt(wanted, what, mine));
        const flipped = (bytes: Uint8Array): Uint8Array => {
          const changed = bytes.slice();
          const bit = pick % (8 * bytes.length);
          changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
          return changed;
        };
        const put = (a: Uint8Array, b: Uint8Array): string => [version, toBase64Url(a), toBase64Url(b)].join(".");
        expect(decrypt(put(iv, body), what, mine)).toBe(wanted);
        expect(decrypt(put(flipped(iv), body), what, mine)).toBeNull();
        expect(decrypt(put(iv, flipped(body)), what, mine)).toBeNull();
        for (let end = 0; end < body.length; end++)
          expect(decrypt(put(iv, body.subarray(0, end)), what, mine), `cut to ${end} bytes`).toBeNull();
        for (let end = 0; end < iv.length; end++)
          expect(decrypt(put(iv.subarray(0, end), body), what, mine)).toBeNull();
      }),
      { numRuns: 100 },
    );
  });

  it("is a text or nothing, whatever somebody stored in its place, and never a throw", () => {
    const pieces = fc.array(fc.constantFrom("1", "2", ".", "AAAA", "=", "%", "\ud800", "A".repeat(16)), {
      maxLength: 8,
    });
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: "binary" }),
          pieces.map((all) => all.join("")),
        ),
        keys,
        (stored, mine) => {
          expect(decrypt(stored, "p", mine)).toBeNull();
        },
      ),
      { numRuns: 500 },
    );
  });

  it("shows nothing of the text, and is another each time", () => {
    const mine = { current: new Uint8Array(32).fill(7), previous: null };
    const sealed = Array.from({ length: 100 }, () => encrypt("the SECRET", "p", mine));
    expect(new Set(sealed.map((each) => each.split(".")[1])).size).toBe(100);
    for (const each of sealed) {
      expect(each).toMatch(/^1\.[A-Za-z0-9_-]{16}\.[A-Za-z0-9_-]+$/);
      expect(each + new TextDecoder().decode(partsOf(each)[2])).not.toContain("SECRET");
    }
  });

  it("is sealed with the new key at once, for one account alone, and does not open with parts of two", () => {
    fc.assert(
      fc.property(text, key, key, (wanted, old, fresh) => {
        fc.pre(toBase64Url(old) !== toBase64Url(fresh));
        const during: EncryptionKeys = { current: fresh, previous: old };
        const sealed = encrypt(wanted, destinationPurpose("account-1"), during);
        expect(decrypt(sealed, destinationPurpose("account-1"), { current: fresh, previous: null })).toBe(wanted);
        expect(decrypt(sealed, destinationPurpose("account-1"), { current: old, previous: null })).toBeNull();
        expect(decrypt(sealed, destinationPurpose("account-2"), during)).toBeNull();
        const [version, , body] = sealed.split(".");
        const [, iv] = encrypt(wanted, destinationPurpose("account-1"), during).split(".");
        expect(decrypt([version, iv, body].join("."), destinationPurpose("account-1"), during)).toBeNull();
        for (const other of [`2.${iv}.${body}`, `1.${iv}`, `1..${body}`, `.${iv}.${body}`, `${sealed}AA`])
          expect(decrypt(other, destinationPurpose("account-1"), during)).toBeNull();
      }),
    );
  });
});
