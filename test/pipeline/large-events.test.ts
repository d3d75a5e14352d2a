/** Events too large for a queue message, through the real consumer, logs, ledger and blob store. */

import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { gunzipSync } from "node:zlib";
import { describe, it, vi } from "vitest";
import { EVENT_MAX_BYTES, TEXT_MAX_CHARACTERS } from "../../src/limits.ts";
import { BlobStore, blobStore } from "../../src/queue/blob-store.ts";
import { noise } from "../record/samples.ts";
import { assertClean, type Minted, Oracle } from "../support/oracle.ts";
import { api, createJob } from "../support/runtime/api.ts";
import {
  balance,
  deliver,
  freshBucket,
  logStatus,
  NOON,
  pack,
  redeliver,
  setClock,
  settle,
} from "../support/runtime/pipeline.ts";

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

const blobsKept = async (): Promise<number> => {
  let kept = 0;
  for (const digit of "0123456789abcdef") {
    kept += await runInDurableObject(env.BLOBS.getByName(`blobs ${digit}`), (_store, { storage }) =>
      Number(storage.sql.exec("SELECT count(*) AS n FROM blob").one().n),
    );
  }
  return kept;
};

async function world() {
  const clock = setClock(NOON);
  const { name, control } = freshBucket();
  const job = await createJob(name);
  const oracle = new Oracle();
  clock.advance(1_000);
  return { clock, control, job, oracle };
}

describe("large events", () => {
  it("reach the bucket once, truncated, among small ones, and leave nothing behind", async ({ expect }) => {
    const { clock, control, job, oracle } = await world();
    const events = oracle.mint(40);
    [200_000, 256_000, 700_000, EVENT_MAX_BYTES - 200].forEach((bytes, i) => {
      enlarge(events[i * 9 + 3] as Minted, bytes, i);
    });
    oracle.acknowledged("job", events);
    const messages = pack(events, clock.nowMs(), { perMessage: 10 });
    expect(messages.filter(({ blob }) => blob !== null).length).toBeGreaterThanOrEqual(3);
    const { acked, retried } = await deliver(messages);
    expect([acked.length, retried]).toEqual([messages.length, []]);
    expect(await blobsKept()).toBe(0);
    await settle(job, clock);
    assertClean(oracle.audit("job", await control.contents(), { path: "logs/{DATE}", idOf: oracle.idByMessage }));
    const status = await logStatus(job);
    expect(balance(status)).toEqual({ received: 40, accountedFor: 40 });
    // Shipped records are bounded.
    for (const { bytes } of await control.contents())
      for (const line of gunzipSync(bytes).toString().trim().split("\n")) expect(line.length).toBeLessThan(20_000);
  });

  it("come again without harm after their records are gone", async ({ expect }) => {
    const { clock, control, job, oracle } = await world();
    const events = oracle.mint(2);
    enlarge(events[1] as Minted, 500_000, 7);
    oracle.acknowledged("job", events);
    const messages = pack(events, clock.nowMs());
    await deliver(messages);
    const again = await redeliver(messages);
    expect([again.acked.length, again.retried]).toEqual([messages.length, []]);
    await settle(job, clock);
    assertClean(oracle.audit("job", await control.contents(), { path: "logs/{DATE}", idOf: oracle.idByMessage }));
    const ledger = (await api<Record<string, number>>("GET", "/logship/ledger")).body.result;
    expect(ledger).toMatchObject({ processed: 2, routed: 2, set_aside: 0 });
  });

  it("survive a crash between their arrival and their delivery", async ({ expect }) => {
    const { clock, control, job, oracle } = await world();
    const events = oracle.mint(3);
    enlarge(events[1] as Minted, 900_000, 9);
    oracle.acknowledged("job", events);
    const messages = pack(events, clock.nowMs());
    for (const { blob } of messages) if (blob !== null) await blobStore(env.BLOBS).put(blob.key, blob.body);
    await abortAllDurableObjects();
    const { acked } = await redeliver(messages, 1);
    expect(acked.length).toBe(messages.length);
    await settle(job, clock);
    assertClean(oracle.audit("job", await control.contents(), { path: "logs/{DATE}", idOf: oracle.idByMessage }));
  });

  it("whose records were never there are set aside and counted, and hold nobody up", async ({ expect }) => {
    const { clock, job, oracle } = await world();
    vi.spyOn(console, "error").mockImplementation(() => {});
    const events = oracle.mint(2);
    enlarge(events[0] as Minted, 500_000, 3);
    const messages = pack(events, clock.nowMs());
    const { acked } = await redeliver(messages, 1);
    expect(acked.length).toBe(messages.length);
    const ledger = (await api<Record<string, number>>("GET", "/logship/ledger")).body.result;
    expect(ledger).toMatchObject({ processed: 2, routed: 1, set_aside: 1 });
    expect((await logStatus(job)).counts.received).toBe(1);
  });

  it("of a request that is repeated later reach the job once, whichever copy comes first: what intake filled in differs", async ({
    expect,
  }) => {
    for (const order of [
      [0, 1],
      [1, 0],
    ] as const) {
      const { clock, control, job, oracle } = await world();
      const [event] = oracle.mint(1) as [Minted];
      enlarge(event, 500_000, 5);
      // Its log has no time, so it gets the time of intake.
      delete (event.event.Logs as Logs).at(-1)?.TimestampMs;
      // The copy that comes first sets it: both are of the same event.
      (event.record.Logs as Logs)[1] = {
        ...((event.record.Logs as Logs)[1] as Logs[number]),
        TimestampMs: clock.nowMs() + order[0] * 60_000,
      };
      oracle.acknowledged("job", [event]);
      const first = pack([event], clock.nowMs(), { key: `k ${order[0]}` });
      clock.advance(60_000);
      const second = pack([event], clock.nowMs(), { key: `k ${order[0]}` });
      expect(first.map(({ id }) => id)).toEqual(second.map(({ id }) => id));
      // Both are sent before either is consumed.
      for (const { blob } of [...first, ...second])
        if (blob !== null) await blobStore(env.BLOBS).put(blob.key, blob.body);
      for (const which of order) {
        const { acked, retried } = await redeliver([first, second][which] ?? [], 1);
        expect([acked.length, retried]).toEqual([1, []]);
      }
      await settle(job, clock);
      assertClean(oracle.audit("job", await control.contents(), { path: "logs/{DATE}", idOf: oracle.idByMessage }));
      expect((await logStatus(job)).counts).toMatchObject({ received: 1, delivered: 1 });
      expect(await blobsKept()).toBe(0);
      const ledger = (await api<Record<string, number>>("GET", "/logship/ledger")).body.result;
      expect(ledger).toMatchObject({ set_aside: 0 });
      await api("DELETE", `/logship/jobs/${job}`);
    }
  });

  it("that cannot be loaded for the moment are known to be on their way", async ({ expect }) => {
    const { clock, job, oracle } = await world();
    vi.spyOn(console, "error").mockImplementation(() => {});
    const [large, small] = oracle.mint(2) as [Minted, Minted];
    enlarge(large, 500_000, 3);
    const old = pack([large], clock.nowMs());
    vi.spyOn(BlobStore.prototype, "get").mockImplementationOnce(() => {
      throw new Error("one bad moment");
    });
    expect((await deliver(old)).retried).toHaveLength(1);
    const ledger = env.TRACE_LOG.getByName("account");
    expect(await ledger.oldestUnfinishedMs()).toBe(clock.nowMs());
    clock.advance(600_000);
    await deliver(pack([small], clock.nowMs()));
    expect(await ledger.oldestUnfinishedMs()).toBe(clock.nowMs() - 600_000);
    await redeliver(old);
    expect(await ledger.oldestUnfinishedMs()).toBeNull();
    await settle(job, clock);
    expect((await logStatus(job)).counts).toMatchObject({ received: 2, delivered: 2 });
  });
});
