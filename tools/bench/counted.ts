/**
 * What `npm run bench -- --only=costs` counted on 2026-12-01, for a million events: the tables of
 * docs/costs.md and docs/compare.md are made from it, and the estimate of a month is compared with
 * it.
 */
import { PRICE_NAMES, type PriceName } from "../../src/base/prices.ts";

export interface Counted {
  eventsPerSecond: number;
  jobs: number;
  /** 0: each event is POSTed by itself. */
  isolates: number;
  billed: { readonly [name in PriceName]: number };
  batches: number;
  /** Parts of messages that the packer got from isolates. */
  parts: number;
}

/**
 * As it prints them: events/s, jobs, isolates, the billed operations in the order of
 * `PRICE_NAMES`, batches, parts.
 */
const PRINTED = `
| 1 | 1 | 1 | 1,019,231 | 83,333 | 26,400 | 381,410 | 2,939 | 657,051 | 5,368,590 | 28,846 | 108,974 | 28,846 | 80,128 | 3,205 |
| 100 | 1 | 1 | 14,989 | 1,033 | 26,400 | 5,096 | 37 | 8,794 | 69,949 | 366 | 1,332 | 366 | 999 | 33 |
| 1,000 | 1 | 1 | 10,464 | 103 | 26,400 | 741 | 5 | 2,159 | 14,852 | 37 | 136 | 37 | 100 | 3 |
| 1 | 3 | 1 | 1,019,231 | 83,333 | 56,800 | 637,821 | 7,227 | 1,214,744 | 11,625,000 | 86,538 | 166,667 | 86,538 | 80,128 | 3,205 |
| 100 | 3 | 1 | 14,989 | 1,033 | 56,800 | 8,327 | 91 | 15,855 | 149,857 | 1,099 | 2,098 | 1,099 | 999 | 33 |
| 1,000 | 3 | 1 | 10,464 | 103 | 56,800 | 1,129 | 10 | 3,797 | 27,459 | 110 | 209 | 110 | 100 | 3 |
| 100 | 10 | 1 | 14,989 | 1,033 | 163,200 | 18,786 | 258 | 38,305 | 399,374 | 3,331 | 4,330 | 3,331 | 999 | 33 |
| 1 | 1 | 4 | 2,076,923 | 89,744 | 26,400 | 432,692 | 4,689 | 727,564 | 6,195,513 | 32,051 | 118,590 | 32,051 | 86,538 | 28,846 |
| 1 | 1 | 20 | 2,292,359 | 93,023 | 26,400 | 787,375 | 19,151 | 714,286 | 6,322,259 | 29,900 | 119,601 | 29,900 | 89,701 | 382,060 |
| 100 | 1 | 2 | 28,533 | 1,035 | 26,400 | 5,874 | 73 | 9,211 | 76,656 | 367 | 1,368 | 367 | 1,001 | 934 |
| 100 | 1 | 4 | 14,989 | 933 | 26,400 | 24,549 | 415 | 8,194 | 79,808 | 333 | 1,232 | 333 | 899 | 19,985 |
| 100 | 1 | 20 | 15,018 | 901 | 26,400 | 104,459 | 413 | 7,943 | 154,252 | 300 | 1,168 | 300 | 868 | 100,087 |
| 1,000 | 1 | 4 | 11,451 | 103 | 26,400 | 741 | 5 | 2,040 | 14,494 | 37 | 136 | 37 | 100 | 10 |
| 1,000 | 1 | 20 | 15,264 | 103 | 26,400 | 8,064 | 47 | 2,096 | 22,838 | 37 | 137 | 37 | 100 | 7,331 |
| 1,000 | 1 | 100 | 8,970 | 103 | 26,400 | 50,539 | 49 | 1,997 | 63,016 | 33 | 133 | 33 | 100 | 49,831 |
| 100 | 1 | 0 | 3,000,000 | 1,010,024 | 26,400 | 24,592 | 71 | 44,206 | 1,272,955 | 301 | 1,010,291 | 301 | 9,991 | 0 |
| 100 | 10 | 0 | 3,000,000 | 1,010,024 | 163,200 | 37,223 | 274 | 75,114 | 1,819,032 | 3,007 | 1,012,998 | 3,007 | 9,991 | 0 |
`;

export const COUNTED: readonly Counted[] = PRINTED.trim()
  .split("\n")
  .map((line) => {
    const [eventsPerSecond = 0, jobs = 0, isolates = 0, ...rest] = line
      .replaceAll(",", "")
      .split("|")
      .slice(1, -1)
      .map(Number);
    const billed = Object.fromEntries(PRICE_NAMES.map((name, i) => [name, rest[i]])) as Counted["billed"];
    const [batches = 0, parts = 0] = rest.slice(PRICE_NAMES.length);
    return { eventsPerSecond, jobs, isolates, billed, batches, parts };
  });

/** @throws if it was not counted. */
export function counted(eventsPerSecond: number, isolates: number, jobs: number): Counted {
  const found = COUNTED.find(
    (each) => each.eventsPerSecond === eventsPerSecond && each.isolates === isolates && each.jobs === jobs,
  );
  if (found === undefined) throw new Error(`not counted: ${eventsPerSecond}/s, ${isolates} isolates, ${jobs} jobs`);
  return found;
}
