import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { PackedMessage } from "../../src/intake/packing.ts";
import { blobStore } from "../../src/queue/blob-store.ts";
import { splitMessage } from "../../src/queue/message.ts";
import { recordLine } from "../../src/record/encode.ts";
import type { TakenId } from "../../src/storage/id-memory.ts";
import { type Outcome, TraceLog, traceLog } from "../../src/trace-log/trace-log.ts";
import { traceRecord } from "../record/samples.ts";
import { encodeMessage } from "../support/message.ts";
import { createJob } from "../support/runtime/api.ts";
import { freshBucket, NOON, redeliver, setClock } from "../support/runtime/pipeline.ts";

const ledger = () => traceLog(env.TRACE_LOG, 0);
const taken = (n: number, fields: Partial<TakenId> = {}): TakenId => ({
  ...{ id: n.toString(16).padStart(32, "0"), takenInMs: NOON + n, keyed: false },
  ...fields,
});

const outcome = (done: readonly TakenId[], failed: readonly TakenId[] = []): Outcome => ({
  done: done.map((each) => ({ ...each, events: 1, routed: 1, notEnabled: 0, notRouted: 0, functions: [] })),
  failed,
  backlog: null,
  state: "other.1",
});

/** Sets a message aside whose header has another id than the one it is remembered by. */
const setAside = (as: TakenId, noted?: TakenId) =>
  ledger().setAside({
    ...{ taken: as, queue: "q", why: "fails its checksum", events: 1, message: new ArrayBuffer(1) },
    ...(noted !== undefined && { noted }),
  });

beforeEach(() => {
  setClock(NOON);
  vi.spyOn(console, "error").mockImplementation(() => {});
});

describe("what the ledger knows to come again", () => {
  it("is forgotten when it is counted", async () => {
    await ledger().count(outcome([], [taken(1), taken(2)]));
    expect(await ledger().oldestUnfinishedMs()).toBe(NOON + 1);
    await ledger().count(outcome([taken(1)]));
    expect(await ledger().oldestUnfinishedMs()).toBe(NOON + 2);
  });

  it.each([false, true])("is not what is counted by now: who says so was late, keyed: %s", async (keyed) => {
    const one = taken(1, { keyed });
    await ledger().count(outcome([one]));
    // Both calls timed out long ago; the message came again, and was counted.
    await ledger().count(outcome([], [one]));
    await ledger().expectAgain([one]);
    expect(await ledger().oldestUnfinishedMs()).toBeNull();
    expect((await ledger().status()).counts.processed).toBe(1);
    expect((await ledger().status()).storedBytes).toBeGreaterThan(4_096);
  });

  it("is not what was set aside by now", async () => {
    await setAside(taken(1));
    await ledger().count(outcome([], [taken(1)]));
    expect((await ledger().status()).oldestUnfinishedMs).toBeNull();
  });

  it("is forgotten when it is set aside under another id, as nobody can read it", async () => {
    await ledger().expectAgain([taken(1), taken(2)]);
    await setAside(taken(9), taken(1));
    expect(await ledger().oldestUnfinishedMs()).toBe(NOON + 2);
  });

  it("is not forgotten for somebody else who merely says that he is it", async () => {
    await ledger().expectAgain([taken(1)]);
    await setAside(taken(9), taken(1, { takenInMs: NOON + 5 }));
    expect(await ledger().oldestUnfinishedMs()).toBe(NOON + 1);
  });

  it("holds nothing up for an old message that cannot be read: it is noted as it comes, and that is taken back", async () => {
    const clock = setClock(NOON);
    await createJob(freshBucket().name);
    clock.advance(100_000);
    const raw = new TextEncoder().encode(`${recordLine(traceRecord())}\n`);
    const [bad, good] = [taken(1), taken(2)];
    const whole = (each: TakenId): PackedMessage => ({
      ...{ ...each, records: 1, blob: null },
      body: encodeMessage({ ...each, records: 1 }, raw),
    });
    const cut = { ...whole(bad), body: whole(bad).body.slice(0, -1) };
    const noted = vi.spyOn(TraceLog.prototype, "expectAgain");
    expect(await redeliver([cut, whole(good)], 1)).toMatchObject({ acked: [bad.id, good.id], retried: [] });
    expect(noted.mock.calls.map(([messages]) => messages)).toMatchObject([[bad, good]]);
    expect((await ledger().status()).counts).toMatchObject({ processed: 2, set_aside: 1 });
    expect((await ledger().status()).oldestUnfinishedMs).toBeNull();
  });

  it("holds nothing up for a large event whose records could not be loaded, and then not be read", async () => {
    await createJob(freshBucket().name);
    const raw = new TextEncoder().encode(`${recordLine(traceRecord())}\n`);
    const one = taken(0xabc);
    const { reference, key, body } = splitMessage(encodeMessage({ ...one, records: 1 }, raw));
    const message: PackedMessage = { ...one, records: 1, body: reference, blob: null };
    const get = vi.spyOn(env.BLOBS, "getByName").mockImplementation(() => {
      throw new Error("out of reach");
    });
    expect(await redeliver([message], 1)).toMatchObject({ acked: [], retried: [one.id] });
    expect(await ledger().oldestUnfinishedMs()).toBe(one.takenInMs);
    get.mockRestore();
    const broken = body.slice();
    broken[3] = (broken[3] as number) ^ 0xff;
    await blobStore(env.BLOBS).put(key, broken);
    expect(await redeliver([message], 2)).toMatchObject({ acked: [one.id], retried: [] });
    expect((await ledger().status()).counts).toMatchObject({ processed: 1, set_aside: 1 });
    expect((await ledger().status()).oldestUnfinishedMs).toBeNull();
  });
});

describe("what the ledger knows of deliveries that died", () => {
  const begun = (n: number, attempts: number) => ledger().expectAgain([{ ...taken(n), attempts }], 0, "begun");
  const died = async (n: number, attempts: number) => (await begun(n, attempts)).map(({ deaths }) => deaths);

  it("is how many began in a row, and ended without a word", async () => {
    expect([await died(1, 1), await died(1, 2), await died(1, 4)]).toEqual([[], [1], [2]]);
    expect(await died(2, 7)).toEqual([]);
  });

  it("is nothing where the same delivery is noted twice, or comes later than the next", async () => {
    expect([await died(1, 2), await died(1, 2), await died(1, 1)]).toEqual([[], [], []]);
    expect(await died(1, 3)).toEqual([1]);
  });

  it("is over when one was tried and went back, and stays when it was not tried", async () => {
    await begun(1, 1);
    await begun(1, 2);
    await ledger().expectAgain([taken(1)], 0, "untried");
    expect([await died(1, 3), await died(1, 4)]).toEqual([[1], [2]]);
    await ledger().expectAgain([taken(1)], 0, "returned");
    expect([await died(1, 5), await died(1, 6)]).toEqual([[], [1]]);
    await ledger().count(outcome([], [taken(1)]));
    expect(await died(1, 7)).toEqual([]);
  });

  it("counts from a hundred for one that is tried alone, while others get through", async () => {
    const alone = async (n: number, attempts: number) => {
      const deaths = await died(n, attempts);
      await ledger().expectAgain([{ ...taken(n), attempts }], 0, "alone");
      return deaths;
    };
    // Nothing was counted yet.
    expect([await died(1, 1), await alone(1, 2), await alone(1, 3), await alone(1, 4)]).toEqual([
      [],
      [1],
      [100],
      [100],
    ]);
    const clock = setClock(NOON);
    await ledger().count(outcome([taken(9)]));
    clock.advance(20 * 60_000);
    expect([await alone(1, 5), await alone(1, 6)]).toEqual([[101], [102]]);
    clock.advance(1);
    expect([await alone(1, 7), await died(2, 1), await died(2, 2), await died(2, 3)]).toEqual([[102], [], [1], [2]]);
    await ledger().count(outcome([taken(8)]));
    expect(await alone(1, 8)).toEqual([103]);
  });

  it("is what it was before the message was tried alone, and a hundred more", async () => {
    await ledger().count(outcome([taken(9)]));
    await begun(1, 1);
    await begun(1, 2);
    for (const attempts of [3, 4]) {
      await begun(1, attempts);
      await ledger().expectAgain([{ ...taken(1), attempts }], 0, "alone");
    }
    expect(await died(1, 5)).toEqual([102]);
  });

  it("is not changed by what comes from the outbox, or is noted by an earlier release", async () => {
    await ledger().expectAgain([taken(1)]);
    expect(await died(1, 3)).toEqual([]);
    await ledger().expectAgain([taken(1)]);
    expect(await died(1, 4)).toEqual([1]);
  });

  it("is forgotten when it is counted, and what was counted is not noted", async () => {
    await begun(1, 1);
    await ledger().count(outcome([taken(1)]));
    expect([await died(1, 2), await died(1, 3)]).toEqual([[], []]);
    expect(await ledger().oldestUnfinishedMs()).toBeNull();
  });

  it("writes nothing that it knows already", async () => {
    await begun(1, 1);
    const written = await runInDurableObject(ledger(), (object: TraceLog, { storage }) => {
      const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
      const { exec } = storage.sql;
      vi.spyOn(Object.getPrototypeOf(storage.sql) as SqlStorage, "exec").mockImplementation(function (
        this: SqlStorage,
        query,
        ...values
      ) {
        const cursor = exec.call(this, query, ...values);
        cursors.push(cursor);
        return cursor;
      });
      const rows = (run: () => unknown): number => {
        run();
        return cursors.splice(0).reduce((sum, { rowsWritten }) => sum + rowsWritten, 0);
      };
      const note = (how: "begun" | "returned", attempts: number) => () =>
        object.expectAgain([{ ...taken(1), attempts }], 0, how);
      return [note("begun", 1), note("returned", 1), note("returned", 1), note("begun", 2)].map(rows);
    });
    expect(written).toEqual([0, 1, 0, 1]);
  });
});
