/** `GET /functions/scripts/{name}/health`: what it says of events that came through the queue. */
import { describe, expect, it } from "vitest";
import { RecordLine } from "../../../src/formats/record/line.ts";
import { statusOf } from "../../../src/ship/log/heads.ts";
import { searchFor } from "../../operate/search/searched.ts";
import { Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import { deliver, freshBucket, NOON, pack, redeliver, setClock } from "../../support/runtime/pipeline.ts";
import { call, errorsOf } from "./harness.ts";

const HOUR_MS = 3_600_000;
const at = (ms: number): string => new Date(ms).toISOString();

interface Sum {
  invocations: number;
  failed: number;
  outcomes: { outcome: string; count: number }[];
  server_errors: number;
  wall_ms: { p50: number; p95: number; p99: number } | null;
}
interface Health {
  since: string;
  until: string;
  total: Sum;
  hours: (Sum & { hour: string; partial: boolean })[];
  errors: {
    id: string;
    name: string;
    message: string;
    count: number;
    first: string;
    last: string;
    first_record: { script: string; event_timestamp_ms: number; ray_id: string | null };
    record: { script: string; event_timestamp_ms: number; ray_id: string | null };
  }[];
}

const health = async (name: string, query = ""): Promise<Health> => {
  const { body } = await call<Health>("GET", `/functions/scripts/${encodeURIComponent(name)}/health${query}`);
  return body.result as Health;
};

/** Records with these fields. */
function records(oracle: Oracle, nowMs: number, ...each: readonly object[]) {
  return each.map((fields) => {
    const [minted] = oracle.mint(1, { at: nowMs, scriptName: "shop" });
    if (minted === undefined) throw new Error("none was made");
    return { ...minted, event: { ...minted.event, ...fields }, record: { ...minted.record, ...fields } };
  });
}

const fetched = (status: number | null, ray = "8f3a") => ({
  EventType: "fetch",
  Event: {
    RayID: ray,
    Request: { URL: "https://shop.example/", Method: "GET" },
    Response: status === null ? {} : { Status: status },
  },
});
const threw = (message: string, ray?: string) => ({
  ...fetched(null, ray),
  Outcome: "exception",
  Exceptions: [{ name: "TypeError", message, TimestampMs: NOON }],
});

describe("the health of a function", () => {
  it("is that of its records, each once, however often they are delivered", async () => {
    const clock = setClock(NOON);
    await createJob(freshBucket().name);
    const oracle = new Oracle({ at: NOON });
    const some = records(
      ...([oracle, NOON] as const),
      { ...fetched(200), WallTimeMs: 10, CPUTimeMs: 2 },
      { ...fetched(404), WallTimeMs: 12, CPUTimeMs: 2 },
      { ...fetched(502), WallTimeMs: 900, CPUTimeMs: 3 },
      { ...threw("no order 4711"), WallTimeMs: 11 },
      { ...threw("no order 4712", "9a01"), WallTimeMs: 11 },
      { Outcome: "exceededCpu", WallTimeMs: 30_000, CPUTimeMs: 30_000 },
    );
    const message = pack(some, NOON);
    await deliver(message);
    await redeliver(message);
    clock.advance(HOUR_MS + 1);
    const found = await health("shop");
    expect([found.since, found.until]).toEqual([at(NOON - 22 * HOUR_MS), at(NOON + 2 * HOUR_MS)]);
    expect(found.total).toMatchObject({ invocations: 6, failed: 4, server_errors: 1 });
    expect(found.total.outcomes).toEqual([
      { outcome: "ok", count: 3 },
      { outcome: "exception", count: 2 },
      { outcome: "exceededCpu", count: 1 },
    ]);
    expect(found.total.wall_ms?.p50).toBe(11);
    expect(Math.abs((found.total.wall_ms?.p99 ?? 0) - 30_000)).toBeLessThanOrEqual(1_500);
    expect(found.hours).toHaveLength(24);
    expect(found.hours.filter(({ invocations }) => invocations > 0)).toMatchObject([
      { hour: at(NOON), invocations: 6, failed: 4, partial: false },
    ]);
    expect(found.hours.at(-1)).toMatchObject({ invocations: 0, wall_ms: null });
    const last = some[4]?.at ?? 0;
    expect(found.errors[0]).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{16}$/),
      ...{ name: "TypeError", message: "no order #", count: 2, first: at(some[3]?.at ?? 0), last: at(last) },
      first_record: { script: "shop", event_timestamp_ms: some[3]?.at, ray_id: expect.any(String) },
      record: { script: "shop", event_timestamp_ms: last, ray_id: "9a01" },
    });
    expect(found.errors.slice(1).map(({ name, message }) => [name, message])).toEqual(
      expect.arrayContaining([
        ["HTTP 502", ""],
        ["exceededCpu", ""],
      ]),
    );
  });

  it("names a record of each error that a search finds", async () => {
    setClock(NOON + 1);
    await createJob(freshBucket().name);
    await deliver(pack(records(new Oracle({ at: NOON }), NOON, fetched(200), threw("out of tea", "9a01")), NOON));
    const [error] = (await health("shop")).errors;
    const { event_timestamp_ms: ms, ray_id } = error?.record ?? { event_timestamp_ms: 0, ray_id: null };
    const { hits } = await searchFor({ since: at(ms), until: at(ms + 1), ray_id });
    expect(hits).toHaveLength(1);
    expect(hits[0]?.record).toMatchObject({ ScriptName: "shop", Exceptions: [{ message: "out of tea" }] });
  });

  it("is asked for by whole hours; of an unknown function there is none", async () => {
    setClock(NOON + 1);
    await deliver(pack(records(new Oracle({ at: NOON }), NOON, fetched(200)), NOON));
    const query = `?since=${at(NOON - 90 * 60_000)}&until=${at(NOON)}`;
    expect((await health("shop", query)).hours.map(({ hour }) => hour)).toEqual([
      at(NOON - 2 * HOUR_MS),
      at(NOON - HOUR_MS),
    ]);
    const all = await health("shop", `?since=${at(0)}&until=${at(NOON + 9 * HOUR_MS)}`);
    expect([all.hours.length, all.total.invocations]).toEqual([720, 1]);
    const unknown = await call("GET", "/functions/scripts/never-called/health");
    expect(unknown.status).toBe(404);
    expect(errorsOf(unknown)).toEqual([[7003, undefined, "no such function"]]);
    expect((await call("GET", "/functions/scripts/shop/health?since=yesterday")).status).toBe(400);
  });
});

describe("by five minutes and version", () => {
  const of = (version: string, tag = "") => ({ ScriptVersion: { ID: version, Message: "", Tag: tag } });

  it("says what each version did, and when it came", async () => {
    const clock = setClock(NOON);
    await createJob(freshBucket().name);
    const oracle = new Oracle({ at: NOON });
    await deliver(pack(records(oracle, NOON, { ...fetched(200), ...of("aaaa", "v41"), WallTimeMs: 10 }), NOON));
    clock.advance(7 * 60_000);
    const later = clock.nowMs();
    const some = [
      { ...fetched(200), ...of("aaaa", "v41") },
      { ...fetched(503), ...of("bbbb", "v42"), WallTimeMs: 90 },
    ];
    await deliver(pack(records(oracle, later, ...some, { ...threw("x"), ...of("bbbb", "v42") }), later));
    clock.advance(1);
    const { body } = await call<{ slots: (Sum & { slot: string; versions: object[]; statuses: object[] })[] } & Health>(
      ...(["GET", "/functions/scripts/shop/health?every=5m"] as const),
    );
    const { slots = [], hours, total, deployments } = body.result as Health & { slots: []; deployments: object[] };
    expect([slots.length, hours.length, total.invocations, total.failed]).toEqual([72, 0, 4, 2]);
    expect(slots.slice(-2)).toMatchObject([
      { slot: at(NOON), invocations: 1, statuses: [{ status: 200, count: 1 }] },
      {
        ...{ slot: at(NOON + 5 * 60_000), invocations: 3, failed: 2 },
        statuses: [
          { status: 200, count: 1 },
          { status: 503, count: 1 },
        ],
        versions: [
          { version: "aaaa", invocations: 1, failed: 0 },
          { version: "bbbb", invocations: 2, failed: 2 },
        ],
      },
    ]);
    expect(deployments).toEqual([
      { version: "bbbb", tag: "v42", at: at(later) },
      { version: "aaaa", tag: "v41", at: at(NOON) },
    ]);
    const asked = await call<object[]>("GET", "/functions/scripts/shop/versions");
    expect(asked.body.result).toMatchObject([
      { version: "bbbb", tag: "v42", first_seen: at(later), last_seen: at(later), requests: 2, failed: 2 },
      { version: "aaaa", tag: "v41", first_seen: at(NOON), last_seen: at(later), requests: 2, failed: 0 },
    ]);
    expect((await call("GET", "/functions/scripts/never-called/versions")).status).toBe(404);
    expect((await call("GET", "/functions/scripts/shop/health?every=1m")).status).toBe(400);
  });

  it("tells at most eight versions of a message apart, and any text for one", async () => {
    setClock(NOON);
    const oracle = new Oracle({ at: NOON });
    const odd = ['"', "\u2028", "v".repeat(99), "", "ä"].map((id) => of(id));
    const many = Array.from({ length: 20 }, (_, n) => of(`v${n}`));
    await deliver(pack(records(oracle, NOON, ...odd, ...odd, ...many), NOON));
    const { body } = await call<{ version: string; requests: number }[]>("GET", "/functions/scripts/shop/versions");
    const told = (body.result ?? []).map(({ version, requests }) => [version, requests]);
    expect(new Map(told as [string, number][])).toEqual(
      new Map([...['"', "\u2028", "v".repeat(64), "ä"].map((id) => [id, 2] as const), ["v0", 1], ["v1", 1], ["v2", 1]]),
    );
  });
});

describe("what is read of a record", () => {
  const line = (fields: object): RecordLine => {
    const [{ record } = { record: {} }] = new Oracle({ at: NOON }).mint(1);
    const read = RecordLine.read(JSON.stringify({ ...record, ...fields }));
    if (read === null) throw new Error("no record");
    return read;
  };
  const event = (value: object) => line({ EventType: "fetch", Event: value });

  it("is the status of the answer, wherever the event has it, and not a text that looks like one", () => {
    const nested = { Response: { Status: 500 } };
    expect(statusOf(line(fetched(503)))).toBe(503);
    expect(statusOf(line(fetched(null)))).toBe(0);
    expect(statusOf(line({ ...fetched(503), EventType: "rpc" }))).toBe(0);
    expect(statusOf(event({ Response: { Status: 503 }, Request: {} }))).toBe(503);
    expect(statusOf(event({ Response: { Body: "", Status: 503 } }))).toBe(503);
    expect(statusOf(event({ Response: { Status: 200 }, Other: nested }))).toBe(200);
    expect(statusOf(event({ Other: nested }))).toBe(0);
    expect(statusOf(event({ URL: '"Response":{"Status":500}}' }))).toBe(0);
    expect(statusOf(event({ Response: null, Status: 500 }))).toBe(0);
    expect(statusOf(event({ Response: { Status: "500" } }))).toBe(0);
  });
});
