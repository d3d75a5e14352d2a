/** When a shard of the ledger hands half of its messages on, and what that writes. */
import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import { LEDGER_SPLIT_BYTES, LEDGER_SPLIT_PER_SECOND } from "../../src/limits.ts";
import type { TakenId } from "../../src/storage/id-memory.ts";
import { type Parts, Splitter } from "../../src/trace-log/splitter.ts";
import { NOON, setClock } from "../support/runtime/pipeline.ts";
import { MINUTE_MS, node, outcome, shard, split, taken } from "./ledger-nodes.ts";

const MINUTES = 5;

/**
 * Counts so many messages a second for some minutes. @returns whether the shard is split then.
 * @param fields of each message. @param fromMs since when its last split hands on.
 */
function isDueAfter(perSecond: number, minutes: number, fields: Partial<TakenId> = {}, fromMs?: number): boolean {
  const all = () => (fromMs === undefined ? [] : [{ fromMs }]);
  const splitter = new Splitter({ splits: { all } } as unknown as Parts);
  const messages: TakenId[] = Array(perSecond * 60).fill({ ...taken(0, 1), ...fields });
  // The first minute is not whole.
  for (let minute = 0; minute <= minutes; minute++) splitter.taken(messages, NOON + 1 + minute * MINUTE_MS);
  return splitter.isDue(NOON + (minutes + 1) * MINUTE_MS);
}

describe("a shard is split for what it counts", () => {
  it("if that is too much over five whole minutes", () => {
    expect(isDueAfter(LEDGER_SPLIT_PER_SECOND, MINUTES)).toBe(true);
    expect(isDueAfter(LEDGER_SPLIT_PER_SECOND - 1, MINUTES)).toBe(false);
    expect(isDueAfter(100 * LEDGER_SPLIT_PER_SECOND, MINUTES - 1)).toBe(false);
  });

  it("except for what no split would hand on", () => {
    expect(isDueAfter(LEDGER_SPLIT_PER_SECOND, MINUTES, { keyed: true })).toBe(false);
  });

  it("except for what its last split did not hand on: a backlog makes no shard after shard", () => {
    const due = (fields: Partial<TakenId>) => isDueAfter(LEDGER_SPLIT_PER_SECOND, MINUTES, fields, NOON);
    expect(due({ takenInMs: NOON - 1 })).toBe(false);
    expect(due({ takenInMs: NOON, firstMs: NOON - 1 })).toBe(false);
    expect(due({ takenInMs: NOON })).toBe(true);
  });
});

describe("a shard is split for its size", () => {
  /** @param last the size at its last split, and since when that hands on. */
  const isTooLarge = (bytes: number, sweptBytes: number, last?: { bytes: number; fromMs: number }): boolean => {
    const parts = { storage: { sql: { databaseSize: bytes } }, splits: { all: () => (last ? [last] : []) } };
    return new Splitter(parts as unknown as Parts).isTooLarge(sweptBytes, NOON);
  };

  it("if it is large, and has grown since the day before", () => {
    expect(isTooLarge(LEDGER_SPLIT_BYTES, 0)).toBe(true);
    expect(isTooLarge(LEDGER_SPLIT_BYTES - 1, 0)).toBe(false);
    expect(isTooLarge(LEDGER_SPLIT_BYTES, LEDGER_SPLIT_BYTES)).toBe(false);
  });

  it("not again for what it had before its last split, which goes within fifteen days", () => {
    const last = { bytes: LEDGER_SPLIT_BYTES, fromMs: NOON };
    expect(isTooLarge(1.49 * LEDGER_SPLIT_BYTES, LEDGER_SPLIT_BYTES, last)).toBe(false);
    expect(isTooLarge(1.5 * LEDGER_SPLIT_BYTES, LEDGER_SPLIT_BYTES, last)).toBe(true);
    expect(isTooLarge(1.5 * LEDGER_SPLIT_BYTES, LEDGER_SPLIT_BYTES, { ...last, fromMs: NOON + 1 })).toBe(false);
  });
});

describe("the rows that are written", () => {
  /** Rows by verb and table, in all shards. */
  async function written(run: () => Promise<unknown>): Promise<Record<string, number>> {
    const all: { what: string; cursor: SqlStorageCursor<Record<string, SqlStorageValue>> }[] = [];
    const prototype = await runInDurableObject(shard(0), (_ledger, { storage }) => Object.getPrototypeOf(storage.sql));
    const { exec } = prototype as SqlStorage;
    const counted: typeof exec = function (this: SqlStorage, query, ...values) {
      const cursor = exec.call(this, query, ...values);
      const table = /\b(?:account|taken|function_hour\w*|split|schema_step)\b/.exec(query)?.[0];
      all.push({ what: `${/\w+/.exec(query)?.[0]} ${table}`, cursor });
      return cursor as never;
    };
    const spy = vi.spyOn(prototype as SqlStorage, "exec").mockImplementation(counted);
    await run();
    spy.mockRestore();
    const rows: Record<string, number> = {};
    for (const { what, cursor } of all) if (cursor.rowsWritten > 0) rows[what] = (rows[what] ?? 0) + cursor.rowsWritten;
    return rows;
  }

  it("are those of docs/storage.md: with one shard as ever, with several in each that counts", async () => {
    const clock = setClock(NOON);
    await node().ledger.status();
    const group = { "INSERT taken": 1, "UPDATE account": 1, "INSERT function_hour": 1 };
    const messages = [taken(0, 1), taken(1, 2), taken(3, 3)];
    expect(await written(() => node().count(outcome(messages)))).toEqual(group);
    expect(await written(() => node().count(outcome(messages)))).toEqual({});
    await node().ledger.sweep();
    expect(await written(() => node().ledger.sweep())).toEqual({});
    const fromMs = await split();
    clock.advance(fromMs - NOON);
    await node().ledger.status();
    const twice = Object.fromEntries(Object.entries(group).map(([what, rows]) => [what, 2 * rows]));
    const later = messages.map((_message, n) => taken(n, 10 + n, fromMs));
    expect(await written(() => node().count(outcome(later)))).toEqual(twice);
    // What is not there writes nothing.
    expect(await written(() => node().count(outcome([taken(0, 20, fromMs)])))).toEqual(group);
  });

  it("by a split are two in the parent, beside the copies in the child", async () => {
    setClock(NOON);
    await node().ledger.sweep();
    const rows = await written(() => split());
    expect(rows).toMatchObject({ "INSERT split": 1, "UPDATE schema_step": 1 });
  });
});
