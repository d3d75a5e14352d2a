import { describe, expect, it } from "vitest";
import { settled } from "../../../src/base/platform.ts";
import { isOverdue, retryDelayS } from "../../../src/formats/queue/retries.ts";

const DAY_S = 86_400;

describe("the delays of a message that fails", () => {
  it("never shrink, are whole seconds, and no longer than ten minutes", () => {
    let before = 0;
    for (let attempts = 1; attempts <= 101; attempts++) {
      const delay = retryDelayS(attempts);
      expect(Number.isInteger(delay)).toBe(true);
      expect(delay).toBeGreaterThanOrEqual(Math.max(before, 1));
      expect(delay).toBeLessThanOrEqual(600);
      before = delay;
    }
  });

  it("are short at first: what recovers within minutes is noticed within minutes", () => {
    expect(retryDelayS(1)).toBeLessThanOrEqual(5);
    expect(Array.from({ length: 6 }, (_, i) => retryDelayS(i + 1)).reduce((sum, delay) => sum + delay)).toBeLessThan(
      300,
    );
  });
});

describe("a message that failed again", () => {
  it.each([
    ["just taken in", 0, false],
    ["ten days old to the millisecond", 10 * DAY_S * 1_000, false],
    ["older than ten days", 10 * DAY_S * 1_000 + 1, true],
    ["from the future, by another machine's clock", -5_000, false],
  ])("is overdue or not: %s", (_what, ageMs, overdue) => {
    const now = Date.UTC(2026, 10, 20);
    expect(isOverdue(now - ageMs, now)).toBe(overdue);
  });
});

describe("running things side by side", () => {
  it("gives every result in the order of the items, failures among them", async () => {
    const results = await settled([3, 0, 2, 1], 2, async (n) => {
      for (let i = 0; i < n; i++) await Promise.resolve();
      if (n === 2) throw new Error("two");
      return n * 10;
    });
    expect(results).toEqual([
      { status: "fulfilled", value: 30 },
      { status: "fulfilled", value: 0 },
      { status: "rejected", reason: new Error("two") },
      { status: "fulfilled", value: 10 },
    ]);
  });

  it("has no more under way than it may, and leaves none out", async () => {
    let now = 0;
    let most = 0;
    const done = await settled(
      Array.from({ length: 20 }, (_, i) => i),
      3,
      async (n) => {
        now += 1;
        most = Math.max(most, now);
        for (let i = 0; i < n % 4; i++) await Promise.resolve();
        now -= 1;
        return n;
      },
    );
    expect(most).toBe(3);
    expect(done.map((result) => (result.status === "fulfilled" ? result.value : null))).toEqual(
      Array.from({ length: 20 }, (_, i) => i),
    );
  });
});
