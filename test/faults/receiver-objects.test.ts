/**
 * Objects of which a receiver takes a part, or less than one holds: divided, with a part set aside,
 * and what became of each record counted once. And what happens around such an answer.
 */
import { describe, expect } from "vitest";
import { Attempts } from "../../src/ship/reader/attempts.ts";
import { cells, isWhole, variants } from "../support/matrix.ts";
import type { DialectName } from "../support/receiver.ts";
import { api } from "../support/runtime/api.ts";
import { PROMPT_BREAKAGES } from "../support/runtime/breakage.ts";
import { jobObjects } from "../support/runtime/pipeline.ts";
import type { World } from "../support/runtime/world.ts";
import { type Action, rule } from "../support/s3-script.ts";
import { asideOf } from "./aside.ts";
import { Fault } from "./fault.ts";
import { ALL, POSTS, posts, RECEIVERS, resent, SOME, sendAgain } from "./receivers.ts";
import { row } from "./row.ts";
import { arrive, controlOf, countsOf, expectSettled, failingJob, pass, said, waitingJob } from "./stores.ts";

describe("a record that is refused", () => {
  for (const kind of isWhole ? RECEIVERS : ([...SOME, "splunkevent", "loki", "axiom"] as const)) {
    row(`${kind} refuses one record among a hundred: it alone is set aside`, async (world) => {
      const job = await world.createJob({ receiver: kind });
      // Axiom says how many, and not which.
      const why = kind === "axiom" ? /HTTP 200, but events failed/ : /HTTP 400/;
      const [poison, ...good] = [...world.mint(1, { scriptName: "poison" }), ...world.mint(99)];
      await arrive(world, [...good.slice(0, 37), ...(poison === undefined ? [] : [poison]), ...good.slice(37)]);
      for (let n = 0; n < 4; n++) await pass(world, 60_000);
      world.injected();
      world.jobs.setAside(job, poison === undefined ? [] : [poison]);
      expect(await countsOf(job)).toMatchObject({ delivered: 99, set_aside: 1, pending: 0 });
      expect(await asideOf(job)).toMatchObject([{ records: 1, why: expect.stringMatching(why) }]);
      // Splunk has taken the events before it, and not said so.
      expect(await resent(job)).toBe(kind === "splunkevent" ? 99 : 0);
      await world.audit();
      const [aside] = await asideOf(job);
      expect((await api("DELETE", `/logship/set-aside/${aside?.id}`)).status).toBe(200);
      job.leftOut = { discarded: 1 };
    });
  }

  for (const kind of SOME) {
    row(`${kind} refuses one record, and takes it when it is sent again`, async (world) => {
      const job = await world.createJob({ receiver: kind });
      const control = controlOf(job);
      const [large] = world.mint(1, { padding: 15_000 });
      await arrive(world, [...world.mint(9), ...(large === undefined ? [] : [large])]);
      await control.script([rule({ do: "limit", bytes: 10_000 })]);
      for (let n = 0; n < 4; n++) await pass(world, 60_000);
      expect(await countsOf(job)).toMatchObject({ delivered: 9, set_aside: 1, pending: 0 });
      expect(await asideOf(job)).toMatchObject([{ records: 1, why: expect.stringMatching(/HTTP 413/) }]);
      await control.script([]);
      await sendAgain(world, job);
      // It was never taken: nothing is in doubt.
      expect([await countsOf(job), await resent(job)]).toMatchObject([{ delivered: 10, set_aside: 0 }, 0]);
    });
  }

  row("elastic refuses each third record for good", async (world) => {
    const job = await world.createJob({ receiver: "elastic" });
    const control = controlOf(job);
    const events = world.mint(10);
    await arrive(world, events);
    await control.script([rule({ do: "refuse", each: 3, status: 400 }, POSTS, 1)]);
    await pass(world, 60_000);
    expect(await countsOf(job)).toMatchObject({ delivered: 7, set_aside: 3, pending: 0 });
    world.jobs.setAside(
      job,
      events.filter((_, n) => n % 3 === 2),
    );
    await world.audit();
    // Its list names both: what was taken, and what was not.
    expect(await jobObjects(job.id)).toMatchObject([
      { number: 1, state: "delivered", records: 7 },
      { number: 2, state: "set_aside", records: 3, error: expect.stringMatching(/HTTP 400 document_parsing/) },
    ]);
    const kept = await asideOf(job);
    expect(kept).toHaveLength(1);
    expect((await api("DELETE", `/logship/set-aside/${kept[0]?.id}`)).status).toBe(200);
    job.leftOut = { discarded: 3 };
  });

  for (const kind of ["otlp", "axiom"] as const) {
    row(`${kind} refuses each third record, and does not say which`, async (world) => {
      const job = await world.createJob({ receiver: kind });
      const control = controlOf(job);
      const events = world.mint(10);
      await arrive(world, events);
      await control.script([rule({ do: "refuse", each: 3, status: 400 }, POSTS, 1)]);
      await pass(world, 60_000);
      expect(await countsOf(job)).toMatchObject({ delivered: 7, set_aside: 3, pending: 0 });
      const why = expect.stringMatching(/HTTP 200, but (?:events failed|records were rejected)/);
      expect(await asideOf(job)).toMatchObject([{ records: 3, why }]);
      await sendAgain(world, job);
      // All of it is: what it took before is there again, and any of it may be.
      expect([await countsOf(job), await resent(job)]).toMatchObject([{ delivered: 10, set_aside: 0 }, 10]);
      expect(await world.audit()).toMatchObject({ doubled: 7 });
    });
  }

  row("loki refuses three lines for good, and stores the rest", async (world) => {
    const { job, control } = await waitingJob(world, { records: 7, receiver: "loki" });
    const poison = world.mint(3, { scriptName: "poison" });
    await arrive(world, poison);
    for (let n = 0; n < 4; n++) await pass(world, 60_000);
    world.injected();
    world.jobs.setAside(job, poison);
    expect(await countsOf(job)).toMatchObject({ delivered: 7, set_aside: 3, pending: 0 });
    expect(await resent(job)).toBe(0);
    // It was found out in other requests, which left nothing twice.
    expect(await posts(control)).toBeGreaterThan(2);
    await world.audit();
    for (const { id } of await asideOf(job)) await api("DELETE", `/logship/set-aside/${id}`);
    job.leftOut = { discarded: 3 };
  });

  row("loki limits a stream, and stores the rest: its parts pass, in doubt", async (world) => {
    const { job } = await failingJob(world, rule({ do: "refuse", each: 2, status: 429 }, POSTS), { receiver: "loki" });
    for (let n = 0; n < 12; n++) await pass(world, 60_000);
    expect(await countsOf(job)).toMatchObject({ delivered: 10, set_aside: 0, pending: 0 });
    expect(await resent(job)).toBeGreaterThanOrEqual(30);
  });

  const some: readonly (readonly [each: number, status: number])[] = [
    [3, 429],
    [2, 503],
    [10, 403],
    [1, 429],
  ];
  for (const [each, status] of variants(some, 2)) {
    row(`elastic answers ${status} to one record of ${each}, for an hour`, async (world) => {
      const { job, control } = await failingJob(world, rule({ do: "refuse", each, status }, POSTS), {
        receiver: "elastic",
      });
      for (let n = 0; n < 12; n++) {
        await pass(world, 300_000);
        await world.checkBalances();
      }
      // Where it refuses each one and takes a test record, one is set aside; the next ones wait.
      expect((await countsOf(job)).set_aside).toBe(each === 1 ? 1 : 0);
      expect(await posts(control)).toBeLessThan(each === 1 ? 40 : 16);
      await control.script([]);
      await sendAgain(world, job);
      expect([await countsOf(job), await said(job)]).toMatchObject([{ delivered: 10, pending: 0 }, null]);
      expect(await resent(job)).toBe(0);
    });
  }
});

describe("an object that is more than a receiver takes", () => {
  const limits: readonly (readonly [name: string, Action])[] = [
    ["three records", { do: "limit", records: 3 }],
    ["one record", { do: "limit", records: 1 }],
    ["2,000 bytes", { do: "limit", bytes: 2_000 }],
  ];
  for (const [kind, [name, action]] of cells(SOME, variants(limits, 2))) {
    row(`${kind} takes ${name} at once: divided, and each part is there once`, async (world) => {
      const { job } = await failingJob(world, rule(action), { receiver: kind });
      for (let n = 0; n < 6; n++) await pass(world, 60_000);
      expect(await countsOf(job)).toMatchObject({ delivered: 10, set_aside: 0, pending: 0 });
      expect([await said(job), await resent(job)]).toEqual([null, 0]);
    });
  }

  for (const kind of variants(RECEIVERS)) {
    row(`${kind} gets ten million bytes, and takes a megabyte at once`, async (world) => {
      const job = await world.createJob({ receiver: kind });
      const control = controlOf(job);
      await arrive(world, world.mint(650, { padding: 15_500 }), 65);
      await control.script([rule({ do: "limit", bytes: 1_000_000 })]);
      for (let n = 0; n < 3; n++) await pass(world, 60_000);
      await expectSettled(world, job, { delivered: 650, set_aside: 0, pending: 0 });
      expect(await resent(job)).toBe(0);
    });
  }

  for (const kind of SOME) {
    row(`${kind} loses an answer, then takes less at once: in doubt, and counted`, async (world) => {
      const { job, control } = await waitingJob(world, { records: 8, receiver: kind });
      // The halves are inserts of their own.
      job.cannotTell = true;
      await control.script([rule({ do: "reset", when: "after" }, POSTS, 1), rule({ do: "limit", records: 4 })]);
      for (let n = 0; n < 6; n++) await pass(world, 60_000);
      expect(await countsOf(job)).toMatchObject({ delivered: 8, pending: 0 });
      // Once whole, and once more in halves.
      expect(await resent(job)).toBe(16);
    });
  }
});

describe("a receiver that tells a repeat for a while", () => {
  for (const [inserts, twice] of [
    [1, 10],
    [100, 0],
  ] as const) {
    row(`clickhouse knows its last ${inserts} inserts, and one is repeated after two`, async (world) => {
      const { job, control } = await waitingJob(world, { receiver: "clickhouse" });
      await control.script([rule({ do: "reset", when: "after" }, POSTS, 1)]);
      await pass(world);
      const [{ key = "" } = {}] = (await control.requests()).filter(({ key }) => !key.includes("/test-"));
      job.cannotTell = twice > 0;
      await control.script([rule({ do: "window", inserts }, POSTS)]);
      // Days of their own: each is an insert, and what was never tried goes first.
      await world.take(world.mint(2, { days: 2 }));
      await world.deliverDue();
      await world.settle();
      expect(await countsOf(job)).toMatchObject({ delivered: 12, pending: 0 });
      const sent = (await control.requests()).filter((request) => request.key === key);
      expect(await resent(job)).toBe(10 * (sent.length - 1));
      expect(await world.audit()).toMatchObject({ doubled: twice });
    });
  }
});

/** What refuses records by themselves, and does not take them later: rows of their own. */
const TAKES_NO_PART: ReadonlySet<string> = new Set(["https", "otlp", "axiom", "splunkevent"]);

describe("the log dies around an answer", () => {
  const scenes: readonly (readonly [name: string, Action | null])[] = [
    ["of success", null],
    ["that takes a part", { do: "refuse", each: 3, status: 429 }],
    ["that divides", { do: "limit", records: 4 }],
    ["that may have taken it", { do: "answer", status: 503, store: true }],
  ];
  const broken = [
    ["settle", PROMPT_BREAKAGES],
    ["put", PROMPT_BREAKAGES],
  ] as const;
  for (const [method, breakages] of broken) {
    for (const [kind, [[name, action], breakage]] of cells(SOME, cells(scenes, breakages))) {
      if (TAKES_NO_PART.has(kind) && action?.do === "refuse") continue;
      row(`before ${kind}, at an answer ${name}: ${breakage} at ${method}()`, async (world) => {
        const { job, control } = await waitingJob(world, { receiver: kind });
        if (action !== null) await control.script([rule(action, POSTS, 1)]);
        // Parts of an insert that may be there have tokens of their own.
        job.cannotTell = kind === "clickhouse" && action?.do === "answer";
        const fault = new Fault(world, Attempts.prototype, method, breakage);
        fault.begin();
        world.clock.advance(30_000);
        await fault.meet(() => world.runAlarms(), "the platform");
        expect(fault.took()).toBe(true);
        await expectSettled(world, job, { received: 10, delivered: 10, pending: 0 });
        // Whatever may have been taken is counted when it is sent again.
        const requests = await posts(control);
        if (requests > 1 && action === null) expect(await resent(job)).toBeGreaterThanOrEqual(10);
      });
    }
  }
});

describe("a job that changes while its receiver fails", () => {
  const fails = rule({ do: "reset", when: "after" }, ALL);
  const refuses = rule({ do: "answer", status: 403 });

  /** Three attempts that fail. */
  async function failing(world: World): Promise<void> {
    for (let n = 0; n < 3; n++) await pass(world, 300_000);
  }

  const rows: readonly ((kind: DialectName) => void)[] = [
    (kind) =>
      row(`${kind} is parked, and the job gets another: all goes there, nothing in doubt`, async (world) => {
        const { job } = await failingJob(world, [refuses], { receiver: kind });
        await failing(world);
        await world.jobs.move(job);
        await world.runAlarms();
        expect([await said(job), await countsOf(job), await resent(job)]).toMatchObject([null, { delivered: 10 }, 0]);
        expect(await controlOf(job).puts()).toHaveLength(1);
      }),
    (kind) =>
      row(
        `${kind} loses answers, and the job gets another at its address: what the first has, it keeps`,
        async (world) => {
          const { job } = await failingJob(world, [fails], { receiver: kind });
          await failing(world);
          const before = await resent(job);
          job.mayBeInBoth = true;
          await world.jobs.move(job);
          await world.runAlarms();
          // By its address it may be the same one with another key: that may be a repeat.
          expect([await countsOf(job), await resent(job)]).toMatchObject([{ delivered: 10 }, before + 10]);
        },
      ),
    (kind) =>
      row(`${kind} loses answers while the job is disabled, enabled and deleted`, async (world) => {
        const { job, control } = await failingJob(world, [fails], { receiver: kind });
        await failing(world);
        await world.jobs.change(job, { enabled: false });
        world.clock.advance(1_000);
        await world.take(world.mint(5));
        world.clock.advance(1_000);
        await world.jobs.change(job, { enabled: true });
        world.clock.advance(1_000);
        await arrive(world, world.mint(5));
        await failing(world);
        expect(await countsOf(job)).toMatchObject({ received: 15, delivered: 0, pending: 15 });
        await world.jobs.remove(job);
        await failing(world);
        await control.script([]);
        await expectSettled(world, job, { received: 15, delivered: 15, pending: 0 });
      }),
    (kind) =>
      row(`${kind} is down, and the job is deleted with what waits`, async (world) => {
        const { job } = await failingJob(world, rule({ do: "answer", status: 503 }, ALL), {
          receiver: kind,
        });
        await failing(world);
        await world.jobs.remove(job, { discard: true });
        await world.runAlarms();
        expect(await countsOf(job)).toMatchObject({ received: 10, delivered: 0, pending: 0, discarded: 10 });
      }),
    (kind) =>
      row(`${kind} and another job's store get the same records, and one is down`, async (world) => {
        const store = await world.createJob();
        const { job, control } = await failingJob(world, rule({ do: "answer", status: 503, store: true }, ALL), {
          receiver: kind,
        });
        await failing(world);
        expect([await countsOf(store), await countsOf(job)]).toMatchObject([{ delivered: 10 }, { pending: 10 }]);
        await control.script([]);
        await world.settle();
        expect(await resent(store)).toBe(0);
      }),
  ];
  for (const [kind, each] of cells(SOME, rows)) each(kind);
});
