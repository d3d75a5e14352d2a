/** Full logs: chains of segments, and faults where one segment follows another. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, vi } from "vitest";
import { nodeAt } from "../../src/delivery/job-nodes.ts";
import { JobReader } from "../../src/index.ts";
import { cells, variants } from "../support/matrix.ts";
import { PROMPT_BREAKAGES } from "../support/runtime/breakage.ts";
import type { HeldMessage } from "../support/runtime/queue.ts";
import type { World } from "../support/runtime/world.ts";
import type { WorldJob } from "../support/runtime/world-jobs.ts";
import { rule } from "../support/s3-script.ts";
import { Fault } from "./fault.ts";
import { row } from "./row.ts";
import { controlOf, countsOf, PUTS, said } from "./stores.ts";

/**
 * The maximum size of a segment in bytes, by the name of its object. Read at each append, because
 * instances come and go.
 */
type Room = (name: string) => number;

const WIDE = Number.POSITIVE_INFINITY;

let room: Room = () => WIDE;

/** Limits segments until the faults end. */
function limitSegments(limit: Room): void {
  room = limit;
  const { append } = JobReader.prototype;
  if (vi.isMockFunction(append)) return;
  vi.spyOn(JobReader.prototype, "append").mockImplementation(function (this: JobReader, request) {
    const { ctx } = this as unknown as { ctx: DurableObjectState };
    this.segmentMaxBytes = room(ctx.id.name ?? "");
    return append.call(this, request);
  });
}

/** Makes only these segments of a job full. */
function fillUp(world: World, job: WorldJob, ...segments: number[]): void {
  const full = new Set(segments.map((segment) => `job ${job.id} segment ${segment}`));
  limitSegments((name) => (full.has(name) ? 1 : WIDE));
  world.injected(segments.length);
}

async function received(world: World, job: WorldJob): Promise<number[]> {
  const statuses = (await world.segments(job.id)).map((log) => log.status());
  return (await Promise.all(statuses)).map((status) => status?.counts.received ?? 0);
}

function deliver(world: World, messages: readonly HeldMessage[], losesAck = () => false) {
  return world.queue.deliver(messages, world.isolate.queue, world.env, losesAck);
}

/** A job with three segments of ten records each, and the messages they came in, for redelivery. */
async function threeSegments(world: World): Promise<{ job: WorldJob; messages: HeldMessage[] }> {
  const job = await world.createJob();
  const messages: HeldMessage[] = [];
  for (const full of [[], [0], [0, 1]]) {
    await world.take(world.mint(10, { days: 2 }), 5);
    fillUp(world, job, ...full);
    messages.push(...world.queue.held);
    await world.deliverDue();
  }
  expect(await received(world, job)).toEqual([10, 10, 10]);
  return { job, messages };
}

describe("a segment", () => {
  row("segments grow full by themselves, one after another", async (world) => {
    const job = await world.createJob();
    const small = await runInDurableObject(
      nodeAt(env.READERS, job.id, 0),
      (_log, { storage }) => storage.sql.databaseSize,
    );
    limitSegments(() => small + 40_000);
    for (let i = 0; (await received(world, job)).length < 4; i++) {
      expect(i).toBeLessThan(200);
      await world.take(world.mint(20, { days: 2, padding: 500 }), 10);
      await world.deliverDue();
    }
    const all = await received(world, job);
    world.injected(all.length - 1);
    expect(all.slice(0, 3).every((records) => records >= 20)).toBe(true);
    // The records of the segments add up to the total: none is counted twice or dropped.
    expect((await countsOf(job)).received).toBe(all.reduce((sum, records) => sum + records, 0));
  });

  row("segments are full before their first append, five in a row", async (world) => {
    const job = await world.createJob();
    fillUp(world, job, 0, 1, 2, 3, 4);
    await world.take(world.mint(20), 5);
    await world.deliverDue();
    expect(await received(world, job)).toEqual([0, 0, 0, 0, 0, 20]);
  });

  row("a segment is full while it knows some of a batch", async (world) => {
    const job = await world.createJob();
    await world.take(world.mint(40, { days: 2 }), 10);
    const messages = [...world.queue.held];
    await deliver(world, messages.slice(0, 2), () => true);
    fillUp(world, job, 0);
    // Mixed, so that neither half of the batch matches the records of the first segment.
    const [a, b, c, d] = messages as [HeldMessage, HeldMessage, HeldMessage, HeldMessage];
    expect(await deliver(world, [c, a, d, b])).toEqual({ acked: 4, retried: 0 });
    expect(await received(world, job)).toEqual([20, 20]);
  });

  row("a segment becomes full between the appends of one batch, of one of two jobs", async (world) => {
    const [job, other] = [await world.createJob(), await world.createJob()];
    let appends = 0;
    limitSegments((name) => {
      if (name !== `job ${job.id} segment 0`) return WIDE;
      appends += 1;
      return appends > 1 ? 1 : WIDE;
    });
    // More than one append can hold.
    await world.take(world.mint(400, { padding: 14_000 }), 30);
    await world.deliverDue();
    world.injected();
    const [first, second] = await received(world, job);
    expect(first).toBeGreaterThan(0);
    expect(second).toBeGreaterThan(0);
    expect(await received(world, other)).toEqual([400]);
  });

  row("a keyed request comes again when another segment takes its records", async (world) => {
    const job = await world.createJob();
    const events = world.mint(20);
    await world.take(events, 20, { key: "a-key" });
    await world.deliverDue();
    fillUp(world, job, 0);
    // First before the segment is sealed, then after. The repeat is a new message, without a sign
    // of redelivery.
    for (let times = 1; times <= 2; times++) {
      world.clock.advance(3_600_000);
      await world.take([...events], 20, { key: "a-key" });
      await world.take(world.mint(5));
      await world.deliverDue();
      expect(await received(world, job)).toEqual([20, 5 * times]);
    }
  });

  row("a full segment has room again, and takes nothing of what the next one may hold", async (world) => {
    const job = await world.createJob();
    await world.take(world.mint(10));
    await world.deliverDue();
    fillUp(world, job, 0);
    const events = world.mint(10);
    await world.take(events, 10, { key: "a-key" });
    await world.deliverDue();
    world.clock.advance(600_000);
    await world.runCron();
    limitSegments(() => WIDE);
    await world.take([...events], 10, { key: "a-key" });
    await world.take(world.mint(10));
    await world.deliverDue();
    expect(await received(world, job)).toEqual([10, 20]);
  });
});

describe("at the seam of two segments", () => {
  // An unused segment gets `append`, `configure`, `append` in this order: a single `configure`.
  const calls = [
    ["append", 0, "the full segment"],
    ["append", 1, "the next one"],
    ["append", 2, "the next one, the second time"],
    ["configure", 0, "the next one"],
    ["holds", 0, "the full segment"],
    ["holds", 1, "the next one"],
  ] as const;
  for (const [[method, nth, who], breakage] of cells(calls, PROMPT_BREAKAGES)) {
    row(`${who} breaks in ${method}() as a segment hands on: ${breakage}`, async (world) => {
      const job = await world.createJob();
      await world.take(world.mint(40, { days: 2 }), 10);
      const messages = [...world.queue.held];
      await deliver(world, messages.slice(0, 2), () => true);
      fillUp(world, job, 0);
      const fault = new Fault(world, JobReader.prototype, method, breakage);
      if (method === "holds") {
        // The records are in two segments; `holds` asks both before an append is built.
        await deliver(world, messages.slice(2), () => true);
        fault.begin(nth);
      } else {
        fault.begin(nth);
        await deliver(world, messages.slice(2));
      }
      world.clock.advance(600_000);
      await deliver(world, messages);
      expect(fault.took()).toBe(true);
      await world.mend();
      await world.settle();
      expect(await received(world, job)).toEqual([20, 20]);
    });
  }
});

describe("three segments", () => {
  const REDELIVERIES: Record<string, (messages: HeldMessage[]) => HeldMessage[][]> = {
    "every third together": (messages) => [0, 1, 2].map((n) => messages.filter((_, i) => i % 3 === n)),
    whole: (messages) => [messages],
    reversed: (messages) => [messages.toReversed()],
    "one by one": (messages) => messages.map((message) => [message]),
    "with itself": (messages) => [[...messages, ...messages]],
  };
  for (const [how, again] of variants(Object.entries(REDELIVERIES))) {
    row(`what three segments hold is delivered again, ${how}`, async (world) => {
      const { job, messages } = await threeSegments(world);
      for (const batch of again(messages)) {
        // The next batch contains a new record, too.
        await world.take(world.mint(1));
        await deliver(world, [...batch, ...world.queue.due()]);
      }
      expect((await received(world, job)).slice(0, 2)).toEqual([10, 10]);
    });
  }

  row("three segments wait while the store answers 403, for a day", async (world) => {
    const { job } = await threeSegments(world);
    const control = controlOf(job);
    await control.script([rule({ do: "answer", status: 403, code: "AccessDenied" })]);
    for (let hours = 0; hours < 24; hours++) {
      world.clock.advance(3_600_000);
      await world.runAlarms();
      await world.runCron();
      expect(await said(job)).toContain("HTTP 403 AccessDenied");
      expect(await countsOf(job)).toMatchObject({ received: 30, pending: 30 });
      world.injected();
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
    await world.deliverDue();
    expect(await received(world, job)).toEqual([10, 10, 20]);
    await world.settle();
    // Two days in each of three segments, cut by the change, and one object in the new format.
    expect(await controlOf(job).objects()).toHaveLength(2 * 3 + 1 + 1);
  });

  row("a job with three segments gets another destination, its store being down", async (world) => {
    const { job } = await threeSegments(world);
    const old = controlOf(job);
    await old.script([rule({ do: "answer", status: 503 }, PUTS)]);
    world.clock.advance(60_000);
    await world.runAlarms();
    await world.runCron();
    await world.jobs.move(job);
    world.clock.advance(60_000);
    await world.runAlarms();
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

  for (const breakage of variants(["dies after", "refused", "dies before"] as const)) {
    row(
      `a job with three segments is forgotten after fifteen days; the first to go breaks: ${breakage}`,
      async (world) => {
        const { job } = await threeSegments(world);
        await world.jobs.remove(job);
        await world.settle();
        await world.audit();
        world.clock.advance(16 * 86_400_000);
        const fault = new Fault(world, JobReader.prototype, "retire", breakage);
        fault.begin();
        await world.runCron();
        expect(fault.took()).toBe(true);
        await world.runCron();
        for (const segment of [0, 1, 2]) expect(await nodeAt(env.READERS, job.id, segment).status()).toBe(null);
      },
    );
  }
});
