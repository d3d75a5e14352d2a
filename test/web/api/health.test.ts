import { describe, expect, it } from "vitest";
import { Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import { deliver, NOON, pack, runCron, setClock, settle } from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { call, errorsOf, freshBucket } from "./harness.ts";

const HOUR_MS = 3_600_000;

interface Hour {
  hour: string;
  uploads: { ok: number; retried: number; failed: number };
  errors: Record<string, number>;
  records: number;
  bytes_raw: number;
  bytes_compressed: number;
  duration_ms: { sum: number; max: number };
}

const health = (job: number, query = "") => call<Hour[]>("GET", `/logship/jobs/${job}/health${query}`);

/** The hours of an answer, relative to noon. */
async function hours(job: number, query: string): Promise<number[]> {
  const { body } = await health(job, query);
  return body.result.map(({ hour }) => (Date.parse(hour) - NOON) / HOUR_MS);
}

const span = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i);

describe("the health of a job", () => {
  it("is what its ledger says, by the hour", async () => {
    const clock = setClock(NOON);
    const { name, control } = freshBucket();
    const job = await createJob(name);
    await deliver(pack(new Oracle({ at: NOON }).mint(7), clock.nowMs()));
    await control.script([rule({ do: "answer", status: 503, code: "SlowDown" }, { method: "PUT" })]);
    await runCron();
    await control.script([]);
    clock.advance(HOUR_MS);
    await settle(job, clock);
    const { body, status } = await health(job);
    const ledger = (await call<Record<string, number>>("GET", `/logship/jobs/${job}/ledger`)).body.result;
    expect([status, body.result.length, body.result_info]).toEqual([
      200,
      24,
      { count: 24, page: 1, per_page: 720, total_count: 24 },
    ]);
    const nothing = {
      uploads: { ok: 0, retried: 0, failed: 0 },
      errors: {},
      records: 0,
      bytes_raw: 0,
      bytes_compressed: 0,
      duration_ms: { sum: 0, max: 0 },
    };
    expect(body.result.slice(-3)).toEqual([
      { hour: "2100-11-20T11:00:00.000Z", ...nothing },
      { hour: "2100-11-20T12:00:00.000Z", ...nothing, uploads: { ok: 0, retried: 1, failed: 0 }, errors: { 503: 1 } },
      {
        hour: "2100-11-20T13:00:00.000Z",
        ...nothing,
        uploads: { ok: 1, retried: 0, failed: 0 },
        records: ledger.delivered,
        bytes_raw: ledger.bytes_raw,
        bytes_compressed: ledger.bytes_compressed,
      },
    ]);
    expect(ledger.delivered).toBe(7);
  });

  const spans: [what: string, query: string, hours: number[]][] = [
    ["the last 24 hours, the one that is not over included", "", span(-23, 0)],
    ["from the hour of since", "?since=2100-11-20T09:59:59Z", span(-3, 0)],
    ["to the hour of until", "?since=2100-11-20T10:00:00Z&until=2100-11-20T11:00:00.001Z", [-2, -1]],
    ["to a full hour", "?since=2100-11-20T10:00:00Z&until=2100-11-20T11:00:00Z", [-2]],
    ["a day before until", "?until=2100-11-20T00:00:00Z", span(-36, -13)],
    ["with an offset, whose plus sign was not encoded", "?since=2100-11-20T12:30:00+02:00", span(-2, 0)],
    ["with an offset", "?since=2100-11-20T12:30:00%2B02:00", span(-2, 0)],
    ["none yet to come", "?since=2100-11-20T12:00:00Z&until=9999-12-31T23:59:59Z", [0]],
    ["none that is no longer kept", "?since=0001-01-01T00:00:00Z", span(-719, 0)],
  ];
  const TIME = "must be a time as in RFC 3339: 2026-11-20T10:00:00Z";
  const refused: [query: string, message: string][] = [
    ["?since=yesterday", `since ${TIME}`],
    ["?since=", `since ${TIME}`],
    ["?since=2100-11-20", `since ${TIME}`],
    ["?until=2100-02-30T00:00:00Z", `until ${TIME}`],
    ["?until=4128000000", `until ${TIME}`],
    ["?since=2100-11-20T10:00:00Z&until=2100-11-20T10:00:00Z", "since must be before until"],
    ["?since=2200-01-01T00:00:00Z", "since must be before until"],
  ];

  it("is of the hours that are asked for, and refuses what are none", async () => {
    const clock = setClock(NOON);
    const job = await createJob(freshBucket().name);
    clock.advance(HOUR_MS / 2);
    for (const [what, query, expected] of spans) expect([what, await hours(job, query)]).toEqual([what, expected]);
    for (const [query, message] of refused)
      expect([query, errorsOf(await health(job, query))]).toEqual([query, [[1001, undefined, message]]]);
  });
});
