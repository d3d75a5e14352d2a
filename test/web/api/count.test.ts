/** Counts over HTTP: in objects of the store, and in what waits. */
import { describe, expect, it } from "vitest";
import { toBase64 } from "../../../src/base/bytes.ts";
import { writeCursor } from "../../../src/operate/search/cursor.ts";
import { type CountAnswer, countOf } from "../../operate/search/counted.ts";
import { type MintOptions, Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import { deliver, freshBucket, NOON, pack, setClock, settle } from "../../support/runtime/pipeline.ts";
import { call, errorsOf } from "./harness.ts";

const HOUR_MS = 3_600_000;

async function shipping(fields: object = {}) {
  const clock = setClock(NOON);
  const bucket = freshBucket();
  const job = await createJob(bucket.name, fields);
  const oracle = new Oracle({ at: NOON });
  const span = { since: new Date(NOON - HOUR_MS).toISOString(), until: new Date(NOON + HOUR_MS).toISOString() };
  return {
    ...{ job, bucket, oracle },
    span,
    async take(count: number, { fields, ...options }: MintOptions & { fields?: object } = {}) {
      const minted = oracle.mint(count, { at: clock.nowMs(), ...options });
      const events = minted.map((each) => ({ ...each, event: { ...each.event, ...fields } }));
      await deliver(pack(events, clock.nowMs()));
    },
    settle: () => settle(job, clock),
    clock,
    count: (count: object, question: object = {}) => countOf({ ...span, ...question, count }),
  };
}

const rowsOf = ({ rows }: CountAnswer) => rows.map(({ by, time, values }) => [by, time, values]);

describe("POST /search with count", () => {
  it.each(["ndjson", "parquet"])("counts what waits and what is delivered alike: %s", async (output_type) => {
    const { take, settle, count, clock } = await shipping({ output_options: { output_type } });
    await take(3, { scriptName: "shop" });
    await take(2, { scriptName: "cart" });
    const asked = {
      by: ["worker"],
      measures: [{ op: "count" }, { op: "distinct", of: "path" }, { op: "max", of: "took" }],
    };
    const open = await count(asked);
    expect(rowsOf(open)).toMatchObject([
      [["shop"], undefined, [3, 3, expect.any(Number)]],
      [["cart"], undefined, [2, 2, expect.any(Number)]],
    ]);
    expect(open.end).toEqual({
      type: "end",
      complete: true,
      cursor: null,
      not_searched: [],
      other: null,
      overflow: false,
    });
    expect(open.rows.every((row) => row.state === undefined)).toBe(true);
    await settle();
    clock.advance(1);
    const delivered = await count(asked);
    expect(rowsOf(delivered)).toEqual(rowsOf(open));
    expect(delivered.progress.at(-1)).toMatchObject({ read: 1, records: 5 });
    const first = await count({ ...asked, top: 1 });
    expect(rowsOf(first)).toEqual(rowsOf(open).slice(0, 1));
    expect(first.end.other?.values.slice(0, 2)).toEqual([2, 2]);
  });

  it("reads of a Parquet object only the columns that it needs", async () => {
    const { oracle, clock, settle, count, bucket } = await shipping({ output_options: { output_type: "parquet" } });
    const minted = oracle.mint(80, { scriptName: "shop" });
    for (const { event } of minted) {
      const noise = toBase64(crypto.getRandomValues(new Uint8Array(9_000)));
      Object.assign(event, { Logs: [{ Level: "log", Message: [noise], TimestampMs: NOON }] });
    }
    await deliver(pack(minted, clock.nowMs(), { perMessage: 5 }));
    await settle();
    const object = (await bucket.control.objects()).find(({ key }) => key.endsWith(".parquet"));
    const counted = await count({ by: ["worker", "status"] });
    expect(rowsOf(counted)).toEqual([[["shop", 200], undefined, [80]]]);
    expect(counted.end.complete).toBe(true);
    expect(Number(object?.size)).toBeGreaterThan(500_000);
    expect(counted.progress.at(-1)?.bytes_read).toBeLessThan(Number(object?.size) / 10);
    const words = await count({ by: ["worker"] }, { text: "shop" });
    expect([rowsOf(words), words.progress.at(-1)?.bytes_read]).toEqual([[[["shop"], undefined, [80]]], object?.size]);
  });

  it("counts the hits of a question, by slots of time", async () => {
    const { take, settle, count, span } = await shipping();
    await take(4, { scriptName: "shop" });
    await take(4, { scriptName: "cart" });
    await settle();
    const filter = JSON.stringify({ where: { key: "ScriptName", operator: "eq", value: "shop" } });
    const slots = await count({ every: "30m" }, { filter });
    expect(slots.rows.reduce((sum, { values }) => sum + Number(values[0]), 0)).toBe(4);
    for (const { time } of slots.rows) expect(Date.parse(String(time)) % (HOUR_MS / 2)).toBe(0);
    const { status, body } = await call<object>("POST", "/logship/search", {
      ...span,
      filter,
      dry_run: true,
      count: {},
    });
    expect([status, body.result]).toMatchObject([200, { objects: 1 }]);
  });

  it("counts values of several names in the same pass: a record with two is in both", async () => {
    const { take, settle, count } = await shipping();
    const logs = (...levels: string[]) => ({
      fields: { Logs: levels.map((Level) => ({ Level, Message: [Level], TimestampMs: NOON })) },
    });
    await take(3, { scriptName: "shop", ...logs("log", "warn", "log") });
    await take(2, { scriptName: "cart", ...logs() });
    await settle();
    const asked = { every: "5s", facets: ["worker", "level"] };
    const { facets, rows, progress } = await count(asked);
    expect(facets).toEqual([
      {
        name: "worker",
        values: [
          { value: "shop", records: 3 },
          { value: "cart", records: 2 },
        ],
        ...{ other: 0, overflow: false },
      },
      {
        name: "level",
        values: expect.arrayContaining([
          { value: "log", records: 3 },
          { value: "warn", records: 3 },
          { value: null, records: 2 },
        ]),
        ...{ other: 0, overflow: false },
      },
    ]);
    expect(rows.reduce((sum, { values }) => sum + Number(values[0]), 0)).toBe(5);
    for (const { time } of rows) expect(Date.parse(String(time)) % 5_000).toBe(0);
    // One read of the objects is for all of it.
    expect(progress.at(-1)).toMatchObject({ records: 5 });
    const { facets: [first] = [] } = await count({ ...asked, top: 1 });
    expect(first).toEqual({ name: "worker", values: [{ value: "shop", records: 3 }], other: 2, overflow: false });
  });

  it("goes on from a cursor, with what later answers are merged by", async () => {
    const { take, settle, span, job } = await shipping();
    for (const scriptName of ["shop", "cart"]) {
      await take(3, { scriptName });
      await settle();
    }
    const count = { by: ["worker"], measures: [{ op: "p95", of: "took" }], top: 1 };
    const question = JSON.stringify([span.since, span.until, ...[null, null, null, null], "newest", count]);
    const times = { sinceMs: NOON - HOUR_MS, untilMs: NOON + HOUR_MS };
    const whole = await countOf({ ...span, count });
    const ended = whole.progress.at(-1);
    const cursor = writeCursor(
      { cursor: { after: null, done: [[[job, 0, 1], null, NOON]] }, span: times, lacks: true, jobs: undefined },
      question,
    );
    const { rows, end, progress } = await countOf({ ...span, count, cursor });
    expect([ended?.read, progress.at(-1)?.read, end.complete, end.cursor]).toEqual([2, 1, false, null]);
    expect(rows).toEqual([{ by: [expect.stringMatching("shop|cart")], values: [7], state: expect.any(String) }]);
  });

  it.each([
    [{ by: ["staus"] }, "/count/by/0", 'unknown name "staus"'],
    [{ by: ["status", "path", "host", "cron"] }, "/count/by", ""],
    [{ measures: [{ op: "count" }, { op: "p95", of: "nope" }] }, "/count/measures/1/of", 'unknown name "nope"'],
    [{ measures: [{ op: "sum" }] }, "/count/measures/0/of", "of: sum needs the name of a field"],
    [{ measures: [{ op: "median", of: "took" }] }, "/count/measures/0/op", ""],
    [{ measures: [] }, "/count/measures", ""],
    [{ every: "7m" }, "/count/every", "every: 1s to 1d, and a whole part of a day"],
    [{ every: "2d" }, "/count/every", "every: 1s to 1d"],
    [{ every: "0m" }, "/count/every", "every: 1s to 1d"],
    [{ facets: ["status", "staus"] }, "/count/facets/1", 'unknown name "staus"'],
    [{ facets: Array(11).fill("status") }, "/count/facets", ""],
    [{ top: 1_001 }, "/count/top", ""],
    [{ limit: 1 }, "/count/limit", ""],
  ])("refuses %j", async (count, pointer, words) => {
    setClock(NOON);
    const answer = await call("POST", "/logship/search", { count });
    expect([answer.status, errorsOf(answer)[0]?.slice(0, 2)]).toEqual([400, [1001, pointer]]);
    expect(errorsOf(answer).join()).toContain(words);
  });

  it("refuses more slots than it can tell apart, and the cursor of another count", async () => {
    const { span, count } = await shipping();
    const since = new Date(NOON - 48 * HOUR_MS).toISOString();
    await expect(count({ every: "1m" }, { since })).rejects.toThrow("every: more than 1500 slots are in this time");
    const answer = await call("POST", "/logship/search", { ...span, count: {}, cursor: "bm8" });
    expect(errorsOf(answer).join()).toContain("cursor: does not belong to this search");
  });
});
