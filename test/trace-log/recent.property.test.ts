import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeUtf8, utf8Length } from "../../src/bytes.ts";
import { type RecentLimits, RecentRing } from "../../src/trace-log/recent.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const ndjson = (lines: readonly string[]): Uint8Array => encodeUtf8(lines.map((line) => `${line}\n`).join(""));

function held(ring: RecentRing): { lines: string[]; tooLarge: number } {
  const all = ring.all();
  return { lines: decoder.decode(all.ndjson).split("\n").slice(0, -1), tooLarge: all.tooLarge };
}

const line = fc.string({ unit: fc.constantFrom("a", "é", "€", "😀", "\ufeff"), maxLength: 12 });
const limits: fc.Arbitrary<RecentLimits> = fc.record({
  events: fc.integer({ min: 1, max: 8 }),
  bytes: fc.integer({ min: 1, max: 100 }),
  eventBytes: fc.integer({ min: 1, max: 40 }),
});
type Step = { add: string[]; tooLarge: number } | { drop: string };
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ add: fc.array(line, { maxLength: 12 }), tooLarge: fc.nat({ max: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ drop: fc.constantFrom("a", "é", "😀") }) },
);

/** A model: all that was ever added, in order. What is held is computed each time. */
function slow(
  steps: readonly Step[],
  { events, bytes, eventBytes }: RecentLimits,
): { lines: string[]; tooLarge: number } {
  let lines: string[] = [];
  let tooLarge = 0;
  for (const each of steps) {
    if ("drop" in each) {
      lines = lines.filter((text) => !text.includes(each.drop));
      continue;
    }
    const fit = each.add.filter((text) => utf8Length(text) <= eventBytes);
    tooLarge += each.tooLarge + each.add.length - fit.length;
    lines = [...lines, ...fit].slice(-events);
    while (utf8Length(lines.join("")) > bytes) lines.shift();
  }
  return { lines, tooLarge };
}

describe("the ring of recent records", () => {
  it("holds the newest, within every one of its bounds, whatever comes", () => {
    fc.assert(
      fc.property(limits, fc.array(step, { maxLength: 12 }), (bounds, steps) => {
        const ring = new RecentRing(bounds);
        for (const [i, each] of steps.entries()) {
          if ("drop" in each) ring.keep((text) => !text.includes(each.drop));
          else ring.add({ ndjson: ndjson(each.add), tooLarge: each.tooLarge });
          expect(held(ring)).toEqual(slow(steps.slice(0, i + 1), bounds));
        }
      }),
      { numRuns: 500 },
    );
  });

  it("has, by itself, 200 records, 2 MiB, and 32 KiB each", () => {
    const ring = new RecentRing();
    ring.add({ ndjson: ndjson(Array.from({ length: 250 }, (_, i) => `${i}`)), tooLarge: 0 });
    expect(held(ring).lines).toEqual(Array.from({ length: 200 }, (_, i) => `${i + 50}`));
    // The last one is a byte too large, with half as many characters.
    const full = "x".repeat(32 * 1024);
    ring.add({ ndjson: ndjson([...Array.from({ length: 70 }, () => full), `${"é".repeat(16 * 1024)}x`]), tooLarge: 0 });
    expect(held(ring)).toEqual({ lines: Array.from({ length: 64 }, () => full), tooLarge: 1 });
  });

  it("keeps nothing of the buffer that records came in", () => {
    const ring = new RecentRing();
    const came = ndjson(["first", "second"]);
    ring.add({ ndjson: came, tooLarge: 0 });
    came.fill(0x78);
    expect(held(ring).lines).toEqual(["first", "second"]);
  });

  it("takes what does not end for no line", () => {
    const ring = new RecentRing();
    ring.add({ ndjson: encodeUtf8("whole\nhalf"), tooLarge: 0 });
    expect(held(ring).lines).toEqual(["whole"]);
  });
});
