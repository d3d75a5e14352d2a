/**
 * Set-aside records are sent again. Each arrives once, whatever fails meanwhile, and however often
 * or late it is sent.
 */
import { abortAllDurableObjects } from "cloudflare:test";
import { describe, expect, vi } from "vitest";
import { Attempts } from "../../src/delivery/attempts.ts";
import { ControlPlane, DebtStore, JobReader, TraceLog } from "../../src/index.ts";
import { cells, variants } from "../support/matrix.ts";
import type { Minted } from "../support/oracle.ts";
import { api } from "../support/runtime/api.ts";
import { BREAKAGES, PROMPT_BREAKAGES } from "../support/runtime/breakage.ts";
import type { HeldMessage } from "../support/runtime/queue.ts";
import type { World } from "../support/runtime/world.ts";
import type { WorldJob } from "../support/runtime/world-jobs.ts";
import { rule } from "../support/s3-script.ts";
import { Fault } from "./fault.ts";
import { largeEvent } from "./large-event.ts";
import { row } from "./row.ts";
import { attempts, controlOf, countsOf, PUTS, pass, said, waitingJob } from "./stores.ts";

const DAY_MS = 86_400_000;

interface Aside {
  id: string;
  kind: string;
  why_not: string | null;
}

interface Sent {
  jobs: number[];
  gone_jobs: number[];
  events: number;
  routed: number;
  not_enabled: number;
  not_routed: number;
}

const listed = async (): Promise<Aside[]> => (await api<Aside[]>("GET", "/logship/set-aside")).body.result;

const resend = (id: string) => api<Sent>("POST", `/logship/set-aside/${id}/resend`);

/** The id of the only thing that is set aside. @throws if there is not exactly one. */
async function only(): Promise<string> {
  const [aside, ...others] = await listed();
  if (aside === undefined || others.length > 0) throw new Error(`${others.length + (aside ? 1 : 0)} are set aside`);
  return aside.id;
}

/** Sends everything again until the list is empty, as the user would. */
async function resendAll(): Promise<void> {
  for (let tries = 0; tries < 5; tries++) {
    for (const { id } of await listed()) await resend(id);
    if ((await listed()).length === 0) return;
  }
  throw new Error(`still set aside: ${JSON.stringify(await listed())}`);
}

/** Two jobs, and a message that only the first took. The queue gives it up, and it is set aside. */
async function halfTaken(
  world: World,
  take: () => Promise<void>,
): Promise<{ jobs: [WorldJob, WorldJob]; message: HeldMessage }> {
  const jobs: [WorldJob, WorldJob] = [await world.createJob(), await world.createJob()];
  await take();
  const message = world.queue.held.at(-1);
  if (message === undefined) throw new Error("nothing is in the queue");
  const append = JobReader.prototype.append;
  vi.spyOn(JobReader.prototype, "append").mockImplementation(function (this: JobReader, request) {
    const { ctx } = this as unknown as { ctx: DurableObjectState };
    if (ctx.id.name === `job ${jobs[1].id} segment 0`) throw new Error("out of reach");
    return append.call(this, request);
  });
  // Nor can it be owed.
  vi.spyOn(DebtStore.prototype, "owe").mockImplementation(() => {
    throw new Error("out of reach");
  });
  await world.deliverDue();
  await world.mend();
  world.injected();
  expect([(await countsOf(jobs[0])).received > 0, (await countsOf(jobs[1])).received]).toEqual([true, 0]);
  await giveUp(world, message);
  return { jobs, message };
}

/** Makes the message a dead letter, as after a hundred attempts. */
async function giveUp(world: World, message: HeldMessage): Promise<void> {
  message.dead = true;
  message.dueMs = world.clock.nowMs();
  await world.deliverDue();
  expect((await world.accountCounts()).set_aside).toBeGreaterThan(0);
}

/** Advances whole days, with one run of the alarms and the cron in each. */
async function days(world: World, count: number): Promise<void> {
  for (let day = 0; day < count; day++) {
    world.clock.advance(DAY_MS);
    await world.runAlarms();
    await world.runCron();
  }
}

const ten = (world: World) => async (): Promise<void> => world.take(world.mint(10));

describe("a message that one job has and another has not", () => {
  row("is sent again: the other gets it", async (world) => {
    const { jobs } = await halfTaken(world, ten(world));
    const { status, body } = await resend(await only());
    const all = jobs.map(({ id }) => id);
    expect([status, body.result]).toMatchObject([
      200,
      { jobs: all, gone_jobs: [], events: 10, routed: 10, not_enabled: 0, not_routed: 0 },
    ]);
    expect([await listed(), await world.accountCounts()]).toMatchObject([[], { routed: 10, set_aside: 0 }]);
  });

  const steps = [
    [JobReader.prototype, "log", "holds", 0],
    [JobReader.prototype, "log", "holds", 1],
    [JobReader.prototype, "log", "append", 0],
    [JobReader.prototype, "log", "append", 1],
    [TraceLog.prototype, "ledger", "asideMessage", 0],
    [TraceLog.prototype, "ledger", "asideSent", 0],
  ] as const;
  for (const [[prototype, name, method, after], breakage] of cells(steps, BREAKAGES)) {
    row(`is sent again, while ${method}() of the ${name} (call ${after + 1}): ${breakage}`, async (world) => {
      await halfTaken(world, ten(world));
      const id = await only();
      // The job that has the message already gets no append.
      const fault = new Fault(world, prototype, method, breakage);
      fault.begin(method === "append" ? 0 : after);
      await fault.meet(() => resend(id), "the platform");
      expect(fault.took()).toBe(true);
      await world.mend();
      await resendAll();
    });
  }

  row("is sent again by three at once", async (world) => {
    await halfTaken(world, ten(world));
    const id = await only();
    const answers = await Promise.all([resend(id), resend(id), resend(id)]);
    for (const { status } of answers) expect([200, 404]).toContain(status);
    expect((await resend(id)).status).toBe(404);
  });

  row("is delivered again by the queue, before and after it is sent again", async (world) => {
    const { message } = await halfTaken(world, ten(world));
    const copy = { ...message, dead: false };
    await world.queue.deliver([copy], world.isolate.queue, world.env);
    expect((await resend(await only())).status).toBe(200);
    await world.queue.deliver([copy], world.isolate.queue, world.env);
    world.injected(2);
  });

  row("meets its own copy from the queue while it is sent again", async (world) => {
    const { message } = await halfTaken(world, ten(world));
    const copy = { ...message, dead: false };
    const id = await only();
    await Promise.all([
      resend(id),
      world.queue.deliver([copy], world.isolate.queue, world.env),
      resend(id),
      world.queue.deliver([copy], world.isolate.queue, world.env),
    ]);
    world.injected();
    await resendAll();
  });

  row("is sent again in sixteen days, when no log remembers the others of its time", async (world) => {
    await halfTaken(world, ten(world));
    await days(world, 16);
    expect(await listed()).toMatchObject([{ why_not: null }]);
    const { status, body } = await resend(await only());
    expect([status, body.errors]).toEqual([200, []]);
  });

  // The most telling first: what is done, and not said.
  for (const breakage of variants(PROMPT_BREAKAGES.toReversed())) {
    row(
      `is sent again in sixteen days, and once more in twenty-eight, as the first time append() ${breakage}`,
      async (world) => {
        await halfTaken(world, ten(world));
        await days(world, 16);
        const fault = new Fault(world, JobReader.prototype, "append", breakage);
        fault.begin();
        await fault.meet(() => resend("message-1"));
        await world.mend();
        await days(world, 12);
        await resendAll();
      },
    );

    row(`is asked for in time by a cron that does not get through: keepIds() ${breakage}`, async (world) => {
      await halfTaken(world, ten(world));
      const fault = new Fault(world, JobReader.prototype, "keepIds", breakage);
      await days(world, 14);
      fault.begin();
      for (let hour = 0; hour < 36; hour++) {
        world.clock.advance(3_600_000);
        await fault.meet(() => world.runCron());
      }
      expect(fault.took()).toBe(true);
      await world.mend();
      await resendAll();
    });
  }

  row("was sent again before, on the fourteenth day, and broke off: in sixteen days it goes on", async (world) => {
    const { jobs } = await halfTaken(world, ten(world));
    await days(world, 14);
    const fault = new Fault(world, TraceLog.prototype, "asideSent", "refused");
    fault.begin();
    await fault.meet(() => resend("message-1"));
    expect((await countsOf(jobs[1])).received).toBe(10);
    await world.mend();
    await days(world, 3);
    await resendAll();
  });

  row("came with a key, and its request was repeated a day later", async (world) => {
    const events = world.mint(10);
    await halfTaken(world, () => world.take(events, 10, { key: "once" }));
    world.clock.advance(DAY_MS);
    await world.take(events, 10, { key: "once" });
    await world.deliverDue();
    await days(world, 16);
    await resendAll();
  });

  row("holds an event that was too large for the queue", async (world) => {
    await halfTaken(world, () => world.take([largeEvent(world)]));
    expect((await resend(await only())).status).toBe(200);
  });

  row("is sent again when the logs have grown into further segments", async (world) => {
    const { jobs } = await halfTaken(world, ten(world));
    const append = JobReader.prototype.append;
    vi.spyOn(JobReader.prototype, "append").mockImplementation(function (this: JobReader, request) {
      const { ctx } = this as unknown as { ctx: DurableObjectState };
      this.segmentMaxBytes = ctx.id.name?.endsWith("segment 0") ? 1 : Number.POSITIVE_INFINITY;
      return append.call(this, request);
    });
    await world.take(world.mint(10));
    await world.deliverDue();
    await days(world, 16);
    expect((await resend(await only())).status).toBe(200);
    world.injected();
    for (const job of jobs) expect(await world.segments(job.id)).toHaveLength(2);
  });

  row("is sent again when its job was switched so late that nobody knows when it was enabled", async (world) => {
    const { jobs } = await halfTaken(world, ten(world));
    await world.jobs.change(jobs[1], { enabled: false });
    await days(world, 17);
    await world.jobs.change(jobs[1], { enabled: true });
    const { body } = await resend(await only());
    expect(body.result.jobs).toEqual(jobs.map(({ id }) => id));
  });

  row("is no business of a job whose log has gone, though the control plane does not know yet", async (world) => {
    const { jobs } = await halfTaken(world, ten(world));
    await world.jobs.remove(jobs[0]);
    vi.spyOn(ControlPlane.prototype, "forget").mockImplementation(() => {
      throw new Error("out of reach");
    });
    await days(world, 16);
    await abortAllDurableObjects();
    world.injected();
    expect(await listed()).toMatchObject([{ why_not: null }]);
    const { body } = await resend(await only());
    expect(body.result).toMatchObject({ jobs: [jobs[1].id], gone_jobs: [jobs[0].id], routed: 10 });
    await world.mend();
  });

  row("is no business of a job that was created later", async (world) => {
    await halfTaken(world, ten(world));
    world.clock.advance(10_000);
    const later = await world.createJob();
    await resendAll();
    expect((await countsOf(later)).received).toBe(0);
  });

  row("holds events of a function that was off, which nobody remembers", async (world) => {
    await world.jobs.setLogging("shop", false);
    world.clock.advance(10_000);
    const events = [...world.mint(5, { scriptName: "shop" }), ...world.mint(5, { scriptName: "till" })];
    await halfTaken(world, () => world.take(events));
    await world.jobs.setLogging("shop", true);
    await days(world, 17);
    await world.jobs.setLogging("shop", false);
    await world.jobs.setLogging("shop", true);
    const { body } = await resend(await only());
    expect(body.result).toMatchObject({ events: 10, routed: 5, not_enabled: 5 });
  });
});

describe("a message that no job has", () => {
  async function untaken(world: World, events: Minted[]): Promise<void> {
    await world.take(events);
    const message = world.queue.held.at(-1);
    if (message === undefined) throw new Error("nothing is in the queue");
    await giveUp(world, message);
    world.injected();
  }

  row("is sent again when one of its jobs is gone: the answer says so", async (world) => {
    const [first, second] = [await world.createJob(), await world.createJob()];
    const events = world.mint(10);
    await untaken(world, events);
    await world.jobs.remove(second, { discard: true });
    const { body } = await resend(await only());
    expect(body.result).toMatchObject({ jobs: [first.id], gone_jobs: [second.id], routed: 10 });
  });

  row("is sent again to a job that was deleted, and drains", async (world) => {
    const [, second] = [await world.createJob(), await world.createJob()];
    await untaken(world, world.mint(10));
    await world.jobs.remove(second);
    const { body } = await resend(await only());
    expect(body.result.jobs).toContain(second.id);
  });

  row("is given up while it is sent again: the answer does not say that it was counted as sent", async (world) => {
    await world.createJob();
    await untaken(world, world.mint(10));
    const append = JobReader.prototype.append;
    vi.spyOn(JobReader.prototype, "append").mockImplementation(function (this: JobReader, request) {
      return api("DELETE", "/logship/set-aside/message-1").then(() => append.call(this, request)) as never;
    });
    expect((await resend("message-1")).status).toBe(404);
    world.injected();
    // Its job has the records all the same. The fresh event at the end may be counted too.
    world.accountLeftOut.routed = { atLeast: 0, atMost: 1 };
    expect(await world.accountCounts()).toMatchObject({ processed: 10, routed: 0, set_aside: 0, discarded: 10 });
  });

  row("is given up", async (world) => {
    await world.createJob();
    const events = world.mint(10);
    await untaken(world, events);
    const { status, body } = await api("DELETE", "/logship/set-aside/message-1");
    expect([status, body.result]).toEqual([200, { id: "message-1", discarded: 10 }]);
    expect((await api("DELETE", "/logship/set-aside/message-1")).status).toBe(404);
    world.jobs.withdraw(events);
    expect(await world.accountCounts()).toMatchObject({ processed: 10, set_aside: 0, discarded: 10 });
  });
});

describe("an object that the store refuses for itself", () => {
  /** A job with three objects, one of which the store refuses. */
  async function refused(world: World): Promise<{ job: WorldJob; id: string; events: Minted[] }> {
    const job = await world.createJob();
    const minted = world.mint(30, { days: 3 });
    await world.take(minted);
    await world.deliverDue();
    const tooLarge = { ...PUTS, keyIncludes: "/21001121/" };
    await controlOf(job).script([rule({ do: "answer", status: 413, code: "EntityTooLarge" }, tooLarge)]);
    await pass(world);
    world.injected();
    expect(await countsOf(job)).toMatchObject({ delivered: 20, set_aside: 10 });
    return { job, id: await only(), events: minted.filter(({ day }) => day === "21001121") };
  }

  row("is sent again when the store takes it, and nothing is said to be wrong", async (world) => {
    const { job, id } = await refused(world);
    await controlOf(job).script([]);
    const { status, body } = await resend(id);
    expect([status, body.result]).toMatchObject([200, { job: job.id, records: 10 }]);
    expect(await countsOf(job)).toMatchObject({ set_aside: 0, pending: 10 });
    expect((await resend(id)).status).toBe(404);
    await pass(world, 0);
    expect([await countsOf(job), await said(job)]).toMatchObject([{ delivered: 30, set_aside: 0 }, null]);
  });

  row("is sent again, and still refused: it is set aside again, and says so", async (world) => {
    const { job, id } = await refused(world);
    await resend(id);
    await pass(world, 0);
    expect(await countsOf(job)).toMatchObject({ delivered: 20, set_aside: 10, pending: 0 });
    expect(await said(job)).toBe("an object was set aside: HTTP 413 EntityTooLarge");
    await controlOf(job).script([]);
    await resendAll();
  });

  row("is sent again where its job delivers to by now", async (world) => {
    const { job, id } = await refused(world);
    await controlOf(job).script([]);
    const bucket = await world.jobs.move(job);
    await resend(id);
    await pass(world, 0);
    expect((await bucket.control.objects()).filter(({ key }) => key.endsWith(".log.gz"))).toHaveLength(1);
  });

  row("was kept by the store that refused it: it is not written again", async (world) => {
    const { job, control } = await waitingJob(world);
    await control.script([rule({ do: "answer", status: 413, code: "EntityTooLarge", store: true }, PUTS)]);
    await pass(world);
    world.injected();
    expect(await countsOf(job)).toMatchObject({ set_aside: 10 });
    await control.script([]);
    await resendAll();
    await pass(world, 0);
    expect([await countsOf(job), await attempts(control)]).toMatchObject([{ delivered: 10 }, 1]);
  });

  const uploading = [
    [JobReader.prototype, "asideResend"],
    [Attempts.prototype, "uploadOne"],
    [Attempts.prototype, "put"],
    [Attempts.prototype, "settle"],
  ] as const;
  for (const [[prototype, method], breakage] of cells(uploading, PROMPT_BREAKAGES)) {
    row(`is sent again, while ${method}(): ${breakage}`, async (world) => {
      const { job, id } = await refused(world);
      await controlOf(job).script([]);
      const fault = new Fault(world, prototype, method, breakage);
      fault.begin();
      await fault.meet(() => resend(id));
      if (method !== "asideResend") await fault.meet(() => world.runAlarms());
      expect(fault.took()).toBe(true);
      await world.mend();
      await resendAll();
    });
  }

  row("is sent again by three at once, while everything dies", async (world) => {
    const { job, id } = await refused(world);
    await controlOf(job).script([]);
    const sent = [resend(id), resend(id), resend(id)].map((answer) => answer.catch(() => null));
    await abortAllDurableObjects();
    await Promise.all(sent);
    world.injected();
    await resendAll();
  });

  row("is given up, and nothing is said to be wrong", async (world) => {
    const { job, id, events } = await refused(world);
    await controlOf(job).script([]);
    const { status, body } = await api("DELETE", `/logship/set-aside/${id}`);
    expect([status, body.result]).toEqual([200, { id, discarded: 10 }]);
    expect((await api("DELETE", `/logship/set-aside/${id}`)).status).toBe(404);
    expect([await countsOf(job), await said(job)]).toMatchObject([{ set_aside: 0, discarded: 10 }, null]);
    world.jobs.setAside(job, events, "discarded");
  });
});
