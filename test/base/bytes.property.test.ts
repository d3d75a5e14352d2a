import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  concat,
  encodeUtf8,
  fromBase64,
  fromHex,
  GrowingBytes,
  includesAligned,
  newlineIn,
  newlinesIn,
  toBase64Url,
  toHex,
  utf8Length,
  wordsOf,
} from "../../src/base/bytes.ts";

/** Bytes as a view into a larger buffer, like those of a database. */
const view = fc.tuple(fc.uint8Array(), fc.nat(), fc.nat()).map(([bytes, a, b]) => {
  const [from, to] = [a % (bytes.length + 1), b % (bytes.length + 1)].sort((x, y) => x - y);
  return new Uint8Array(bytes).subarray(from, to);
});

/** All of Unicode, and lone surrogates. */
const anyText = fc.string({
  unit: fc.oneof(
    fc.string({ unit: "binary", maxLength: 1 }),
    fc.constantFrom("\ud83d", "\ude00", "\ufeff", "\u0000", "\u007f", "\u0080", "\uffff"),
  ),
});

describe("bytes and their texts", () => {
  it("are the same bytes again, from hex and from base64 in either alphabet, in a buffer of their own", () => {
    fc.assert(
      fc.property(view, (bytes) => {
        const plain = [...bytes];
        const hex = toHex(bytes);
        const base64 = toBase64Url(bytes);
        expect(hex).toBe(plain.map((byte) => (byte < 16 ? "0" : "") + byte.toString(16)).join(""));
        expect(base64).toMatch(/^[A-Za-z0-9_-]*$/);
        for (const again of [fromHex(hex), fromBase64(base64), fromBase64(btoa(String.fromCharCode(...plain)))]) {
          expect([...again]).toEqual(plain);
          expect(again.buffer.byteLength).toBe(plain.length);
        }
      }),
    );
  });

  it("are joined in order, and what is joined shares nothing with its parts", () => {
    fc.assert(
      fc.property(fc.array(view), (parts) => {
        const joined = concat(parts);
        expect([...joined]).toEqual(parts.flatMap((part) => [...part]));
        expect(joined.buffer.byteLength).toBe(joined.length);
        for (const part of parts) expect(part.buffer).not.toBe(joined.buffer);
      }),
    );
  });

  it("of a text are as many as its code points take, half of a pair being U+FFFD", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const sizes = [...text].map((char) => {
          const code = char.codePointAt(0) ?? 0;
          return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        });
        const length = sizes.reduce<number>((sum, size) => sum + size, 0);
        expect(utf8Length(text)).toBe(length);
        expect(encodeUtf8(text).length).toBe(length);
        const read = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(encodeUtf8(text));
        expect(read).toBe(text.toWellFormed());
      }),
    );
  });
});

describe("bytes that grow", () => {
  it("hold lines as their UTF-8, in order, whatever they began with, and after they were cleared", () => {
    fc.assert(
      fc.property(fc.array(anyText), fc.nat({ max: 30 }), (lines, expected) => {
        const bytes = new GrowingBytes(100, expected);
        for (const half of [lines, lines.toReversed()]) {
          for (const line of half) bytes.addLine(line, utf8Length(line) + 1);
          const all = encodeUtf8(half.map((line) => `${line}\n`).join(""));
          expect(bytes.view(0, bytes.length)).toEqual(all);
          bytes.clear();
        }
        bytes.addLine("last", 5);
        expect(bytes.take()).toEqual(encodeUtf8("last\n"));
        expect(bytes.length).toBe(0);
      }),
    );
  });
});

describe("newlines", () => {
  it("are found where they are, whatever stands beside them, and only if they are as many as is said", () => {
    // Those that differ from one in the lowest or the highest bit, and what a word borrows from.
    const byte = fc.constantFrom(0x0a, 0x0a, 0x0b, 0x08, 0x8a, 0x00, 0x01, 0x7f, 0x80, 0xff, 0x61);
    fc.assert(
      fc.property(fc.array(byte, { maxLength: 60 }), fc.nat({ max: 9 }), fc.nat({ max: 90 }), (all, from, other) => {
        const bytes = Uint8Array.from([0x0a, ...all, 0x0a]).subarray(1, -1);
        const places = all.flatMap((each, at) => (each === 0x0a ? [at] : []));
        expect(newlinesIn(bytes, places.length)).toEqual(Int32Array.from(places));
        if (other !== places.length) expect(newlinesIn(bytes, other)).toBeNull();
        const next = places.find((at) => at >= from) ?? Math.max(from, bytes.length);
        expect(newlineIn(bytes, wordsOf(bytes), from)).toBe(next);
      }),
      { numRuns: 2_000 },
    );
    expect(newlinesIn(encodeUtf8("\n"), Number.MAX_SAFE_INTEGER)).toBeNull();
  });
});

describe("a search for a record of a fixed size", () => {
  it("finds what a look at each record finds, and nothing that lies across two", () => {
    const answers = { there: 0, across: 0, nowhere: 0 };
    // Only two byte values, so that matches across records are frequent.
    const bit = fc.constantFrom(0, 1);
    const whole = fc.tuple(fc.array(bit, { maxLength: 40 }), fc.array(bit, { minLength: 2, maxLength: 4 }));
    fc.assert(
      fc.property(whole, ([bytes, wanted]) => {
        const size = wanted.length;
        const text = (from: number): string => bytes.slice(from, from + size).join();
        const starts = bytes.map((_, from) => from).filter((from) => text(from) === wanted.join());
        const expected = starts.some((from) => from % size === 0);
        // Both as they are and as views into a larger buffer.
        const padded = Uint8Array.from([1, ...bytes, 1]).subarray(1, -1);
        expect(includesAligned(Uint8Array.from(bytes), Uint8Array.from(wanted))).toBe(expected);
        expect(includesAligned(padded, Uint8Array.from([0, ...wanted]).subarray(1))).toBe(expected);
        answers[expected ? "there" : starts.length > 0 ? "across" : "nowhere"] += 1;
      }),
      { numRuns: 1_000 },
    );
    expect(Math.min(...Object.values(answers))).toBeGreaterThan(20);
  });
});
