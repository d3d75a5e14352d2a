import fc from "fast-check";
import { describe, it } from "vitest";
import { dayStamp, fillOf, keyBelow, objectName, objectTag, timeStamp } from "../../../src/formats/object/keys.ts";
import type { FailureKind } from "../../../src/ship/destinations/failure.ts";
import { disposition, failureWords } from "../../../src/ship/reader/disposition.ts";

describe("keys", () => {
  it.for([
    [0, "19700101", "19700101T000000Z"],
    [951_782_399_999, "20000228", "20000228T235959Z"],
    [951_868_799_999, "20000229", "20000229T235959Z"],
    [1_795_176_000_999, "20261120", "20261120T120000Z"],
    [253_402_300_799_999, "99991231", "99991231T235959Z"],
  ] as const)("time %i is day %s and second %s", ([ms, day, second], { expect }) => {
    expect(dayStamp(Math.floor(ms / 86_400_000))).toBe(day);
    expect(timeStamp(ms)).toBe(second);
  });

  it.for([
    ["logs/{DATE}", "logs/20261120/name"],
    ["{DATE}", "20261120/name"],
    ["a/date={DATE}/b", "a/date=20261120/b/name"],
    ["{DATE}/{DATE}", "20261120/20261120/name"],
    ["plain/path", "plain/path/name"],
    ["", "name"],
    ["$&/{DATE}", "$&/20261120/name"],
    ["{YYYY}/{MM}/{DD}/{HOUR}", "2026/11/20/14/name"],
    ["dt={DATE_ISO}/hour={HOUR}", "dt=2026-11-20/hour=14/name"],
    ["{SCRIPT}/{DATE}", "a%2Fb/20261120/name"],
    ["{date}/{SCRIPT", "{date}/{SCRIPT/name"],
  ] as const)("below %j is %s", ([path, key], { expect }) => {
    expect(keyBelow(path, fillOf(20_777, Date.UTC(2026, 10, 20, 14, 16), "/a%2Fb"), "name")).toBe(key);
  });

  it("sort by the time of their first event", ({ expect }) => {
    fc.assert(
      fc.property(fc.tuple(fc.nat(253_402_300_799_999), fc.nat(253_402_300_799_999)), ([a, b]) => {
        const [first, second] = [Math.min(a, b), Math.max(a, b)].map((ms) => Math.floor(ms / 1_000) * 1_000) as [
          number,
          number,
        ];
        fc.pre(first !== second);
        expect(
          objectName(first, first, "ffffffff", ".log.gz") < objectName(second, second, "00000000", ".log.gz"),
        ).toBe(true);
      }),
    );
  });

  it("never share a tag within a log, and have eight hex digits", ({ expect }) => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.uniqueArray(fc.integer({ min: 1, max: 2 ** 32 - 1 }), { minLength: 2 }),
        (log, numbers) => {
          const tags = numbers.map((number) => objectTag(log, number));
          expect(new Set(tags).size).toBe(numbers.length);
          for (const tag of tags) expect(tag).toMatch(/^[0-9a-f]{8}$/);
        },
      ),
    );
  });
});

describe("what follows from a failure", () => {
  const busy = (retryAfterS: number | null = null): FailureKind => ({ kind: "busy", words: "HTTP 503", retryAfterS });
  const parked: FailureKind = { kind: "misconfigured", words: "HTTP 403" };

  it.for([
    [busy(), 1, 0, { do: "retry", delayMs: 2_500 }],
    [busy(), 1, 1, { do: "retry", delayMs: 5_000 }],
    [busy(), 4, 1, { do: "retry", delayMs: 40_000 }],
    [busy(), 1_000, 1, { do: "retry", delayMs: 900_000 }],
    [busy(3_600), 1, 0, { do: "retry", delayMs: 3_600_000 }],
    [busy(1), 5, 1, { do: "retry", delayMs: 80_000 }],
    [{ kind: "unreachable", words: "timeout" }, 2, 1, { do: "retry", delayMs: 10_000 }],
    [parked, 1, 1, { do: "park", delayMs: 60_000 }],
    [parked, 50, 1, { do: "park", delayMs: 300_000 }],
    [{ kind: "unusable", words: "no key" }, 50, 0, { do: "park", delayMs: 150_000 }],
    [{ kind: "refused", words: "HTTP 413" }, 1, 0, { do: "set_aside" }],
  ] as const satisfies readonly (readonly [FailureKind, number, number, object])[])(
    "%j, failure %i, chance %d",
    ([error, attempt, random, expected], { expect }) => {
      expect(disposition(error, attempt, random)).toEqual(expected);
    },
  );

  it("is said in words that tell what will happen", ({ expect }) => {
    expect(failureWords(busy(), "retry")).toBe("upload failed: HTTP 503; it is being tried again");
    expect(failureWords(parked, "park")).toContain("parked: HTTP 403; nothing is lost");
  });
});
