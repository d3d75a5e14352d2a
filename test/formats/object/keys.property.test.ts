import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeUtf8, utf8Length } from "../../../src/base/bytes.ts";
import { TIME_MAX_MS } from "../../../src/base/limits.ts";
import { dayOf } from "../../../src/base/time.ts";
import {
  dayStamp,
  fillOf,
  folderOf,
  keyBelow,
  objectName,
  objectTag,
  PROBE_DAY,
  timeStamp,
} from "../../../src/formats/object/keys.ts";
import { parseDestination } from "../../../src/ship/destinations/parse.ts";
import { PRODUCTION } from "../../ship/destinations/context.ts";

const DAY_MS = 86_400_000;
const DAYS = Math.floor(TIME_MAX_MS / DAY_MS);

/**
 * Every year from 1970 to 9999 alike, and the last and first moments of seconds and days more often
 * than by chance.
 */
const time = fc.oneof(
  fc.integer({ min: 0, max: TIME_MAX_MS }),
  fc
    .tuple(fc.integer({ min: 0, max: DAYS }), fc.constantFrom(0, 1, 999, 1_000, DAY_MS - 1_000, DAY_MS - 1))
    .map(([day, ms]) => day * DAY_MS + ms),
  fc.constantFrom(0, TIME_MAX_MS, Date.UTC(2000, 1, 29, 23, 59, 59, 999), Date.UTC(2100, 1, 28, 23, 59, 59, 999)),
);

/** First and last event of an object: of one day. */
const span = fc
  .tuple(time, fc.nat({ max: DAY_MS - 1 }))
  .map(([ms, other]) => [ms, dayOf(ms) * DAY_MS + other].sort((a, b) => a - b) as [number, number]);

/**
 * What a path is made of: what has more bytes than characters, what a pattern would take for its
 * own, and what only looks like the date.
 */
const piece = fc.constantFrom(
  "{DATE}",
  "{DATE}",
  "date={DATE}",
  "{DATE",
  "{date}",
  "}",
  "/",
  "//",
  "$&",
  "$1",
  "a",
  "%2F",
  "..x",
  "+ ",
  "é",
  "€",
  "\u{1f600}",
);
const path = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));

/** A destination's path as it is read; null: it is refused. */
function accepted(text: string): string | null {
  const parsed = parseDestination(`s3://traces/${text}?region=auto&access-key-id=a&secret-access-key=b`, PRODUCTION);
  return parsed.ok ? parsed.value.path : null;
}

/** The parts of a time in UTC, as the platform's calendar has them. */
function parts(timeMs: number): { day: string; clock: string } {
  const date = new Date(timeMs);
  const two = (value: number): string => `${value}`.padStart(2, "0");
  const day = `${date.getUTCFullYear()}`.padStart(4, "0") + two(date.getUTCMonth() + 1) + two(date.getUTCDate());
  return { day, clock: two(date.getUTCHours()) + two(date.getUTCMinutes()) + two(date.getUTCSeconds()) };
}

/** As object stores list keys: by their bytes. */
function isBefore(a: string, b: string): boolean {
  const [x, y] = [encodeUtf8(a), encodeUtf8(b)];
  const at = x.findIndex((byte, i) => byte !== y[i]);
  return at === -1 ? x.length < y.length : (x[at] ?? -1) < (y[at] ?? -1);
}

function keyOf(below: string, [first, last]: readonly [number, number], tag: string): string {
  return keyBelow(below, fillOf(dayOf(first), first, ""), objectName(first, last, tag, ".log.gz"));
}

describe("the times in a key", () => {
  it("are those of the calendar, rounded down to the second, in every year there may be", () => {
    fc.assert(
      fc.property(time, (ms) => {
        const { day, clock } = parts(ms);
        expect(dayStamp(dayOf(ms))).toBe(day);
        expect(timeStamp(ms)).toBe(`${day}T${clock}Z`);
        expect([dayOf(ms) * DAY_MS <= ms, (dayOf(ms) + 1) * DAY_MS > ms]).toEqual([true, true]);
      }),
      { numRuns: 2_000 },
    );
  });

  it("can be read back: an object's name says its seconds and its tag, and nothing else could be meant", () => {
    const hex = fc.stringMatching(/^[0-9a-f]{8}$/);
    fc.assert(
      fc.property(span, hex, ([first, last], tag) => {
        const name = objectName(first, last, tag, ".log.gz");
        const [, start = "", end = "", read] =
          /^(\d{8}T\d{6}Z)_(\d{8}T\d{6}Z)_([0-9a-f]{8})\.log\.gz$/.exec(name) ?? [];
        const ms = (stamp: string): number =>
          Date.parse(stamp.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, "$1-$2-$3T$4:$5:$6Z"));
        expect([ms(start), ms(end), read]).toEqual([first - (first % 1_000), last - (last % 1_000), tag]);
      }),
    );
  });
});

describe("the key of an object", () => {
  it("is its path with the day wherever {DATE} stands, and its name below that", () => {
    fc.assert(
      fc.property(path, span, (text, events) => {
        const below = accepted(text);
        fc.pre(below !== null);
        const day = parts(events[0]).day;
        const name = objectName(...events, "0123abcd", ".log.gz");
        const folder = below.split("{DATE}").join(day);
        expect(keyOf(below, events, "0123abcd")).toBe(folder === "" ? name : `${folder}/${name}`);
        expect(folderOf(below, fillOf(dayOf(events[0]), events[0], ""))).toBe(folder);
      }),
      { numRuns: 1_000 },
    );
  });

  it("begins with no slash, and no segment of it is swallowed by a URL", () => {
    fc.assert(
      fc.property(path, span, (text, events) => {
        const below = accepted(text);
        fc.pre(below !== null);
        const key = keyOf(below, events, "00000000");
        expect(key.startsWith("/")).toBe(false);
        const segments = key.split("/").map(encodeURIComponent);
        const url = new URL(`https://store.example/traces/${segments.join("/")}`);
        expect(decodeURIComponent(url.pathname)).toBe(`/traces/${key}`);
      }),
      { numRuns: 1_000 },
    );
  });

  it("sorts by the second of its first event, whatever the path, the end and the tag", () => {
    const hex = fc.stringMatching(/^[0-9a-f]{8}$/);
    // Often within minutes of each other, where only the name tells them apart.
    const two = fc.oneof(
      fc.tuple(span, span),
      fc
        .tuple(span, fc.nat({ max: 200_000 }))
        .map(([one, later]): [[number, number], [number, number]] => [
          one,
          [Math.min(one[0] + later, TIME_MAX_MS), Math.min(one[0] + later, TIME_MAX_MS)],
        ]),
    );
    fc.assert(
      fc.property(path, two, hex, hex, (text, [one, other], tag, otherTag) => {
        const below = accepted(text);
        fc.pre(below !== null);
        const [a, b] = [Math.floor(one[0] / 1_000), Math.floor(other[0] / 1_000)];
        fc.pre(a !== b);
        expect(isBefore(keyOf(below, one, tag), keyOf(below, other, otherTag))).toBe(a < b);
      }),
      { numRuns: 1_000 },
    );
  });

  it("has at most 1,024 bytes below every destination that is taken", () => {
    const answers = { taken: 0, refused: 0, longest: 0 };
    const long = fc
      .tuple(fc.array(piece, { minLength: 1, maxLength: 6 }), fc.integer({ min: 1, max: 170 }), fc.nat({ max: 60 }))
      .map(([pieces, times, more]) => `${pieces.join("").repeat(times)}${"x".repeat(more)}`);
    fc.assert(
      fc.property(long, time, (text, ms) => {
        const below = accepted(text);
        answers[below === null ? "refused" : "taken"] += 1;
        if (below === null) return;
        const keys = [
          keyOf(below, [ms, ms], "ffffffff"),
          keyBelow(below, PROBE_DAY, "test.txt.gz"),
          keyBelow(below, PROBE_DAY, "ownership-challenge-ffffffff.txt"),
        ];
        answers.longest = Math.max(answers.longest, ...keys.map(utf8Length));
        for (const key of keys) expect(utf8Length(key)).toBeLessThanOrEqual(1_024);
      }),
      { numRuns: 2_000 },
    );
    expect(Math.min(answers.taken, answers.refused)).toBeGreaterThan(100);
    // Keys came near the limit, or this would say little.
    expect(answers.longest).toBeGreaterThan(900);
  });
});

describe("the tags of a log", () => {
  const SIZE = 2n ** 32n;
  const tagOf = (log: string, number: number): bigint => BigInt(`0x${objectTag(log, number)}`);

  /**
   * What gives 1 with an odd number, modulo 2^32: each of Newton's steps doubles the bits that are
   * right.
   */
  function inverse(odd: bigint): bigint {
    let x = odd;
    for (let i = 0; i < 5; i++) x = (((x * (2n - odd * x)) % SIZE) + SIZE) % SIZE;
    return x;
  }

  it("are a bijection of the numbers below 2^32: each number can be computed from its tag", () => {
    const number = fc.oneof(fc.nat({ max: 1_000 }), fc.integer({ min: 0, max: 2 ** 32 - 1 }));
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), number, (log, n) => {
        const zero = tagOf(log, 0);
        const step = (tagOf(log, 1) - zero + SIZE) % SIZE;
        expect(step % 2n).toBe(1n);
        const offset = (tagOf(log, n) - zero + SIZE) % SIZE;
        expect((offset * inverse(step)) % SIZE).toBe(BigInt(n));
        expect(objectTag(log, n)).toMatch(/^[0-9a-f]{8}$/);
      }),
      { numRuns: 1_000 },
    );
  });

  it("never repeat over the first hundred thousand objects", () => {
    const tags = new Set(Array.from({ length: 100_000 }, (_, number) => objectTag("log", number)));
    expect(tags.size).toBe(100_000);
  });

  it("are others in another log, for the same number", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string(), { minLength: 2, maxLength: 50 }), fc.nat(), (logs, number) => {
        // Of fifty logs, two share a tag with a chance of 3·10^-7.
        expect(new Set(logs.map((log) => objectTag(log, number))).size).toBe(logs.length);
      }),
      { numRuns: 50 },
    );
  });
});
