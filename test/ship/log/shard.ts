/** Shards of the log under a control plane that a test scripts, and what is appended to them. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import { type Loaded, load, loadOffered, storedMessage } from "../../../src/formats/queue/load-records.ts";
import { ControlPlane, JobReader } from "../../../src/index.ts";
import { prepareAll } from "../../../src/ship/consumer/prepare-all.ts";
import type { JobConfig, JobsSnapshot, OptOut } from "../../../src/ship/job/config.ts";
import type { Append, PartHead } from "../../../src/ship/log/append-types.ts";
import type { Item, OpenMessage } from "../../../src/ship/log/blocks.ts";
import type { Pull, Pulled } from "../../../src/ship/log/driver.ts";
import { headOf } from "../../../src/ship/log/heads.ts";
import type { Page } from "../../../src/ship/log/shard-answers.ts";
import { type TraceLog, traceLog } from "../../../src/ship/log/trace-log.ts";
import { NOON } from "../../support/runtime/pipeline.ts";
import { job, linesOf, one, outcomes, record, type Sent, snapshot } from "../consumer/scripted.ts";

/** By default not the first one, which drives readers of jobs without records, too. */
export const shard = (n = 1): DurableObjectStub<TraceLog> => traceLog(env.TRACE_LOG, n);

/** What the control plane has in force; a test may replace it. */
export interface Control {
  now: JobsSnapshot;
  /** What each shard that joined had. */
  readonly joined: string[];
  /** It does not answer, or it answers when a test lets it. */
  answer: () => Promise<void>;
}

/** From here on, shards that join get these jobs. */
export function control(jobs: JobConfig[] = [job(1)], optOuts: OptOut[] = []): Control {
  const it: Control = { now: snapshot("epoch.1.mark", jobs, optOuts), joined: [], answer: async () => {} };
  vi.spyOn(ControlPlane.prototype, "join").mockImplementation((async (_shard: number, state: string) => {
    it.joined.push(state);
    const { now } = it;
    await it.answer();
    return now.state === state ? { state, jobs: null } : now;
  }) as never);
  return it;
}

/** A message of one event, taken in at noon of the tests. */
export const message = (n: number, fields: Partial<Sent> = {}): ArrayBuffer => one(n, { takenInMs: NOON, ...fields });

/** One event of a function. */
export const eventOf = (scriptName: string) => ({ ...record(scriptName), ScriptName: scriptName });

export function loaded(...messages: ArrayBuffer[]): Loaded[] {
  return messages.flatMap((each) => {
    const loading = load(storedMessage(new Uint8Array(each)));
    if (loading.kind !== "loaded") throw new Error(loading.why);
    return loading.loaded;
  });
}

export const headsOf = (...messages: ArrayBuffer[]): PartHead[] => loaded(...messages).map((part) => headOf(part));

/** An append of these messages that prepares nothing. */
export function open(messages: ArrayBuffer[], fields: Partial<Append> = {}): Append {
  return {
    ...{ v: 1, parts: headsOf(...messages), prepared: [], queue: null, state: "" },
    records: messages.map((each) => ({
      body: new Uint8Array(each),
      parts: loaded(each).map((part) => part.message.id),
    })),
    work: { batches: 0, entries: 0, offered: 0 },
    ...fields,
  };
}

/** The same, prepared by a handler that knows this configuration. */
export function prepared(messages: ArrayBuffer[], known: JobsSnapshot, fields: Partial<Append> = {}): Append {
  return open(messages, {
    prepared: prepareAll(loaded(...messages), known).prepared,
    state: known.state,
    ...fields,
  });
}

/** What a job gets of a block. */
export interface Got {
  made: "prepared" | "open";
  /** Records that are offered, as the shard counts them. */
  received: number;
  outcomes: string[];
}

export const page = async (jobId: number, after = 0, { n = 1, stamp = "", segment = 0, maxBytes = 4e6 } = {}) =>
  (await shard(n).read(jobId, segment, after, stamp, maxBytes)) as unknown as Page;

/** All that a job has not read, block by block. */
export const unread = async (jobId: number, n = 1): Promise<Got[]> => {
  return (await page(jobId, 0, { n, maxBytes: 1e9 })).items.map(gotOf);
};

export function gotOf({ received, group, open: messages = [] }: Item): Got {
  if (group !== undefined) return { made: "prepared", received, outcomes: outcomes(linesOf(group)) };
  return { made: "open", received, outcomes: outcomesOf(messages) };
}

function outcomesOf(messages: readonly OpenMessage[]): string[] {
  return messages.flatMap((message) => {
    const loading = loadOffered(message, []);
    if (typeof loading === "string") throw new Error(loading);
    return loading.flatMap(({ records }) => records.map(({ whole }) => whole.Outcome));
  });
}

/** All that the shard keeps, whether a job wanted it or not, oldest first. */
export async function kept(n = 1): Promise<string[]> {
  const { messages } = (await shard(n).records(0, 1e9)) as { messages: OpenMessage[] };
  return outcomesOf(messages);
}

/** Values of the shard's row. */
export const stateOf = <T extends Record<string, SqlStorageValue>>(columns: string, n = 1): Promise<T> =>
  runInDurableObject(shard(n), (_shard, { storage: { sql } }) => sql.exec<T>(`SELECT ${columns} FROM state`).one());

export const rowsOf = (table: string, n = 1): Promise<number> =>
  runInDurableObject(
    shard(n),
    (_shard, { storage: { sql } }) => sql.exec<{ rows: number }>(`SELECT count(*) AS rows FROM ${table}`).one().rows,
  );

export const alarmAt = (n = 1): Promise<number | null> =>
  runInDurableObject(shard(n), (_shard, { storage }) => storage.getAlarm());

/** Runs this in the shard, whose storage refuses each statement that begins so. */
export const failingAt = (statement: string, run: (log: TraceLog) => Promise<unknown>): Promise<void> =>
  runInDurableObject(shard(), (log: TraceLog, { storage }) => {
    const prototype = Object.getPrototypeOf(storage.sql) as SqlStorage;
    const { exec } = prototype;
    const broken = vi.spyOn(prototype, "exec").mockImplementation(function (this: SqlStorage, query, ...values) {
      if (query.startsWith(statement)) throw new Error("disk full");
      return exec.call(this, query, ...values);
    });
    return expect(run(log))
      .rejects.toThrow("disk full")
      .finally(() => broken.mockRestore());
  });

/** How many rows each of these writes, one after the other. */
export const rowsWritten = (...runs: ((log: TraceLog, sql: SqlStorage) => unknown)[]): Promise<number[]> =>
  runInDurableObject(shard(), async (log: TraceLog, { storage: { sql } }) => {
    const exec = vi.spyOn(Object.getPrototypeOf(sql) as SqlStorage, "exec");
    const written: number[] = [];
    for (const run of runs) {
      exec.mockClear();
      await run(log, sql);
      const cursors = exec.mock.results.map(({ value }) => value as SqlStorageCursor<Record<string, SqlStorageValue>>);
      written.push(cursors.reduce((sum, cursor) => sum + cursor.rowsWritten, 0));
    }
    return written;
  });

/** Readers that answer as a test says. @returns the pulls there were. */
export function readers(
  answer: (name: string, how: Pull) => Partial<Pulled> | Promise<Partial<Pulled>>,
): { name: string; how: Pull }[] {
  const pulls: { name: string; how: Pull }[] = [];
  vi.spyOn(JobReader.prototype, "pull").mockImplementation(async function (this: JobReader, how) {
    const name = (this as unknown as { ctx: DurableObjectState }).ctx.id.name ?? "";
    pulls.push({ name, how });
    const pulled = await answer(name, how);
    return { cursor: how.from, more: false, sealed: false, holds: false, stamp: "1.mark", ...pulled };
  });
  return pulls;
}

/** Readers that read all there is, as real ones do. @param stamp that they have afterwards. */
export function reading(stamp = "1.mark"): ReturnType<typeof readers> {
  return readers(async (name, { from }) => {
    const [, jobId, n] = /^job (\d+) log (\d+)/.exec(name) ?? [];
    const { end } = await page(Number(jobId), from, { n: Number(n), stamp });
    return { cursor: end, stamp };
  });
}

/**
 * Deadlines of this many ms pass at once, in durable objects, too, whose timers cannot be faked.
 */
export function passing(deadlineMs: number): { end(): void } {
  const { setTimeout } = globalThis;
  const spy = vi.spyOn(globalThis, "setTimeout");
  spy.mockImplementation(((run: () => void, ms?: number) => setTimeout(run, ms === deadlineMs ? 1 : ms)) as never);
  return { end: () => spy.mockRestore() };
}
