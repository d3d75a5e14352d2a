/**
 * What receivers answer: nothing is lost, and a record is there twice only where the ledger counts
 * it as sent again in doubt, or never where the receiver tells repeats.
 */
import { describe, expect, inject, vi } from "vitest";
import { platform } from "../../src/base/platform.ts";
import { Random } from "../soak/random.ts";
import { cells, variants } from "../support/matrix.ts";
import type { DialectName } from "../support/receiver.ts";
import { jobObjects } from "../support/runtime/pipeline.ts";
import { type Action, type Rule, rule } from "../support/s3-script.ts";
import { until } from "../support/until.ts";
import { asideOf, resend } from "./aside.ts";
import { AGES, ALL, LASTING, POSTS, posts, RECEIVERS, resent, SOME, sendAgain, TESTS, TIMELESS } from "./receivers.ts";
import { row } from "./row.ts";
import {
  arrive,
  controlOf,
  countsOf,
  expectSettled,
  failingJob,
  outlast,
  pass,
  said,
  viewOf,
  waitingJob,
} from "./stores.ts";

const HOUR_MS = 3_600_000;
const PAGE = "<html></html>";
/** The words with which Loki has taken nothing. */
const RATE_LIMITED = "Ingestion rate limit exceeded";

describe("a receiver that cannot now", () => {
  /** `mayBe`: what is sent after it is in doubt. The most telling first. */
  const answers: readonly (readonly [name: string, action: Action, words: RegExp, mayBe: boolean])[] = [
    ["503 after taking it", { do: "answer", status: 503, store: true }, /HTTP 503/, true],
    ["429", { do: "answer", status: 429, body: RATE_LIMITED }, /HTTP 429/, false],
    ["with a reset after taking it", { do: "reset", when: "after" }, /connection failed/, true],
    ["with a reset within the body", { do: "reset", when: "during" }, /connection failed/, true],
    ["408 after taking it", { do: "answer", status: 408, store: true }, /HTTP 408/, true],
    ["with a reset before the body", { do: "reset", when: "before" }, /connection failed/, true],
    ["500", { do: "answer", status: 500 }, /HTTP 500/, true],
    ["425", { do: "answer", status: 425 }, /HTTP 425/, false],
    ["409", { do: "answer", status: 409 }, /HTTP 409/, false],
  ];
  for (const [kind, [name, action, words, mayBe]] of cells(RECEIVERS, variants(answers, 6))) {
    row(`${kind} answers ${name}, for two hours`, async (world) => {
      const { job, control } = await failingJob(world, rule(action, ALL), { receiver: kind });
      await pass(world);
      for (let n = 0; n < 3; n++) {
        await pass(world, (2 * HOUR_MS) / 3);
        expect(await said(job)).toMatch(words);
        expect(await said(job)).toMatch(/; logship is retrying$/);
        expect(await countsOf(job)).toMatchObject({ received: 10, delivered: 0, pending: 10 });
      }
      const failed = await posts(control);
      await control.script([]);
      await world.settle();
      expect(await viewOf(job)).toMatchObject({ error_message: null, last_error: null });
      expect(await resent(job)).toBe(mayBe ? 10 * failed : 0);
      expect(await jobObjects(job.id)).toMatchObject([{ number: 1, state: "delivered", verified: false }]);
    });
  }

  for (const [kind, action] of cells(SOME, [{ do: "withhold" }, { do: "hold" }] as const)) {
    row(`${kind} never answers, with "${action.do}": given up after a minute, in doubt`, async (world) => {
      const { job, control } = await failingJob(world, rule(action, POSTS, 1), { receiver: kind });
      await outlast(world, job.id, () => control.whenHeld(1), [60_000]);
      await until(async () => (await said(job)) !== null);
      expect(await said(job)).toMatch(/no answer in time; logship is retrying/);
      await control.release();
      await world.settle();
      expect([await countsOf(job), await resent(job)]).toMatchObject([{ delivered: 10, pending: 0 }, 10]);
    });
  }

  /** The first of each kind, and then further ones. */
  const pages: readonly (readonly [kind: DialectName, name: string, body: string, words: RegExp])[] = [
    ["elastic", "a page of a proxy", PAGE, /HTTP 200, but not what became of each record/],
    ["splunkraw", "a page of a proxy", PAGE, /HTTP 200 Splunk, but not as Splunk says/],
    ["splunkevent", "another code", '{"text":"Server is busy","code":9}', /HTTP 200 Splunk\.9, but not as/],
    ["otlp", "half an answer", '{"partialSuccess":{"rejec', /HTTP 200, but not as an OTLP receiver answers/],
    ["clickhouse", "an exception", "Code: 241. DB::Exception: no", /HTTP 200 MEMORY_LIMIT_EXCEEDED/],
    ["axiom", "no counts", "{}", /HTTP 200, but not how many events were taken/],
    ["elastic", "no items", '{"errors":false}', /what became of each record/],
    [
      "elastic",
      "too few items",
      '{"errors":false,"items":[{"create":{"status":201}},{"create":{"status":201}}]}',
      /what became of each/,
    ],
    ["elastic", "half an answer", '{"errors":false,"items":[{"create":{"stat', /what became of each record/],
    ["clickhouse", "a page of a proxy", PAGE, /HTTP 200, but not the empty answer of an insert/],
    ["otlp", "a page of a proxy", PAGE, /HTTP 200, but not as an OTLP receiver answers/],
    ["axiom", "a page of a proxy", PAGE, /HTTP 200, but not how many events were taken/],
    ["otlp", "a refusal", '{"code":3}', /HTTP 200, but not as an OTLP receiver answers/],
    ["otlp", "more rejected than sent", '{"partial_success":{"rejected_log_records":"11"}}', /but not as an OTLP/],
    ["axiom", "counts that do not add up", '{"ingested":9,"failed":0}', /but not how many events were taken/],
    ["splunkraw", "a refusal", '{"text":"Incorrect index","code":7}', /HTTP 200 Splunk\.7, but not as/],
    ["datadog", "a page of a proxy", PAGE, /HTTP 200 Datadog, but not as Datadog answers/],
    ["newrelic", "no id", "{}", /HTTP 200 NewRelic, but not as New Relic answers/],
    ["sumo", "what was not taken", '{"errors":[{"code":"x"}]}', /HTTP 200 Sumo, but not the empty answer/],
    ["loki", "a page of a proxy", PAGE, /HTTP 200, but not the empty answer of Loki/],
  ];
  for (const [kind, name, body, words] of variants(pages, 6)) {
    row(`${kind} answers 200 with ${name}, after taking it: no success`, async (world) => {
      const { job, control } = await failingJob(world, [rule({ do: "answer", status: 200, body, store: true }, ALL)], {
        receiver: kind,
      });
      for (let n = 0; n < 4; n++) await pass(world, 900_000);
      expect(await said(job)).toMatch(words);
      expect(await said(job)).toMatch(/; logship is retrying$/);
      expect(await countsOf(job)).toMatchObject({ delivered: 0, pending: 10 });
      const failed = await posts(control);
      await control.script([]);
      await world.settle();
      expect([await countsOf(job), await resent(job)]).toMatchObject([{ delivered: 10 }, 10 * failed]);
    });
  }

  const blocked = "ingestion blocked for user fake until '2026-12-01T00:00:00Z' with status code '260'";
  row("loki answers 260 for hours, and drops it: parked, and all is sent again", async (world) => {
    const { job, control } = await failingJob(world, rule({ do: "answer", status: 260, body: blocked }), {
      receiver: "loki",
    });
    for (let n = 0; n < 4; n++) await pass(world, HOUR_MS);
    expect(await said(job)).toMatch(/^delivery paused: HTTP 260 blocked_ingestion; records are kept/);
    expect(await countsOf(job)).toMatchObject({ delivered: 0, set_aside: 0, pending: 10 });
    await control.script([]);
    await world.jobs.change(job, { name: "mended" });
    await expectSettled(world, job, { delivered: 10, pending: 0 });
  });

  for (const kind of variants(RECEIVERS)) {
    row(`${kind} answers 429 with Retry-After for an hour`, async (world) => {
      const { job, control } = await waitingJob(world, { receiver: kind });
      const other = await world.createJob();
      const endMs = world.clock.nowMs() + HOUR_MS;
      for (let leftS = 3_600; leftS > 0; leftS -= 180) {
        const headers = { "retry-after": `${Math.ceil((endMs - world.clock.nowMs()) / 1_000)}` };
        await control.script([rule({ do: "answer", status: 429, headers, body: RATE_LIMITED }, ALL)]);
        await arrive(world, world.mint(5));
        await pass(world, 180_000);
        if (leftS % 900 === 0) await world.runCron();
      }
      expect(await countsOf(job)).toMatchObject({ received: 110, delivered: 0, pending: 110 });
      expect((await countsOf(other)).delivered).toBeGreaterThan(90);
      expect(await posts(control)).toBeLessThan(6);
      await control.script([]);
      for (let n = 0; n < 4; n++) await pass(world, 60_000);
      expect(await countsOf(job)).toMatchObject({ delivered: 110, pending: 0 });
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
  for (const [kind, [name, action]] of cells(SOME, variants(answers, 6))) {
    row(`${kind} answers ${name} for hours: the job is parked, and nothing is set aside`, async (world) => {
      const { job, control } = await failingJob(world, rule(action), { receiver: kind });
      await pass(world);
      for (let n = 0; n < 4; n++) {
        await arrive(world, world.mint(5));
        await pass(world, HOUR_MS);
        await world.checkBalances();
        expect(await said(job)).toMatch(/^delivery paused: HTTP \d{3}(?: [A-Za-z]+)?; records are kept/);
        expect(await countsOf(job)).toMatchObject({ delivered: 0, set_aside: 0, pending: 15 + 5 * n });
      }
      await control.script([]);
      await world.jobs.change(job, { name: "mended" });
      await world.runAlarms();
      expect(await said(job)).toBeNull();
      await pass(world, 60_000);
      expect(await countsOf(job)).toMatchObject({ delivered: 30, pending: 0 });
      // After a 400, Loki may have stored other lines of a push.
      const isInDoubt = kind === "loki" && name === "400 to everything";
      expect((await resent(job)) > 0).toBe(isInDoubt);
    });
  }

  const strict = { errors: true, items: [{ create: { status: 400, error: { type: "strict_dynamic_mapping" } } }] };
  row("elastic refuses every record, and a test record as well: parked", async (world) => {
    const { job } = await failingJob(
      world,
      [
        rule({ do: "refuse", each: 1, status: 400 }, POSTS),
        rule({ do: "answer", status: 200, body: JSON.stringify(strict) }, TESTS),
      ],
      { receiver: "elastic" },
    );
    for (let n = 0; n < 3; n++) await pass(world, 300_000);
    expect(await said(job)).toMatch(/^delivery paused: HTTP 400 strict_dynamic_mapping; records are kept/);
    expect(await countsOf(job)).toMatchObject({ delivered: 0, set_aside: 0, pending: 10 });
  });

  row("elastic refuses every record of one object after another, and takes tests", async (world) => {
    const { job, control } = await failingJob(world, rule({ do: "refuse", each: 1, status: 400 }, POSTS), {
      records: 1,
      receiver: "elastic",
    });
    await pass(world);
    const counts = { delivered: 0, set_aside: 1, pending: 0 };
    expect([await said(job), await countsOf(job)]).toMatchObject([/^an object is on hold: HTTP 400/, counts]);
    for (let n = 0; n < 3; n++) {
      await arrive(world, world.mint(4));
      await pass(world, 60_000);
    }
    expect(await said(job)).toMatch(
      /^delivery paused: HTTP 400 document_parsing_exception to one object after another/,
    );
    expect(await countsOf(job)).toMatchObject({ delivered: 0, set_aside: 1, pending: 12 });
    await control.script([]);
    const [aside] = (await asideOf(job)).map(({ id }) => id);
    expect((await resend(aside ?? "")).status).toBe(200);
    await world.settle();
    expect([await countsOf(job), await resent(job)]).toMatchObject([{ delivered: 13, set_aside: 0 }, 0]);
  });
});

describe("a receiver that is down for days", () => {
  const down: readonly (readonly [string, Action, words: RegExp])[] = [
    ["answers 403", { do: "answer", status: 403 }, /^delivery paused: HTTP 403/],
    ["answers 503", { do: "answer", status: 503 }, /HTTP 503(?: [A-Za-z]+)?; logship is retrying/],
    ["takes all and answers nothing", { do: "reset", when: "after" }, /connection failed; logship is retrying/],
  ];
  for (const [kind, [name, action, words]] of cells(variants(LASTING, 2), down)) {
    row(`${kind} ${name} for three days, and another job delivers all the while`, async (world) => {
      const { job, control } = await waitingJob(world, { records: 3, receiver: kind });
      const healthy = await world.createJob({ receiver: "elastic" });
      await control.script([rule(action, ALL)]);
      for (let hours = 6; hours <= 72; hours += 6) {
        await arrive(world, world.mint(3));
        await pass(world, 38_000);
        expect(await countsOf(healthy)).toMatchObject({ delivered: hours / 2, pending: 0 });
        expect(await countsOf(job)).toMatchObject({ delivered: 0, pending: 3 + hours / 2 });
        expect(await said(job)).toMatch(words);
        world.clock.advance(6 * HOUR_MS - 38_000);
      }
      // The rate of attempts does not grow with the backlog.
      expect(await posts(control)).toBeLessThan(40);
      await control.script([]);
      await world.jobs.change(job, { name: "mended" });
      await world.settle();
      expect([await said(job), (await countsOf(job)).pending]).toEqual([null, 0]);
    });
  }
});

describe("a receiver that takes no record that is old", () => {
  for (const [kind, hours] of Object.entries(AGES) as [DialectName, number][]) {
    row(`${kind} is down for too long: what is too old by then is set aside, and said`, async (world) => {
      const job = await world.createJob({ receiver: kind });
      const control = controlOf(job);
      await control.script([rule({ do: "answer", status: 503 }, ALL)]);
      const old = world.mint(10);
      await arrive(world, old);
      for (let n = 0; n < 12; n++) await pass(world, (hours / 10) * HOUR_MS);
      await arrive(world, world.mint(5));
      expect(await countsOf(job)).toMatchObject({ received: 15, pending: 5, set_aside: 10 });
      await control.script([rule({ do: "past", beforeMs: world.clock.nowMs() - hours * HOUR_MS })]);
      for (let n = 0; n < 4; n++) await pass(world, 300_000);
      expect(await countsOf(job)).toMatchObject({ delivered: 5, set_aside: 10, pending: 0 });
      const why = expect.stringMatching(new RegExp(`older than the ${hours} hours`));
      expect(await asideOf(job)).toMatchObject([{ records: 10, why }]);
      // None was dropped in silence, nor lost by a request that it answers with a success.
      world.jobs.setAside(job, old);
    });
  }
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
  /** What is partly taken, and said so in ways of its own. */
  const OWN: Partial<Record<DialectName, readonly Action[]>> = {
    elastic: [
      { do: "refuse", each: 2, status: 429 },
      { do: "refuse", each: 3, status: 503 },
      { do: "answer", status: 200, body: '{"errors":false,"items":[]}', store: true },
    ],
    loki: [
      { do: "refuse", each: 2, status: 429 },
      { do: "refuse", each: 3, status: 400 },
    ],
    otlp: [{ do: "refuse", each: 3, status: 400 }],
    axiom: [{ do: "refuse", each: 3, status: 400 }],
    splunkevent: [{ do: "refuse", each: 3, status: 400 }],
    clickhouse: [{ do: "answer", status: 200, body: "Code: 241. DB::Exception: no", store: true }],
  };
  const kinds = [...TIMELESS, "loki", "newrelic"] as const;
  for (const [kind, seed] of cells(variants(kinds, 2), variants([1, 2, 3, 4]))) {
    row(`${kind} at random, seed ${seed}`, async (world) => {
      const random = new Random(seed);
      const isTimeless = TIMELESS.some((each) => each === kind);
      vi.spyOn(platform, "random").mockImplementation(() => random.next());
      const job = await world.createJob({ receiver: kind });
      // Divided, its records come in other requests.
      job.cannotTell = true;
      for (let halfHours = 0; halfHours < 48; halfHours++) {
        const rules: Rule[] = Array.from({ length: random.int(0, 4) }, () =>
          rule(random.pick([...ANY, ...(OWN[kind] ?? [])]), POSTS, random.int(1, 3)),
        );
        await controlOf(job).script(rules);
        if (random.chance(0.4))
          await world.take(world.mint(random.int(1, 20), { days: random.pick(isTimeless ? [1, 1, 2] : [1]) }));
        await world.deliverDue();
        for (const ms of [40_000, random.int(60, 1_700) * 1_000]) await pass(world, ms);
        await world.checkBalances();
      }
      await controlOf(job).script([]);
      await sendAgain(world, job);
    });
  }
});
