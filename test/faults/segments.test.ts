/** Full readers: chains of segments, and faults where one segment follows another. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, vi } from "vitest";
import { JobReader, TraceLog } from "../../src/index.ts";
import { nodeName } from "../../src/ship/log/nodes.ts";
import { nodeAt } from "../../src/ship/reader/job-nodes.ts";
import { controlPlane } from "../../src/state/control/plane.ts";
import { cells } from "../support/matrix.ts";
import { PROMPT_BREAKAGES } from "../support/runtime/breakage.ts";
import type { HeldMessage } from "../support/runtime/queue.ts";
import type { World } from "../support/runtime/world.ts";
import type { WorldJob } from "../support/runtime/world-jobs.ts";
import { rule } from "../support/s3-script.ts";
import { Fault } from "./fault.ts";
import { dense } from "./large-event.ts";
import { jobRow, row } from "./row.ts";
import { arrive, controlOf, countsOf, deliver, PUTS, pass, said } from "./stores.ts";

/** The maximum size of a segment in bytes, by the name of its object and what it has received. */
type Room = (name: string, received: number) => number;

const WIDE = Number.POSITIVE_INFINITY;

let room: Room = () => WIDE;

/** Limits segments until the faults end. Set with each pull, because instances come and go. */
function limitSegments(limit: Room): void {
  room = limit;
  const { pull } = JobReader.prototype;
  if (vi.isMockFunction(pull)) return;
  vi.spyOn(JobReader.prototype, "pull").mockImplementation(function (this: JobReader, how) {
    const { ctx } = this as unknown as { ctx: DurableObjectState };
    const get = () => room(ctx.id.name ?? "", this.status()?.counts.received ?? 0);
    Object.defineProperty(this, "segmentMaxBytes", { get, configurable: true });
    return pull.call(this, how);
  });
}

/** These segments of a job are full as soon as they have read a page. */
function fillUp(world: World, job: WorldJob, ...segments: number[]): void {
  const full = new Set(segments.map((segment) => nodeName(job.id, segment)));
  limitSegments((name, records) => (full.has(name) && records > 0 ? 1 : WIDE));
  world.injected(segments.length);
}

async function received(world: World, job: WorldJob): Promise<number[]> {
  const statuses = (await world.segments(job.id)).map((reader) => reader.status());
  return (await Promise.all(statuses)).map((status) => status?.counts.received ?? 0);
}

async function deliverAndRead(world: World): Promise<void> {
  await world.deliverDue();
  await world.read();
}

/** A job with three segments of ten records each, and the messages they came in, for redelivery. */
async function threeSegments(world: World): Promise<{ job: WorldJob; messages: HeldMessage[] }> {
  const job = await world.createJob();
  const messages: HeldMessage[] = [];
  fillUp(world, job, 0, 1);
  for (let segment = 0; segment < 3; segment++) {
    await world.take(world.mint(10, { days: 2 }), 5);
    messages.push(...world.queue.held);
    await deliverAndRead(world);
  }
  expect(await received(world, job)).toEqual([10, 10, 10]);
  return { job, messages };
}

describe("a segment", () => {
  jobRow("segments grow full by themselves, one after another", async (world, job) => {
    await world.runAlarms();
    const small = await runInDurableObject(
      nodeAt(env.READERS, job.id, 0),
      (_reader, { storage }) => storage.sql.databaseSize,
    );
    limitSegments(() => small + 40_000);
    for (let i = 0; (await received(world, job)).length < 4; i++) {
      expect(i).toBeLessThan(200);
      await world.take(world.mint(20, { days: 2, padding: 500 }), 10);
      await deliverAndRead(world);
    }
    const all = await received(world, job);
    world.injected(all.length - 1);
    expect(all.slice(0, 3).every((records) => records >= 20)).toBe(true);
    // The records of the segments add up to the total: none is counted twice or dropped.
    expect((await countsOf(job)).received).toBe(all.reduce((sum, records) => sum + records, 0));
  });

  row("a segment becomes full between two pages, of one of two jobs", async (world) => {
    const [job, other] = [await world.createJob(), await world.createJob()];
    fillUp(world, job, 0);
    // More than one page can hold.
    await world.take(dense(world.mint(200)), 10);
    await deliverAndRead(world);
    const [first, second] = await received(world, job);
    expect([first === 0, second === 0, Number(first) + Number(second)]).toEqual([false, false, 200]);
    expect(await received(world, other)).toEqual([200]);
  });

  row("a full segment has room again, and takes nothing more; its records come again with a key", async (world) => {
    const job = await world.createJob();
    await world.take(world.mint(10));
    fillUp(world, job, 0);
    const events = world.mint(10);
    await world.take(events, 10, { key: "a-key" });
    await deliverAndRead(world);
    world.clock.advance(600_000);
    await world.runCron();
    limitSegments(() => WIDE);
    await world.take([...events], 10, { key: "a-key" });
    await world.take(world.mint(10));
    await deliverAndRead(world);
    expect(await received(world, job)).toEqual([20, 10]);
  });
});

describe("at the seam of two segments", () => {
  const calls = [
    [JobReader.prototype, "pull", 0, "the full segment"],
    [JobReader.prototype, "pull", 1, "the next one"],
    [TraceLog.prototype, "read", 0, "the log, for the full segment"],
    [TraceLog.prototype, "read", 1, "the log, for the next one"],
  ] as const;
  for (const [[prototype, method, nth, who], breakage] of cells(calls, PROMPT_BREAKAGES)) {
    jobRow(`${who} breaks in ${method}() as a segment hands on: ${breakage}`, async (world, job) => {
      await world.runAlarms();
      fillUp(world, job, 0);
      const fault = new Fault(world, prototype, method, breakage);
      fault.begin(nth);
      for (let times = 0; times < 2; times++) {
        await world.take(world.mint(20, { days: 2 }), 10);
        await fault.meet(() => deliverAndRead(world));
        world.clock.advance(5_000);
      }
      await world.read();
      expect(fault.took()).toBe(true);
      const records = await received(world, job);
      expect(records.reduce((sum, each) => sum + each, 0)).toBe(40);
      expect(records.length).toBeLessThanOrEqual(2);
    });
  }
});

describe("three segments", () => {
  row("what three segments hold is delivered again, with itself", async (world) => {
    const { job, messages } = await threeSegments(world);
    await world.take(world.mint(1));
    await deliver(world, [...messages, ...messages, ...world.queue.due()]);
    await world.read();
    expect(await received(world, job)).toEqual([10, 10, 11]);
  });

  row("three segments wait while the store answers 403, for a day", async (world) => {
    const { job } = await threeSegments(world);
    const control = controlOf(job);
    await control.script([rule({ do: "answer", status: 403, code: "AccessDenied" })]);
    for (let hours = 0; hours < 24; hours += 3) {
      await pass(world, 3 * 3_600_000);
      await world.runCron();
      expect(await said(job)).toContain("HTTP 403 AccessDenied");
      expect(await countsOf(job)).toMatchObject({ received: 30, pending: 30 });
    }
    await control.script([]);
    world.clock.advance(600_000);
    await world.runCron();
    expect(await countsOf(job)).toMatchObject({ delivered: 30, pending: 0 });
    expect(await said(job)).toBe(null);
  });

  row("a job with three segments gets another format", async (world) => {
    const { job } = await threeSegments(world);
    await world.jobs.change(job, { output_options: { field_names: ["Logs", "EventTimestampMs"] } });
    await world.take(world.mint(10));
    await deliverAndRead(world);
    expect(await received(world, job)).toEqual([10, 10, 20]);
    await world.settle();
    // Two days in each of three segments, cut by the change, and one object in the new format.
    expect(await controlOf(job).objects()).toHaveLength(2 * 3 + 1 + 1);
  });

  row("a job with three segments gets another destination, its store being down", async (world) => {
    const { job } = await threeSegments(world);
    const old = controlOf(job);
    await old.script([rule({ do: "answer", status: 503 }, PUTS)]);
    await pass(world, 60_000);
    await world.runCron();
    await world.jobs.move(job);
    await pass(world, 60_000);
    expect(await countsOf(job)).toMatchObject({ delivered: 30, pending: 0 });
    expect((await old.objects()).filter(({ key }) => key.endsWith(".log.gz"))).toEqual([]);
  });

  row("a job with three segments is disabled, and enabled again", async (world) => {
    const { job, messages } = await threeSegments(world);
    for (const enabled of [false, true]) {
      world.clock.advance(1_000);
      await world.jobs.change(job, { enabled });
      await world.take(world.mint(10));
      await deliver(world, [...messages, ...world.queue.due()]);
      await world.read();
    }
    expect(await received(world, job)).toEqual([10, 10, 20]);
  });

  for (const discard of [false, true]) {
    row(
      `a job with three segments is ${discard ? "discarded" : "deleted"}, with events on their way`,
      async (world) => {
        const { job, messages } = await threeSegments(world);
        await world.take(world.mint(10));
        world.clock.advance(1_000);
        await world.jobs.remove(job, { discard });
        await deliver(world, [...messages, ...world.queue.due()]);
        await world.settle();
        const { delivered, discarded, pending } = await countsOf(job);
        expect([delivered, discarded, pending]).toEqual(discard ? [0, 30, 0] : [40, 0, 0]);
      },
    );
  }

  for (const [nth, breakage] of cells([0, 2], ["dies after", "refused", "dies before", "lost"] as const)) {
    row(
      `a job with three segments is forgotten after fifteen days; number ${nth + 1} to go breaks: ${breakage}`,
      async (world) => {
        const { job } = await threeSegments(world);
        await world.jobs.remove(job);
        await world.settle();
        await world.audit();
        world.clock.advance(16 * 86_400_000);
        // The queue says that nothing waits from before.
        await world.createJob();
        await arrive(world, world.mint(1));
        const fault = new Fault(world, JobReader.prototype, "retire", breakage);
        fault.begin(nth);
        await world.runCron();
        expect(fault.took()).toBe(true);
        await world.runCron();
        for (const segment of [0, 1, 2]) expect(await nodeAt(env.READERS, job.id, segment).status()).toBe(null);
        expect(await controlPlane(env.CONTROL).draining()).toEqual([]);
      },
    );
  }
});
