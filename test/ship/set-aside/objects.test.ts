/** The objects of a reader that their store refuses. */
import { expect, it } from "vitest";
import { NDJSON } from "../../../src/formats/output/format.ts";
import { Objects } from "../../../src/ship/reader/objects.ts";
import { ReaderState } from "../../../src/ship/reader/reader-state.ts";
import { freshBucket, NOON, setSteadyClock } from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { append, configure, fragmentsOf, inLog, jobInto } from "../reader/direct.ts";
import { meter } from "../reader/meter.ts";

it("fifty thousand objects are listed page by page, in order, by an index", async () => {
  setSteadyClock(NOON);
  const job = jobInto(freshBucket().name);
  await configure(job);
  await inLog(job, (log, { sql }) => {
    sql.exec(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)
       INSERT INTO object (number, batch, day, name, key, content_type, head, tail, bytes, raw_bytes, records, sha256, md5, first_event_ms, last_event_ms,
         oldest_taken_ms, reason, cut_ms, state, aside_ms)
       SELECT i, i, 1, 'n', 'k', 't', x'', x'', 1, 1, 1, '', '', 0, 0, 0, 'bytes', 0, 'set_aside', ${NOON} + i % 7 FROM n`,
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
  const clock = setSteadyClock(NOON);
  const { name, control } = freshBucket();
  const job = jobInto(name);
  const tooLarge = rule({ do: "answer", status: 413 }, { method: "PUT", keyIncludes: ".log.gz" });
  await control.script([tooLarge]);
  await configure(job);
  for (const [i, text] of ["a\n", "b\n", "c\n"].entries()) {
    await append(job, fragmentsOf(NDJSON, [text]));
    await configure({ ...job, version: i + 2, outputVersion: i + 2 });
    await inLog(job, async (log, { sql }) => {
      await log.drive("manual", 10_000);
      // As after a delivery: of two refused in a row the second parks the job.
      sql.exec("UPDATE reader SET unconditional = 0");
    });
  }
  await inLog(job, async (log, { sql }) => {
    const said = (): string | null | undefined => log.status()?.errorMessage;
    expect(said()).toBe("an object is on hold: HTTP 413");
    expect(log.status()?.setAside).toEqual({ objects: 3, records: 3, oldestMs: NOON });
    expect(log.asideDiscard(1)).toMatchObject({ records: 1, state: "discarded" });
    expect(said()).toBe("an object is on hold: HTTP 413");
    await control.script([]);
    clock.advance(1_000);
    expect(log.asideResend(2)).toMatchObject({ state: "waiting", attempts: 0, error: null });
    expect(said()).toBe("an object is on hold: HTTP 413");
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
  setSteadyClock(NOON);
  const { name, control } = freshBucket();
  const job = jobInto(name);
  await control.script([rule({ do: "answer", status: 413 }, { method: "PUT", keyIncludes: ".log.gz" })]);
  await configure(job);
  await append(job, fragmentsOf(NDJSON, ["a\n"]));
  await inLog(job, async (log) => {
    await log.drive("manual", 10_000);
    expect(log.status()).toMatchObject({ errorMessage: "an object is on hold: HTTP 413", lastErrorMs: NOON });
    log.asideResend(1);
    expect(log.status()).toMatchObject({ errorMessage: null, lastErrorMs: null, counts: { pending: 1, set_aside: 0 } });
  });
});

it("an object that is set aside, and one that is sent again, cost as many rows as docs/storage.md says", async () => {
  setSteadyClock(NOON);
  const job = jobInto(freshBucket().name);
  await configure(job);
  await append(job, fragmentsOf(NDJSON, ["a\n"]));
  await configure({ ...job, version: 2, outputVersion: 2 });
  await inLog(job, (log, storage) => {
    const bill = meter(storage);
    const written = (): number =>
      Object.entries(bill.read()).reduce((sum, [what, rows]) => (what === "alarm" ? sum : sum + rows), 0);
    const { sql } = storage;
    const object = new Objects(sql, new ReaderState(sql, "")).object(1);
    if (object === null) throw new Error("nothing was cut");
    const error = { kind: "refused", words: "HTTP 413", cause: 413 } as const;
    log.attempts.settle(object, { kind: "failed", error }, job, NOON);
    const rows = [written()];
    log.asideResend(1);
    rows.push(written());
    expect(rows).toEqual([3, 3]);
  });
});
