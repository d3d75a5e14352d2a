/** What a search says of its answer: the same on the page and in the terminal. */
import { expect, it } from "vitest";
import { inWords, notSearchedLines } from "../../../src/operate/search/not-searched.ts";
import {
  faultPlace,
  lookedSince,
  lookedWords,
  measureText,
  nothingWords,
  soFarWords,
  widerWays,
} from "../../../src/operate/search/words.ts";

const NOON = Date.parse("2100-11-20T12:00:00Z");
const HOUR_MS = 3_600_000;

it("names what a job has in common for one reason together", () => {
  const object = (job: number, object: number | null, why = "gone") => ({ job, object, why });
  const left = inWords([
    ...Array.from({ length: 12 }, (_, i) => object(3, i + 1)),
    object(4, 1),
    object(5, null),
    object(6, null),
    { ...object(7, 2, "without a JSON record"), lines: 1 },
    { ...object(7, 3, "without a JSON record"), lines: 1_200 },
    { ...object(7, null, "is not as it was signed"), manifest: "a" },
    { ...object(7, null, "is not as it was signed"), manifest: "b" },
    { job: null, object: null, why: "too old" },
  ]);
  expect(left.map(({ what, why }) => `${what}: ${why}`)).toEqual([
    "12 objects of job 3 (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …): gone",
    "object 1 of job 4: gone",
    "job 5: gone",
    "job 6: gone",
    "2 objects of job 7 (2, 3): 1,201 lines without a JSON record",
    "2 manifests of job 7 (a, b): is not as it was signed",
    "a part of the time: too old",
  ]);
  expect(left[0]?.objects).toHaveLength(12);
  // Of two answers, that is told once.
  expect(notSearchedLines([...left, ...left])).toEqual([
    "12 objects of job 3 (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …), object 1 of job 4, jobs 5, 6: gone",
    "2 objects of job 7 (2, 3): 1,201 lines without a JSON record",
    "2 manifests of job 7 (a, b): is not as it was signed",
    "a part of the time: too old",
  ]);
});

it("gives a hundred reasons at most", () => {
  const left = inWords(Array.from({ length: 103 }, (_, i) => ({ job: 1, object: i, why: `${i}` })));
  expect(left).toHaveLength(101);
  expect(left.at(-1)).toEqual({ what: "3 more", why: "too many reasons to name", job: null });
});

it("says how far a search is, over its answers", () => {
  const first = { objects: 60, read: 6, skipped: 28, bytes_read: 30_000, sketch_bytes: 5_500 };
  expect(lookedWords(first)).toBe("Searched 34 of 60 files (35.5 kB); 28 could be ruled out.");
  const rest = { objects: 26, read: 26, skipped: 0, bytes_read: 1_000, sketch_bytes: 0 };
  expect(lookedWords(lookedSince(first, rest))).toBe("Searched 60 files (36.5 kB); 28 could be ruled out.");
  const one = { objects: 1, read: 1, skipped: 0, bytes_read: 0, sketch_bytes: 0 };
  expect(lookedWords(one)).toBe("Searched 1 file (0 B).");
});

it.each([
  ["failed", "Searched for records that failed from 2100-11-20 11:00 to 12:00 UTC."],
  ["exception", "Searched for records that ended with exception from 2100-11-20 11:00 to 12:00 UTC."],
  ["!ok", "Searched for records that ended with anything but ok from 2100-11-20 11:00 to 12:00 UTC."],
  ["", "Searched from 2100-11-20 11:00 to 12:00 UTC."],
])("says what was searched where nothing is found: %j", (outcome, words) => {
  expect(nothingWords(outcome, NOON - HOUR_MS, NOON)).toBe(`${words} New events take about 10 s to arrive.`);
});

it("knows what may find more", () => {
  const all = { outcome: "ok", function: "shop", filter: "{}", job: "1" };
  expect(widerWays(all, NOON - HOUR_MS, NOON, true)).toEqual([
    { label: "any outcome", without: "outcome" },
    { label: "the last day", last: "24h" },
    { label: "all Workers", without: "function" },
    { label: "no further conditions", without: "filter" },
    { label: "all jobs", without: "job" },
  ]);
  const none = { outcome: "", function: "", filter: "", job: "" };
  expect(widerWays(none, NOON - 10, NOON, false)).toEqual([
    { label: "60 min more before and after", span: [NOON - 10 - HOUR_MS, NOON + HOUR_MS] },
  ]);
  expect(widerWays(none, NOON - 100 * 24 * HOUR_MS, NOON, true)).toEqual([]);
});

it("shows where a fault is, and no more than fits a line", () => {
  expect(faultPlace('a "b', 2)).toEqual(["a ", '"b']);
  expect(faultPlace("a".repeat(100) + "b".repeat(100), 100)).toEqual([`…${"a".repeat(60)}`, `${"b".repeat(60)}…`]);
  expect(faultPlace(`${"\u{1f600}".repeat(50)}x`, 61)[0]).toMatch(/^…\ufffd/);
});

it("tells from which time on a count is whole", () => {
  const at = "2100-11-20T11:20:05.123Z";
  expect(soFarWords(at, "newest")).toBe(" so far; complete from 2100-11-20 11:20:05 UTC on");
  expect(soFarWords(at, "oldest")).toBe(" so far; complete up to 2100-11-20 11:20:05 UTC");
  expect(soFarWords(null, "newest")).toBe(" so far");
});

it.each([
  [{ op: "count" }, 12_345, "12,345"],
  [{ op: "p95", of: "took" }, 1_840, "1.84 s"],
  [{ op: "max", of: "cpu" }, 12, "12 ms"],
  [{ op: "sum", of: "took" }, 3_600_001, "3,600,001 ms"],
  [{ op: "distinct", of: "took" }, 1_234, "1,234"],
  [{ op: "avg", of: "status" }, 201.333, "201.3"],
  [{ op: "avg", of: "status" }, null, "-"],
] as const)("shows the value of %j: %s as %s", (measure, value, text) => {
  expect(measureText(measure, value)).toBe(text);
});
