import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type DedupId, DedupIndex } from "../../../src/base/storage/dedup-index.ts";
import { traceLog } from "../../../src/ship/log/trace-log.ts";

const NOON = Date.UTC(2026, 10, 20, 12);
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Ids of few different bytes: the end of one and the beginning of the next often form a third. */
const id = fc
  .array(fc.constantFrom("00", "01"), { minLength: 1, maxLength: 3 })
  .map((bytes) => bytes.join("").repeat(16).slice(0, 32));

/** A few minutes, including their first and last ms, over more days than are remembered. */
const takenInMs = fc
  .tuple(fc.nat({ max: 2 }), fc.nat({ max: 40 }), fc.constantFrom(0, 1, 30_000, MINUTE_MS - 1))
  .map(([minute, day, ms]) => NOON + day * DAY_MS + minute * MINUTE_MS + ms);
const taken: fc.Arbitrary<DedupId> = fc.record({ id, takenInMs, keyed: fc.boolean() });

type Step =
  | { what: "messages" | "failed"; messages: DedupId[] }
  | { what: "sweep"; nowMs: number }
  | { what: "restart" };
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ what: fc.constant("restart" as const) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      what: fc.constantFrom("messages" as const, "messages" as const, "failed" as const),
      messages: fc.uniqueArray(taken, { selector: ({ id: each }) => each, maxLength: 12 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("sweep" as const), nowMs: takenInMs }) },
);

/** The same memory as a list with linear search. */
class SlowMemory {
  #kept: DedupId[] = [];

  has({ id, takenInMs, keyed }: DedupId): boolean {
    const isOf = (each: DedupId): boolean => each.keyed || (!keyed && minuteOf(each.takenInMs) === minuteOf(takenInMs));
    return this.#kept.some((each) => each.id === id && isOf(each));
  }

  add(messages: readonly DedupId[]): void {
    this.#kept.push(...messages);
  }

  sweep(nowMs: number): void {
    const oldest = minuteOf(nowMs - 15 * DAY_MS);
    this.#kept = this.#kept.filter(({ keyed, takenInMs }) =>
      keyed ? takenInMs >= nowMs - 20 * DAY_MS : minuteOf(takenInMs) >= oldest,
    );
  }
}

const minuteOf = (timeMs: number): number => Math.floor(timeMs / MINUTE_MS);

function remember(memory: DedupIndex, messages: readonly DedupId[]): void {
  memory.remember(messages.filter(({ keyed }) => !keyed));
  for (const { id, takenInMs, keyed } of messages)
    if (keyed) memory.rememberKeyed(id, { takenMs: takenInMs, jobs: [] });
}

describe("the memory of ids", () => {
  it("knows what a list of all ids knows, in whatever order they come, are asked for, and are swept", async () => {
    const answers = { known: 0, unknown: 0 };
    await runInDurableObject(traceLog(env.TRACE_LOG, 9), (_log, { storage }) => {
      const { sql } = storage;
      const property = fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        for (const table of ["taken", "taken_keyed"]) sql.exec(`DELETE FROM ${table}`);
        const slow = new SlowMemory();
        const everything = steps.flatMap((each) => ("messages" in each ? each.messages : []));
        let memory = new DedupIndex(sql);
        for (const each of steps) {
          if (each.what === "restart") memory = new DedupIndex(sql);
          else if (each.what === "sweep") {
            memory.sweep(each.nowMs);
            slow.sweep(each.nowMs);
          } else if (each.what === "failed") {
            const fails = (): void => {
              remember(
                memory,
                each.messages.filter((message) => !slow.has(message)),
              );
              throw new Error("the transaction fails");
            };
            expect(() => storage.transactionSync(fails)).toThrow();
          } else {
            const known = memory.known(each.messages);
            const fresh = each.messages.filter((message) => !slow.has(message));
            const old = each.messages.filter((message) => slow.has(message));
            expect(known).toEqual(new Set(old.map((message) => message.id)));
            answers.known += old.length;
            answers.unknown += fresh.length;
            remember(memory, fresh);
            slow.add(fresh);
          }
          for (const message of everything)
            expect(memory.known([message]).has(message.id), JSON.stringify(message)).toBe(slow.has(message));
        }
      });
      fc.assert(property, { numRuns: 150 });
    });
    expect(Math.min(answers.known, answers.unknown)).toBeGreaterThan(100);
  });

  it("holds each id once: as many bytes as there are ids, in one row a minute", async () => {
    await runInDurableObject(traceLog(env.TRACE_LOG, 9), (_log, { storage: { sql } }) => {
      const own = fc.uniqueArray(fc.record({ id, takenInMs, keyed: fc.constant(false) }), {
        selector: (message) => `${minuteOf(message.takenInMs)} ${message.id}`,
        maxLength: 60,
      });
      fc.assert(
        fc.property(own, fc.integer({ min: 1, max: 20 }), (messages, size) => {
          sql.exec("DELETE FROM taken");
          const memory = new DedupIndex(sql);
          for (let from = 0; from < messages.length; from += size) memory.remember(messages.slice(from, from + size));
          const rows = sql.exec<{ ids: ArrayBuffer }>("SELECT ids FROM taken").toArray();
          expect(rows.length).toBe(new Set(messages.map((message) => minuteOf(message.takenInMs))).size);
          expect(rows.reduce((sum, { ids }) => sum + ids.byteLength, 0)).toBe(16 * messages.length);
        }),
      );
    });
  });
});
