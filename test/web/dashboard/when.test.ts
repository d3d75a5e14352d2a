/** Times as a person writes them, on the page Search. */
import { describe, expect, it } from "vitest";
import { around, between } from "../../../src/web/dashboard/pages/search/when.ts";

/** A Tuesday. */
const NOW = Date.parse("2026-11-24T10:30:00Z");
const HOUR_MS = 3_600_000;

const iso = (ms: number) => new Date(ms).toISOString().replace(":00.000Z", "Z");
const since = (text: string, zone = "") => iso(between(text, "now", HOUR_MS, zone, NOW)[0]);

describe("a time that a person writes", () => {
  it.each([
    ["yesterday 15:00", "2026-11-23T15:00Z"],
    ["Yesterday, 3pm", "2026-11-23T15:00Z"],
    ["yesterday 3:20 PM", "2026-11-23T15:20Z"],
    ["yesterday", "2026-11-23T00:00Z"],
    ["today 9:05", "2026-11-24T09:05Z"],
    ["12am", "2026-11-24T00:00Z"],
    ["12pm", "2026-11-23T12:00Z"],
    ["10:30", "2026-11-24T10:30Z"],
    ["10:31", "2026-11-23T10:31Z"],
    ["15", "2026-11-23T15:00Z"],
    ["fri 15:00", "2026-11-20T15:00Z"],
    ["Wednesday", "2026-11-18T00:00Z"],
    ["tue 10:00", "2026-11-24T10:00Z"],
    ["tuesday 11:00", "2026-11-17T11:00Z"],
    ["11-23 15:07:21.25", "2026-11-23T15:07:21.250Z"],
    ["12-24 18:00", "2025-12-24T18:00Z"],
    ["02-29", null],
    ["2024-02-29", "2024-02-29T00:00Z"],
    ["2026-11-23T15:00:00.000Z", "2026-11-23T15:00Z"],
    ["2026-11-23 15:00 UTC", "2026-11-23T15:00Z"],
    ["2026-11-23 15:00 +0530", "2026-11-23T09:30Z"],
    ["2026-11-23 15:00:00-03:00", "2026-11-23T18:00Z"],
    ["2026-12-24 18:00", "2026-12-24T18:00Z"],
    ["2h ago", "2026-11-24T08:30Z"],
    ["45 min", "2026-11-24T09:45Z"],
    ["3 days ago", "2026-11-21T10:30Z"],
    ["2026-02-31", null],
    ["2026-13-01", null],
    ["24:00", null],
    ["13pm", null],
    ["15:60", null],
    ["next week", null],
    ["sundae", null],
    ["2026", null],
  ])("%s is %s", (text, time) => {
    if (time === null) expect(() => since(text)).toThrow(new RangeError(text));
    else expect(since(text)).toBe(time);
  });

  it.each([
    ["yesterday 15:00", "Europe/Berlin", "2026-11-23T14:00Z"],
    ["07-01 15:00", "Europe/Berlin", "2026-07-01T13:00Z"],
    ["yesterday 15:00 UTC", "Europe/Berlin", "2026-11-23T15:00Z"],
    ["today", "America/Los_Angeles", "2026-11-24T08:00Z"],
    ["yesterday", "Pacific/Auckland", "2026-11-22T11:00Z"],
    ["yesterday 15:00", "Asia/Kolkata", "2026-11-23T09:30Z"],
    // The hour before the clocks are put back, and the one after it.
    ["2026-10-25 01:30", "Europe/Berlin", "2026-10-24T23:30Z"],
    ["2026-10-25 03:30", "Europe/Berlin", "2026-10-25T02:30Z"],
  ])("%s in %s is %s", (text, zone, time) => {
    expect(since(text, zone)).toBe(time);
  });

  it("is none in a zone that is none", () => {
    expect(() => since("15:00", "Mars/Olympus")).toThrow(new RangeError("Mars/Olympus"));
  });
});

it("is half an hour around a moment, and a day whole", () => {
  expect(around("yesterday 15:00", "", NOW).map(iso)).toEqual(["2026-11-23T14:45Z", "2026-11-23T15:15Z"]);
  expect(around("yesterday", "", NOW).map(iso)).toEqual(["2026-11-23T00:00Z", "2026-11-24T00:00Z"]);
  // 25 hours.
  expect(around("10-25", "Europe/Berlin", NOW).map(iso)).toEqual(["2026-10-24T22:00Z", "2026-10-25T23:00Z"]);
});

it("ends now, or with the day that is named, and begins as long before as is said", () => {
  expect(between("", "", HOUR_MS, "", NOW).map(iso)).toEqual(["2026-11-24T09:30Z", "2026-11-24T10:30Z"]);
  expect(between("fri", "fri", HOUR_MS, "", NOW).map(iso)).toEqual(["2026-11-20T00:00Z", "2026-11-21T00:00Z"]);
  expect(between("", "yesterday 15:00", HOUR_MS, "", NOW).map(iso)).toEqual(["2026-11-23T14:00Z", "2026-11-23T15:00Z"]);
});
