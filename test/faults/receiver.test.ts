/**
 * What receivers answer: nothing is lost, and a record is there twice only where the ledger counts
 * it as sent again in doubt, or never where the receiver tells repeats.
 */
import { describe, inject, vi } from "vitest";
import { platform } from "../../src/platform.ts";
import { Random } from "../soak/random.ts";
import { cells, variants } from "../support/matrix.ts";
import { api } from "../support/runtime/api.ts";
import { jobObjects } from "../support/runtime/pipeline.ts";
import { type Action, type Rule, rule } from "../support/s3-script.ts";
import { asideOf, POSTS, posts, RECEIVERS, resent, sendAgain, TESTS, TIMELESS } from "./receivers.ts";
import { row } from "./row.ts";
import { controlOf, countsOf, decided, outlast, pass, said, viewOf, waitingJob } from "./stores.ts";

const HOUR_MS = 3_600_000;

describe("a receiver that cannot now", () => {
  /** `mayBe`: what is sent after it is in doubt. The most telling first. */
  const answers: readonly (readonly [name: string, action: Action, words: RegExp, mayBe: boolean])[] = [
    ["503 after taking it", { do: "answer", status: 503, store: true }, /HTTP 503/, true],
    ["429", { do: "answer", status: 429 }, /HTTP 429/, false],
    ["with a reset after taking it", { do: "reset", when: "after" }, /connection failed/, true],
    ["with a reset within the body", { do: "reset", when: "during" }, /connection failed/, true],
    ["408 after taking it", { do: "answer", status: 408, store: true }, /HTTP 408/, true],
    ["with a reset before the body", { do: "reset", when: "before" }, /connection failed/, true],
    ["500", { do: "answer", status: 500 }, /HTTP 500/, true],
    ["425", { do: "answer", status: 425 }, /HTTP 425/, false],
    ["409", { do: "answer", status: 409 }, /HTTP 409/, false],
  ];
  for (const [kind, [name, action, words, mayBe]] of cells(RECEIVERS, variants(answers, 6))) {
    row(`${kind} answers ${name}, for two hours`, async (world, { expect }) => {
      const { job, control } = await waitingJob(world, 10, { receiver: kind });
      await control.script([rule(action, POSTS)]);
      await pass(world);
      for (let n = 0; n < 3; n++) {
        await pass(world, (2 * HOUR_MS) / 3);
        expect(await said(job)).toMatch(words);
        expect(await said(job)).toMatch(/; it is being tried again$/);
        expect(await countsOf(job)).toMatchObject({ received: 10, delivered: 0, pending: 10 });
      }
      const failed = await posts(control);
      world.injected(await decided(control));
      await control.script([]);
      await world.settle();
      expect(await viewOf(job)).toMatchObject({ error_message: null, last_error: null });
      expect(await resent(job)).toBe(mayBe ? 10 * failed : 0);
      expect(await jobObjects(job.id)).toMatchObject([{ number: 1, state: "delivered", verified: false }]);
    });
  }

  for (const [kind, action] of cells(RECEIVERS, [{ do: "withhold" }, { do: "hold" }] as const)) {
    row(`${kind} never answers, with "${action.do}": given up after a minute, in doubt`, async (world, { expect }) => {
      const { job, control } = await waitingJob(world, 10, { receiver: kind });
      await control.script([rule(action, POSTS, 1)]);
      await outlast(world, job.id, () => control.whenHeld(1), [60_000]);
      await vi.waitUntil(async () => (await said(job)) !== null, { timeout: 10_000 });
      expect(await said(job)).toMatch(/no answer in time; it is being tried again/);
      world.injected(await decided(control));
      await control.release();
      await world.settle();
      expect([await countsOf(job), await resent(job)]).toMatchObject([{ delivered: 10, pending: 0 }, 10]);
    });
  }

  const pages: readonly (readonly [name: string, body: string])[] = [
    ["a page of a proxy", "<html></html>"],
    ["no items", '{"errors":false}'],
    ["too few items", '{"errors":false,"items":[{"create":{"status":201}}]}'],
    ["half an answer", '{"errors":false,"items":[{"create":{"stat'],
  ];
  for (const [name, body] of variants(pages, 2)) {
    row(`elastic answers 200 with ${name}, after taking it: no success`, async (world, { expect }) => {
      const { job, control } = await waitingJob(world, 10, { receiver: "elastic" });
      await control.script([rule({ do: "answer", status: 200, body, store: true }, POSTS)]);
      for (let n = 0; n < 4; n++) await pass(world, 900_000);
      expect(await said(job)).toMatch(/HTTP 200, but not what became of each record; it is being tried again/);
      expect(await countsOf(job)).toMatchObject({ delivered: 0, pending: 10 });
      world.injected(await decided(control));
    });
  }

  for (const kind of RECEIVERS) {
    row(`${kind} answers 429 with Retry-After for an hour`, async (world, { expect }) => {
      const { job, control } = await waitingJob(world, 10, { receiver: kind });
      const other = await world.createJob();
      const endMs = world.clock.nowMs() + HOUR_MS;
      for (let leftS = 3_600; leftS > 0; leftS -= 60) {
        const headers = { "retry-after": `${Math.ceil((endMs - world.clock.nowMs()) / 1_000)}` };
        await control.script([rule({ do: "answer", status: 429, headers }, POSTS)]);
        await world.take(world.mint(5));
        await world.deliverDue();
        await pass(world, 60_000);
        if (leftS % 300 === 0) await world.runCron();
      }
      expect(await countsOf(job)).toMatchObject({ received: 310, delivered: 0, pending: 310 });
      expect((await countsOf(other)).delivered).toBeGreaterThan(280);
      expect(await posts(control)).toBeLessThan(6);
      world.injected(await decided(control));
      await control.script([]);
      for (let n = 0; n < 4; n++) await pass(world, 60_000);
      expect(await countsOf(job)).toMatchObject({ delivered: 310, pending: 0 });
      expect(await resent(job)).toBe(0);
    });
  }
});

describe("a receiver that is misconfigured", () => {
  const answers: readonly (readonly [name: string, action: Action])[] = [
    ["403", { do: "answer", status: 403 }],
    ["401", { do: "answer", status: 401 }],
    ["a redirect", { do: "redirect", location: `${inject("s3Url")}/elsewhere/x` }],
    ["404", { do: "answer", status: 404 }],
    ["400 to everything", { do: "answer", status: 400 }],
    ["413 to everything", { do: "answer", status: 413 }],
    ["410", { do: "answer", status: 410 }],
  ];
  for (const [kind, [name, action]] of cells(RECEIVERS, variants(answers, 6))) {
    row(`${kind} answers ${name} for hours: the job is parked, and nothing is set aside`, async (world, { expect }) => {
      const { job, control } = await waitingJob(world, 10, { receiver: kind });
      await control.script([rule(action)]);
      await pass(world);
      for (let n = 0; n < 4; n++) {
        await world.take(world.mint(5));
        await world.deliverDue();
        await pass(world, HOUR_MS);
        await world.checkBalances();
        expect(await said(job)).toMatch(/^parked: HTTP \d{3}(?: Datadog)?; nothing is lost/);
        expect(await countsOf(job)).toMatchObject({ delivered: 0, set_aside: 0, pending: 15 + 5 * n });
      }
      world.injected(await decided(control));
      await control.script([]);
      await world.jobs.change(job, { name: "mended" });
      await world.runAlarms();
      expect(await said(job)).toBeNull();
      await pass(world, 60_000);
      expect([await countsOf(job), await resent(job)]).toMatchObject([{ delivered: 30, pending: 0 }, 0]);
    });
  }

  const strict = { errors: true, items: [{ create: { status: 400, error: { type: "strict_dynamic_mapping" } } }] };
  row("elastic refuses every record, and a test record as well: parked", async (world, { expect }) => {
    const { job, control } = await waitingJob(world, 10, { receiver: "elastic" });
    await control.script([
      rule({ do: "refuse", each: 1, status: 400 }, POSTS),
      rule({ do: "answer", status: 200, body: JSON.stringify(strict) }, TESTS),
    ]);
    for (let n = 0; n < 3; n++) await pass(world, 300_000);
    expect(await said(job)).toMatch(/^parked: HTTP 400 strict_dynamic_mapping; nothing is lost/);
    expect(await countsOf(job)).toMatchObject({ delivered: 0, set_aside: 0, pending: 10 });
    world.injected(await decided(control));
  });

  row("elastic refuses every record of one object after another, and takes tests", async (world, { expect }) => {
    const { job, control } = await waitingJob(world, 1, { receiver: "elastic" });
    await control.script([rule({ do: "refuse", each: 1, status: 400 }, POSTS)]);
    await pass(world);
    const counts = { delivered: 0, set_aside: 1, pending: 0 };
    expect([await said(job), await countsOf(job)]).toMatchObject([/^an object was set aside: HTTP 400/, counts]);
    for (let n = 0; n < 3; n++) {
      await world.take(world.mint(4));
      await world.deliverDue();
      await pass(world, 60_000);
    }
    expect(await said(job)).toMatch(/^parked: HTTP 400 document_parsing_exception to one object after another/);
    expect(await countsOf(job)).toMatchObject({ delivered: 0, set_aside: 1, pending: 12 });
    world.injected(await decided(control));
    await control.script([]);
    const [aside] = (await asideOf(job)).map(({ id }) => id);
    expect((await api("POST", `/logship/set-aside/${aside}/resend`)).status).toBe(200);
    await world.settle();
    expect([await countsOf(job), await resent(job)]).toMatchObject([{ delivered: 13, set_aside: 0 }, 0]);
  });
});

describe("a receiver that is down for days", () => {
  const down: readonly (readonly [string, Action, words: RegExp])[] = [
    ["answers 403", { do: "answer", status: 403 }, /^parked: HTTP 403/],
    ["answers 503", { do: "answer", status: 503 }, /HTTP 503; it is being tried again/],
    ["takes all and answers nothing", { do: "reset", when: "after" }, /connection failed; it is being tried again/],
  ];
  for (const [kind, [name, action, words]] of cells(TIMELESS, down)) {
    row(`${kind} ${name} for three days, and another job delivers all the while`, async (world, { expect }) => {
      const { job, control } = await waitingJob(world, 3, { receiver: kind });
      const healthy = await world.createJob({ receiver: "elastic" });
      await control.script([rule(action, POSTS)]);
      for (let hours = 6; hours <= 72; hours += 6) {
        await world.take(world.mint(3));
        await world.deliverDue();
        await pass(world, 38_000);
        expect(await countsOf(healthy)).toMatchObject({ delivered: hours / 2, pending: 0 });
        expect(await countsOf(job)).toMatchObject({ delivered: 0, pending: 3 + hours / 2 });
        expect(await said(job)).toMatch(words);
        world.clock.advance(6 * HOUR_MS - 38_000);
      }
      // The rate of attempts does not grow with the backlog.
      expect(await posts(control)).toBeLessThan(40);
      world.injected(await decided(control));
      await control.script([]);
      await world.jobs.change(job, { name: "mended" });
      await world.settle();
      expect([await said(job), (await countsOf(job)).pending]).toEqual([null, 0]);
    });
  }
});

describe("a receiver that takes no record that is old", () => {
  row("datadog is down for a day: what is too old by then is set aside, and said", async (world, { expect }) => {
    const job = await world.createJob({ receiver: "datadog" });
    const control = controlOf(job);
    await control.script([rule({ do: "answer", status: 503 }, POSTS)]);
    const old = world.mint(10);
    await world.take(old);
    await world.deliverDue();
    for (let hours = 0; hours < 24; hours += 2) await pass(world, 2 * HOUR_MS);
    await world.take(world.mint(5));
    await world.deliverDue();
    expect(await countsOf(job)).toMatchObject({ received: 15, pending: 5, set_aside: 10 });
    world.injected(await decided(control));
    await control.script([]);
    for (let n = 0; n < 4; n++) await pass(world, 300_000);
    expect(await countsOf(job)).toMatchObject({ delivered: 5, set_aside: 10, pending: 0 });
    expect(await asideOf(job)).toMatchObject([{ records: 10, why: expect.stringMatching(/older than the 18 hours/) }]);
    // None was dropped in silence, nor lost by a request that it answers with a success.
    world.jobs.setAside(job, old);
    await world.audit();
  });
});

describe("a receiver that does everything wrong for a day", () => {
  const ANY: readonly Action[] = [
    { do: "answer", status: 502, body: "<html></html>" },
    { do: "answer", status: 503, store: true },
    { do: "answer", status: 429, headers: { "retry-after": "120" } },
    { do: "answer", status: 403 },
    { do: "answer", status: 400 },
    { do: "answer", status: 408, store: true },
    { do: "redirect", location: "/elsewhere/x" },
    { do: "reset", when: "before" },
    { do: "reset", when: "during" },
    { do: "reset", when: "after" },
    { do: "limit", records: 3 },
  ];
  const TO_ELASTIC: readonly Action[] = [
    ...ANY,
    { do: "refuse", each: 2, status: 429 },
    { do: "refuse", each: 3, status: 503 },
    { do: "answer", status: 200, body: '{"errors":false,"items":[]}', store: true },
  ];
  for (const [kind, seed] of cells(TIMELESS, variants([1, 2, 3, 4], 2))) {
    row(`${kind} at random, seed ${seed}`, async (world) => {
      const random = new Random(seed);
      vi.spyOn(platform, "random").mockImplementation(() => random.next());
      const job = await world.createJob({ receiver: kind });
      for (let halfHours = 0; halfHours < 48; halfHours++) {
        const rules: Rule[] = Array.from({ length: random.int(0, 4) }, () =>
          rule(random.pick(kind === "elastic" ? TO_ELASTIC : ANY), POSTS, random.int(1, 3)),
        );
        await controlOf(job).script(rules);
        if (random.chance(0.4)) await world.take(world.mint(random.int(1, 20), { days: random.pick([1, 1, 2]) }));
        await world.deliverDue();
        for (const ms of [40_000, random.int(60, 1_700) * 1_000]) await pass(world, ms);
        await world.checkBalances();
      }
      world.injected(await decided(controlOf(job)));
      await controlOf(job).script([]);
      await sendAgain(world, job);
    });
  }
});
