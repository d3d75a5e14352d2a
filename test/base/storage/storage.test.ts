import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { DedupIndex } from "../../../src/base/storage/dedup-index.ts";
import { type Migration, migrate } from "../../../src/base/storage/migrate.ts";
import { WATCH_STEPS } from "../../../src/operate/alerts/watch-migrations.ts";
import { REPLAY_STEPS } from "../../../src/operate/replay/replay-migrations.ts";
import { TRACE_LOG_STEPS } from "../../../src/ship/log/log-migrations.ts";
import { traceLog } from "../../../src/ship/log/trace-log.ts";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import { READER_STEPS } from "../../../src/ship/reader/reader-migrations.ts";
import { ACCESS_STEPS } from "../../../src/state/access/access-migrations.ts";
import { CONTROL_STEPS } from "../../../src/state/control/control-migrations.ts";
import { Oracle } from "../../support/oracle.ts";
import { api, createJob } from "../../support/runtime/api.ts";
import {
  deliver,
  freshBucket,
  logStatus,
  NOON,
  pack,
  readAll,
  runCron,
  setClock,
  settle,
} from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";

const DAY_MS = 86_400_000;

const SCHEMAS: Record<string, readonly Migration[]> = {
  log: TRACE_LOG_STEPS,
  readers: READER_STEPS,
  control: CONTROL_STEPS,
  access: ACCESS_STEPS,
  watch: WATCH_STEPS,
  replays: REPLAY_STEPS,
};

it.each(Object.entries(SCHEMAS))(
  "the schema of %s makes a new object, and upgrades one that stopped at any earlier step",
  async (name, steps) => {
    for (let stop = 0; stop <= steps.length; stop++) {
      await runInDurableObject(env.READERS.getByName(`${name} from ${stop}`), async (_object, { storage }) => {
        await storage.deleteAll();
        migrate(storage, steps.slice(0, stop));
        expect(migrate(storage, steps)).toBe(steps.length - stop);
        expect(migrate(storage, steps)).toBe(0);
      });
    }
  },
);

describe("the memory of ids", () => {
  const id = (n: number): string => n.toString(16).padStart(32, "0");
  const use = <T>(run: (ids: DedupIndex, storage: DurableObjectStorage) => T): Promise<T> =>
    runInDurableObject(traceLog(env.TRACE_LOG, 9), (_object, { storage }) => run(new DedupIndex(storage.sql), storage));

  it("writes little of a minute again, and has room for any minute", async () => {
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
      for (const memory of [ids, new DedupIndex(sql)]) {
        expect(memory.known([0, 99, 9_999, 199_999, 399_999].flatMap((n) => taken[n] ?? [])).size).toBe(5);
        expect(memory.known([{ id: id(400_000), takenInMs: NOON, keyed: false }]).size).toBe(0);
      }
    });
  });

  it("reads no ids again to find that others are new", async () => {
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
});

describe("a reader's storage", () => {
  const rows = (job: number, table: string): Promise<number> =>
    runInDurableObject(nodeAt(env.READERS, job, 0), (_log, { storage }) =>
      Number(storage.sql.exec(`SELECT count(*) AS n FROM ${table}`).one().n),
    );

  it("holds no record any more once it is delivered", async () => {
    const clock = setClock(NOON);
    const job = await createJob(freshBucket().name);
    await deliver(pack(new Oracle({ at: NOON }).mint(500, { days: 3 }), clock.nowMs()));
    expect(await rows(job, "chunk")).toBeGreaterThan(0);
    await settle(job, clock);
    expect([await rows(job, "chunk"), await rows(job, "batch"), await rows(job, "object")]).toEqual([0, 0, 3]);
  });

  it("holds no record any more once it is discarded, cut or not", async () => {
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
    await readAll();
    expect(await rows(job, "chunk")).toBe(0);
    expect((await logStatus(job)).counts).toMatchObject({ discarded: 100, pending: 0 });
  });

  it("keeps the history of objects for 30 days, and the log ids for 15", async () => {
    const clock = setClock(NOON);
    const job = await createJob(freshBucket().name);
    await deliver(pack(new Oracle({ at: NOON }).mint(5), clock.nowMs()));
    await settle(job, clock);
    const ids = () =>
      runInDurableObject(traceLog(env.TRACE_LOG, 0), (_log, { storage }) =>
        Number(storage.sql.exec("SELECT count(*) AS n FROM taken").one().n),
      );
    clock.advance(16 * DAY_MS);
    await runCron();
    // They go by the newest part, too: a clock that leaps forgets nothing.
    expect([await rows(job, "object"), await ids()]).toEqual([1, 1]);
    await deliver(pack(new Oracle({ at: NOON + 1 }).mint(1), clock.nowMs()));
    clock.advance(DAY_MS);
    await runCron();
    expect([await rows(job, "object"), await ids()]).toEqual([2, 1]);
    clock.advance(15 * DAY_MS);
    await runCron();
    expect(await rows(job, "object")).toBe(1);
    expect((await logStatus(job)).counts.delivered).toBe(6);
  });
});
