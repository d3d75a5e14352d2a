import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FunctionCount } from "../../../src/ship/log/function-counts.ts";
import { FunctionHours } from "../../../src/ship/log/function-hours.ts";
import { traceLog } from "../../../src/ship/log/trace-log.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const START = Date.UTC(2026, 10, 20, 21, 30);

/** Names that contain others, or that are special in SQL or as object keys. */
const NAMES = ["shop", "shop-eu", '["shop",', "__proto__", "constructor", "%", "_", "\u0000", "\ud800", '"', "\\", "é"];
const name = fc.constantFrom(...NAMES);

type Step =
  | {
      what: "add";
      counts: { scriptName: string; routed: number; notEnabled: number; notRouted: number; aheadMs: number }[];
    }
  | { what: "sweep" }
  | { what: "forget"; scriptName: string };
const amount = fc.nat({ max: 9 });
const share = fc.record({
  scriptName: name,
  routed: amount,
  notEnabled: amount,
  notRouted: amount,
  aheadMs: fc.integer({ min: -2 * HOUR_MS, max: 2 * HOUR_MS }),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constant("add" as const),
      counts: fc.array(share, { minLength: 1, maxLength: 3 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ what: fc.constant("sweep" as const) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("forget" as const), scriptName: name }) },
);
/** Mostly from one hour to the next, across midnight; also days, and more than are kept. */
const gapMs = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(0, HOUR_MS, HOUR_MS, 2 * HOUR_MS) },
  { weight: 2, arbitrary: fc.nat({ max: 30 * HOUR_MS }) },
  { weight: 1, arbitrary: fc.constantFrom(29, 30, 31).map((days) => days * DAY_MS) },
);
const history = fc.array(fc.tuple(gapMs, step), { maxLength: 20 });

/** A model: every count, one by one. */
class SlowHours {
  #events: (FunctionCount & { atMs: number })[] = [];

  add(counts: readonly FunctionCount[], nowMs: number): void {
    for (const count of counts)
      this.#events.push({ ...count, lastEventMs: Math.min(count.lastEventMs, nowMs), atMs: nowMs });
  }

  forget(scriptName: string): void {
    this.#events = this.#events.map((event) =>
      event.scriptName === scriptName ? { ...event, scriptName: null } : event,
    );
  }

  /** Thirty days, the first one whole. */
  totals(nowMs: number): Map<string | null, FunctionCount> {
    const from = new Date(nowMs - 30 * DAY_MS).setUTCHours(0, 0, 0, 0);
    const groups = Map.groupBy(
      this.#events.filter(({ atMs }) => atMs >= from),
      ({ scriptName }) => scriptName,
    );
    return new Map(
      [...groups].map(([scriptName, events]) => {
        const sum = (of: (event: FunctionCount) => number): number => events.reduce((n, event) => n + of(event), 0);
        const [routed, notEnabled, notRouted] = [
          sum((e) => e.routed),
          sum((e) => e.notEnabled),
          sum((e) => e.notRouted),
        ];
        const lastEventMs = Math.max(...events.map((event) => event.lastEventMs));
        return [scriptName, { scriptName, routed, notEnabled, notRouted, lastEventMs }];
      }),
    );
  }
}

describe("events by function", () => {
  it("are what a list of all counts adds up to, whatever is counted, swept and forgotten, and whenever", async () => {
    let compared = 0;
    await runInDurableObject(traceLog(env.TRACE_LOG, 0), (_ledger, { storage: { sql } }) => {
      const property = fc.property(history, (steps) => {
        sql.exec("DELETE FROM function_hour");
        sql.exec("UPDATE state SET hour = NULL, hour_counts = NULL, hour_sources = NULL");
        const slow = new SlowHours();
        let nowMs = START;
        for (const [gap, each] of steps) {
          nowMs += gap;
          const hours = new FunctionHours(sql);
          if (each.what === "sweep") hours.sweep(nowMs);
          else if (each.what === "forget") {
            hours.forget(each.scriptName);
            slow.forget(each.scriptName);
          } else {
            const counts = each.counts.map(({ aheadMs, ...count }) => ({ ...count, lastEventMs: nowMs + aheadMs }));
            const { hour, counts: texts, sources } = hours.add(counts, nowMs);
            sql.exec("UPDATE state SET hour = ?, hour_counts = ?, hour_sources = ?", hour, texts, sources);
            slow.add(counts, nowMs);
          }
          const expected = slow.totals(nowMs);
          const totals = hours.totals(nowMs);
          expect(new Map(totals.map((count) => [count.scriptName, count]))).toEqual(expected);
          expect(totals.length).toBe(expected.size);
          for (const each of NAMES) expect(hours.of(each, nowMs)).toEqual(expected.get(each) ?? null);
          compared += expected.size;
        }
        // One row for each hour of today, and for each earlier day.
        new FunctionHours(sql).sweep(nowMs);
        const today = Math.floor(nowMs / DAY_MS) * 24;
        const before = sql.exec<{ hour: number }>("SELECT hour FROM function_hour WHERE hour < ?", today).toArray();
        expect(new Set(before.map(({ hour }) => Math.floor(hour / 24))).size).toBe(before.length);
        expect(before.length).toBeLessThanOrEqual(30);
      });
      fc.assert(property, { numRuns: 200 });
    });
    expect(compared).toBeGreaterThan(500);
  });
});
