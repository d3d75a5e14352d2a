import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { secondDueMs } from "../../../src/operate/status/cron-due.ts";

const at = (text: string): number => Date.parse(`${text}Z`);
const due = (cron: string, last: string): string | null => {
  const ms = secondDueMs(cron, at(last));
  return ms === null ? null : new Date(ms).toISOString().slice(0, 16);
};

describe("the second run that is due after one", () => {
  it.each([
    // 2026-11-23 is a Monday.
    ["*/10 * * * *", "2026-11-23T12:00:04", "2026-11-23T12:20"],
    ["* * * * *", "2026-11-23T12:00:00", "2026-11-23T12:02"],
    ["*/30 * * * *", "2026-11-23T23:30:00", "2026-11-24T00:30"],
    ["45 * * * *", "2026-11-23T12:45:10", "2026-11-23T14:45"],
    ["0 3 * * mon", "2026-11-23T03:00:01", "2026-12-07T03:00"],
    // As Cloudflare counts days of the week: from 1, Sunday.
    ["0 17 * * 1", "2026-11-22T17:00:00", "2026-12-06T17:00"],
    ["0 17 * * sun", "2026-11-22T17:00:00", "2026-12-06T17:00"],
    ["0 17 * * 7", "2026-11-21T17:00:00", "2026-12-05T17:00"],
    ["10 7 * * 2-6", "2026-11-26T07:10:00", "2026-11-30T07:10"],
    ["10 7 * * MON-fri", "2026-11-26T07:10:00", "2026-11-30T07:10"],
    ["0 15 1 * *", "2026-11-01T15:00:00", "2027-01-01T15:00"],
    ["0 18 * * 6L", "2026-11-27T18:00:00", "2027-01-29T18:00"],
    ["0 18 * * friL", "2026-11-27T18:00:00", "2027-01-29T18:00"],
    ["59 23 LW * *", "2026-11-30T23:59:00", "2027-01-29T23:59"],
    ["0 0 L * *", "2026-11-30T00:00:00", "2027-01-31T00:00"],
    // The 15th is a Sunday.
    ["0 0 15W * *", "2026-11-13T00:00:00", "2026-12-15T00:00"],
    ["0 9 * * 2#1", "2026-11-02T09:00:00", "2027-01-04T09:00"],
    ["5/15 * * * *", "2026-11-23T12:05:00", "2026-11-23T12:35"],
    // One of both days is enough.
    ["0 0 13 * 6", "2026-12-11T00:00:00", "2026-12-18T00:00"],
    ["0 0 29 2 *", "2028-02-29T00:00:00", "2036-02-29T00:00"],
    ["0  3  *  *  *", "2026-11-23T03:00:00", "2026-11-25T03:00"],
  ])("%s, which ran at %s: %s", (cron, last, expected) => {
    expect(due(cron, last)).toBe(expected);
  });

  it("is the same, whether a run starts a little early or late", () => {
    for (const last of ["11:59:59.900", "12:00:00", "12:00:59"])
      expect(due("*/10 * * * *", `2026-11-23T${last}`)).toBe("2026-11-23T12:20");
  });

  it.each([
    "",
    "* * * *",
    "* * * * * *",
    "@daily",
    "? ? ? ? ?",
    "0 0 * * 0",
    "60 * * * *",
    "*/0 * * * *",
    "a b c d e",
    "2026-11-23T12:00:00",
    "0 0 30 2 *",
    "0 0 30,31 feb *",
    "0 0 31 2 2#5",
    "0 0 31W feb mon#5",
    "0 0 31W 2,4,6,9,11 *",
    "0 0 +29 2 6",
    `${"0,".repeat(60)}0 * * * *`,
  ])("is not known of %j", (cron) => {
    expect(secondDueMs(cron, at("2026-11-23T12:00:00"))).toBeNull();
  });

  it("is later, or unknown, whatever a sender calls a cron", () => {
    const field = fc.oneof(
      { weight: 1, arbitrary: fc.stringMatching(/^[0-9*,/#LW-]{1,8}$/) },
      {
        weight: 9,
        arbitrary: fc.constantFrom("*", "*", "1", "7", "*/7", "1-5/2", "3,5", "30", "L", "LW", "sun", "2#5"),
      },
    );
    const cron = fc.oneof(
      fc.tuple(field, field, field, field, field).map((fields) => fields.join(" ")),
      fc.string(),
    );
    let known = 0;
    fc.assert(
      fc.property(cron, fc.nat(4_102_444_800_000), (text, lastMs) => {
        const ms = secondDueMs(text, lastMs);
        if (ms === null) return;
        known += 1;
        expect(ms).toBeGreaterThan(lastMs + 60_000);
      }),
      { numRuns: 2_000 },
    );
    expect(known).toBeGreaterThan(50);
  });
});
