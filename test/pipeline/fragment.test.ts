import { crc32 } from "node:zlib";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { concat } from "../../src/bytes.ts";
import { FRAGMENT_MAX_RAW_BYTES, FRAGMENT_MAX_RECORDS, FRAGMENT_MIN_DEFLATE_BYTES } from "../../src/limits.ts";
import { crc32Combine } from "../../src/pipeline/crc32-combine.ts";
import { deflateFragment, type Fragment, FragmentBuilder } from "../../src/pipeline/fragment.ts";
import { GZIP_HEADER, GZIP_TRAILER_BYTES, gzipTrailer } from "../../src/pipeline/gzip.ts";
import { noise } from "../record/samples.ts";
import { readSingleMember } from "../support/gzip-member.ts";
import { textOf } from "./scripted.ts";

interface Entry {
  text: string;
  day: number;
  eventMs: number;
  takenInMs: number;
}

function build(entries: readonly Entry[]): Fragment[] {
  const builder = new FragmentBuilder();
  for (const { text, day, eventMs, takenInMs } of entries) builder.add(text, day, eventMs, takenInMs);
  return builder.finish();
}

/** One object of fragments, as a cut puts it together. */
function member(fragments: readonly Fragment[]): Uint8Array {
  const crc = fragments.reduce((sum, fragment) => crc32Combine(sum, fragment.crc, fragment.rawBytes), 0);
  const rawBytes = fragments.reduce((sum, fragment) => sum + fragment.rawBytes, 0);
  const parts = fragments.map(({ body, deflated }) => (deflated ? body : deflateFragment(body)));
  return concat([GZIP_HEADER, ...parts, gzipTrailer(crc, rawBytes)]);
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

describe("fragments", () => {
  it("hold every record once, of one day each, in the order in which that day's records came", () => {
    fc.assert(
      fc.property(entries, (wanted) => {
        const fragments = build(wanted);
        for (const day of new Set([...wanted, ...fragments].map((each) => each.day))) {
          const written = fragments
            .filter((fragment) => fragment.day === day)
            .map(textOf)
            .join("");
          expect(written).toBe(
            wanted
              .filter((each) => each.day === day)
              .map(({ text }) => text)
              .join(""),
          );
        }
      }),
      { numRuns: 50 },
    );
  });

  it("say of themselves what they hold", () => {
    fc.assert(
      fc.property(entries, (wanted) => {
        // Per day, the fragments take that day's records in order: what each holds can be counted off.
        const left = new Map<number, Entry[]>(Map.groupBy(wanted, ({ day }) => day));
        for (const fragment of build(wanted)) {
          const held = left.get(fragment.day)?.splice(0, fragment.records) ?? [];
          const raw = new TextEncoder().encode(held.map(({ text }) => text).join(""));
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
      fc.property(entries, (wanted) => {
        for (const { records, rawBytes } of build(wanted)) {
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
      fc.property(entries, (wanted) => {
        const fragments = build(wanted);
        const read = readSingleMember(member(fragments));
        expect(read.ok ? "one member" : read.reason).toBe("one member");
        if (!read.ok) return;
        expect(new TextDecoder().decode(read.raw)).toBe(fragments.map(textOf).join(""));
        expect(read.header).toBe("1f8b08000000000000ff");
      }),
      { numRuns: 50 },
    );
  });

  it("join in any order, though their bytes were deflated apart", async () => {
    const texts = ["a", "b", "c"].map((char) => char.repeat(200_000));
    const fragments = build(texts.map((text, i) => ({ text, day: i, eventMs: i, takenInMs: i })));
    expect(fragments.map(({ deflated }) => deflated)).toEqual([true, true, true]);
    // The runtime's own reader, too: not only the one these tests are built on.
    const stream = new Response(member(fragments.reverse())).body?.pipeThrough(new DecompressionStream("gzip"));
    expect(await new Response(stream).text()).toBe(texts.reverse().join(""));
  });

  const plain = (text: string, n = 0): Entry => ({ text, day: 1, eventMs: n, takenInMs: n });
  const edges: [what: string, entries: Entry[], records: number[]][] = [
    ["nothing makes none", [], []],
    ["a thousand records make one", Array.from({ length: 1_000 }, () => plain("x\n")), [1_000]],
    ["one more opens the next", Array.from({ length: 1_001 }, () => plain("x\n")), [1_000, 1]],
    ["exactly a million bytes make one", [plain("x".repeat(999_999)), plain("\n")], [2]],
    ["one byte more opens the next", [plain("x".repeat(1_000_000)), plain("\n")], [1, 1]],
    ["bytes count, not characters", [plain("€".repeat(300_000)), plain("x".repeat(100_001))], [1, 1]],
    ["a record that is larger is alone", [plain("x\n"), plain("x".repeat(1_040_000)), plain("x\n")], [1, 1, 1]],
  ];

  it.each(edges)("close where the limit is: %s", (_what, wanted, records) => {
    expect(build(wanted).map((fragment) => fragment.records)).toEqual(records);
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

describe("the end of a gzip member", () => {
  it("is an empty block, the CRC-32 and the length, least significant byte first", () => {
    expect([...gzipTrailer(0x01020304, 0x0a0b0c0d)]).toEqual([3, 0, 4, 3, 2, 1, 0x0d, 0x0c, 0x0b, 0x0a]);
    expect(gzipTrailer(0, 0).length).toBe(GZIP_TRAILER_BYTES);
  });

  it("holds the length modulo 2^32", () => {
    expect([...gzipTrailer(0, 2 ** 32 + 5).subarray(6)]).toEqual([5, 0, 0, 0]);
  });

  it("makes an empty member readable", () => {
    const read = readSingleMember(concat([GZIP_HEADER, gzipTrailer(0, 0)]));
    expect(read.ok && read.raw.length).toBe(0);
  });
});
