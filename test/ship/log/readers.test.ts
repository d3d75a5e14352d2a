import { describe, expect, it } from "vitest";
import type { Unread } from "../../../src/ship/log/blocks.ts";
import { type DueRules, Readers } from "../../../src/ship/log/readers.ts";

const NOW = 1_000_000;
const rules: DueRules = { id: 1, version: 1, mark: "a", limits: { records: 100, intervalMs: 30_000 } };
const block = (n: number, fields: Partial<Unread> = {}): Unread => ({
  ...{ n, takenMs: NOW, atMs: NOW, records: 1, bytes: 10 },
  ...fields,
});

/** Readers whose first job has these blocks to read. */
function withBlocks(...blocks: Unread[]): Readers {
  const readers = new Readers();
  for (const each of blocks) readers.added(1, each, each.records);
  return readers;
}

const NEVER = Number.POSITIVE_INFINITY;
const dueMs = (readers: Readers, needsJob = false, own = rules) => readers.dueMs(own, needsJob, NOW);

describe("a job is due", () => {
  it.each<[what: string, blocks: Unread[], dueMs: number]>([
    ["never without records", [], NEVER],
    ["at the end of its interval", [block(1)], NOW + 30_000],
    ["a moment later where more than one block is there", [block(1), block(2)], NOW + 35_000],
    ["by the intake of the oldest record", [block(1, { takenMs: NOW - 10_000 })], NOW + 20_000],
    ["not at once where that is long past: more is on its way", [block(1, { takenMs: NOW - 90_000 })], NOW + 5_000],
    ["by the oldest, whichever block has it", [block(1), block(2, { takenMs: NOW - 10_000 })], NOW + 25_000],
    ["at once with 8 MB", [block(1, { bytes: 4e6 }), block(2, { bytes: 4e6 })], 0],
    ["not with less", [block(1, { bytes: 8e6 - 1 })], NOW + 30_000],
    ["at once with as many records as an object takes", [block(1, { records: 99 }), block(2)], 0],
  ])("%s", (_what, blocks, due) => {
    expect(dueMs(withBlocks(...blocks))).toBe(due);
  });

  it("by a clock that was ahead when its block was added, no later than now", () => {
    const readers = withBlocks(block(1, { takenMs: NOW - 30_000, atMs: NOW + 86_400_000 }));
    expect(dueMs(readers)).toBeLessThanOrEqual(NOW);
  });

  it("while its reader has another configuration, and in the first shard before it has any", () => {
    const readers = new Readers();
    expect([dueMs(readers), dueMs(readers, true)]).toEqual([NEVER, 0]);
    readers.has(1, 0, "1.a");
    expect([dueMs(readers), dueMs(readers, true)]).toEqual([NEVER, NEVER]);
    for (const own of [
      { ...rules, version: 2 },
      { ...rules, mark: "b" },
    ])
      expect(dueMs(readers, false, own)).toBe(0);
  });

  it("as long as any segment that holds something has another", () => {
    const readers = new Readers();
    readers.has(1, 0, "1.a");
    readers.sealed(1);
    readers.has(1, 1, "1.a");
    const next = { ...rules, version: 2 };
    const due = () => readers.due([next], false, NOW).map(({ segment }) => segment);
    expect(due()).toEqual([0, 1]);
    readers.has(1, 1, "2.a");
    expect(due()).toEqual([0]);
    // It has nothing left, and needs no more.
    readers.has(1, 0, "");
    expect(due()).toEqual([]);
  });

  it("is driven where it reads, and cut only when its time has come", () => {
    const readers = withBlocks(block(1));
    readers.sealed(1);
    expect(readers.due([rules], false, NOW)).toEqual([]);
    expect(readers.due([rules], false, NOW, true)).toEqual([{ job: 1, segment: 1, cut: false }]);
    expect(readers.due([rules], false, NOW + 30_000)).toEqual([{ job: 1, segment: 1, cut: true }]);
    expect(withBlocks(block(1, { bytes: 9e6 })).due([rules], false, NOW)).toEqual([{ job: 1, segment: 0, cut: false }]);
  });
});

describe("a reader that fails", () => {
  const waits = (readers: Readers, nowMs = NOW) => readers.dueMs(rules, true, nowMs) - nowMs;

  it("is driven again after 5 s, then twice as long each time, up to 5 min", () => {
    const readers = new Readers();
    const all = Array.from({ length: 8 }, () => {
      readers.failed(1, NOW);
      return waits(readers);
    });
    expect(all).toEqual([5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
    expect(readers.hasFailed(1)).toBe(true);
    readers.succeeded(1);
    readers.failed(1, NOW);
    expect(waits(readers)).toBe(5_000);
  });

  it("is driven at once when a configuration is taken, as that may have been the fault", () => {
    const readers = new Readers();
    readers.failed(1, NOW);
    readers.forgive();
    expect([dueMs(readers, true), readers.hasFailed(1)]).toEqual([0, false]);
  });

  it("waits also with much to read, and its interval goes on", () => {
    const readers = withBlocks(block(1, { bytes: 9e6 }));
    readers.failed(1, NOW);
    expect(dueMs(readers)).toBe(NOW + 5_000);
    const slow = withBlocks(block(1));
    slow.failed(1, NOW);
    expect(dueMs(slow)).toBe(NOW + 30_000);
  });

  it("does not wait for a clock that was ahead", () => {
    const readers = new Readers();
    readers.failed(1, NOW + 86_400_000);
    expect(dueMs(readers, true)).toBeLessThanOrEqual(NOW);
  });
});

describe("what is unread", () => {
  const blocks = [block(1, { takenMs: NOW - 5 }), block(2, { takenMs: NOW - 9 }), block(3)];
  const betweenOf =
    (all: readonly Unread[]) =>
    (after: number, upTo = NEVER) =>
      all.filter(({ n }) => n > after && n <= upTo).map((each): [number, Unread] => [1, each]);

  it("is what was added and not committed", () => {
    const readers = withBlocks(...blocks);
    const left = betweenOf(blocks);
    expect(readers.backlogOf(1)).toMatchObject({ records: 3, bytes: 30, blocks: 3, oldestMs: NOW - 9 });
    readers.committed(1, 1, left);
    expect(readers.backlogOf(1)).toMatchObject({ records: 2, bytes: 20, blocks: 2, oldestMs: NOW - 9 });
    readers.committed(1, 2, left);
    expect(readers.backlogOf(1)).toMatchObject({ records: 1, blocks: 1, oldestMs: NOW });
    // A late answer.
    readers.committed(1, 1, left);
    expect([readers.backlogOf(1)?.records, readers.cursorOf(1)]).toEqual([1, 2]);
    readers.committed(1, 7, () => {
      throw new Error("nothing is left to look for");
    });
    expect([readers.backlogOf(1), readers.cursorOf(1), readers.of(1).received]).toEqual([null, 7, 3]);
  });

  it("is counted without reading all of a long backlog with each page", () => {
    const many = Array.from({ length: 5_000 }, (_, i) =>
      block(i + 1, { takenMs: NOW - (i === 0 ? 9 : 1), atMs: NOW + i }),
    );
    const readers = withBlocks(...many);
    const between = betweenOf(many);
    let read = 0;
    const counted = function* (after: number, upTo?: number) {
      for (const each of between(after, upTo)) {
        read += 1;
        yield each;
      }
    };
    readers.committed(1, 100, counted);
    expect(read).toBe(101);
    // What is said of the oldest is no later than it is.
    expect(readers.backlogOf(1)).toMatchObject({
      blocks: 4_900,
      bytes: 49_000,
      oldestMs: NOW - 9,
      openedMs: NOW + 100,
    });
    readers.committed(1, 4_000, counted);
    expect(readers.backlogOf(1)).toMatchObject({ blocks: 1_000, oldestMs: NOW - 1, openedMs: NOW + 4_000 });
  });
});
