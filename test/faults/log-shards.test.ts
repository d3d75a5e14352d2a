/**
 * A log of several shards: races of its growth as docs/delivery.md numbers them, and faults where
 * one shard hands on to another.
 */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, vi } from "vitest";
import { owedIfAny } from "../../src/debts/debt-store.ts";
import { nodeAt } from "../../src/delivery/job-nodes.ts";
import { DebtStore, JobReader } from "../../src/index.ts";
import { traceLog } from "../../src/trace-log/trace-log.ts";
import { cells, variants } from "../support/matrix.ts";
import { api } from "../support/runtime/api.ts";
import { PROMPT_BREAKAGES } from "../support/runtime/breakage.ts";
import { oldRegister } from "../support/runtime/keys.ts";
import type { HeldMessage } from "../support/runtime/queue.ts";
import type { World } from "../support/runtime/world.ts";
import type { WorldJob } from "../support/runtime/world-jobs.ts";
import { rule } from "../support/s3-script.ts";
import { Fault } from "./fault.ts";
import { row } from "./row.ts";
import { controlOf, countsOf, said } from "./stores.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** The first segments of four shards. */
const FOUR = [0, 1_000, 2_000, 3_000];

/** So many that each of four shards gets one of them: all but once in some million runs. */
const MANY = 60;

/** Lets each shard of a log hand half of its messages on. */
async function split(world: World, job: WorldJob): Promise<void> {
  for (const node of await world.nodes(job.id))
    await runInDurableObject(nodeAt(env.READERS, job.id, node), (log: JobReader) => log.splitting.split());
  world.injected();
}

/** Each shard hands half on, so often; what comes from now on goes by that. */
async function grow(world: World, job: WorldJob, times = 2): Promise<void> {
  for (let n = 0; n < times; n++) {
    await split(world, job);
    world.clock.advance(2 * MINUTE_MS);
  }
}

async function received(world: World, job: WorldJob): Promise<number[]> {
  const statuses = (await world.segments(job.id)).map((log) => log.status());
  return (await Promise.all(statuses)).map((status) => status?.counts.received ?? 0);
}

const total = async (world: World, job: WorldJob): Promise<number> =>
  (await received(world, job)).reduce((sum, each) => sum + each, 0);

function deliver(world: World, messages: readonly HeldMessage[], losesAck = () => false, isolate = world.isolate) {
  return world.queue.deliver(messages, isolate.queue, world.env, losesAck);
}

/** Messages of one event each, on their way. */
async function taken(world: World, count = MANY): Promise<HeldMessage[]> {
  const before = new Set(world.queue.held);
  await world.take(world.mint(count), 1);
  return world.queue.held.filter((message) => !before.has(message));
}

/** A job whose log has four shards with records in each, and the messages these came in. */
async function fourShards(world: World): Promise<{ job: WorldJob; messages: HeldMessage[] }> {
  const job = await world.createJob();
  await grow(world, job);
  const messages = await taken(world);
  await deliver(world, messages);
  expect(await world.nodes(job.id)).toEqual(FOUR);
  expect(Math.min(...(await received(world, job)))).toBeGreaterThan(0);
  return { job, messages };
}

describe("a log grows", () => {
  row("while a consumer works with what it knew before", async (world) => {
    const job = await world.createJob();
    const early = await taken(world);
    await deliver(world, early);
    const stale = world.isolate;
    // (1) The shard hands half on.
    await grow(world, job);
    // (2) A consumer that asks commits later messages; its acknowledgements are lost.
    world.coldIsolate();
    const late = await taken(world);
    await deliver(world, late, () => true);
    const after = await received(world, job);
    expect(Math.min(...after)).toBeGreaterThan(0);
    // (3) All come again, to the one that knows of no shards, with more.
    const more = await taken(world, 10);
    await deliver(world, [...more, ...late, ...early], () => true, stale);
    await deliver(world, [...late, ...more]);
    expect(await received(world, job)).toHaveLength(4);
    expect(await total(world, job)).toBe(2 * MANY + 10);
  });

  row("between the deliveries of messages of one batch: what came before stays where it is", async (world) => {
    const job = await world.createJob();
    const messages = await taken(world);
    await deliver(world, messages.slice(0, MANY / 2), () => true);
    await grow(world, job);
    // Taken in before the split, and new.
    await deliver(world, messages.toReversed());
    expect(await received(world, job)).toEqual([MANY, 0, 0, 0]);
  });

  row("an append's answer is lost, the message is owed, and the log grows before it is paid", async (world) => {
    const job = await world.createJob();
    const lost = new Fault(world, JobReader.prototype, "append", "lost");
    await world.take(world.mint(10));
    // (1) It is committed, the answer is lost, and it is owed.
    lost.begin();
    await world.deliverDue();
    expect(lost.took()).toBe(true);
    const owed = async () => (await owedIfAny(env.DEBTS, traceLog(env.TRACE_LOG, 0))).jobs.get(job.id);
    expect(await owed()).toMatchObject({ records: 10 });
    expect(await received(world, job)).toEqual([10]);
    // (2) The log hands half on.
    await grow(world, job);
    // (3) The payment asks where a message of that time is: it is there.
    await world.mend();
    await world.settle();
    expect(await owed()).toBeUndefined();
    expect(await received(world, job)).toEqual([10, 0, 0, 0]);
  });

  row("while it is owed messages of before and after: each is paid to its shard", async (world) => {
    const job = await world.createJob();
    const { append } = JobReader.prototype;
    const broken = (): void =>
      void vi.spyOn(JobReader.prototype, "append").mockImplementation(() => {
        throw new Error("this log is broken");
      });
    broken();
    await world.take(world.mint(MANY), 1);
    await world.deliverDue();
    await grow(world, job);
    await world.take(world.mint(MANY), 1);
    const copies = world.queue.held.map((message) => ({ ...message }));
    await world.deliverDue();
    expect((await owedIfAny(env.DEBTS, traceLog(env.TRACE_LOG, 0))).jobs.get(job.id)).toMatchObject({
      records: 2 * MANY,
    });
    vi.mocked(JobReader.prototype.append).mockImplementation(append);
    await world.mend();
    await world.settle();
    const [first = 0, ...others] = await received(world, job);
    expect(first).toBeGreaterThan(MANY);
    expect(Math.min(...others)).toBeGreaterThan(0);
    await deliver(world, copies);
    expect(await total(world, job)).toBe(2 * MANY);
  });

  row("and breaks off: what it is owed meanwhile is paid, and it grows later", async (world) => {
    const job = await world.createJob();
    const fault = new Fault(world, JobReader.prototype, "configure", "dies after");
    fault.begin();
    await split(world, job).catch(() => {});
    expect(fault.took()).toBe(true);
    await world.mend();
    expect(await world.nodes(job.id)).toEqual([0]);
    await deliver(world, await taken(world, 10));
    await grow(world, job);
    await deliver(world, await taken(world));
    expect(Math.min(...(await received(world, job)))).toBeGreaterThan(0);
  });
});

const REGISTERS: [string, (world: World) => Promise<void>][] = [
  ["new", async () => {}],
  ["old", (world) => oldRegister(world.clock)],
];

describe.each(REGISTERS)("in a register of keys that is %s", (age, begin) => {
  for (const [when, ms] of [
    ["an hour", 60 * MINUTE_MS],
    ["three days", 3 * DAY_MS],
  ] as const) {
    row(`${age}: a request is repeated ${when} later, and its log has grown`, async (world) => {
      await begin(world);
      const job = await world.createJob();
      const events = world.mint(40);
      // (1) Shard 0 takes a first copy.
      await world.take(events, 40, { key: "a-key" });
      await world.deliverDue();
      // (2) It hands half on.
      await grow(world, job);
      // (3) The repeat goes by the time of the first copy.
      world.clock.advance(ms);
      await world.take([...events], 40, { key: "a-key" });
      const repeats = world.queue.held.map((message) => ({ ...message }));
      await deliver(world, world.queue.held, () => true);
      await deliver(world, await taken(world));
      expect(await total(world, job)).toBe(40 + MANY);
      // (4) It is redelivered when the minute of the first copy is forgotten.
      for (let day = 0; day < 13; day++) {
        world.clock.advance(DAY_MS);
        await world.runCron();
      }
      world.coldIsolate();
      await deliver(world, repeats);
      expect(await total(world, job)).toBe(40 + MANY);
    });
  }
});

describe("at the seam of two shards", () => {
  const calls = [
    ["append", 0, "the shard that has handed on"],
    ["append", 1, "one of the two, told of each other"],
    ["append", 2, "the other one of them"],
    ["holds", 0, "the first that is asked"],
    ["holds", 1, "the second that is asked"],
  ] as const;
  for (const [[method, nth, who], breakage] of cells(calls, PROMPT_BREAKAGES)) {
    row(`${who} breaks in ${method}(): ${breakage}`, async (world) => {
      const job = await world.createJob();
      await grow(world, job, 1);
      world.coldIsolate();
      const messages = await taken(world, 30);
      if (method === "holds") await deliver(world, messages, () => true);
      const fault = new Fault(world, JobReader.prototype, method, breakage);
      fault.begin(nth);
      await deliver(world, messages);
      world.clock.advance(10 * MINUTE_MS);
      await deliver(world, messages);
      expect(fault.took()).toBe(true);
      await world.mend();
      await world.settle();
      expect(await total(world, job)).toBe(30);
      expect(Math.min(...(await received(world, job)))).toBeGreaterThan(0);
    });
  }
});

describe("four shards", () => {
  row("are full, each for itself, and go on", async (world) => {
    const { job, messages } = await fourShards(world);
    const { append } = JobReader.prototype;
    const full = new Set([`job ${job.id} segment 0`, `job ${job.id} segment 3000`]);
    vi.spyOn(JobReader.prototype, "append").mockImplementation(function (this: JobReader, request) {
      const { ctx } = this as unknown as { ctx: DurableObjectState };
      this.segmentMaxBytes = full.has(ctx.id.name ?? "") ? 1 : Number.POSITIVE_INFINITY;
      return append.call(this, request);
    });
    const more = await taken(world);
    await deliver(world, more, () => true);
    expect(await world.nodes(job.id)).toEqual([0, 1, 1_000, 2_000, 3_000, 3_001]);
    // A full one grows, too.
    await split(world, job);
    world.clock.advance(2 * MINUTE_MS);
    const last = await taken(world);
    await deliver(world, [...messages, ...last, ...more], () => true);
    world.coldIsolate();
    await deliver(world, [...last, ...more, ...messages]);
    expect(await world.nodes(job.id)).toHaveLength(10);
    expect(await total(world, job)).toBe(3 * MANY);
  });

  row("wait while the store answers 403, for a day, and status says so", async (world) => {
    const { job } = await fourShards(world);
    const control = controlOf(job);
    await control.script([rule({ do: "answer", status: 403, code: "AccessDenied" })]);
    for (let hours = 0; hours < 24; hours += 4) {
      world.clock.advance(4 * 3_600_000);
      await world.runAlarms();
      await world.runCron();
      expect(await said(job)).toContain("HTTP 403 AccessDenied");
      expect(await countsOf(job)).toMatchObject({ received: MANY, pending: MANY });
      world.injected();
    }
    await control.script([]);
    world.clock.advance(10 * MINUTE_MS);
    await world.runCron();
    expect(await countsOf(job)).toMatchObject({ delivered: MANY, pending: 0 });
    expect(await said(job)).toBe(null);
  });

  row("get another format: each cuts what it has", async (world) => {
    const { job, messages } = await fourShards(world);
    const stale = world.isolate;
    await world.jobs.change(job, { output_options: { field_names: ["Logs", "EventTimestampMs"] } });
    await deliver(world, [...messages, ...(await taken(world))], () => false, stale);
    await world.settle();
    expect(await controlOf(job).objects()).toHaveLength(4 + 4 + 1);
  });

  row("get another destination and another filter, the store being down", async (world) => {
    const { job } = await fourShards(world);
    const old = controlOf(job);
    await old.script([rule({ do: "answer", status: 503 })]);
    world.clock.advance(MINUTE_MS);
    await world.runAlarms();
    await world.jobs.move(job);
    world.clock.advance(MINUTE_MS);
    await world.runAlarms();
    expect(await countsOf(job)).toMatchObject({ delivered: MANY, pending: 0 });
    expect((await old.objects()).filter(({ key }) => key.endsWith(".log.gz"))).toEqual([]);
  });

  row("are disabled, and enabled again, while messages come again", async (world) => {
    const { job, messages } = await fourShards(world);
    for (const enabled of [false, true]) {
      world.clock.advance(1_000);
      await world.jobs.change(job, { enabled });
      await deliver(world, [...messages, ...(await taken(world, 20))]);
    }
    expect(await total(world, job)).toBe(MANY + 20);
  });

  for (const discard of [false, true]) {
    row(`are ${discard ? "discarded" : "deleted"} with events on their way, and forgotten later`, async (world) => {
      const { job, messages } = await fourShards(world);
      const late = await taken(world, 20);
      world.clock.advance(1_000);
      await world.jobs.remove(job, { discard });
      await deliver(world, [...messages, ...late]);
      await world.settle();
      const { delivered, discarded, pending } = await countsOf(job);
      expect([delivered, discarded, pending]).toEqual(discard ? [0, MANY, 0] : [MANY + 20, 0, 0]);
      await world.audit();
      world.clock.advance(16 * DAY_MS);
      const fault = new Fault(world, JobReader.prototype, "retire", "dies after");
      fault.begin(discard ? 2 : 0);
      await world.runCron();
      expect(fault.took()).toBe(true);
      await world.runCron();
      for (const node of FOUR) expect(await nodeAt(env.READERS, job.id, node).status()).toBe(null);
    });
  }

  for (const breakage of variants(["dies after", "refused", "lost"] as const)) {
    row(`get a change of their job, and the third of them breaks: ${breakage}`, async (world) => {
      const { job } = await fourShards(world);
      const fault = new Fault(world, JobReader.prototype, "configure", breakage);
      fault.begin(2);
      // Not confirmed at first.
      world.jobs.tries = 3;
      await world.jobs.change(job, { output_options: { field_names: ["Logs", "EventTimestampMs"] } });
      expect(fault.took()).toBe(true);
      await deliver(world, await taken(world));
      await world.settle();
      expect(await countsOf(job)).toMatchObject({ delivered: 2 * MANY });
    });
  }
});

describe("a message that was set aside", () => {
  const listed = async (): Promise<string[]> =>
    (await api<{ id: string }[]>("GET", "/logship/set-aside")).body.result.map(({ id }) => id);

  /** Two jobs, and messages of which the second has some at most. They are set aside. */
  async function halfTaken(world: World, messages: HeldMessage[], broken: WorldJob): Promise<void> {
    const { append } = JobReader.prototype;
    vi.spyOn(JobReader.prototype, "append").mockImplementation(function (this: JobReader, request) {
      const { ctx } = this as unknown as { ctx: DurableObjectState };
      if (ctx.id.name?.startsWith(`job ${broken.id} `)) throw new Error("out of reach");
      return append.call(this, request);
    });
    vi.spyOn(DebtStore.prototype, "owe").mockImplementation(() => {
      throw new Error("out of reach");
    });
    await deliver(world, messages);
    await world.mend();
    world.injected();
    for (const message of messages) Object.assign(message, { dead: true, dueMs: world.clock.nowMs() });
    await world.deliverDue();
  }

  for (const [when, days] of [
    ["at once", 0],
    ["twenty days later", 20],
  ] as const) {
    row(`is sent again ${when}, and a log that has it has grown since`, async (world) => {
      const [good, bad] = [await world.createJob(), await world.createJob()];
      await halfTaken(world, await taken(world, 5), bad);
      for (const job of [good, bad]) await grow(world, job);
      // Of several shards, too.
      await halfTaken(world, await taken(world, 8), bad);
      expect(await listed()).toHaveLength(13);
      for (let half = 0; half < 2 * days; half++) {
        world.clock.advance(DAY_MS / 2);
        await world.runAlarms();
        await world.runCron();
      }
      for (const id of await listed()) expect((await api("POST", `/logship/set-aside/${id}/resend`)).status).toBe(200);
      expect(await listed()).toEqual([]);
      for (const job of [good, bad]) expect(await total(world, job)).toBe(13);
    });
  }
});
