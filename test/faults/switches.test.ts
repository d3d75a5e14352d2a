/**
 * A function's logging is switched, jobs are created, and keys are rotated or lost, all with events
 * on their way.
 */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, vi } from "vitest";
import type { Settings } from "../../src/config.ts";
import { ControlPlane, TraceLog } from "../../src/index.ts";
import { nodeAt } from "../../src/ship/reader/job-nodes.ts";
import { variants } from "../support/matrix.ts";
import { api } from "../support/runtime/api.ts";
import type { World } from "../support/runtime/world.ts";
import type { WorldJob } from "../support/runtime/world-jobs.ts";
import { rule } from "../support/s3-script.ts";
import { jobRow, row } from "./row.ts";
import { arrive, controlOf, countsOf, expectSettled, PUTS, pass, said } from "./stores.ts";

/** No event is taken in this close to a switch, in ms. */
const CLOCKS_MS = 1_000;

/** Five events from each of two functions, in messages of two. */
async function take(world: World): Promise<void> {
  const [shop, till] = [world.mint(5), world.mint(5, { scriptName: "till" })];
  await world.take(
    shop.flatMap((event, i) => [event, till[i] ?? event]),
    2,
  );
}

/** From now on, the isolate learns of changes only from the log. */
function isolateFromControl(world: World): void {
  const { configSince, join } = ControlPlane.prototype;
  let isLog = false;
  vi.spyOn(ControlPlane.prototype, "join").mockImplementation(function (this: ControlPlane, ...asked) {
    isLog = true;
    try {
      return join.apply(this, asked);
    } finally {
      isLog = false;
    }
  });
  vi.spyOn(ControlPlane.prototype, "configSince").mockImplementation(function (this: ControlPlane, state) {
    if (isLog) return configSince.call(this, state);
    world.injected();
    throw new Error("out of reach");
  });
}

/** Events come before a change and after it. */
async function around<T>(world: World, change: () => Promise<T>): Promise<T> {
  await take(world);
  world.clock.advance(CLOCKS_MS);
  const done = await change();
  world.injected();
  world.clock.advance(CLOCKS_MS);
  await take(world);
  return done;
}

for (const consumer of ["current", "stale"] as const) {
  const words = consumer === "stale" ? "; the consumer does not learn of it from the control plane" : "";

  /** Starts an isolate that has read the current configuration. */
  const warm = async (world: World): Promise<void> => {
    world.coldIsolate();
    await world.runCron();
    if (consumer === "stale") isolateFromControl(world);
  };

  describe(`a consumer whose configuration is ${consumer}`, () => {
    row(`logging of a function is switched off with events in the queue${words}`, async (world) => {
      const jobs = [await world.createJob(), await world.createJob()];
      await warm(world);
      await around(world, () => world.jobs.setLogging("till", false));
      await world.deliverDue();
      await world.settle();
      // All ten events from before the switch are delivered, and five from after it.
      for (const job of jobs) expect(await countsOf(job)).toMatchObject({ received: 15, delivered: 15 });
      expect(await world.accountCounts()).toMatchObject({ processed: 20, routed: 15, not_enabled: 5 });
    });

    row(`logging of a function is switched off, and on again, with events in the queue${words}`, async (world) => {
      const job = await world.createJob();
      await warm(world);
      for (const on of [false, true, false, true]) {
        await take(world);
        world.clock.advance(CLOCKS_MS);
        await world.jobs.setLogging("till", on);
        world.injected();
        world.clock.advance(CLOCKS_MS);
      }
      await take(world);
      await expectSettled(world, job, { received: 40, delivered: 40 });
      expect(await world.accountCounts()).toMatchObject({ processed: 50, routed: 40, not_enabled: 10 });
    });

    jobRow(`logging of a function is switched off while its events are in a log${words}`, async (world, job) => {
      world.coldIsolate();
      await world.runCron();
      await take(world);
      await world.deliverDue();
      if (consumer === "stale") isolateFromControl(world);
      await world.jobs.setLogging("till", false);
      world.injected();
      world.clock.advance(CLOCKS_MS);
      await take(world);
      await expectSettled(world, job, { received: 15, delivered: 15 });
    });

    row(`a job is created with events in the queue${words}: it gets those that came after`, async (world) => {
      const first = await world.createJob();
      await warm(world);
      const second = await around(world, () => world.createJob());
      await world.deliverDue();
      expect([(await countsOf(first)).received, (await countsOf(second)).received]).toEqual([20, 10]);
    });

    row(`the only job is created after an isolate saw that there is none${words}`, async (world) => {
      await warm(world);
      const job = await around(world, () => world.createJob());
      await world.deliverDue();
      expect((await countsOf(job)).received).toBe(10);
      expect(await world.accountCounts()).toMatchObject({ processed: 20, routed: 10, not_routed: 10 });
    });
  });
}

describe("a change that the log does not learn of", () => {
  jobRow("a job is disabled and the log does not confirm it: said, and brought there later", async (world, job) => {
    await world.take(world.mint(5));
    const spy = vi.spyOn(TraceLog.prototype, "configure").mockImplementation(() => {
      world.injected();
      throw new Error("out of reach");
    });
    world.clock.advance(CLOCKS_MS);
    const { status, body } = await api("PUT", `/logship/jobs/${job.id}`, { enabled: false });
    expect([status, body.errors[0]?.code]).toEqual([503, 1053]);
    spy.mockRestore();
    job.enabled = false;
    await pass(world, 10_000);
    world.clock.advance(CLOCKS_MS);
    await world.take(world.mint(5));
    await expectSettled(world, job, { received: 5, delivered: 5 });
  });
});

describe("keys", () => {
  const settings: Settings = env;
  const base64 = (fill: number): string => btoa(String.fromCharCode(...new Uint8Array(32).fill(fill)));

  /** Restarts the log with other secrets, as a deployment does. */
  async function redeploy(job: WorldJob, secrets: Readonly<Record<string, string>>): Promise<void> {
    await runInDurableObject(nodeAt(env.READERS, job.id, 0), (log) => {
      Object.defineProperty(log, "env", { value: { ...env, ...secrets }, configurable: true });
    });
  }

  /** A job with its records in the log. */
  async function waiting(world: World, conf?: string): Promise<WorldJob> {
    const job = await world.createJob();
    if (conf !== undefined) await world.jobs.change(job, { destination_conf: conf });
    await arrive(world, world.mint(10));
    return job;
  }

  row("the key is rotated: the previous one still opens", async (world) => {
    const job = await waiting(world);
    await redeploy(job, { SECRETS_KEY: base64(9), SECRETS_KEY_PREVIOUS: settings.SECRETS_KEY ?? "" });
    world.injected();
    await pass(world);
    expect([await said(job), (await countsOf(job)).delivered]).toEqual([null, 10]);
  });

  const losses = [
    ["is another one", { SECRETS_KEY: base64(9) }, /neither SECRETS_KEY nor SECRETS_KEY_PREVIOUS opens/],
    ["is gone", { SECRETS_KEY: "" }, /configuration: SECRETS_KEY: base64 of 32 random bytes/],
    ["is a typo", { SECRETS_KEY: "hunter2" }, /configuration: SECRETS_KEY: base64 of 32 random bytes/],
    ["is well, but its neighbour is not", { OBJSTORE_ENDPOINT: "ftp://x" }, /configuration: OBJSTORE_ENDPOINT/],
  ] as const;
  for (const [name, secrets, words] of variants(losses, 2)) {
    row(`the key ${name} for a day: the job is parked, and goes on with the key`, async (world) => {
      const job = await waiting(world);
      await redeploy(job, secrets);
      for (let hours = 0; hours < 24; hours++) {
        await pass(world, 3_600_000);
        expect(await said(job)).toMatch(words);
        expect(await said(job)).toMatch(/^delivery paused: /);
        expect(await said(job)).not.toContain("hunter2");
        expect(await countsOf(job)).toMatchObject({ delivered: 0, pending: 10 });
        world.injected();
      }
      await redeploy(job, {});
      await pass(world, 300_000);
      expect([await said(job), (await countsOf(job)).delivered]).toEqual([null, 10]);
    });
  }

  jobRow("the secret that a destination names is gone for a day", async (world, job) => {
    const bucket = job.buckets[0]?.name ?? "";
    const endpoint = encodeURIComponent(settings.OBJSTORE_ENDPOINT ?? "");
    const conf = `s3://${bucket}/logs/{DATE}?region=auto&endpoint=${endpoint}&credentials=env:DEST_TEST`;
    await world.jobs.change(job, { destination_conf: conf });
    await arrive(world, world.mint(10));
    await redeploy(job, { DEST_TEST: "" });
    for (let hours = 0; hours < 24; hours++) {
      await pass(world, 3_600_000);
      expect(await said(job)).toMatch(/^delivery paused: .*DEST_TEST/);
      expect(await countsOf(job)).toMatchObject({ delivered: 0, pending: 10 });
      world.injected();
    }
    await redeploy(job, {});
    await pass(world, 300_000);
    expect([await said(job), (await countsOf(job)).delivered]).toEqual([null, 10]);
  });

  jobRow("the key is lost, and its owner sends the destination again", async (world, job) => {
    await arrive(world, world.mint(10));
    await controlOf(job).script([rule({ do: "answer", status: 503 }, PUTS, 1)]);
    await pass(world);
    const log = nodeAt(env.READERS, job.id, 0);
    await runInDurableObject(log, (_log, { storage: { sql } }) => {
      const config = JSON.parse(String(sql.exec("SELECT job FROM reader").one().job)) as object;
      sql.exec("UPDATE reader SET job = ?", JSON.stringify({ ...config, destination: "1.AAAA.AAAA" }));
    });
    await pass(world, 300_000);
    expect(await said(job)).toMatch(/^delivery paused: neither SECRETS_KEY/);
    await world.jobs.move(job);
    await world.runAlarms();
    expect([await said(job), (await countsOf(job)).delivered]).toEqual([null, 10]);
  });
});
