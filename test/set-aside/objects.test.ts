/** The objects of a log that their store refuses, and the ids that it never forgets. */
import { expect, it, vi } from "vitest";
import type { JobReader } from "../../src/delivery/job-reader.ts";
import { LogState } from "../../src/delivery/log-state.ts";
import { Objects } from "../../src/delivery/objects.ts";
import type { Append } from "../../src/object/append.ts";
import { NDJSON } from "../../src/output/format.ts";
import { append, fragmentsOf, inLog, jobInto } from "../delivery/direct.ts";
import { id } from "../pipeline/scripted.ts";
import { freshBucket, NOON, setClock } from "../support/runtime/pipeline.ts";
import { rule } from "../support/s3-script.ts";

const DAY_MS = 86_400_000;

it("fifty thousand objects are listed page by page, in order, by an index", async () => {
  setClock(NOON);
  const job = jobInto(freshBucket().name);
  await inLog(job, (log, { sql }) => {
    log.configure(job, 0);
    sql.exec(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)
       INSERT INTO object (number, batch, day, name, key, head, tail, bytes, raw_bytes, records, sha256, md5, first_event_ms, last_event_ms,
         oldest_taken_ms, reason, cut_ms, state, aside_ms)
       SELECT i, i, 1, 'n', 'k', x'', x'', 1, 1, 1, '', '', 0, 0, 0, 'bytes', 0, 'set_aside', ${NOON} + i % 7 FROM n`,
    );
    sql.exec("UPDATE reader SET aside_objects = 50000, set_aside = 50000, received = 50000");
    const seen = new Set<number>();
    let before = 0;
    for (let offset = 0; offset < 50_000; offset += 10_000) {
      const { entries, total } = log.asideObjects(offset, 100);
      expect([entries.length, total]).toEqual([100, 50_000]);
      for (const { number, asideMs } of entries) {
        expect(asideMs).toBeGreaterThanOrEqual(before);
        before = asideMs;
        seen.add(number);
      }
    }
    expect(seen.size).toBe(500);
    const read = sql.exec(
      "SELECT * FROM object INDEXED BY object_aside WHERE state = 'set_aside' ORDER BY aside_ms, number LIMIT 100 OFFSET 0",
    );
    read.toArray();
    expect(read.rowsRead).toBeLessThan(1_000);
    expect(log.status()?.setAside).toEqual({ objects: 50_000, records: 50_000, oldestMs: NOON });
  });
});

it("what a log says is wrong goes with the last object that was set aside, unless something else is wrong", async () => {
  const clock = setClock(NOON);
  const { name, control } = freshBucket();
  const job = jobInto(name);
  const tooLarge = rule({ do: "answer", status: 413 }, { method: "PUT", keyIncludes: ".log.gz" });
  await control.script([tooLarge]);
  await inLog(job, async (log, { sql }) => {
    log.configure(job, 0);
    let version = 1;
    for (const text of ["a\n", "b\n", "c\n"]) {
      append(log, version, fragmentsOf(NDJSON, [text]));
      version += 1;
      log.configure({ ...job, version, outputVersion: version }, 0);
      await log.drive("manual", 10_000);
      // As after a delivery: of two refused in a row the second parks the job.
      sql.exec("UPDATE reader SET unconditional = 0");
    }
    const said = (): string | null | undefined => log.status()?.errorMessage;
    expect(said()).toBe("an object was set aside: HTTP 413");
    expect(log.status()?.setAside).toEqual({ objects: 3, records: 3, oldestMs: NOON });
    expect(log.asideDiscard(1)).toMatchObject({ records: 1, state: "discarded" });
    expect(said()).toBe("an object was set aside: HTTP 413");
    await control.script([]);
    clock.advance(1_000);
    expect(log.asideResend(2)).toMatchObject({ state: "waiting", attempts: 0, error: null });
    expect(said()).toBe("an object was set aside: HTTP 413");
    // Uploads fail meanwhile, which discarding an object does not clear.
    sql.exec("UPDATE reader SET failures = 1, error_message = 'upload failed'");
    log.asideDiscard(3);
    expect([said(), log.status()?.setAside]).toEqual(["upload failed", { objects: 0, records: 0, oldestMs: null }]);
    sql.exec("UPDATE reader SET failures = 0, error_message = 'an object was set aside'");
    sql.exec("UPDATE reader SET aside_objects = 0");
    await log.drive("manual", 10_000);
    expect(log.status()).toMatchObject({
      counts: { received: 3, delivered: 1, discarded: 2, set_aside: 0, pending: 0 },
      errorMessage: null,
    });
    expect(sql.exec("SELECT count(*) AS n FROM chunk").one()).toEqual({ n: 0 });
    expect([log.asideResend(2), log.asideDiscard(2), log.asideObject(2), log.asideBytes(2)]).toEqual(
      Array(4).fill(null),
    );
  });
});

it("the last object that is taken up takes what the log says with it", async () => {
  setClock(NOON);
  const { name, control } = freshBucket();
  const job = jobInto(name);
  await control.script([rule({ do: "answer", status: 413 }, { method: "PUT", keyIncludes: ".log.gz" })]);
  await inLog(job, async (log) => {
    log.configure(job, 0);
    append(log, 1, fragmentsOf(NDJSON, ["a\n"]));
    await log.drive("manual", 10_000);
    expect(log.status()).toMatchObject({ errorMessage: "an object was set aside: HTTP 413", lastErrorMs: NOON });
    log.asideResend(1);
    expect(log.status()).toMatchObject({ errorMessage: null, lastErrorMs: null, counts: { pending: 1, set_aside: 0 } });
  });
});

it("an object that is set aside, and one that is sent again, cost as many rows as docs/storage.md says", async () => {
  setClock(NOON);
  const job = jobInto(freshBucket().name);
  await inLog(job, (log, { sql }) => {
    log.configure(job, 0);
    append(log, 1, fragmentsOf(NDJSON, ["a\n"]));
    log.configure({ ...job, version: 2, outputVersion: 2 }, 0);
    const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
    const prototype = Object.getPrototypeOf(sql) as SqlStorage;
    const { exec } = prototype;
    vi.spyOn(prototype, "exec").mockImplementation(function (this: SqlStorage, query, ...values) {
      const cursor = exec.call(this, query, ...values);
      cursors.push(cursor);
      return cursor;
    });
    const object = new Objects(sql, new LogState(sql, "")).object(1);
    if (object === null) throw new Error("nothing was cut");
    cursors.length = 0;
    const written = (): number => cursors.splice(0).reduce((sum, { rowsWritten }) => sum + rowsWritten, 0);
    const error = { kind: "refused", words: "HTTP 413", cause: 413 } as const;
    log.attempts.settle(object, { kind: "failed", error }, job, NOON);
    const rows = [written()];
    log.asideResend(1);
    rows.push(written());
    expect(rows).toEqual([4, 4]);
  });
});

/** A message of one record, which is filtered out. */
const appendOf = (n: number, takenInMs: number, fields: Partial<Append> = {}): Append => ({
  version: 1,
  messages: [{ id: id(n), takenInMs, keyed: false, received: 1, filtered: 1, sampledOut: 0 }],
  fragments: [],
  queueDoneMs: 0,
  ...fields,
});

/** Advances the clock and has the log swept. */
async function later(log: JobReader, clock: { advance(ms: number): void }, days: number): Promise<void> {
  clock.advance(days * DAY_MS);
  await log.drive("scheduled", 10_000);
}

it("what is sent again is taken as long as a log can tell that it never had it, and known for good", async () => {
  const clock = setClock(NOON);
  const job = jobInto(freshBucket().name);
  await inLog(job, async (log) => {
    log.configure(job, 0);
    const again = { isKept: false };
    const taken = (n: number) => [{ id: id(n), takenInMs: NOON, keyed: false }];
    expect(log.append(appendOf(1, NOON)).kind).toBe("taken");
    expect(log.append(appendOf(2, NOON)).kind).toBe("taken");
    await later(log, clock, 14.5);
    expect(log.keepIds([...taken(1), ...taken(3)])).toMatchObject({ forgotten: [], sealed: false });
    expect(log.append(appendOf(4, NOON, { again })).kind).toBe("taken");
    await later(log, clock, 2);
    // 1 was pinned in time; 2 was not, so it is unknown; 3 was asked for in time, and is not there;
    // 4 was sent again before.
    expect(log.append(appendOf(1, NOON, { again }))).toMatchObject({ kind: "known", ids: [id(1)] });
    expect(log.append(appendOf(2, NOON, { again }))).toEqual({ kind: "forgotten" });
    expect(log.append(appendOf(3, NOON, { again }))).toEqual({ kind: "forgotten" });
    expect(log.append(appendOf(4, NOON, { again }))).toMatchObject({ kind: "known", ids: [id(4)] });
    expect(log.keepIds([...taken(1), ...taken(2), ...taken(3)]).forgotten).toEqual([id(2), id(3)]);
    expect(log.append(appendOf(3, NOON, { again: { isKept: true } })).kind).toBe("taken");
    await later(log, clock, 100);
    expect(log.append(appendOf(3, NOON, { again: { isKept: true } }))).toMatchObject({ kind: "known", ids: [id(3)] });
    expect(log.holds([...taken(1), ...taken(2), ...taken(3), ...taken(4)]).ids).toEqual([id(1), id(3), id(4)]);
  });
});

it("a log that has gone, and is still in memory, holds nothing, and says so", async () => {
  const clock = setClock(NOON);
  const job = jobInto(freshBucket().name);
  await inLog(job, async (log) => {
    log.configure({ ...job, deletedMs: NOON, windows: [] }, 0);
    expect(log.append(appendOf(1, NOON)).kind).toBe("taken");
    clock.advance(14 * DAY_MS);
    expect(await log.retire()).toBe(false);
    clock.advance(2 * DAY_MS);
    expect(await log.retire()).toBe(true);
    const messages = [{ id: id(1), takenInMs: NOON, keyed: false }];
    expect(log.holds(messages)).toEqual({ ids: [], forgotten: [], sealed: false });
    expect(log.keepIds(messages)).toEqual({ forgotten: [], sealed: false });
    expect(log.append(appendOf(1, NOON, { again: { isKept: false } })).kind).toBe("behind");
  });
});
