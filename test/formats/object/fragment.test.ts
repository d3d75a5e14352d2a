import { crc32 } from "node:zlib";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { concat } from "../../../src/base/bytes.ts";
import { deflateFragment } from "../../../src/base/deflate.ts";
import { FRAGMENT_MAX_RAW_BYTES, FRAGMENT_MAX_RECORDS, FRAGMENT_MIN_DEFLATE_BYTES } from "../../../src/base/limits.ts";
import type { Fragment } from "../../../src/formats/object/encoder.ts";
import { FragmentBuilder } from "../../../src/formats/object/fragment.ts";
import { contentOf, GZIP_HEADER, gzipTrailer, joinContents, storedBlocks } from "../../../src/formats/object/gzip.ts";
import { textOf } from "../../ship/consumer/scripted.ts";
import { readSingleMember } from "../../support/gzip-member.ts";
import { noise } from "../record/samples.ts";

interface Entry {
  text: string;
  day: number;
  eventMs: number;
  takenInMs: number;
}

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

function build(entries: readonly Entry[], delimiter = ""): Fragment[] {
  const builder = new FragmentBuilder(utf8(delimiter));
  for (const { text, day, eventMs, takenInMs } of entries) builder.add(text, day, eventMs, takenInMs);
  return builder.finish();
}

/** One object of fragments, with a text before each of them. */
function member(fragments: readonly Fragment[], seam = ""): Uint8Array {
  const stored = storedBlocks(utf8(seam));
  const parts = fragments.flatMap(({ body, deflated }) => [stored, deflated ? body : deflateFragment(body)]);
  const contents = fragments.flatMap((fragment) => [contentOf(utf8(seam)), fragment]);
  return concat([GZIP_HEADER, ...parts, gzipTrailer(joinContents(contents))]);
}

const entry: fc.Arbitrary<Entry> = fc
  .record({
    size: fc.oneof(
      { weight: 5, arbitrary: fc.integer({ min: 0, max: 2_000 }) },
      { weight: 1, arbitrary: fc.integer({ min: 2_000, max: 400_000 }) },
    ),
    char: fc.constantFrom("x", "€", "noise"),
    day: fc.integer({ min: 20_000, max: 20_003 }),
    eventMs: fc.nat({ max: 86_399_999 }),
    takenInMs: fc.nat(),
  })
  .map(({ size, char, day, eventMs, takenInMs }) => ({
    text: `${char === "noise" ? noise(size, eventMs) : char.repeat(size / (char === "€" ? 3 : 1))}\n`,
    day,
    eventMs: day * 86_400_000 + eventMs,
    takenInMs,
  }));

const entries = fc.array(entry, { maxLength: 60 });

/** What stands between two records; a byte order mark is a delimiter like any other. */
const delimiter = fc.oneof(fc.constantFrom("", ",", "\ufeff", "€".repeat(4_096)), fc.string({ unit: "binary" }));

describe("fragments", () => {
  it("hold every record once, of one day each, in the order in which that day's records came", () => {
    fc.assert(
      fc.property(entries, delimiter, (wanted, between) => {
        const fragments = build(wanted, between);
        for (const day of new Set([...wanted, ...fragments].map((each) => each.day))) {
          const written = fragments
            .filter((fragment) => fragment.day === day)
            .map(textOf)
            .join(between);
          expect(written).toBe(
            wanted
              .filter((each) => each.day === day)
              .map(({ text }) => text)
              .join(between),
          );
        }
      }),
      { numRuns: 50 },
    );
  });

  it("say of themselves what they hold", () => {
    fc.assert(
      fc.property(entries, delimiter, (wanted, between) => {
        // Per day, the fragments take that day's records in order: what each holds can be counted
        // off.
        const left = new Map<number, Entry[]>(Map.groupBy(wanted, ({ day }) => day));
        for (const fragment of build(wanted, between)) {
          const held = left.get(fragment.day)?.splice(0, fragment.records) ?? [];
          const raw = utf8(held.map(({ text }) => text).join(between));
          expect({ ...fragment, body: null }).toEqual({
            day: fragment.day,
            deflated: raw.length >= FRAGMENT_MIN_DEFLATE_BYTES,
            records: held.length,
            rawBytes: raw.length,
            crc: crc32(raw),
            firstEventMs: Math.min(...held.map(({ eventMs }) => eventMs)),
            lastEventMs: Math.max(...held.map(({ eventMs }) => eventMs)),
            oldestTakenMs: Math.min(...held.map(({ takenInMs }) => takenInMs)),
            body: null,
          });
        }
        expect([...left.values()].flat()).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });

  it("never pass their limits, but for one record that is larger by itself", () => {
    fc.assert(
      fc.property(entries, delimiter, (wanted, between) => {
        for (const { records, rawBytes } of build(wanted, between)) {
          expect(records).toBeGreaterThan(0);
          expect(records).toBeLessThanOrEqual(FRAGMENT_MAX_RECORDS);
          if (records > 1) expect(rawBytes).toBeLessThanOrEqual(FRAGMENT_MAX_RAW_BYTES);
        }
      }),
      { numRuns: 50 },
    );
  });

  it("carry no more than their own bytes into a durable object call", () => {
    fc.assert(
      fc.property(entries, (wanted) => {
        for (const { body } of build(wanted)) expect(body.buffer.byteLength).toBe(body.byteLength);
      }),
      { numRuns: 20 },
    );
  });

  it("of any number, joined, are one strict gzip member with the same bytes", () => {
    fc.assert(
      fc.property(entries, delimiter, (wanted, seam) => {
        const fragments = build(wanted, seam);
        const read = readSingleMember(member(fragments, seam));
        expect(read.ok ? "one member" : read.reason).toBe("one member");
        if (!read.ok) return;
        const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(read.raw);
        expect(text).toBe(fragments.map((fragment) => seam + textOf(fragment)).join(""));
        expect(read.header).toBe("1f8b08000000000000ff");
      }),
      { numRuns: 50 },
    );
  });

  const plain = (text: string, n = 0): Entry => ({ text, day: 1, eventMs: n, takenInMs: n });
  const edges: [what: string, entries: Entry[], records: number[], delimiter?: string][] = [
    ["nothing makes none", [], []],
    ["a thousand records make one", Array.from({ length: 1_000 }, () => plain("x\n")), [1_000]],
    ["one more opens the next", Array.from({ length: 1_001 }, () => plain("x\n")), [1_000, 1]],
    ["exactly a million bytes make one", [plain("x".repeat(999_999)), plain("\n")], [2]],
    ["one byte more opens the next", [plain("x".repeat(1_000_000)), plain("\n")], [1, 1]],
    ["bytes count, not characters", [plain("€".repeat(300_000)), plain("x".repeat(100_001))], [1, 1]],
    ["a record that is larger is alone", [plain("x\n"), plain("x".repeat(1_040_000)), plain("x\n")], [1, 1, 1]],
    ["a delimiter counts, in bytes", [plain("x".repeat(999_996)), plain("x")], [2], "€"],
    ["a delimiter may be what is too much", [plain("x".repeat(999_997)), plain("x")], [1, 1], "€"],
    ["there is none before the first", [plain("x".repeat(1_000_000))], [1], "€"],
    ["records of no bytes have theirs", [plain(""), plain("x".repeat(999_999)), plain("")], [2, 1], ","],
  ];

  it.each(edges)("close where the limit is: %s", (_what, wanted, records, between = "") => {
    expect(build(wanted, between).map((fragment) => fragment.records)).toEqual(records);
  });

  it("have none between records where none is asked for", () => {
    const builder = new FragmentBuilder();
    for (const text of ["a", "b"]) builder.add(text, 1, 0, 0);
    expect(builder.finish().map(textOf)).toEqual(["ab"]);
  });

  it("stay raw below the size that is worth deflating, and are deflated from there on", () => {
    const sizes = [FRAGMENT_MIN_DEFLATE_BYTES - 1, FRAGMENT_MIN_DEFLATE_BYTES];
    expect(sizes.map((size) => build([plain("x".repeat(size))])[0]?.deflated)).toEqual([false, true]);
  });

  it("of days that take turns are kept apart, each growing on", () => {
    const wanted = Array.from({ length: 100 }, (_, i) => ({ text: `${i}\n`, day: i % 3, eventMs: i, takenInMs: i }));
    expect(build(wanted).map(({ day, records }) => [day, records])).toEqual([
      [0, 34],
      [1, 33],
      [2, 33],
    ]);
  });
});

describe("stored blocks", () => {
  it("are a header, the length and its complement, and the bytes", () => {
    expect([...storedBlocks(utf8("a€"))]).toEqual([0, 4, 0, 0xfb, 0xff, 0x61, 0xe2, 0x82, 0xac]);
    expect([...storedBlocks(new Uint8Array(0x1234))].slice(0, 5)).toEqual([0, 0x34, 0x12, 0xcb, 0xed]);
  });

  it("hold a part of a larger buffer as they hold a whole one", () => {
    expect(storedBlocks(utf8("xabcx").subarray(1, 4))).toEqual(storedBlocks(utf8("abc")));
  });
});

it("the CRC of contents is that of the standard", () => {
  expect(contentOf(utf8("123456789"))).toEqual({ rawBytes: 9, crc: 0xcbf43926 });
});
