/** Events too large for a queue message: by HTTP, into the log, and from there as any others. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { gunzipSync } from "node:zlib";
import { describe, it, vi } from "vitest";
import { EVENT_MAX_BYTES, TEXT_MAX_CHARACTERS } from "../../../src/base/limits.ts";
import { type TraceLog, traceLog } from "../../../src/ship/log/trace-log.ts";
import { noise } from "../../formats/record/samples.ts";
import { assertClean, type Minted, Oracle } from "../../support/oracle.ts";
import { api, createJob } from "../../support/runtime/api.ts";
import { balance, freshBucket, logStatus, NOON, setClock, settle } from "../../support/runtime/pipeline.ts";

type Logs = { Level: string; Message: string[]; TimestampMs?: number }[];

/**
 * Adds text that hardly compresses, so that the event has this many bytes as a record. Only its
 * beginning is shipped.
 */
function enlarge({ id, event, record }: Minted, bytes: number, seed: number): void {
  const logs = event.Logs as Logs;
  logs.push({ Level: "log", Message: [""], TimestampMs: NOON });
  const text = noise(bytes - JSON.stringify(event).length, seed).replaceAll(/["\\]/g, "'");
  (logs.at(-1) as Logs[number]).Message = [text];
  const kept = `${text.slice(0, TEXT_MAX_CHARACTERS - id.length)}<<<Logship: messages truncated>>>`;
  (record.Logs as Logs).push({ Level: "log", Message: [kept], TimestampMs: NOON });
}

async function world() {
  const clock = setClock(NOON);
  const { name, control } = freshBucket();
  const job = await createJob(name);
  clock.advance(1_000);
  return { clock, control, job, oracle: new Oracle() };
}

const PATH = "/logship/datasets/functions_trace_events/events";

/** Posts events that are all too large for the queue. */
async function post(events: readonly Minted[], headers: Record<string, string> = {}): Promise<number> {
  return (
    await api(
      "POST",
      PATH,
      events.map(({ event }) => event),
      headers,
    )
  ).status;
}

describe("large events", () => {
  it("reach the bucket once, truncated", async ({ expect }) => {
    const { clock, control, job, oracle } = await world();
    const events = oracle.mint(4);
    for (const [i, bytes] of [200_000, 256_000, 700_000, EVENT_MAX_BYTES - 200].entries())
      enlarge(events[i] as Minted, bytes, i);
    oracle.acknowledged("job", events);
    expect(await post(events)).toBe(202);
    await settle(job, clock);
    assertClean(oracle.audit("job", await control.contents(), { path: "logs/{DATE}", idOf: oracle.idByMessage }));
    expect(balance(await logStatus(job))).toEqual({ received: 4, accountedFor: 4 });
    // Shipped records are bounded.
    for (const { bytes } of await control.contents())
      for (const line of gunzipSync(bytes).toString().trim().split("\n")) expect(line.length).toBeLessThan(20_000);
  });

  it("of a repeated request are those of the copy that came first: what intake filled in differs", async ({
    expect,
  }) => {
    const { clock, control, job, oracle } = await world();
    const [event] = oracle.mint(1) as [Minted];
    enlarge(event, 500_000, 5);
    // Its log has no time, so it gets the time of intake.
    delete (event.event.Logs as Logs).at(-1)?.TimestampMs;
    (event.record.Logs as Logs)[1] = {
      ...((event.record.Logs as Logs)[1] as Logs[number]),
      TimestampMs: clock.nowMs(),
    };
    oracle.acknowledged("job", [event]);
    for (let times = 0; times < 3; times++) {
      expect(await post([event], { "idempotency-key": "k" })).toBe(202);
      clock.advance(60_000);
    }
    await settle(job, clock);
    assertClean(oracle.audit("job", await control.contents(), { path: "logs/{DATE}", idOf: oracle.idByMessage }));
    expect((await logStatus(job)).counts).toMatchObject({ received: 1, delivered: 1 });
    expect((await api("GET", "/logship/ledger")).body.result).toMatchObject({ processed: 1, set_aside: 0 });
  });

  it("are 503 while their shard is full, and taken when it has room", async ({ expect }) => {
    const { clock, job, oracle } = await world();
    for (const level of ["warn", "error"] as const) vi.spyOn(console, level).mockImplementation(() => {});
    const events = oracle.mint(1);
    enlarge(events[0] as Minted, 500_000, 3);
    const setMax = (bytes: number) =>
      runInDurableObject(traceLog(env.TRACE_LOG, 0), (log: TraceLog) => {
        const before = log.maxBytes;
        log.maxBytes = bytes;
        return before;
      });
    const before = await setMax(1);
    expect(await post(events)).toBe(503);
    await setMax(before);
    expect(await post(events)).toBe(202);
    await settle(job, clock);
    expect((await logStatus(job)).counts).toMatchObject({ received: 1, delivered: 1 });
  });
});
