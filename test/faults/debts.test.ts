/**
 * A job whose log fails or hangs, for hours or weeks. Every other job has its records as if it were
 * not there, each message is delivered about once, and after the mend the job has its own, once.
 */
import { env } from "cloudflare:workers";
import { describe, expect, vi } from "vitest";
import { type Owed, owedIfAny } from "../../src/debts/debt-store.ts";
import { ControlPlane, DebtStore, JobReader } from "../../src/index.ts";
import { traceLog } from "../../src/trace-log/trace-log.ts";
import { variants } from "../support/matrix.ts";
import type { Minted } from "../support/oracle.ts";
import { PROMPT_BREAKAGES } from "../support/runtime/breakage.ts";
import type { World } from "../support/runtime/world.ts";
import type { WorldJob } from "../support/runtime/world-jobs.ts";
import { Fault } from "./fault.ts";
import { impatiently } from "./impatience.ts";
import { row } from "./row.ts";
import { countsOf } from "./stores.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

type Method = (this: JobReader, ...args: unknown[]) => unknown;

/** Calls of a job's log that no message gets past. */
const WAY_IN = ["append", "holds"] as const;

/**
 * Lets one job's log fail, or hang, until the world is mended.
 * @returns how many calls were never answered.
 */
function breakLog(world: World, job: WorldJob, how: "fails" | "hangs"): () => number {
  let stuck = 0;
  for (const method of WAY_IN) {
    const original = JobReader.prototype[method] as Method;
    vi.spyOn(JobReader.prototype as unknown as Record<string, Method>, method).mockImplementation(function (
      this: JobReader,
      ...args
    ) {
      const { ctx } = this as unknown as { ctx: DurableObjectState };
      if (!ctx.id.name?.startsWith(`job ${job.id} `)) return original.apply(this, args);
      world.injected();
      if (how === "fails") throw new Error("this log is broken");
      stuck += 1;
      return new Promise(() => {});
    });
  }
  return () => stuck;
}

const owedNow = (): Promise<Owed> => owedIfAny(env.DEBTS, traceLog(env.TRACE_LOG, 0));

/** Two jobs, and the log of the second is broken. */
async function twoJobs(world: World, how: "fails" | "hangs" = "fails") {
  const good = await world.createJob();
  const bad = await world.createJob();
  return { good, bad, stuck: breakLog(world, bad, how) };
}

/** Time passes, with alarms and the cron twelve times on the way. */
async function pass(world: World, ms: number): Promise<void> {
  for (let n = 0; n < 12; n++) {
    world.clock.advance(ms / 12);
    await world.deliverDue();
    await world.runAlarms();
    await world.runCron();
  }
}

describe("one job's log fails", () => {
  const durations = [
    ["twenty days", 20 * DAY_MS],
    ["four days", 4 * DAY_MS],
    ["four hours", 4 * HOUR_MS],
  ] as const;
  for (const [name, ms] of variants(durations)) {
    row(`for ${name}: the other job does not notice, and it has everything afterwards`, async (world) => {
      const { good, bad } = await twoJobs(world);
      await world.take(world.mint(50), 10);
      const messages = [...world.queue.held];
      await world.deliverDue();
      expect(world.queue.held).toEqual([]);
      expect(messages.map(({ attempts }) => attempts)).toEqual([1, 1, 1, 1, 1]);
      expect([await countsOf(good), await countsOf(bad)]).toMatchObject([{ received: 50 }, { received: 0 }]);
      expect([...(await owedNow()).jobs]).toMatchObject([[bad.id, { messages: 5, records: 50 }]]);
      await pass(world, ms);
      await world.take(world.mint(20), 10);
      await world.deliverDue();
      expect(world.queue.held).toEqual([]);
      expect(await countsOf(good)).toMatchObject({ received: 70, delivered: 50 });
      expect((await owedNow()).jobs.get(bad.id)).toMatchObject({ messages: 7, records: 70 });
      await world.mend();
      await pass(world, HOUR_MS);
      expect((await owedNow()).jobs.size).toBe(0);
      expect(await countsOf(bad)).toMatchObject({ received: 70, delivered: 70 });
    });
  }

  row("and messages come twice, before and after they are owed and paid", async (world) => {
    const { bad } = await twoJobs(world);
    await world.take(world.mint(20), 10);
    const copies = world.queue.held.map((message) => ({ ...message }));
    await world.deliverDue();
    await world.queue.deliver(copies, world.isolate.queue, world.env);
    expect((await owedNow()).jobs.get(bad.id)).toMatchObject({ messages: 2, records: 20 });
    await world.mend();
    await world.queue.deliver(copies, world.isolate.queue, world.env);
    await pass(world, HOUR_MS);
    await world.queue.deliver(copies, world.isolate.queue, world.env);
    expect(await countsOf(bad)).toMatchObject({ received: 20 });
  });

  row("and its filter changes meanwhile: what is owed is filtered by the new one", async (world) => {
    const { bad } = await twoJobs(world);
    await world.take(world.mint(10, { outcome: "exception" }));
    await world.deliverDue();
    await world.mend();
    const filter = JSON.stringify({ where: { key: "Outcome", operator: "eq", value: "ok" } });
    const keeps = ({ record }: Minted): boolean => record.Outcome === "ok";
    await world.jobs.refilter(bad, filter, keeps, await world.inFlight());
    await pass(world, HOUR_MS);
    expect(await countsOf(bad)).toMatchObject({ received: 10, filtered: 10 });
  });

  row("and it was disabled, which an isolate does not know: what came later counts as not routed", async (world) => {
    const bad = await world.createJob();
    breakLog(world, bad, "fails");
    await world.take(world.mint(5));
    await world.deliverDue();
    await world.jobs.change(bad, { enabled: false });
    world.clock.advance(1_000);
    vi.spyOn(ControlPlane.prototype, "configSince").mockRejectedValue(new Error("no answer"));
    await world.take(world.mint(10));
    await world.deliverDue();
    expect(world.queue.held).toEqual([]);
    expect(await world.accountCounts()).toMatchObject({ processed: 15, routed: 5, not_routed: 10 });
  });

  row("and it is disabled meanwhile: it has what came while it was enabled", async (world) => {
    const { bad } = await twoJobs(world);
    await world.take(world.mint(10));
    await world.deliverDue();
    await world.mend();
    await world.jobs.change(bad, { enabled: false });
    await world.take(world.mint(5));
    await pass(world, HOUR_MS);
    expect(await countsOf(bad)).toMatchObject({ received: 10, delivered: 10 });
  });

  row("and it is deleted meanwhile: what it is owed is delivered before its log goes", async (world) => {
    const { bad } = await twoJobs(world);
    await world.take(world.mint(10));
    await world.deliverDue();
    await world.jobs.remove(bad);
    await pass(world, 20 * DAY_MS);
    expect((await owedNow()).jobs.get(bad.id)).toMatchObject({ records: 10 });
  });
});

describe("one job's log hangs", () => {
  row("and costs one batch its deadline: the next ones pass it over", async (world) => {
    const { good, bad, stuck } = await twoJobs(world, "hangs");
    await world.take(world.mint(30), 10);
    await impatiently(stuck, () => world.deliverDue());
    expect(stuck()).toBe(1);
    for (let n = 0; n < 3; n++) {
      await world.take(world.mint(10));
      await world.deliverDue();
    }
    expect(stuck()).toBe(1);
    expect(world.queue.held).toEqual([]);
    expect([await countsOf(good), (await owedNow()).jobs.get(bad.id)]).toMatchObject([
      { received: 60 },
      { records: 60 },
    ]);
  });
});

describe("what is owed", () => {
  for (const breakage of variants(PROMPT_BREAKAGES.toReversed(), 2)) {
    row(`cannot be kept: owe() ${breakage}; the message comes again`, async (world) => {
      const { bad } = await twoJobs(world);
      await world.take(world.mint(10));
      const fault = new Fault(world, DebtStore.prototype, "owe", breakage);
      fault.begin();
      await fault.meet(() => world.deliverDue());
      expect(fault.took()).toBe(true);
      world.clock.advance(300_000);
      await world.deliverDue();
      expect(world.queue.held).toEqual([]);
      expect((await owedNow()).jobs.get(bad.id)).toMatchObject({ records: 10 });
    });

    row(`is paid, and the log's append() ${breakage}`, async (world) => {
      const { bad } = await twoJobs(world);
      await world.take(world.mint(10));
      await world.deliverDue();
      await world.mend();
      const fault = new Fault(world, JobReader.prototype, "append", breakage);
      fault.begin();
      world.clock.advance(15_000);
      await fault.meet(() => world.runAlarms());
      expect(fault.took()).toBe(true);
      await pass(world, HOUR_MS);
      expect(await countsOf(bad)).toMatchObject({ received: 10 });
    });
  }
});
