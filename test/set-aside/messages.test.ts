/** The ledger's set-aside messages: their ids, counts, and notes of what was in force at intake. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { ID_MEMORY_MS } from "../../src/limits.ts";
import type { TakenId } from "../../src/storage/id-memory.ts";
import { LAST_ASK_AFTER_MS } from "../../src/trace-log/set-aside-messages.ts";
import { type MessageCount, type TraceLog, traceLog } from "../../src/trace-log/trace-log.ts";
import { id, job, one } from "../pipeline/scripted.ts";
import { NOON, setClock } from "../support/runtime/pipeline.ts";

const DAY_MS = 86_400_000;

const ledger = () => traceLog(env.TRACE_LOG, 0);

const takenAt = (n: number, takenInMs = NOON): TakenId => ({ id: id(n), takenInMs, keyed: false });

const setAside = (n: number, fields: object = {}) =>
  ledger().setAside({
    ...{ taken: takenAt(n), queue: "q", why: "failed too often", events: 3 },
    ...{ message: one(n, { takenInMs: NOON }), ...fields },
  });

const sent = (n: number, fields: Partial<MessageCount> = {}): MessageCount => ({
  ...{ ...takenAt(n), events: 3, routed: 2, notEnabled: 1, notRouted: 0 },
  functions: [{ scriptName: "shop", routed: 2, notEnabled: 1, notRouted: 0, lastEventMs: NOON }],
  ...fields,
});

const counts = async () => (await ledger().status()).counts;

const NOTHING = { processed: 0, routed: 0, not_enabled: 0, not_routed: 0, set_aside: 0, discarded: 0 };

let clock: ReturnType<typeof setClock>;
beforeEach(() => {
  clock = setClock(NOON);
  vi.spyOn(console, "error").mockImplementation(() => {});
});

describe("a message that is sent again", () => {
  it("moves its events to what became of them, once", async () => {
    await setAside(1);
    expect(await ledger().asideSent(1, sent(1), "other.1")).toBeNull();
    expect(await ledger().asideSent(1, sent(1), "other.1")).toBe("gone");
    expect(await counts()).toEqual({ ...NOTHING, processed: 3, routed: 2, not_enabled: 1 });
    expect(await ledger().functionCount("shop")).toMatchObject({ routed: 2, notEnabled: 1 });
    expect(await ledger().asideMessage(1)).toBeNull();
  });

  it("is not counted by a state that is behind: the jobs as they are by now come back", async () => {
    await setAside(1);
    const state = "epoch.2.mark";
    await ledger().keepJobs({ state, jobs: [job(4)], optOuts: [], optOutVersion: 0 });
    expect(await ledger().asideSent(1, sent(1), "epoch.1.mark")).toMatchObject({ state, jobs: [{ id: 4 }] });
    expect(await counts()).toEqual({ ...NOTHING, processed: 3, set_aside: 3 });
    expect(await ledger().asideSent(1, sent(1), state)).toBeNull();
    expect((await counts()).routed).toBe(2);
  });

  it("counts as many events as it holds, though nobody could read them before", async () => {
    await setAside(7, { events: 1, unreadable: "of unknown version 2" });
    await ledger().asideSent(1, sent(1), "other.1");
    expect(await counts()).toEqual({ ...NOTHING, processed: 3, routed: 2, not_enabled: 1 });
    // Another copy is known by its header's id.
    expect(await ledger().counted([takenAt(1)])).toEqual([id(1)]);
  });

  it("counts nothing when another copy of it was counted, which could be read", async () => {
    await setAside(7, { events: 1, unreadable: "of unknown version 2" });
    const done = [sent(1)];
    await ledger().count({ done, failed: [], backlog: null, state: "other.1" });
    await ledger().asideSent(1, sent(1), "other.1");
    expect(await counts()).toEqual({ ...NOTHING, processed: 3, routed: 2, not_enabled: 1 });
    expect(await ledger().functionCount("shop")).toMatchObject({ routed: 2 });
  });
});

it("a message that is given up counts as discarded, once", async () => {
  await setAside(1);
  expect([await ledger().asideDiscarded(1), await ledger().asideDiscarded(1)]).toEqual([3, null]);
  expect(await counts()).toEqual({ ...NOTHING, processed: 3, discarded: 3 });
});

it("costs as many rows as docs/storage.md says", async () => {
  const written = await runInDurableObject(ledger(), (account: TraceLog, { storage }) => {
    const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
    const prototype = Object.getPrototypeOf(storage.sql) as SqlStorage;
    const { exec } = prototype;
    vi.spyOn(prototype, "exec").mockImplementation(function (this: SqlStorage, query, ...values) {
      const cursor = exec.call(this, query, ...values);
      cursors.push(cursor);
      return cursor;
    });
    const rows = (run: () => void): number => {
      cursors.length = 0;
      run();
      return cursors.reduce((sum, { rowsWritten }) => sum + rowsWritten, 0);
    };
    const message = one(1, { takenInMs: NOON });
    return {
      setAside: rows(() =>
        account.setAside({ taken: takenAt(1), queue: "q", why: "failed too often", events: 3, message }),
      ),
      asked: rows(() => {
        const { messages } = account.asideToAsk(10);
        account.asideAsked(messages.map((each) => ({ ...each, kept: [], all: true })));
      }),
      sent: rows(() => account.asideSent(1, sent(1), "other.1")),
    };
  });
  expect(written).toEqual({ setAside: 7, asked: 2, sent: 4 });
});

it("no id is used twice, though the last message goes", async () => {
  await setAside(1);
  await ledger().asideDiscarded(1);
  await setAside(2);
  const { entries, total } = await ledger().asideList(0, 10);
  expect([entries.map((entry) => entry.id), total]).toEqual([[2], 1]);
});

it("the status says how many there are, with how many events, and since when", async () => {
  expect((await ledger().status()).setAsideMessages).toEqual({
    messages: 0,
    events: 0,
    oldestMs: null,
    stopsClaims: false,
  });
  await setAside(1);
  clock.advance(5_000);
  await setAside(2);
  expect((await ledger().status()).setAsideMessages).toEqual({
    messages: 2,
    events: 6,
    oldestMs: NOON,
    stopsClaims: false,
  });
  await ledger().asideDiscarded(1);
  expect((await ledger().status()).setAsideMessages).toEqual({
    messages: 1,
    events: 3,
    oldestMs: NOON + 5_000,
    stopsClaims: false,
  });
});

describe("what was in force when a message was taken in", () => {
  const window = (fromMs: number, untilMs: number | null) => [{ fromMs, untilMs }];
  const jobs = [
    job(1),
    job(2, { windows: window(NOON - 2, NOON - 1) }),
    job(3, { windows: window(NOON - 2, NOON) }),
    job(4, { windows: [], deletedMs: NOON, discard: true }),
  ];
  const optOuts = [
    { scriptName: "off then", windows: window(NOON - 1, NOON + 1) },
    { scriptName: "off later", windows: window(NOON + 1, null) },
  ];
  const terms = async (aside: number) => (await ledger().asideMessage(aside))?.terms;

  beforeEach(async () => {
    await ledger().keepJobs({ state: "epoch.1.mark", jobs, optOuts, optOutVersion: 1 });
  });

  it("is noted with it", async () => {
    await setAside(1);
    expect(await terms(1)).toEqual({ jobs: [1, 3], off: ["off then"], kept: [] });
  });

  it("is noted when newer code can tell when that was, as long as windows are remembered", async () => {
    await setAside(1, { unreadable: "of unknown version 2" });
    await setAside(2, { unreadable: "of unknown version 2", message: one(2, { takenInMs: NOON - ID_MEMORY_MS }) });
    expect(await terms(1)).toBeNull();
    await ledger().asideToAsk(10);
    expect(await terms(1)).toEqual({ jobs: [1, 3], off: ["off then"], kept: [] });
    expect(await terms(2)).toBeNull();
  });

  it("has the logs asked once a day, for the last time when no copy can come any more, and before they forget", async () => {
    await setAside(1);
    const rounds: [days: number, final: boolean][] = [];
    for (let hour = 0; hour < 20 * 24; hour++) {
      const { messages, jobs: asked } = await ledger().asideToAsk(10);
      for (const message of messages) {
        expect([message.taken, asked]).toEqual([takenAt(1), [1, 2, 3, 4]]);
        rounds.push([hour / 24, message.final]);
      }
      await ledger().asideAsked(messages.map((message) => ({ ...message, kept: [1, 2], all: true })));
      clock.advance(3_600_000);
    }
    expect(rounds).toEqual([...Array.from({ length: 15 }, (_, day) => [day, false]), [14.5, true]]);
    expect(LAST_ASK_AFTER_MS).toBeGreaterThan(14 * DAY_MS);
    expect(LAST_ASK_AFTER_MS).toBeLessThan(ID_MEMORY_MS);
    expect(await terms(1)).toMatchObject({ kept: [1, 2] });
    // The log of job 3 cannot tell.
    expect((await ledger().asideList(0, 10)).entries).toMatchObject([{ forgotten: [3] }]);
    // It need not once the job is gone, as it gets nothing any more.
    const deleted = jobs.map((each) => ({ ...each, deletedMs: NOON + DAY_MS }));
    await ledger().keepJobs({ state: "epoch.2.mark", jobs: deleted, optOuts, optOutVersion: 1 });
    expect((await ledger().asideList(0, 10)).entries).toMatchObject([{ forgotten: [] }]);
  });

  it("has whoever did not answer asked again with the next chance, and keeps what the others said", async () => {
    await setAside(1);
    clock.advance(LAST_ASK_AFTER_MS);
    const ask = async (kept: number[], all: boolean): Promise<number> => {
      const { messages } = await ledger().asideToAsk(10);
      await ledger().asideAsked(messages.map((message) => ({ ...message, kept, all })));
      return messages.length;
    };
    expect([await ask([1], false), await ask([3], true), await ask([], true)]).toEqual([1, 1, 0]);
    expect(await terms(1)).toMatchObject({ kept: [1, 3] });
  });

  it("has each message asked for in its turn, though somebody never answers", async () => {
    for (const n of [1, 2, 3]) await setAside(n);
    const asked: string[] = [];
    for (let round = 0; round < 3; round++) {
      clock.advance(300_000);
      const { messages } = await ledger().asideToAsk(2);
      asked.push(...messages.map((message) => message.taken.id));
      await ledger().asideAsked(messages.map((message) => ({ ...message, kept: [1], all: false })));
    }
    expect(new Set(asked)).toEqual(new Set([id(1), id(2), id(3)]));
  });

  it("has nobody asked of what says nothing of itself, but for newer code that may come", async () => {
    await setAside(1, { unreadable: "shorter than a header", message: new ArrayBuffer(3) });
    for (let day = 0; day < 20; day++) {
      expect((await ledger().asideToAsk(10)).messages).toEqual([]);
      clock.advance(DAY_MS);
    }
    const due = await runInDurableObject(ledger(), (_ledger, { storage }) =>
      storage.sql.exec("SELECT count(*) AS n FROM aside_note WHERE ask_ms IS NOT NULL").one(),
    );
    expect(due).toEqual({ n: 0 });
  });
});
