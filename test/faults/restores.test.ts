/** A shard of the log, or a job's reader, is restored to an earlier time. */
import { env } from "cloudflare:workers";
import { describe, expect } from "vitest";
import { JobReader } from "../../src/index.ts";
import { traceLog } from "../../src/ship/log/trace-log.ts";
import { nodeAt } from "../../src/ship/reader/job-nodes.ts";
import type { Minted } from "../support/oracle.ts";
import { keepHours } from "../support/runtime/keeping.ts";
import type { World } from "../support/runtime/world.ts";
import { breaks } from "./fault.ts";
import { restorable } from "./restoring.ts";
import { jobRow, row } from "./row.ts";
import { arrive, countsOf, pass } from "./stores.ts";

const log = () => traceLog(env.TRACE_LOG, 0);

/** Ten events are in the log. */
async function ten(world: World): Promise<Minted[]> {
  const events = world.mint(10, { days: 2 });
  world.clock.advance(1_000);
  await arrive(world, events, 5);
  return events;
}

describe("a shard that is restored", () => {
  row("lacks what its jobs have read since: they have it, and what comes later, once", async (world) => {
    const jobs = [await world.createJob(), await world.createJob()];
    await ten(world);
    await world.read();
    const restore = await restorable(log);
    await ten(world);
    await world.read();
    await restore();
    world.injected();
    // What the account had counted is gone.
    world.accountLeftOut.processed = { atLeast: 20, atMost: 21 };
    world.accountLeftOut.routed = world.accountLeftOut.processed;
    await ten(world);
    await world.read();
    for (const job of jobs) expect((await countsOf(job)).received).toBe(30);
  });

  jobRow("has lost what no job had read, and nothing else", async (world, job) => {
    await world.read();
    await ten(world);
    const restore = await restorable(log);
    const lost = await ten(world);
    await restore();
    world.injected();
    world.jobs.withdraw(lost);
    world.accountLeftOut.processed = { atLeast: 20, atMost: 21 };
    await ten(world);
    await world.read();
    expect((await countsOf(job)).received).toBe(20);
  });

  jobRow("offers again what a job has read: its reader goes by its own cursor", async (world, job) => {
    await ten(world);
    const restore = await restorable(log);
    await world.read();
    await restore();
    world.injected();
    await world.read();
    expect((await countsOf(job)).received).toBe(10);
  });
});

describe("a reader that is restored", () => {
  row("reads again what the log still has, and nothing is there twice", async (world) => {
    const [job, other] = [await world.createJob(), await world.createJob()];
    await ten(world);
    await world.read();
    const reader = () => nodeAt(env.READERS, job.id, 0);
    const restore = await restorable(reader);
    breaks(world, JobReader, "pull", (_n, name) => (name === `job ${other.id} log 0` ? "refused" : null));
    await ten(world);
    await world.read();
    expect((await reader().status())?.counts.received).toBe(20);
    await restore();
    await ten(world);
    await world.read();
    expect((await reader().status())?.counts.received).toBe(30);
  });

  row("lacks what the log has dropped, which is said to wait, and delivers what comes later", async (world) => {
    keepHours(0);
    const job = await world.createJob();
    await ten(world);
    await world.read();
    const restore = await restorable(() => nodeAt(env.READERS, job.id, 0));
    const lost = await ten(world);
    await world.read();
    await restore();
    world.injected();
    await ten(world);
    await world.read();
    expect(await countsOf(job)).toMatchObject({ received: 30, pending: 30 });
    await pass(world, 60_000);
    expect(await countsOf(job)).toMatchObject({ received: 30, delivered: 20, pending: 10 });
    await world.jobs.remove(job, { discard: true });
    world.jobs.withdraw(lost);
    world.accountLeftOut.routed = 31;
  });

  jobRow("gets again what the log keeps, and delivers it once, with what comes later", async (world, job) => {
    await ten(world);
    await world.read();
    const restore = await restorable(() => nodeAt(env.READERS, job.id, 0));
    await ten(world);
    await world.read();
    await restore();
    world.injected();
    await ten(world);
    await world.read();
    await pass(world, 60_000);
    expect(await countsOf(job)).toMatchObject({ received: 30, delivered: 30, pending: 0 });
  });
});
