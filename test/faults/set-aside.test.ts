/**
 * Set-aside records are sent again. Each arrives once, whatever fails meanwhile, and however often
 * or late it is sent.
 */
import { abortAllDurableObjects } from "cloudflare:test";
import { AsyncLocalStorage } from "node:async_hooks";
import { describe, expect, vi } from "vitest";
import { encodeParts, type Part } from "../../src/formats/queue/message.ts";
import { JobReader, TraceLog } from "../../src/index.ts";
import type { PackedMessage } from "../../src/ship/intake/packing.ts";
import { nodeName } from "../../src/ship/log/nodes.ts";
import { Attempts } from "../../src/ship/reader/attempts.ts";
import { Unmade } from "../../src/ship/reader/unmade.ts";
import { cells, variants } from "../support/matrix.ts";
import { readMessage } from "../support/read-message.ts";
import { api } from "../support/runtime/api.ts";
import { BREAKAGES, PROMPT_BREAKAGES } from "../support/runtime/breakage.ts";
import { pack } from "../support/runtime/pipeline.ts";
import type { World } from "../support/runtime/world.ts";
import { rule } from "../support/s3-script.ts";
import { until } from "../support/until.ts";
import { days, giveUp, listed, only, refused, resend, resendAll } from "./aside.ts";
import { Fault } from "./fault.ts";
import { row } from "./row.ts";
import { arrive, attempts, controlOf, countsOf, deliver, failingJob, PUTS, pass, said } from "./stores.ts";

/** Two jobs, and a message of ten events for both, which is set aside. */
async function held(world: World, take = () => world.take(world.mint(10))) {
  const jobs = [await world.createJob(), await world.createJob()] as const;
  await take();
  return { jobs, ids: jobs.map(({ id }) => id), message: await giveUp(world) };
}

/** One message of the parts of two, as the packer makes them. */
function joined(...messages: (PackedMessage | undefined)[]): Uint8Array {
  const read = messages.map((message) => readMessage(message?.body.slice().buffer));
  const all = read.map((each) => (each.ok ? each.value : { parts: [], lines: [] }));
  const raw = new TextEncoder().encode(all.flatMap(({ lines }) => lines.map((line) => `${line}\n`)).join(""));
  return encodeParts(all.flatMap(({ parts }) => parts) as [Part, ...Part[]], raw);
}

describe("a message", () => {
  row("is sent again, once: its jobs get it", async (world) => {
    const { ids } = await held(world);
    const id = await only();
    const { status, body } = await resend(id);
    expect([status, body.result]).toMatchObject([
      200,
      { jobs: ids, gone_jobs: [], events: 10, routed: 10, not_enabled: 0, not_routed: 0 },
    ]);
    expect([await listed(), await world.accountCounts()]).toMatchObject([[], { routed: 10, set_aside: 0 }]);
    expect((await resend(id)).status).toBe(404);
  });

  for (const [method, breakage] of cells(["holdMessage", "holdResend"] as const, BREAKAGES)) {
    row(`is sent again, while ${method}() of the log: ${breakage}`, async (world) => {
      await held(world);
      const id = await only();
      const fault = new Fault(world, TraceLog.prototype, method, breakage);
      fault.begin();
      await fault.meet(() => resend(id), "the platform");
      expect(fault.took()).toBe(true);
      await world.mend();
      await resendAll();
    });
  }

  row("is sent again by three at once", async (world) => {
    await held(world);
    const id = await only();
    const answers = await Promise.all([resend(id), resend(id), resend(id)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404, 404]);
  });

  row("is delivered again by the queue, before, while and after it is sent again", async (world) => {
    const { message } = await held(world);
    const copy = { ...message, dead: false };
    const again = () => deliver(world, [copy]);
    await again();
    await Promise.all([only().then(resend), again()]);
    await again();
    expect(await listed()).toEqual([]);
  });

  row("is sent again after sixteen days, when the log has forgotten the others of its time", async (world) => {
    const { jobs, ids } = await held(world);
    // It is no matter what the jobs are by then.
    await world.jobs.change(jobs[1], { enabled: false });
    await days(world, 16);
    await world.jobs.change(jobs[1], { enabled: true });
    expect(await listed()).toMatchObject([{ why_not: null }]);
    expect((await resend(await only())).body.result).toMatchObject({ jobs: ids, events: 10 });
  });

  // The most telling first: what is done, and not said.
  for (const breakage of variants(PROMPT_BREAKAGES.toReversed())) {
    row(
      `is sent again after sixteen days, and once more after twenty-eight, as holdResend() ${breakage}`,
      async (world) => {
        await held(world);
        const id = await only();
        await days(world, 16);
        const fault = new Fault(world, TraceLog.prototype, "holdResend", breakage);
        fault.begin();
        await fault.meet(() => resend(id));
        await world.mend();
        await days(world, 12);
        await resendAll();
      },
    );
  }

  row("came with a key, and its request was repeated a day later", async (world) => {
    const events = world.mint(10);
    await held(world, () => world.take(events, 10, { key: "once" }));
    world.clock.advance(86_400_000);
    await arrive(world, events, 10, { key: "once" });
    await days(world, 16);
    await resendAll();
  });

  row("kills a reader again and again: that reader goes on without it, and every other with it", async (world) => {
    const { jobs } = await held(world);
    const reader = new AsyncLocalStorage<DurableObjectState>();
    const { pull } = JobReader.prototype;
    vi.spyOn(JobReader.prototype, "pull").mockImplementation(function (this: JobReader, how) {
      return reader.run((this as unknown as { ctx: DurableObjectState }).ctx, () => pull.call(this, how));
    });
    const { begin } = Unmade.prototype;
    vi.spyOn(Unmade.prototype, "begin").mockImplementation(function (this: Unmade, n) {
      const deaths = begin.call(this, n);
      const ctx = reader.getStore();
      if (ctx?.id.name === nodeName(jobs[0].id, 0) && deaths < 3) {
        world.injected();
        // Once the try is noted.
        void ctx.storage.sync().then(() => ctx.abort("killed"));
      }
      return deaths;
    });
    await resend(await only());
    await world.take(world.mint(5));
    for (let seconds = 0; seconds < 60; seconds += 5) {
      await world.deliverDue();
      await pass(world, 5_000);
    }
    // What it read beside it is under way.
    await until(async () => (await countsOf(jobs[0])).pending === 0);
    expect(await countsOf(jobs[0])).toMatchObject({ received: 15, delivered: 5, set_aside: 10 });
    expect(await countsOf(jobs[1])).toMatchObject({ received: 15, delivered: 15 });
    await world.mend();
    await resendAll();
  });

  row("is sent again to a job that was deleted: it waits for it for sixteen days", async (world) => {
    const { jobs, ids } = await held(world);
    await world.jobs.remove(jobs[0]);
    await days(world, 16);
    await arrive(world, world.mint(1));
    await world.runCron();
    expect((await resend(await only())).body.result).toMatchObject({ jobs: ids, gone_jobs: [] });
  });

  row("is sent again when one of its jobs is gone: the answer says so", async (world) => {
    const { jobs } = await held(world);
    await world.jobs.remove(jobs[1], { discard: true });
    const { body } = await resend(await only());
    expect(body.result).toMatchObject({ jobs: [jobs[0].id], gone_jobs: [jobs[1].id], routed: 10 });
  });

  row("is no business of a job that was created later", async (world) => {
    await held(world);
    world.clock.advance(10_000);
    const later = await world.createJob();
    await resendAll();
    expect((await countsOf(later)).received).toBe(0);
  });

  row("holds events of a function that was off, which nobody remembers", async (world) => {
    await world.jobs.setLogging("shop", false);
    world.clock.advance(10_000);
    const events = [...world.mint(5, { scriptName: "shop" }), ...world.mint(5, { scriptName: "till" })];
    await held(world, () => world.take(events));
    await world.jobs.setLogging("shop", true);
    await days(world, 17);
    await world.jobs.setLogging("shop", false);
    await world.jobs.setLogging("shop", true);
    const { body } = await resend(await only());
    expect(body.result).toMatchObject({ events: 10, routed: 5, not_enabled: 5 });
  });

  row("has two parts, and its job was disabled between them: it gets the first one, however late", async (world) => {
    const job = await world.createJob();
    world.clock.advance(60_000);
    const first = world.mint(5);
    const [one] = pack(first, world.clock.nowMs());
    world.owe(first);
    world.clock.advance(1_000);
    await world.jobs.change(job, { enabled: false });
    world.clock.advance(1_000);
    const second = world.mint(7);
    const [other] = pack(second, world.clock.nowMs());
    world.owe(second);
    world.queue.put(joined(one, other));
    await giveUp(world);
    await days(world, 16);
    await world.jobs.change(job, { enabled: true });
    expect((await resend(await only())).body.result).toMatchObject({
      jobs: [job.id],
      events: 12,
      routed: 5,
      not_routed: 7,
    });
  });

  row("is given up while it is sent again", async (world) => {
    const events = world.mint(10);
    await held(world, () => world.take(events));
    const id = await only();
    const { holdResend } = TraceLog.prototype;
    vi.spyOn(TraceLog.prototype, "holdResend").mockImplementation(async function (this: TraceLog, ...given) {
      const { status, body } = await api("DELETE", `/logship/set-aside/${id}`);
      expect([status, body.result]).toEqual([200, { id, discarded: 10 }]);
      return holdResend.apply(this, given);
    });
    expect((await resend(id)).status).toBe(404);
    expect((await api("DELETE", `/logship/set-aside/${id}`)).status).toBe(404);
    world.jobs.withdraw(events);
    expect(await world.accountCounts()).toMatchObject({ processed: 10, routed: 0, set_aside: 0, discarded: 10 });
  });
});

describe("an object that the store refuses for itself", () => {
  row("is sent again when the store takes it, and nothing is said to be wrong", async (world) => {
    const { job, id } = await refused(world);
    await controlOf(job).script([]);
    const { status, body } = await resend(id);
    expect([status, body.result]).toMatchObject([200, { job: job.id, records: 10 }]);
    expect(await countsOf(job)).toMatchObject({ set_aside: 0, pending: 10 });
    // As long as it waits, that is to try it now.
    expect((await resend(id)).status).toBe(200);
    await pass(world, 0);
    expect((await resend(id)).status).toBe(404);
    expect([await countsOf(job), await said(job)]).toMatchObject([{ delivered: 30, set_aside: 0 }, null]);
  });

  row("is sent again, and still refused: it is set aside again, and says so", async (world) => {
    const { job, id } = await refused(world);
    await resend(id);
    await pass(world, 0);
    expect(await countsOf(job)).toMatchObject({ delivered: 20, set_aside: 10, pending: 0 });
    expect(await said(job)).toBe("an object is on hold: HTTP 413 EntityTooLarge");
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
    const { job, control } = await failingJob(world, [
      rule({ do: "answer", status: 413, code: "EntityTooLarge", store: true }, PUTS),
    ]);
    await pass(world);
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
