/** Stores that refuse a header, forbid overwriting, or refuse one object after another. */
import { describe, expect } from "vitest";
import { cells, variants } from "../support/matrix.ts";
import { destinationConf } from "../support/runtime/api.ts";
import { jobObjects } from "../support/runtime/pipeline.ts";
import type { World } from "../support/runtime/world.ts";
import type { BucketControl } from "../support/s3-control.ts";
import { type Action, type Match, type Rule, rule } from "../support/s3-script.ts";
import { jobRow, OVER_HTTP, row, storeRow } from "./row.ts";
import {
  arrive,
  controlOf,
  countsOf,
  decided,
  failingJob,
  HEADS,
  PUTS,
  pass,
  said,
  viewOf,
  type Waiting,
  waitingJob,
} from "./stores.ts";

const MINUTE_MS = 60_000;

/** Takes ten events more, three times, each delivered at its interval. */
async function threeMore(world: World): Promise<void> {
  for (let n = 0; n < 3; n++) {
    await arrive(world, world.mint(10));
    await pass(world, MINUTE_MS);
  }
}

/** Every object was written once, under its first key. */
async function expectOnce(control: BucketControl, objects: number): Promise<void> {
  const puts = (await control.puts()).filter(({ key }) => key.endsWith(".log.gz"));
  expect(new Set(puts.map(({ key }) => key)).size).toBe(objects);
  expect(puts).toHaveLength(objects);
}

/** What comes later is delivered at its interval as well. */
async function goesOn(world: World, { job, control }: Waiting): Promise<void> {
  await threeMore(world);
  expect(await countsOf(job)).toMatchObject({ delivered: 40, set_aside: 0, pending: 0 });
  await expectOnce(control, 4);
}

describe("a store that refuses a header", () => {
  const refusals: readonly (readonly [status: number, code?: string])[] = [
    [400, "InvalidArgument"],
    [400],
    [405, "MethodNotAllowed"],
    [422, "Unprocessable"],
    [501, "NotImplemented"],
  ];
  const headers: readonly (readonly [header: string, refused: Match])[] = [
    ["If-None-Match", { method: "PUT", conditional: true }],
    ["If-None-Match of objects, though not of the probe", { ...PUTS, conditional: true }],
    ["Content-MD5", { method: "PUT", digest: true }],
  ];
  for (const [[header, refused], [status, code]] of cells(headers, refusals)) {
    const words = code === undefined ? `${status}` : `${status} ${code}`;
    row(`the store answers ${words} to ${header}: sent without, once, and remembered`, async (world) => {
      const { job, control } = await failingJob(world, [
        rule({ do: "answer", status, ...(code !== undefined && { code }) }, refused),
      ]);
      await pass(world);
      expect(await countsOf(job)).toMatchObject({ delivered: 10, set_aside: 0, pending: 0 });
      const found = await decided(control);
      await goesOn(world, { job, control });
      // Of the later objects, nothing was refused.
      expect(await decided(control)).toBe(found);
      expect(await said(job)).toBeNull();
    });
  }

  const puts = (status: number, code: string, match: Match): Rule =>
    rule({ do: "answer", status, code }, { method: "PUT", ...match });
  const wanting: readonly (readonly [fault: string, rules: readonly Rule[]])[] = [
    [
      "the store refuses both headers",
      [puts(400, "InvalidRequest", { conditional: true }), puts(501, "NotImplemented", { digest: true })],
    ],
    [
      "a bucket under retention wants Content-MD5",
      [puts(400, "InvalidRequest", { digest: false }), rule({ do: "create-only" }, { method: "PUT" })],
    ],
  ];
  for (const [fault, rules] of wanting) {
    row(fault, async (world) => {
      const waiting = await failingJob(world, rules);
      await pass(world);
      await goesOn(world, waiting);
    });
  }

  const losses = [
    ["with the connection", { do: "reset", when: "after" }],
    ["behind a proxy", { do: "answer", status: 503, store: true }],
  ] as const satisfies readonly (readonly [string, Action])[];
  for (const [how, lost] of variants(losses)) {
    row(`the store answers 400 to the condition, and loses two answers ${how}`, async (world) => {
      const { job, control } = await failingJob(world, [
        rule(lost, { ...PUTS, conditional: false }, 2),
        rule({ do: "answer", status: 400 }, { method: "PUT", conditional: true }),
      ]);
      for (let n = 0; n < 4; n++) await pass(world, 5 * MINUTE_MS);
      expect(await countsOf(job)).toMatchObject({ delivered: 10, set_aside: 0, pending: 0 });
      await expectOnce(control, 1);
    });
  }

  row("a store that refused Content-MD5 comes to want it", async (world) => {
    const { job, control } = await waitingJob(world);
    const refuses = (digest: boolean) => rule({ do: "answer", status: 400 }, { method: "PUT", digest });
    await control.script([refuses(true)]);
    await pass(world);
    await control.script([refuses(false)]);
    await goesOn(world, { job, control });
  });

  row("a store that does not know the condition becomes another job's: nothing is remembered", async (world) => {
    const { job } = await failingJob(world, [
      rule({ do: "answer", status: 400 }, { method: "PUT", conditional: true }),
    ]);
    await pass(world);
    await world.jobs.move(job);
    await threeMore(world);
    const sent = (await controlOf(job).requests()).filter(({ key }) => key.endsWith(".log.gz"));
    expect(sent.map(({ headers: { "if-none-match": condition } }) => condition)).toEqual(["*", "*", "*"]);
  });
});

describe("a store with ETags of its own that look like MD5, and without metadata", () => {
  const ownEtags = rule({ do: "own-etag" });
  const losses = [
    ["an answer is lost with the connection", { do: "reset", when: "after" }],
    ["an answer is lost behind a proxy", { do: "answer", status: 503, store: true }],
  ] as const satisfies readonly (readonly [string, Action])[];
  for (const [how, lost] of variants(losses)) {
    storeRow(`${how}: the object is read back, and is there once`, OVER_HTTP, async (world) => {
      const { job, control } = await failingJob(world, [ownEtagsOnHead(), rule(lost, PUTS, 1), ownEtags]);
      for (let n = 0; n < 6; n++) await pass(world, 2 * MINUTE_MS);
      await goesOn(world, { job, control });
      expect(await jobObjects(job.id)).toMatchObject([{ number: 1, verified: true }, {}, {}, {}]);
    });

    row(`${how}, and it may not be read: it is there once, unverified`, async (world) => {
      const { job, control } = await waitingJob(world);
      const forbidden = rule({ do: "answer", status: 403, code: "AccessDenied" }, { method: "GET" });
      await control.script([forbidden, ownEtagsOnHead(), rule(lost, PUTS, 1), ownEtags]);
      for (let n = 0; n < 6; n++) await pass(world, 2 * MINUTE_MS);
      expect(await countsOf(job)).toMatchObject({ delivered: 10, pending: 0 });
      expect(await jobObjects(job.id)).toMatchObject([{ number: 1, verified: false }]);
      await expectOnce(control, 1);
    });

    row(`${how}, and reading back breaks off for an hour`, async (world) => {
      const { job, control } = await waitingJob(world);
      const broken = rule({ do: "reset", when: "before" }, { method: "GET" });
      await control.script([broken, ownEtagsOnHead(), rule(lost, PUTS, 1), ownEtags]);
      for (let n = 0; n < 6; n++) await pass(world, 10 * MINUTE_MS);
      expect(await countsOf(job)).toMatchObject({ delivered: 0, pending: 10 });
      expect(await said(job)).toMatch(/connection failed to GET; logship is retrying/);
      await control.script([ownEtags]);
      for (let n = 0; n < 6; n++) await pass(world, 10 * MINUTE_MS);
      expect(await countsOf(job)).toMatchObject({ delivered: 10, pending: 0 });
      await expectOnce(control, 1);
    });
  }
});

describe("keys that may only be created", () => {
  for (const status of variants([403, 409, 412])) {
    storeRow(`a second PUT is answered ${status}, and an answer is lost`, OVER_HTTP, async (world) => {
      const { job, control } = await failingJob(world, [
        rule({ do: "reset", when: "after" }, PUTS, 1),
        rule({ do: "create-only", status }, { method: "PUT" }),
      ]);
      for (let n = 0; n < 3; n++) await pass(world, 5 * MINUTE_MS);
      // The probe stands there, too: a change of the job does not overwrite it.
      await world.jobs.change(job, { destination_conf: destinationConf(job.buckets[0]?.name ?? "", job.path) });
      await goesOn(world, { job, control });
    });
  }
});

describe("a store that refuses one object after another, and takes the probe", () => {
  const refusals = [
    [400, "InvalidArgument"],
    [413, "EntityTooLarge"],
  ] as const;
  for (const [status, code] of variants(refusals)) {
    jobRow(`with ${status} ${code}: one is set aside, the others are parked`, async (world, job) => {
      const control = controlOf(job);
      const events = world.mint(30, { days: 3 });
      await arrive(world, events);
      await control.script([rule({ do: "answer", status, code }, PUTS)]);
      for (let hours = 0; hours < 24; hours++) {
        await pass(world, 60 * MINUTE_MS);
        expect(await countsOf(job)).toMatchObject({ delivered: 0, set_aside: 10, pending: 20 });
        expect(await said(job)).toMatch(
          new RegExp(`^delivery paused: HTTP ${status} ${code} to one object after another;`),
        );
      }
      const aside = (await jobObjects(job.id)).find(({ state }) => state === "set_aside");
      const key = aside?.key ?? "";
      world.jobs.setAside(
        job,
        events.filter(({ day }) => key.includes(`/${day}/`)),
      );
      await control.script([]);
      await pass(world, 5 * MINUTE_MS);
      expect(await countsOf(job)).toMatchObject({ delivered: 20, set_aside: 10, pending: 0 });
      expect(await viewOf(job)).toMatchObject({ error_message: null });
    });
  }

  jobRow("two objects are wrong themselves: each is set aside, and the others pass them", async (world, job) => {
    const control = controlOf(job);
    const events = world.mint(40, { days: 4 });
    await arrive(world, events);
    const wrong = ["21001121", "21001122"];
    const refused = wrong.map((day) =>
      rule({ do: "answer", status: 413, code: "EntityTooLarge" }, { ...PUTS, keyIncludes: `/${day}/` }),
    );
    await control.script(refused);
    for (let n = 0; n < 6; n++) await pass(world, 5 * MINUTE_MS);
    await arrive(world, world.mint(5));
    for (let n = 0; n < 6; n++) await pass(world, 5 * MINUTE_MS);
    expect(await countsOf(job)).toMatchObject({ delivered: 25, set_aside: 20, pending: 0 });
    world.jobs.setAside(
      job,
      events.filter(({ day }) => wrong.includes(day)),
    );
  });
});

function ownEtagsOnHead(): Rule {
  return rule({ do: "own-etag" }, HEADS);
}
