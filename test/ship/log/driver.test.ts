import { describe, expect, it, vi } from "vitest";
import { Driver, type Pulled } from "../../../src/ship/log/driver.ts";
import type { Due } from "../../../src/ship/log/readers.ts";
import { until } from "../../support/until.ts";

const PULLED: Pulled = { cursor: 1, more: false, sealed: false, holds: false, stamp: "1.a" };

/** A shard whose jobs are due, each until it was driven once, and readers that a test answers. */
function scripted(jobs: number[]) {
  const waiting = new Map<string, PromiseWithResolvers<Pulled>>();
  const it = {
    /** What is due, and unread. */
    due: new Set(jobs),
    /** What is unread and not due yet. */
    unread: new Set<number>(),
    failed: new Set<number>(),
    /** Of which more was appended when they had read their last page. */
    behind: new Set<number>(),
    /** All pulls, and the most at once. */
    begun: [] as number[],
    most: 0,
    done: [] as [job: number, answered: boolean][],
    driver: null as unknown as Driver,
    under: () => [...waiting.keys()].map(Number),
    answer(job: number, pulled: Partial<Pulled> | null = {}): void {
      const pull = waiting.get(`${job}`);
      waiting.delete(`${job}`);
      if (pulled === null) pull?.reject(new Error("the reader died"));
      else pull?.resolve({ ...PULLED, ...pulled });
    },
    /** Until so many are read at the moment. */
    reach: (count: number) => until(() => waiting.size === count, 1),
  };
  it.driver = new Driver({
    pull({ job }) {
      const pull = Promise.withResolvers<Pulled>();
      waiting.set(`${job}`, pull);
      it.begun.push(job);
      it.most = Math.max(it.most, waiting.size);
      return pull.promise;
    },
    due: (everything) =>
      [...it.due, ...(everything ? it.unread : [])].map((job): Due => ({ job, segment: 0, cut: false })),
    done({ job }, pulled) {
      it.done.push([job, pulled !== null]);
      if (pulled?.more !== true && !it.behind.delete(job)) {
        it.due.delete(job);
        it.unread.delete(job);
      }
    },
    hasFailed: (job) => it.failed.has(job),
    waitUntil: () => {},
  });
  return it;
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

describe("the driver", () => {
  it("has six readers read at once, and the next as soon as one has ended", async () => {
    const it = scripted(range(1, 9));
    const driven = it.driver.due();
    await it.reach(6);
    expect(it.under()).toEqual(range(1, 6));
    it.answer(3);
    await until(() => it.under().includes(7));
    for (const job of [...range(1, 6), 7, 8, 9]) {
      await until(() => it.under().includes(job) || it.done.some(([done]) => done === job));
      it.answer(job);
    }
    await driven;
    expect([it.begun, it.most]).toEqual([range(1, 9), 6]);
  });

  it("gives no more than three places to those that failed last", async () => {
    const it = scripted(range(1, 12));
    it.failed = new Set(range(1, 8));
    const driven = it.driver.due();
    await it.reach(6);
    expect(it.under()).toEqual([1, 2, 3, 9, 10, 11]);
    it.answer(9);
    await until(() => it.under().includes(12));
    for (const job of [10, 11, 12]) it.answer(job);
    await it.reach(3);
    // Three hang; no other that failed is tried, and whatever else becomes due is read at once.
    it.due.add(20);
    const later = it.driver.due();
    await until(() => it.under().includes(20));
    expect(it.under().filter((job) => it.failed.has(job))).toEqual([1, 2, 3]);
    it.answer(20);
    for (const job of range(1, 8)) {
      await until(() => it.under().includes(job));
      it.answer(job, null);
    }
    await Promise.all([driven, later]);
    expect(it.done.filter(([, answered]) => !answered).length).toBe(8);
  });

  it("gives no more than three to those that had more to read twice in a row", async () => {
    const it = scripted(range(1, 4));
    const driven = it.driver.due();
    for (let times = 1; times <= 2; times++) {
      await until(() => it.begun.length === 4 * times && it.under().length === 4);
      for (const job of range(1, 4)) it.answer(job, { more: true });
    }
    await until(() => it.begun.length === 11 && it.under().length === 3);
    it.due.add(5);
    const later = it.driver.due();
    await until(() => it.under().includes(5));
    expect(it.most).toBe(4);
    for (const job of [5, ...it.under()]) it.answer(job);
    await until(() => it.under().length === 1);
    for (const job of it.under()) it.answer(job);
    await Promise.all([driven, later]);
  });

  it("drives a reader once at a time, whoever asks", async () => {
    const it = scripted([1]);
    const all = [it.driver.due(), it.driver.due(), it.driver.due()];
    await it.reach(1);
    expect(it.driver.isRunning(1)).toBe(true);
    it.answer(1);
    await Promise.all(all);
    expect([it.begun, it.driver.isRunning(1)]).toEqual([[1], false]);
  });

  it("waits ten seconds for a reader, and goes on without it", async () => {
    vi.useFakeTimers();
    vi.spyOn(console, "error").mockImplementation(() => {});
    const it = scripted([1]);
    const driven = it.driver.due();
    await vi.advanceTimersByTimeAsync(9_999);
    expect(it.done).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    await driven;
    expect(it.done).toEqual([[1, false]]);
  });

  it("has what is unread read to its end when it is told to, also what is not due, and of these jobs only", async () => {
    const it = scripted([1]);
    it.unread = new Set([2, 3]);
    const driven = it.driver.drive([1, 2]);
    await it.reach(2);
    it.answer(1);
    it.answer(2, { more: true });
    await until(() => it.begun.length === 3);
    it.answer(2);
    await driven;
    expect(it.begun).toEqual([1, 2, 2]);
  });

  it("has a job read once more that was read when it was told to: it may have read its last page", async () => {
    const it = scripted([1]);
    const due = it.driver.due();
    await it.reach(1);
    const driven = it.driver.drive([1]);
    it.due.delete(1);
    it.unread.add(1);
    it.behind.add(1);
    it.answer(1);
    await until(() => it.begun.length === 2);
    it.answer(1);
    await Promise.all([due, driven]);
    expect(it.begun).toEqual([1, 1]);
  });
});
