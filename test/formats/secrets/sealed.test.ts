import { randomBytes } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fromBase64, toBase64Url } from "../../../src/base/bytes.ts";
import { decrypt, destinationPurpose, type EncryptionKeys, encrypt } from "../../../src/formats/secrets/encrypted.ts";

const key = () => new Uint8Array(randomBytes(32));
const keys: EncryptionKeys = { current: key(), previous: null };
const CONF = "s3://traces/a?region=auto&access-key-id=AKID&secret-access-key=SECRET";

describe("what is sealed", () => {
  it("opens to the same text, whatever it is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 1 }), fc.string({ minLength: 1 }), (text, purpose) => {
        expect(decrypt(encrypt(text, purpose, keys), purpose, keys)).toBe(text);
      }),
    );
  });

  it("shows nothing of the text, and is another each time", () => {
    const sealed = Array.from({ length: 100 }, () => encrypt(CONF, "p", keys));
    expect(new Set(sealed).size).toBe(100);
    expect(new Set(sealed.map((each) => each.split(".")[1])).size).toBe(100);
    for (const each of sealed) {
      expect(each).toMatch(/^1\.[A-Za-z0-9_-]{16}\.[A-Za-z0-9_-]+$/);
      expect(each + atob(each.split(".")[2]?.replaceAll("-", "+").replaceAll("_", "/") ?? "")).not.toContain("SECRET");
    }
  });

  it("opens for no other purpose", () => {
    const sealed = encrypt(CONF, destinationPurpose("account-1"), keys);
    expect(decrypt(sealed, destinationPurpose("account-1"), keys)).toBe(CONF);
    for (const purpose of [destinationPurpose("account-2"), destinationPurpose(""), "", "webhook"])
      expect(decrypt(sealed, purpose, keys)).toBeNull();
  });

  it("opens with no other key", () => {
    expect(decrypt(encrypt(CONF, "p", keys), "p", { current: key(), previous: null })).toBeNull();
    expect(decrypt(encrypt(CONF, "p", keys), "p", { current: key(), previous: key() })).toBeNull();
  });
});

describe("a rotation of the key", () => {
  const old: EncryptionKeys = { current: key(), previous: null };
  const during: EncryptionKeys = { current: key(), previous: old.current };
  const after: EncryptionKeys = { current: during.current, previous: null };

  it("opens what was sealed before and during it, as long as the old key is there", () => {
    expect(decrypt(encrypt(CONF, "p", old), "p", during)).toBe(CONF);
    expect(decrypt(encrypt(CONF, "p", during), "p", during)).toBe(CONF);
    expect(decrypt(encrypt(CONF, "p", old), "p", after)).toBeNull();
  });

  it("seals with the new key at once", () => {
    expect(decrypt(encrypt(CONF, "p", during), "p", after)).toBe(CONF);
    expect(decrypt(encrypt(CONF, "p", during), "p", old)).toBeNull();
  });
});

describe("an encrypted text that was tampered with", () => {
  const both: EncryptionKeys = { current: key(), previous: key() };
  const sealed = encrypt(CONF, "p", both);
  const [version = "", iv = "", body = ""] = sealed.split(".");

  const flipped = (text: string, bit: number): string => {
    const bytes = fromBase64(text);
    bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    return toBase64Url(bytes);
  };

  it("does not open, whichever bit was changed", () => {
    for (let bit = 0; bit < fromBase64(iv).length * 8; bit++)
      expect(decrypt(`${version}.${flipped(iv, bit)}.${body}`, "p", both)).toBeNull();
    for (let bit = 0; bit < fromBase64(body).length * 8; bit++)
      expect(decrypt(`${version}.${iv}.${flipped(body, bit)}`, "p", both)).toBeNull();
  });

  it("does not open when it was cut, longer, or put together from two", () => {
    const bytes = fromBase64(body);
    for (let length = 0; length < bytes.length; length++)
      expect(decrypt(`${version}.${iv}.${toBase64Url(bytes.subarray(0, length))}`, "p", both)).toBeNull();
    expect(decrypt(`${version}.${iv}.${toBase64Url(new Uint8Array([...bytes, 0]))}`, "p", both)).toBeNull();
    const [, otherIv = ""] = encrypt(CONF, "p", both).split(".");
    expect(decrypt(`${version}.${otherIv}.${body}`, "p", both)).toBeNull();
  });

  it.each([
    "",
    ".",
    "..",
    "1",
    "1.",
    "1..",
    "1.a.b",
    `2.${iv}.${body}`,
    `1.${iv}`,
    `1..${body}`,
    `.${iv}.${body}`,
    CONF,
    "null",
  ])("is not opened, and does not throw: %s", (text) => {
    expect(decrypt(text, "p", both)).toBeNull();
  });

  it("is nothing or the text, whatever was done to its characters", () => {
    fc.assert(
      fc.property(fc.nat({ max: sealed.length - 1 }), fc.string({ maxLength: 2 }), (at, put) => {
        const changed = sealed.slice(0, at) + put + sealed.slice(at + 1);
        // Base64 decoders ignore some characters, and some bits of the last one.
        expect([null, CONF]).toContain(decrypt(changed, "p", both));
      }),
      { numRuns: 300 },
    );
  });
});
