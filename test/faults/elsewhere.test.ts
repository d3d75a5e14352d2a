/**
 * What was set aside is sent to another destination than its job's. Each record is there once,
 * whatever fails there, or at the job's own; what that other one refuses is set aside again.
 */
import { abortAllDurableObjects } from "cloudflare:test";
import fc from "fast-check";
import { describe, expect } from "vitest";
import { JobReader } from "../../src/index.ts";
import { Attempts } from "../../src/ship/reader/attempts.ts";
import { cells, variants } from "../support/matrix.ts";
import type { DialectName } from "../support/receiver.ts";
import { api } from "../support/runtime/api.ts";
import { PROMPT_BREAKAGES } from "../support/runtime/breakage.ts";
import { jobObjects } from "../support/runtime/pipeline.ts";
import type { World } from "../support/runtime/world.ts";
import type { WorldJob } from "../support/runtime/world-jobs.ts";
import type { BucketControl } from "../support/s3-control.ts";
import { type Action, type Rule, rule } from "../support/s3-script.ts";
import { asideOf, type Refused, refused, resend } from "./aside.ts";
import { Fault } from "./fault.ts";
import { ALL, POSTS, posts, resent } from "./receivers.ts";
import { row } from "./row.ts";
import { arrive, controlOf, countsOf, decided, expectSettled, PUTS, pass, said, written } from "./stores.ts";

const send = (id: string, conf: string) =>
  api<{ sent_to: string }>("POST", `/logship/set-aside/${id}/resend`, { destination_conf: conf });

/** Sends it to a new destination. @throws if that is refused. */
async function sent(
  world: World,
  { job, id }: Pick<Refused, "job" | "id">,
  receiver: DialectName | null = null,
): Promise<BucketControl> {
  const { conf, control } = world.jobs.elsewhere(job, receiver);
  const { status, body } = await send(id, conf);
  if (status !== 200) throw new Error(`${id} was not sent: ${JSON.stringify(body.errors)}`);
  return control;
}

/** Lets attempts at another destination go on until none is left. */
async function through(world: World): Promise<void> {
  for (let n = 0; n < 12; n++) await pass(world, 10 * 60_000);
}

/** What is set aside again goes to a bucket, and then all is delivered. */
async function expectSentOn(world: World, job: WorldJob): Promise<void> {
  for (const { id } of await asideOf(job)) await sent(world, { job, id });
  await expectSettled(world, job, { delivered: 30, set_aside: 0 });
}

const PLACES = [null, "https"] as const;
const named = (place: DialectName | null): string => place ?? "a bucket";

describe("what is set aside goes to another destination", () => {
  for (const place of PLACES) {
    row(`datadog is down for a day, and ${named(place)} gets what is too old for it`, async (world) => {
      const job = await world.createJob({ receiver: "datadog" });
      const control = controlOf(job);
      await arrive(world, world.mint(10));
      await control.script([rule({ do: "answer", status: 503 }, POSTS)]);
      await pass(world);
      await pass(world, 86_400_000);
      await control.script([]);
      expect(await countsOf(job)).toMatchObject({ set_aside: 10, pending: 0 });
      const [aside] = await asideOf(job);
      const before = await posts(control);
      await sent(world, { job, id: aside?.id ?? "" }, place);
      expect(await countsOf(job)).toMatchObject({ set_aside: 0, pending: 10, delivered: 0 });
      await pass(world, 0);
      expect(await countsOf(job)).toMatchObject({ set_aside: 0, pending: 0, delivered: 10 });
      expect(await posts(control)).toBe(before);
      const [listed] = (await api<object[]>("GET", `/logship/jobs/${job.id}/objects`)).body.result.slice(-1);
      expect(listed).toMatchObject({ state: "delivered", sent_to: expect.stringMatching(/\*\*\*\*/) });
      await arrive(world, world.mint(5));
      await through(world);
      expect([await said(job), await countsOf(job)]).toMatchObject([null, { delivered: 15, pending: 0 }]);
    });
  }

  row("while its job is parked, and stays so", async (world) => {
    const { job, id } = await refused(world);
    const own = controlOf(job);
    await own.script([rule({ do: "answer", status: 403, code: "AccessDenied" })]);
    await arrive(world, world.mint(10));
    await pass(world);
    const parked = await said(job);
    expect(parked).toMatch(/^delivery paused: HTTP 403/);
    await sent(world, { job, id });
    await pass(world, 0);
    // It does not wait for what the job waits for, nor does it end that.
    expect([await said(job), await countsOf(job)]).toMatchObject([
      parked,
      { delivered: 30, pending: 10, set_aside: 0 },
    ]);
    await own.script([]);
  });

  row("while its job gets another destination: it goes where it was sent", async (world) => {
    const { job, id } = await refused(world);
    const control = await sent(world, { job, id });
    await control.script([rule({ do: "answer", status: 503 }, PUTS, 2)]);
    await pass(world, 0);
    await world.jobs.move(job);
    await through(world);
    expect((await control.objects()).filter(({ key }) => key.endsWith(".log.gz"))).toHaveLength(1);
    expect(await controlOf(job).objects()).not.toContainEqual(
      expect.objectContaining({ key: expect.stringMatching(/log\.gz$/) }),
    );
    expect(await countsOf(job)).toMatchObject({ delivered: 30, pending: 0, set_aside: 0 });
  });

  row("by three requests at once, to two places, while everything dies", async (world) => {
    const { job, id } = await refused(world);
    const places = [world.jobs.elsewhere(job, null), world.jobs.elsewhere(job, "https")];
    const answers = [...places, ...places].map(({ conf }) => send(id, conf).catch(() => null));
    await abortAllDurableObjects();
    await Promise.all(answers);
    await world.settle();
    for (const aside of await asideOf(job)) await send(aside.id, places[0]?.conf ?? "");
    await world.settle();
    expect([await countsOf(job), await resent(job)]).toMatchObject([{ delivered: 30, set_aside: 0 }, 0]);
  });

  row("which is deleted with all that waits, before it is there", async (world) => {
    const { job, id, events } = await refused(world);
    const control = await sent(world, { job, id });
    await control.script([rule({ do: "answer", status: 503 }, PUTS)]);
    await pass(world, 0);
    await world.jobs.remove(job, { discard: true });
    world.jobs.setAside(job, events, "discarded");
    await through(world);
    expect(await countsOf(job)).toMatchObject({ delivered: 20, discarded: 10, pending: 0, set_aside: 0 });
    expect((await control.objects()).filter(({ key }) => key.endsWith(".log.gz"))).toEqual([]);
  });
});

describe("the other destination fails", () => {
  const forGood: readonly (readonly [status: number, code: string])[] = [
    [413, "EntityTooLarge"],
    [403, "AccessDenied"],
  ];
  for (const [[status, code], place] of cells(forGood, PLACES)) {
    row(`${named(place)} answers ${status}: set aside again, and the job goes on`, async (world) => {
      const { job, id } = await refused(world);
      const own = controlOf(job);
      const control = await sent(world, { job, id }, place);
      await control.script([rule({ do: "answer", status, code })]);
      await through(world);
      const [aside, ...others] = await asideOf(job);
      expect([aside, others]).toMatchObject([{ records: 10, why: expect.stringContaining(`HTTP ${status}`) }, []]);
      expect(aside?.why).toMatch(/^an object is on hold: 127\.0\.0\.1:\d+: /);
      // Nothing of it says that the job's own destination refuses one after another.
      await own.script([rule({ do: "answer", status: 413 }, PUTS, 1)]);
      await arrive(world, world.mint(10));
      await pass(world);
      expect(await said(job)).toMatch(/^an object is on hold: HTTP 413/);
      await own.script([]);
      for (const each of await asideOf(job)) await resend(each.id);
      await expectSettled(world, job, { delivered: 40, set_aside: 0 });
      const entries = await jobObjects(job.id);
      expect(entries.map((entry) => (entry as { sent_to?: string | null }).sent_to)).toEqual([null, null, null, null]);
    });
  }

  for (const place of PLACES) {
    row(`${named(place)} is down for hours: set aside again after eight attempts`, async (world) => {
      const { job, id } = await refused(world);
      const control = await sent(world, { job, id }, place);
      await control.script([rule({ do: "answer", status: 503 }, place === null ? PUTS : ALL)]);
      await arrive(world, world.mint(10));
      await pass(world);
      // The job's own objects are not held up.
      expect([await countsOf(job), await said(job)]).toMatchObject([{ delivered: 30, pending: 10 }, null]);
      await through(world);
      const tried = place === null ? await decided(control) : await posts(control);
      expect([tried, await countsOf(job)]).toMatchObject([8, { set_aside: 10, pending: 0 }]);
      await control.script([]);
      const [aside] = await asideOf(job);
      await sent(world, { job, id: aside?.id ?? "" });
      await expectSettled(world, job, { delivered: 40, set_aside: 0 });
    });
  }

  const losses: readonly (readonly [place: DialectName | null, words: string, moves: boolean, inDoubt: number])[] = [
    [null, "it is asked, and has it once", false, 0],
    ["https", "in doubt, and counted", false, 10],
    ["https", "the job gets another destination, and it is still in doubt", true, 10],
  ];
  for (const [place, words, moves, inDoubt] of losses) {
    row(`${named(place)} loses the answer: ${words}`, async (world) => {
      const { job, id } = await refused(world);
      const control = await sent(world, { job, id }, place);
      await control.script([rule({ do: "reset", when: "after" }, place === null ? PUTS : POSTS, 1)]);
      await pass(world, 0);
      if (moves) await world.jobs.move(job);
      await through(world);
      if (place === null) expect(await written(control)).toBe(1);
      expect([await countsOf(job), await resent(job)]).toMatchObject([{ delivered: 30 }, inDoubt]);
    });
  }

  const parts: readonly (readonly [name: string, Action, aside: number])[] = [
    ["takes three at once", { do: "limit", records: 3 }, 0],
    ["has no room for each third", { do: "refuse", each: 3, status: 429 }, 0],
    ["refuses each third", { do: "refuse", each: 3, status: 400 }, 3],
  ];
  for (const [name, action, aside] of parts) {
    row(`elastic ${name}: what it has is there, the rest goes on`, async (world) => {
      const { job, id } = await refused(world);
      const control = await sent(world, { job, id }, "elastic");
      await control.script([rule(action, POSTS, action.do === "limit" ? undefined : 1)]);
      await through(world);
      expect([await countsOf(job), await resent(job)]).toMatchObject([
        { delivered: 30 - aside, set_aside: aside, pending: 0 },
        0,
      ]);
      await control.script([]);
      await expectSentOn(world, job);
    });
  }

  row("a bucket says of every key that another object stands there: set aside again", async (world) => {
    const { job, id } = await refused(world);
    const control = await sent(world, { job, id });
    await control.script([
      rule({ do: "answer", status: 412, code: "PreconditionFailed" }, PUTS),
      rule(
        { do: "answer", status: 200, headers: { etag: '"00000000000000000000000000000000"', "content-length": "3" } },
        {
          method: "HEAD",
          keyIncludes: ".log.gz",
        },
      ),
    ]);
    await through(world);
    await control.script([]);
    expect(await countsOf(job)).toMatchObject({ delivered: 20, set_aside: 10, pending: 0 });
    await expectSentOn(world, job);
  });
});

/** What the other destination does for a while. */
const doings = (receiver: DialectName | null): Rule[][] => {
  const match = receiver === null ? PUTS : POSTS;
  const status = (code: number): Rule[] => [rule({ do: "answer", status: code }, match)];
  const parts = [[rule({ do: "refuse", each: 2, status: 400 }, match, 1)], [rule({ do: "limit", records: 2 }, match)]];
  return [[], status(503), status(413), status(403), [rule({ do: "reset", when: "after" }, match, 1)]].concat(
    receiver === "elastic" ? parts : [],
  );
};

describe("over any course", () => {
  const WHAT = ["take", "take", "own", "later", "send", "send", "resend", "all", "move", "mend", "die"] as const;
  const course = fc.array(fc.tuple(fc.constantFrom(...WHAT), fc.nat(11)), { minLength: 40, maxLength: 40 });
  const courses = fc.sample(course, { numRuns: 12, seed: 18 });
  for (const [n, steps] of variants([...courses.entries()])) {
    row(`each record is there once, and every count adds up: ${n + 1}`, async (world) => {
      const { job } = await refused(world);
      // What was in doubt at a destination may be there and at the next one.
      job.mayBeInBoth = true;
      const places: { conf: string; control: BucketControl; receiver: DialectName | null }[] = [];
      for (const [what, which] of steps) {
        const aside = await asideOf(job);
        const one = aside[which % Math.max(1, aside.length)]?.id;
        const place = places[which % Math.max(1, places.length)];
        if (what === "take") {
          await arrive(world, world.mint(6, { days: 1 + (which % 3) }));
        } else if (what === "own") await controlOf(job).script([rule({ do: "answer", status: 413 }, PUTS, 1)]);
        else if (what === "mend") await place?.control.script([]);
        else if (what === "move") await world.jobs.move(job);
        else if (what === "die") await abortAllDurableObjects();
        else if (what === "all") await api("POST", "/logship/set-aside/resend", { skip: which % 2 });
        else if (what === "resend" && one !== undefined) await api("POST", `/logship/set-aside/${one}/resend`);
        else if (what === "send" && one !== undefined) {
          if (places.length < 4) {
            const receiver = ([null, "elastic", "https"] as const)[which % 3] ?? null;
            places.push({ ...world.jobs.elsewhere(job, receiver), receiver });
          }
          const to = place ?? places[0];
          const { status } = await send(one, to?.conf ?? "");
          // 400: it does not take the test object now.
          expect([200, 400]).toContain(status);
          const of = doings(to?.receiver ?? null);
          await to?.control.script(of[which % of.length] ?? []);
        }
        await pass(world, what === "later" ? 600_000 : 30_000);
        const { received, pending, ...ended } = await countsOf(job);
        expect(Object.values(ended).reduce((sum, count) => sum + count, pending)).toBe(received);
        expect((await asideOf(job)).reduce((sum, { records }) => sum + records, 0)).toBe(ended.set_aside);
      }
      for (const { control } of [...places, ...job.buckets]) {
        await control.script([]);
      }
      await world.settle();
      for (let left = await asideOf(job); left.length > 0; left = await asideOf(job)) {
        for (const { id } of left) await resend(id);
        await world.settle();
      }
      expect(await countsOf(job)).toMatchObject({ pending: 0, set_aside: 0 });
    });
  }
});

describe("the log dies", () => {
  const steps = [
    [JobReader.prototype, "asideLacks"],
    [JobReader.prototype, "asideSendTo"],
    [Attempts.prototype, "uploadOne"],
    [Attempts.prototype, "put"],
    [Attempts.prototype, "settle"],
  ] as const;
  for (const place of variants(PLACES, 2)) {
    for (const [[prototype, method], breakage] of cells(steps, PROMPT_BREAKAGES)) {
      row(`while an object goes to ${named(place)}: ${breakage} at ${method}()`, async (world) => {
        const { job, id } = await refused(world);
        const { conf, control } = world.jobs.elsewhere(job, place);
        const fault = new Fault(world, prototype, method, breakage);
        fault.begin();
        await fault.meet(() => send(id, conf));
        if (prototype === Attempts.prototype) await fault.meet(() => world.runAlarms());
        expect(fault.took()).toBe(true);
        await world.mend();
        await world.settle();
        for (const each of await asideOf(job)) await send(each.id, conf);
        await expectSettled(world, job, { delivered: 30, set_aside: 0, pending: 0 });
        const kept = (await control.puts()).filter(({ key }) => place !== null || key.endsWith(".log.gz"));
        const twice = (await resent(job)) / 10;
        if (place === null) expect(kept).toHaveLength(1);
        else expect(twice).toBeLessThanOrEqual(1);
      });
    }
  }
});
