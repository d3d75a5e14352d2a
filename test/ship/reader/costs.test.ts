import { describe, it, vi } from "vitest";
import { NDJSON } from "../../../src/formats/output/format.ts";
import { Waker } from "../../../src/ship/log/wakes.ts";
import { Chunks } from "../../../src/ship/reader/chunks.ts";
import { Objects } from "../../../src/ship/reader/objects.ts";
import { ReaderState } from "../../../src/ship/reader/reader-state.ts";
import { noise } from "../../formats/record/samples.ts";
import { keepHours } from "../../support/runtime/keeping.ts";
import { freshBucket, logStatus, NOON, runAlarm, setClock } from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { untilPasses } from "../../support/until.ts";
import { append, configure, format, fragmentsOf, inLog, jobInto, prepared, read, shard } from "./direct.ts";
import { meter, statements } from "./meter.ts";

const WAYS = [
  { texts: "no texts around the records", output: NDJSON, hours: 24, dropped: false },
  {
    ...{ texts: "a text at every place", hours: 0, dropped: true },
    output: format({ batchPrefix: "[", recordDelimiter: ",", batchSuffix: "]" }),
  },
];

describe.each(WAYS)("the rows that are written, with $texts, kept for $hours hours", ({ output, hours, dropped }) => {
  /** Blocks that go when they are read. */
  const blocks = (count: number) => (dropped ? { "DELETE block": count } : {});

  it("are those that docs/storage.md counts, from the log to the delivery", async ({ expect }) => {
    keepHours(hours);
    const clock = setClock(NOON);
    const job = jobInto(freshBucket().name, { output });
    const bill = await inLog(job, async (_log, storage) => {
      await configure(job);
      return meter(storage);
    });
    const commit = (bytes: number) => prepared(job, fragmentsOf(output, [noise(bytes), noise(bytes)]));
    const appended = { "UPDATE state": 1, "INSERT block": 1, "INSERT taken": 1 };
    const page = { "UPDATE reader": 1, "INSERT batch": 1, "INSERT chunk": 1, alarm: 1 };
    const delivery = { "UPDATE object": 1, "DELETE chunk": 1, "UPDATE reader": 1 };
    const delivered = () =>
      untilPasses(async () => expect((await logStatus(job.id)).counts).toMatchObject({ pending: 0, received }));
    let received = 2;
    // What the first upload finds out about the store is known from here on.
    await commit(300);
    const ship = async () => {
      clock.advance(36_000);
      await shard().drive();
      await delivered();
    };
    await ship();
    // The alarm that was to find an upload that had died finds nothing.
    const noticed = async () => {
      clock.advance(15_000);
      return runAlarm(job.id);
    };
    expect(await noticed()).toBe(true);
    bill.read();
    for (const bytes of [300, 300, 200_000]) {
      await commit(bytes);
      expect(bill.read()).toMatchObject(appended);
    }
    received += 6;
    await ship();
    expect(bill.read()).toEqual({
      ...blocks(3),
      // Read and cut in one transaction, so no batch is stored, and what is small is deflated in
      // the row of what is deflated already.
      "INSERT chunk": 1,
      // With its place in turn.
      "INSERT object": 2,
      "UPDATE object": 1,
      "DELETE chunk": 1,
      // The cut, and the delivery.
      "UPDATE reader": 2,
      // Had the instance died, it would have gone on.
      alarm: 1,
    });
    expect(await noticed()).toBe(true);
    expect([bill.read(), await noticed()]).toEqual([{}, false]);
    // Read before it is due, as a flush does.
    await commit(300);
    expect(bill.read()).toMatchObject(appended);
    await read(job);
    expect(bill.read()).toEqual({ ...page, ...blocks(1) });
    received += 2;
    await inLog(job, (log) => log.drive("manual", 5_000));
    expect(bill.read()).toEqual({
      ...delivery,
      // What waited raw is deflated.
      "UPDATE chunk": 1,
      "INSERT object": 2,
      "DELETE batch": 1,
      "UPDATE reader": 2,
      alarm: 1,
    });
    clock.advance(60_000);
    await runAlarm(job.id);
    expect(bill.read()).toEqual({});
    // More comes until it is due: what waits raw is deflated with that.
    await commit(300);
    await read(job);
    await commit(300);
    bill.read();
    received += 4;
    await ship();
    expect(bill.read()).toEqual({
      ...{ ...delivery, "DELETE chunk": 2, "UPDATE reader": 2 },
      ...{ ...blocks(1), "INSERT chunk": 1, "UPDATE chunk": 1, "INSERT object": 2, "DELETE batch": 1 },
    });
    clock.advance(60_000);
    await runAlarm(job.id);
    // More than a page: the first one opens the batch.
    for (let n = 0; n < 7; n++) await commit(450_000);
    bill.read();
    received += 14;
    await ship();
    expect(bill.read()).toEqual({
      ...blocks(7),
      "INSERT batch": 1,
      "DELETE batch": 1,
      "INSERT chunk": 4,
      "INSERT object": 2,
      "UPDATE object": 1,
      "DELETE chunk": 4,
      // Each page, and the delivery.
      "UPDATE reader": 3,
      // For the batch.
      alarm: 1,
    });
    // What is kept goes with a later append, and costs the same row by then.
    clock.advance(25 * 3_600_000);
    await commit(300);
    const { "DELETE block": gone = 0, "INSERT function_hour": hour } = bill.read();
    expect([gone, hour]).toEqual([dropped ? 0 : 14, 1]);
  });
});

it("what waits raw is deflated together with what comes before the cut", async ({ expect }) => {
  const clock = setClock(NOON);
  const job = jobInto("nowhere");
  await configure(job);
  await append(job, fragmentsOf(NDJSON, ["x\n"]));
  await prepared(job, fragmentsOf(NDJSON, ["y\n"]));
  clock.advance(36_000);
  await read(job);
  await inLog(job, (_log, { sql }) => {
    expect(sql.exec("SELECT records FROM object").toArray()).toEqual([{ records: 2 }]);
    expect(sql.exec("SELECT deflated, raw_bytes FROM chunk").toArray()).toEqual([{ deflated: 1, raw_bytes: 4 }]);
  });
});

it("a failed attempt is five rows: the object, its places in turn and in time, the log, the alarm", async ({
  expect,
}) => {
  const clock = setClock(NOON);
  const { name, control } = freshBucket();
  await control.script([rule({ do: "answer", status: 503 }, { method: "PUT" })]);
  const job = jobInto(name);
  // What the first one wakes has rows of its own.
  const woken = vi.spyOn(Waker.prototype, "appended").mockReturnValue(null);
  const bill = await inLog(job, async (_log, storage) => {
    await configure(job);
    await append(job, fragmentsOf(NDJSON, ["x\n"]));
    await configure({ ...job, version: 2, outputVersion: 2 });
    return meter(storage);
  });
  for (let attempt = 0; attempt < 2; attempt++) {
    clock.advance(30_000);
    expect(await runAlarm(job.id)).toBe(true);
    expect(bill.read()).toEqual({ "UPDATE object": 3, "UPDATE reader": 1, alarm: 1 });
  }
  expect(woken.mock.calls.filter(([, isDue]) => isDue)).toHaveLength(1);
});

it("a transaction writes the reader's row once, and another one within it is refused", async ({ expect }) => {
  const job = jobInto("nowhere");
  await configure(job);
  await inLog(job, (_log, storage) => {
    const state = new ReaderState(storage.sql, "");
    const bill = meter(storage);
    const resent = (): number => state.requireRow().resent_in_doubt;
    const count = (): void => state.atOnce(() => [1, 2].forEach((n) => void state.countResent(n)));
    count();
    expect([bill.read(), resent()]).toEqual([{ "UPDATE reader": 1 }, 3]);
    expect(() => state.atOnce(count)).toThrow("began within another one");
    expect([bill.read(), resent()]).toEqual([{}, 3]);
  });
});

it("what is due next is found by reading a few rows, however many objects wait", async ({ expect }) => {
  const job = jobInto("nowhere");
  await inLog(job, async (_log, storage) => {
    const { sql } = storage;
    await configure(job);
    await append(job, fragmentsOf(NDJSON, ["x\n"]));
    await configure({ ...job, version: 2, outputVersion: 2 });
    const columns = Object.keys(sql.exec("SELECT * FROM object").one()).filter((column) => column !== "number");
    sql.exec(
      `WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
       INSERT INTO object (number, ${columns.join(", ")}) SELECT i, ${columns.join(", ")} FROM object, n`,
    );
    sql.exec(
      "UPDATE object SET attempts = 1 + number % 7, next_attempt_ms = ? + number, far = number % 2 WHERE number > 3",
      NOON,
    );
    const objects = new Objects(sql, new ReaderState(sql, ""));
    const run = statements(storage);
    // Three were never tried: they come first, and are due at once.
    expect(objects.due(NOON, 3, "near").map(({ number }) => number)).toEqual([1, 2, 3]);
    expect(objects.nextAttemptMs(new Set())).toBe(0);
    expect(objects.nextAttemptMs(new Set([1, 3]))).toBe(0);
    expect(objects.nextAttemptMs(new Set([1, 2, 3]))).toBe(NOON + 4);
    expect(objects.nextAttemptMs(new Set([1, 2, 3, 4, 6]))).toBe(NOON + 5);
    expect(objects.nextAttemptMs(new Set([1, 2, 3, 4, 6]), ["near"])).toBe(NOON + 8);
    expect(run.reduce((sum, { cursor }) => sum + cursor.rowsRead, 0)).toBeLessThan(100);
  });
});

it("holds no more than one chunk in memory while it cuts", async ({ expect }) => {
  setClock(NOON);
  const job = jobInto(freshBucket().name);
  const held: number[] = [];
  const { of } = Chunks.prototype;
  const bodies: ArrayBuffer[] = [];
  vi.spyOn(Chunks.prototype, "of").mockImplementation(function* (this: Chunks, batch) {
    for (const chunk of of.call(this, batch)) {
      bodies.push(chunk.body);
      held.push(bodies.filter(({ byteLength }) => byteLength > 0).length);
      yield chunk;
    }
  });
  await configure(job);
  for (let n = 0; n < 3; n++) await append(job, fragmentsOf(NDJSON, [`${noise(400_000)}\n`]));
  await configure({ ...job, version: 2, outputVersion: 2 });
  expect(held).toEqual([1, 1, 1]);
});
