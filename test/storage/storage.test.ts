import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, it, vi } from "vitest";
import { ACCESS_STEPS } from "../../src/access/schema.ts";
import { CONTROL_STEPS } from "../../src/control/plane.ts";
import { DEBT_STEPS } from "../../src/debts/schema.ts";
import { nodeAt } from "../../src/delivery/job-nodes.ts";
import { LOG_STEPS } from "../../src/delivery/schema.ts";
import { KEY_STEPS } from "../../src/intake/key-register.ts";
import { OUTBOX_STEPS } from "../../src/intake/outbox.ts";
import type { JobConfig } from "../../src/job/config.ts";
import { buildAppend } from "../../src/object/build.ts";
import { BLOB_STEPS } from "../../src/queue/blob-store.ts";
import { decodeMessage, type Part } from "../../src/queue/message.ts";
import type { TraceRecord } from "../../src/record/fields.ts";
import { REPLAY_STEPS } from "../../src/replay/schema.ts";
import { WATCH_STEPS } from "../../src/status/watch-schema.ts";
import { IdMemory } from "../../src/storage/id-memory.ts";
import { type Migration, migrate } from "../../src/storage/migrate.ts";
import { ACCOUNT_STEPS } from "../../src/trace-log/trace-log.ts";
import { loadedRecord } from "../pipeline/scripted.ts";
import { Oracle } from "../support/oracle.ts";
import { api, createJob } from "../support/runtime/api.ts";
import { deliver, freshBucket, logStatus, NOON, pack, runCron, setClock, settle } from "../support/runtime/pipeline.ts";
import { rule } from "../support/s3-script.ts";

const DAY_MS = 86_400_000;

const SCHEMAS: Record<string, readonly Migration[]> = {
  log: LOG_STEPS,
  control: CONTROL_STEPS,
  account: ACCOUNT_STEPS,
  blobs: BLOB_STEPS,
  outbox: OUTBOX_STEPS,
  access: ACCESS_STEPS,
  watch: WATCH_STEPS,
  replays: REPLAY_STEPS,
  keys: KEY_STEPS,
  debts: DEBT_STEPS,
};

describe.each(Object.entries(SCHEMAS))("the schema of %s", (name, steps) => {
  it("makes a new object, and upgrades one that stopped at any earlier step", async ({ expect }) => {
    for (let stop = 0; stop <= steps.length; stop++) {
      await runInDurableObject(env.READERS.getByName(`${name} from ${stop}`), async (_object, { storage }) => {
        await storage.deleteAll();
        migrate(storage, steps.slice(0, stop));
        expect(migrate(storage, steps)).toBe(steps.length - stop);
        expect(migrate(storage, steps)).toBe(0);
      });
    }
  });

  it("refuses storage that a newer version wrote", async ({ expect }) => {
    await runInDurableObject(env.READERS.getByName(`${name} newer`), async (_object, { storage }) => {
      await storage.deleteAll();
      migrate(storage, [...steps, { id: 1_000, why: "from the future", sql: "CREATE TABLE later (a)" }]);
      expect(() => migrate(storage, steps)).toThrow("newer version");
    });
  });
});

describe("the memory of ids", () => {
  const id = (n: number): string => n.toString(16).padStart(32, "0");
  const use = <T>(run: (ids: IdMemory, storage: DurableObjectStorage) => T): Promise<T> =>
    runInDurableObject(env.READERS.getByName("ids"), (_object, { storage }) => run(new IdMemory(storage.sql), storage));

  it("knows exactly what it was told, by id and minute, in one row a minute", async ({ expect }) => {
    await use((ids, { sql }) => {
      const taken = Array.from({ length: 500 }, (_, n) => ({ id: id(n), takenInMs: NOON + n * 1_000, keyed: false }));
      ids.remember(taken.slice(0, 250));
      ids.remember(taken.slice(250));
      expect(ids.known(taken).size).toBe(500);
      expect(ids.known([{ id: id(500), takenInMs: NOON, keyed: false }]).size).toBe(0);
      expect(ids.known([{ id: id(1), takenInMs: NOON + DAY_MS, keyed: false }]).size).toBe(0);
      expect(sql.exec("SELECT count(*) AS n FROM taken").one().n).toBe(9);
    });
  });

  it("does not take the end of one id and the beginning of the next for a third", async ({ expect }) => {
    await use((ids) => {
      const [a, b] = ["0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"] as const;
      ids.remember([a, b].map((each) => ({ id: each, takenInMs: NOON, keyed: false })));
      const across = a.slice(16) + b.slice(0, 16);
      expect(ids.known([{ id: across, takenInMs: NOON, keyed: false }]).size).toBe(0);
    });
  });

  it("writes little of a minute again, and has room for any minute", async ({ expect }) => {
    await use((ids, storage) => {
      const { sql } = storage;
      const written: number[] = [];
      const taken = Array.from({ length: 400_000 }, (_, n) => ({ id: id(n), takenInMs: NOON, keyed: false }));
      const sizes = () => sql.exec<{ bytes: number }>("SELECT length(ids) AS bytes FROM taken").toArray();
      // A hundred a call, as a consumer's; the rest at once.
      for (let i = 0; i < 10_000; i += 100) {
        ids.remember(taken.slice(i, i + 100));
        written.push(sizes().at(-1)?.bytes ?? 0);
      }
      expect(Math.max(...written)).toBeLessThanOrEqual(16_384);
      expect(sizes().length).toBe(10);
      storage.transactionSync(() => {
        for (let i = 10_000; i < taken.length; i += 10_000) ids.remember(taken.slice(i, i + 10_000));
      });
      const large = sizes().map(({ bytes }) => bytes);
      expect(large.length).toBeLessThan(60);
      expect(Math.max(...large)).toBeLessThan(2_000_000);
      for (const memory of [ids, new IdMemory(sql)]) {
        expect(memory.known([0, 99, 9_999, 199_999, 399_999].flatMap((n) => taken[n] ?? [])).size).toBe(5);
        expect(memory.known([{ id: id(400_000), takenInMs: NOON, keyed: false }]).size).toBe(0);
      }
    });
  });

  it("reads no ids again to find that others are new", async ({ expect }) => {
    await use((ids, { sql }) => {
      const taken = Array.from({ length: 5_000 }, (_, n) => ({ id: id(n), takenInMs: NOON, keyed: false }));
      for (let i = 0; i < 4_000; i += 100) ids.remember(taken.slice(i, i + 100));
      const prototype = Object.getPrototypeOf(sql) as SqlStorage;
      const exec = vi.spyOn(prototype, "exec");
      expect(ids.known(taken.slice(4_000)).size).toBe(0);
      ids.remember(taken.slice(4_000, 4_100));
      const read = exec.mock.results.reduce((sum, { value }) => sum + (value as SqlStorageCursor<never>).rowsRead, 0);
      exec.mockRestore();
      // Twice the size of the last row, and its place.
      expect(read).toBeLessThanOrEqual(3);
    });
  });

  it("knows the copies of a repeated request by the time of the first one, in whatever order they are taken", async ({
    expect,
  }) => {
    const first = { id: id(1), takenInMs: NOON, keyed: false };
    const repeats = [1, 2].map((n) => ({ ...first, takenInMs: NOON + n * DAY_MS, firstMs: NOON }));
    for (const taken of [first, ...repeats]) {
      await use((ids, { sql }) => {
        for (const table of ["taken", "taken_keyed"]) sql.exec(`DELETE FROM ${table}`);
        ids.remember([taken]);
        for (const copy of [first, ...repeats]) expect(ids.known([copy]).size).toBe(1);
        expect(ids.known([{ ...first, takenInMs: NOON + DAY_MS }]).size).toBe(0);
      });
    }
  });

  it.for([
    ["that it took", false, false],
    ["that it knew", true, false],
    ["that it took, keyed", false, true],
    ["that it knew, keyed", true, true],
  ] as const)(
    "knows a late repeat %s for as long as the queue may deliver it",
    async ([, wasTaken, keyed], { expect }) => {
      await use((ids) => {
        const first = { id: id(1), takenInMs: NOON, keyed };
        const repeat = { ...first, takenInMs: NOON + 14 * DAY_MS, firstMs: NOON };
        ids.remember([wasTaken ? first : repeat]);
        expect(ids.known([repeat]).size).toBe(1);
        ids.sweep(NOON + 29 * DAY_MS);
        expect(ids.known([repeat]).size).toBe(1);
        ids.sweep(NOON + 29 * DAY_MS + 60_000);
        expect(ids.known([repeat]).size).toBe(0);
      });
    },
  );

  it("gives a row of its own to a late repeat alone", async ({ expect }) => {
    await use((ids, { sql }) => {
      const repeat = { id: id(1), takenInMs: NOON + DAY_MS, keyed: false, firstMs: NOON };
      ids.remember([repeat]);
      ids.known([repeat]);
      expect(sql.exec("SELECT count(*) AS n FROM taken_keyed").one().n).toBe(0);
      ids.known([{ ...repeat, takenInMs: repeat.takenInMs + 1 }]);
      expect(sql.exec("SELECT count(*) AS n FROM taken_keyed").one().n).toBe(1);
    });
  });

  it("forgets after 15 days, not before, whether keyed or not", async ({ expect }) => {
    await use((ids) => {
      const taken = [true, false].map((keyed, n) => ({ id: id(n), takenInMs: NOON, keyed }));
      ids.remember(taken);
      ids.sweep(NOON + 15 * DAY_MS);
      expect(ids.known(taken).size).toBe(2);
      ids.sweep(NOON + 15 * DAY_MS + 60_000);
      expect(ids.known(taken).size).toBe(0);
    });
  });
});

describe("a log's storage", () => {
  const rows = (job: number, table: string): Promise<number> =>
    runInDurableObject(nodeAt(env.READERS, job, 0), (_log, { storage }) =>
      Number(storage.sql.exec(`SELECT count(*) AS n FROM ${table}`).one().n),
    );

  it("holds no record any more once it is delivered", async ({ expect }) => {
    const clock = setClock(NOON);
    const job = await createJob(freshBucket().name);
    await deliver(pack(new Oracle({ at: NOON }).mint(500, { days: 3 }), clock.nowMs()));
    expect(await rows(job, "chunk")).toBeGreaterThan(0);
    await settle(job, clock);
    expect([await rows(job, "chunk"), await rows(job, "batch"), await rows(job, "object")]).toEqual([0, 0, 3]);
  });

  it("holds no record any more once it is discarded, cut or not", async ({ expect }) => {
    const clock = setClock(NOON);
    const { name, control } = freshBucket();
    const job = await createJob(name);
    await control.script([rule({ do: "answer", status: 503 })]);
    const oracle = new Oracle({ at: NOON });
    await deliver(pack(oracle.mint(50), clock.nowMs()));
    await runCron();
    await deliver(pack(oracle.mint(50), clock.nowMs()));
    expect(await rows(job, "chunk")).toBeGreaterThan(1);
    await api("DELETE", `/logship/jobs/${job}?discard=true`);
    expect(await rows(job, "chunk")).toBe(0);
    expect((await logStatus(job)).counts).toMatchObject({ discarded: 100, pending: 0 });
  });

  it("keeps the history of objects for 30 days, and ids for 15", async ({ expect }) => {
    const clock = setClock(NOON);
    const job = await createJob(freshBucket().name);
    await deliver(pack(new Oracle({ at: NOON }).mint(5), clock.nowMs()));
    await settle(job, clock);
    clock.advance(14 * DAY_MS);
    await runCron();
    expect([await rows(job, "object"), await rows(job, "taken")]).toEqual([1, 1]);
    clock.advance(2 * DAY_MS);
    await runCron();
    expect([await rows(job, "object"), await rows(job, "taken")]).toEqual([1, 0]);
    clock.advance(15 * DAY_MS);
    await runCron();
    expect([await rows(job, "object"), await rows(job, "taken")]).toEqual([0, 0]);
    expect((await logStatus(job)).counts.delivered).toBe(5);
  });

  it("costs four written rows for an append to an open batch: counts, ids, batch, chunk", async ({ expect }) => {
    const clock = setClock(NOON);
    const job = await createJob(freshBucket().name);
    const oracle = new Oracle({ at: NOON });
    await deliver(pack(oracle.mint(5), clock.nowMs()));
    const [message] = pack(oracle.mint(5), clock.nowMs());
    const written = await runInDurableObject(nodeAt(env.READERS, job, 0), async (log, { storage }) => {
      const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
      const prototype = Object.getPrototypeOf(storage.sql) as SqlStorage;
      const exec = prototype.exec;
      const spy = vi.spyOn(prototype, "exec").mockImplementation(function (this: SqlStorage, ...args) {
        const cursor = exec.apply(this, args);
        cursors.push(cursor);
        return cursor;
      });
      const decoded = decodeMessage(message?.body.buffer);
      if (!decoded.ok) throw new Error(decoded.why);
      const job = JSON.parse(String(storage.sql.exec("SELECT job FROM reader").one().job)) as JobConfig;
      const records = decoded.value.lines.map((line, i) => loadedRecord(JSON.parse(line) as TraceRecord, i));
      const append = buildAppend(
        job,
        [{ message: decoded.value.parts[0] as Part, records, ascii: true }],
        new Set(),
        0,
      );
      expect(log.append(append)).toEqual({ kind: "taken" });
      spy.mockRestore();
      return cursors.map(({ rowsWritten }) => rowsWritten).filter((rows) => rows > 0);
    });
    expect(written).toEqual([1, 1, 1, 1]);
  });
});
