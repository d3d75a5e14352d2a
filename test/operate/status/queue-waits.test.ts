/** What waits in the queue while no batch comes: asked once a run of the cron, and told. */
import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { watch } from "../../../src/operate/alerts/watch.ts";
import { queueWaits, withQueue } from "../../../src/operate/status/queue-waits.ts";
import { createWorker } from "../../../src/worker.ts";
import { Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import { deliver, freshBucket, NOON, pack, setClock } from "../../support/runtime/pipeline.ts";
import { onFakeClock } from "../../support/runtime/stalled.ts";
import { lookAnew } from "../alerts/fresh.ts";
import { kindsOf, freshStatus as status } from "./support.ts";

lookAnew();

const MINUTE_MS = 60_000;
const now = { now: () => NOON };

/** What the binding says. */
function saying(backlogCount: number, oldestMs?: number): Pick<Queue, "metrics"> {
  const metrics = { backlogCount, backlogBytes: 100 * backlogCount };
  const oldest = oldestMs === undefined ? {} : { oldestMessageTimestamp: new Date(oldestMs) };
  return { metrics: async () => ({ ...metrics, ...oldest }) };
}

describe("asking the queue", () => {
  it.each([
    ["what waits, and since when", saying(3, NOON - 5), { queueBacklog: 3, queueBytes: 300, queueOldestMs: NOON - 5 }],
    ["what waits, without a time", saying(3), { queueBacklog: 3, queueBytes: 300, queueOldestMs: null }],
    ["1970 where nothing waits", saying(0, 0), { queueBacklog: 0, queueBytes: 0, queueOldestMs: null }],
    ["no time of what came last", saying(0, NOON - 5), { queueBacklog: 0, queueBytes: 0, queueOldestMs: null }],
  ])("learns %s", async (_, queue, told) => {
    expect(await queueWaits(queue, now)).toEqual({ ...told, askedMs: NOON });
  });

  it("learns nothing of a binding that cannot say it, of one that throws, and of one that refuses", async () => {
    const throwing = {
      metrics: () => {
        throw new Error("no such method");
      },
    };
    const refusing = { metrics: () => Promise.reject(new Error("internal error")) };
    for (const queue of [{}, throwing, refusing]) expect(await queueWaits(queue, now)).toBeNull();
  });

  it("waits three seconds for one that hangs", async () => {
    const hanging = { metrics: () => new Promise<never>(() => {}) };
    expect(await onFakeClock(() => queueWaits(hanging, now))).toEqual({ value: null, seconds: 3 });
  });
});

describe("what the queue said, once a batch has come", () => {
  const asked = { queueBacklog: 250, queueBytes: 9, queueOldestMs: NOON - 8_000, askedMs: NOON };
  const batch = (queueBacklog: number | null, queueSeenMs: number | null) => ({
    ...{ queueBacklog, queueSeenMs, queueBytes: 7, other: 1 },
  });

  it.each([
    ["that waits no longer, where no more waits", batch(250, NOON + 60_000), 250, NOON + 52_000],
    ["that may wait since, where more does", batch(251, NOON + 60_000), 251, NOON - 8_000],
    ["nothing new, where it came before", batch(3, NOON), 250, NOON - 8_000],
    ["nothing new, where it does not say how many", batch(null, NOON + 60_000), 250, NOON - 8_000],
    ["nothing new, where none came", batch(3, null), 250, NOON - 8_000],
  ])("is %s", (_, account, queueBacklog, queueOldestMs) => {
    expect(withQueue(account, asked)).toMatchObject({ queueBacklog, queueOldestMs, other: 1 });
  });

  it("is as it was where what waits goes into one batch, where nothing waited, and where it was not asked", () => {
    const few = { ...asked, queueBacklog: 2 };
    const at = (account: ReturnType<typeof batch>) => withQueue({ ...account, queueOldestMs: null }, few).queueOldestMs;
    expect([at(batch(100, NOON + 5_000)), at(batch(101, NOON + 5_000))]).toEqual([NOON - 3_000, NOON - 8_000]);
    expect(withQueue(batch(3, NOON + 1), { ...asked, queueOldestMs: null })).toMatchObject({ queueOldestMs: null });
    expect(withQueue(batch(3, NOON + 1), undefined)).toEqual(batch(3, NOON + 1));
  });
});

describe("a run of the cron", () => {
  const run = (queue: object) =>
    createWorker().scheduled(createScheduledController(), { ...env, EVENTS: { ...queue } } as never);

  it("asks once, and says that no batch arrives, with the age of the oldest message", async () => {
    const clock = setClock(NOON);
    await createJob(freshBucket().name);
    await deliver(pack(new Oracle().mint(1, { at: NOON }), NOON));
    clock.advance(20 * MINUTE_MS);
    const queue = saying(41, NOON + 1);
    const metrics = vi.spyOn(queue, "metrics");
    await run(queue);
    expect(metrics).toHaveBeenCalledTimes(1);
    expect((await status()).findings).toMatchObject([
      {
        ...{ kind: "queue_old", severity: "error", since: new Date(NOON + 1).toISOString() },
        ...{ affected: { count: 41, what: "messages" } },
        summary: "The queue holds 41 messages, and none of them has got through for a quarter of an hour.",
      },
    ]);
    expect(metrics).toHaveBeenCalledTimes(1);
    // No later run has an answer: for two of them the last one counts.
    clock.advance(10 * MINUTE_MS);
    expect(await kindsOf(status())).toContain("queue_old");
    clock.advance(1);
    expect(await kindsOf(status())).not.toContain("queue_old");
    await run(queue);
    expect(await kindsOf(status())).toContain("queue_old");
    await run(saying(0));
    expect(await kindsOf(status())).not.toContain("queue_old");
  });

  it("says no more that messages wait once a later batch says that they do not", async () => {
    const clock = setClock(NOON);
    await createJob(freshBucket().name);
    await run(saying(2_000, NOON));
    expect(await kindsOf(status())).not.toContain("queue_backlog");
    clock.advance(16 * MINUTE_MS);
    await run(saying(2_000, NOON + 15 * MINUTE_MS));
    expect(await kindsOf(status())).toContain("queue_backlog");
    clock.advance(1_000);
    const metrics = { backlogCount: 3, backlogBytes: 300, oldestMessageTimestamp: new Date(NOON) };
    await deliver(pack(new Oracle().mint(1, { at: NOON }), NOON), 1, metrics);
    expect(await kindsOf(status())).not.toContain("queue_backlog");
  });

  it("checks all the same where the binding is older, or fails", async () => {
    setClock(NOON);
    for (const queue of [{}, { metrics: () => Promise.reject(new Error("internal error")) }]) {
      await run(queue);
      expect(await kindsOf(status())).toEqual([]);
    }
  });

  it("of an earlier release tells nothing of the queue", async () => {
    setClock(NOON);
    await (watch(env.WATCH) as { check(): Promise<void> }).check();
    expect(await kindsOf(status())).toEqual([]);
  });
});
