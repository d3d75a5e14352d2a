/** What the platform does to one event and to a new job, each with its own `wrangler dev`. */
import { describe, it } from "vitest";
import { until } from "../../tools/until.ts";
import { assertClean, type Minted, Oracle } from "../support/oracle.ts";
import { IsolatedShipper, jobInto, pathOf, RECEIVED_WITHIN_MS } from "./shipper.ts";

const INTERVAL_MS = 30_000;
/** An upload starts at most this long after the interval. */
const SLACK_MS = 15_000;

// Concurrent: one of them waits for 30 s.
describe.concurrent("events on their way into the bucket", () => {
  it("ships one event within the interval and 15 s, though nothing follows and no cron comes", async ({ expect }) => {
    await using shipper = await IsolatedShipper.start();
    const { api, bucket } = shipper;
    const oracle = new Oracle({ name: "alone", at: Date.now() });
    const job = await api.createJob(jobInto("silence"));
    const events = oracle.mint(1);
    await api.postEvents(events.map(({ event }) => event));
    oracle.acknowledged(job.id, events);
    await until({
      what: "the object",
      withinMs: INTERVAL_MS + SLACK_MS,
      look: async () => (await bucket.list("silence/")).filter((key) => key.endsWith(".log.gz")),
      enough: (keys) => keys.length > 0,
    });
    assertClean(oracle.audit(job.id, await bucket.read("silence/"), { path: pathOf("silence") }));
    const objects = await until({
      what: "the job to know that it is delivered",
      withinMs: RECEIVED_WITHIN_MS,
      look: () => api.objects(job.id),
      enough: (list) => list.every(({ state }) => state === "delivered"),
    });
    expect(objects).toMatchObject([{ records: 1, reason: "interval" }]);
  });

  it("misses no event posted in the very next request after a job was created, ten times in a row", async ({
    expect,
  }) => {
    await using shipper = await IsolatedShipper.start();
    const { api, bucket } = shipper;
    const oracle = new Oracle({ name: "next", at: Date.now() });
    const jobs: { id: number; folder: string }[] = [];
    const posted: Minted[] = [];
    for (let turn = 1; turn <= 10; turn++) {
      const events = oracle.mint(7);
      const folder = `turn-${turn}`;
      const { id } = await api.createJob(jobInto(folder));
      const accepted = await api.postEvents(events.map(({ event }) => event));
      expect(accepted).toBe(events.length);
      // Clocks of two machines differ: an event taken in shortly before a job is created may reach
      // it, at most once.
      oracle.unacknowledged(id, posted);
      posted.push(...events);
      jobs.push({ id, folder });
      for (const job of jobs) oracle.acknowledged(job.id, events);
    }
    await until({
      what: "all events to be processed",
      withinMs: RECEIVED_WITHIN_MS,
      look: () => api.accountLedger(),
      enough: ({ processed }) => processed >= posted.length,
    });
    for (const { id, folder } of jobs) {
      await api.flush(id);
      const { received, delivered } = await api.jobLedger(id);
      expect(delivered).toBe(received);
      const report = oracle.audit(id, await bucket.read(`${folder}/`), { path: pathOf(folder) });
      assertClean(report);
      expect(report.records).toBe(received);
    }
  });
});
