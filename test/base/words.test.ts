import { describe, expect, it } from "vitest";
import { clock, figure, share, stamp, timeSpan, took } from "../../src/base/words.ts";

const AT = Date.parse("2100-11-20T15:07:21.005Z");

describe("a time is in UTC", () => {
  it.each([
    [stamp(AT), "2100-11-20 15:07"],
    [stamp("2100-11-20T16:07:21.005+01:00", 1_000), "2100-11-20 15:07:21"],
    [stamp(AT, 999), "2100-11-20 15:07:21.005"],
    [clock(AT), "15:07"],
    [timeSpan(AT, AT + 3_600_000), "2100-11-20 15:07 to 16:07 UTC"],
    [timeSpan(AT, AT + 86_400_000), "2100-11-20 15:07 to 2100-11-21 15:07 UTC"],
    [timeSpan(AT, AT + 1), "2100-11-20 15:07:21.005 to 15:07:21.006 UTC"],
  ])("%s", (text, wanted) => {
    expect(text).toBe(wanted);
  });
});

it.each([
  [0, "0 ms"],
  [0.5, "0.5 ms"],
  [-12, "-12 ms"],
  [999, "999 ms"],
  [1_000, "1 s"],
  [1_254, "1.25 s"],
  [89_940, "89.9 s"],
  [180_000, "3 min"],
])("%s ms took %s", (ms, words) => {
  expect(took(ms)).toBe(words);
});

it.each([
  [12_345, "12,345"],
  [12_345.67, "12,345.7"],
  [99.99, "100"],
  [0.012345, "0.0123"],
  [-3.456, "-3.46"],
])("%s is written %s", (value, words) => {
  expect(figure(value)).toBe(words);
});

it.each([
  [0, 0, "0 %"],
  [1, 4, "25 %"],
  [1, 300, "0.3 %"],
  [1, 30_000, "0.003 %"],
])("%s of %s are %s", (part, whole, words) => {
  expect(share(part, whole)).toBe(words);
});
