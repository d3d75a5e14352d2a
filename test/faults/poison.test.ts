/**
 * One record that a destination fails on, however it says so: what is with it, or beside it, is
 * delivered within five minutes, and it alone is set aside. Where everything fails, nothing is.
 */
import { describe, expect } from "vitest";
import { cells, variants } from "../support/matrix.ts";
import { api, azureConf, boundConf, googleConf } from "../support/runtime/api.ts";
import { jobObjects } from "../support/runtime/pipeline.ts";
import { bindToEndpoint } from "../support/runtime/r2-over-fetch.ts";
import type { World } from "../support/runtime/world.ts";
import type { WorldJob } from "../support/runtime/world-jobs.ts";
import { type Action, rule } from "../support/s3-script.ts";
import { asideOf } from "./aside.ts";
import { RECEIVERS, resent } from "./receivers.ts";
import { row } from "./row.ts";
import { arrive, controlOf, countsOf, pass, said } from "./stores.ts";

/** Stands in the record. The receivers themselves have nothing against it. */
const VENOM = "venom";
const FIVE_MINUTES_MS = 300_000;
const STEP_MS = 10_000;

/** What is answered; what status and answer show it by; whether what was sent may be there. */
const SPELLINGS: readonly (readonly [name: string, action: Action, words: RegExp, mayBe: boolean])[] = [
  ["500", { do: "answer", status: 500, body: "column Outcome: no such value" }, /HTTP 500/, true],
  ["429", { do: "answer", status: 429, body: "rate of this record exceeded" }, /HTTP 429/, false],
  ["with a reset", { do: "reset", when: "during" }, /connection failed/, true],
  ["400", { do: "answer", status: 400, body: "cannot parse" }, /HTTP 400/, false],
  ["413", { do: "answer", status: 413 }, /HTTP 413/, false],
  ["403", { do: "answer", status: 403, body: "blocked by a firewall" }, /HTTP 403/, false],
];

/** Lets five minutes pass in steps. @param each before every step. */
async function fiveMinutes(world: World, each?: () => Promise<void>): Promise<void> {
  for (let ms = 0; ms < FIVE_MINUTES_MS; ms += STEP_MS) {
    await each?.();
    await pass(world, STEP_MS);
  }
}

/** All but one record are delivered, and it is set aside by itself; then it is deleted. */
async function expectAlone(world: World, job: WorldJob, words: RegExp, records = 1): Promise<void> {
  const { received, ...counts } = await countsOf(job);
  expect(counts).toMatchObject({ delivered: received - records, set_aside: records, pending: 0 });
  const [aside, ...others] = await asideOf(job);
  expect(others).toEqual([]);
  expect(aside).toMatchObject({ records, why: expect.stringMatching(words) });
  await world.audit();
  expect((await api("DELETE", `/logship/set-aside/${aside?.id}`)).status).toBe(200);
  job.leftOut = { discarded: records };
}

describe("one record among a thousand, which a receiver fails on", () => {
  for (const [kind, [name, action, words, mayBe]] of cells(RECEIVERS, variants(SPELLINGS, 4))) {
    row(`${kind} answers it ${name}: it alone is set aside`, async (world) => {
      const job = await world.createJob({ receiver: kind });
      await controlOf(job).script([rule(action, { holds: VENOM })]);
      const poison = world.mint(1, { scriptName: VENOM });
      const good = world.mint(999);
      await arrive(world, [...good.slice(0, 371), ...poison, ...good.slice(371)], 100);
      await fiveMinutes(world);
      world.injected();
      world.jobs.setAside(job, poison);
      // Nothing of it was taken: only what an answer leaves open is in doubt.
      if (!mayBe && kind !== "loki") expect(await resent(job)).toBe(0);
      await expectAlone(world, job, words);
    });
  }
});

describe("one record among others, which a destination fails on", () => {
  for (const [kind, [name, action, words]] of cells(RECEIVERS, variants(SPELLINGS, 3))) {
    row(`${kind} answers it ${name}, while others arrive: it alone is set aside`, async (world) => {
      const job = await world.createJob({ receiver: kind });
      await controlOf(job).script([rule(action, { holds: VENOM })]);
      const poison = world.mint(1, { scriptName: VENOM });
      await arrive(world, [...world.mint(20), ...poison]);
      await fiveMinutes(world, () => arrive(world, world.mint(2)));
      await pass(world, 60_000);
      world.injected();
      world.jobs.setAside(job, poison);
      await expectAlone(world, job, words);
    });
  }

  const stores = [
    ["s3", null],
    ["a bound bucket", boundConf],
    ["a bucket of Google", googleConf],
    ["a container of Azure", azureConf],
  ] as const;
  for (const [[kind, conf], [name, action, words]] of cells(stores, variants(SPELLINGS, 3))) {
    row(`${kind} answers its object ${name}, while others arrive: it is set aside whole`, async (world, context) => {
      if (conf === boundConf) context.onTestFinished(bindToEndpoint());
      if (conf !== null) world.jobs.conf = conf;
      const job = await world.createJob();
      await controlOf(job).script([rule(action, { holds: VENOM })]);
      const object = [...world.mint(4), ...world.mint(1, { scriptName: VENOM })];
      await arrive(world, object);
      await fiveMinutes(world, () => arrive(world, world.mint(2)));
      await pass(world, 60_000);
      world.injected();
      world.jobs.setAside(job, object);
      // A bound bucket has no status.
      await expectAlone(world, job, kind === "a bound bucket" ? /./ : words, 5);
    });
  }
});

describe("a destination that fails on everything, for an hour", () => {
  for (const [kind, [name, action]] of cells([null, ...RECEIVERS], variants(SPELLINGS, 2))) {
    row(`${kind ?? "s3"} answers ${name}: nothing is taken apart, and nothing set aside`, async (world) => {
      const job = await world.createJob(kind === null ? {} : { receiver: kind });
      await arrive(world, world.mint(20));
      await pass(world);
      await controlOf(job).script([rule(action)]);
      await arrive(world, world.mint(20));
      for (let n = 0; n < 20; n++) await pass(world, 180_000);
      expect(await countsOf(job)).toMatchObject({ delivered: 20, set_aside: 0, pending: 20 });
      expect(await said(job)).not.toBeNull();
      expect(await jobObjects(job.id)).toMatchObject([{ state: "delivered" }, { state: "waiting" }]);
      await controlOf(job).script([]);
      await world.jobs.change(job, { name: "mended" });
      await world.settle();
      expect(await countsOf(job)).toMatchObject({ delivered: 40, pending: 0 });
      expect(await said(job)).toBeNull();
    });
  }
});
