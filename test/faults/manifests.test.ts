/** Manifests: the log dies, refuses or loses answers around each step; stores do what stores do. */
import { describe, expect } from "vitest";
import { JobReader, SketchStore } from "../../src/index.ts";
import { Manifests } from "../../src/ship/reader/manifests.ts";
import { listed, listedIn, manifestsIn, signWith, verified } from "../ship/reader/manifest-world.ts";
import { cells, variants } from "../support/matrix.ts";
import { PROMPT_BREAKAGES } from "../support/runtime/breakage.ts";
import type { World } from "../support/runtime/world.ts";
import { type Action, rule } from "../support/s3-script.ts";
import { Fault } from "./fault.ts";
import { row } from "./row.ts";
import { arrive, controlOf, pass } from "./stores.ts";

const DAY_MS = 86_400_000;
const PUT = { method: "PUT", keyIncludes: "_logship" };

/** The cron runs, and all that it begins comes to its end. */
async function cron(world: World): Promise<void> {
  await world.runCron();
  for (const { id } of world.jobs.all) await listed(id).catch(() => {});
}

/** Events of three days are shipped and listed, and come late afterwards. */
async function archived(world: World, begin: () => void): Promise<void> {
  signWith(1);
  await world.createJob();
  await arrive(world, world.mint(30, { days: 3 }), 10);
  await pass(world, 60_000);
  world.clock.advance(DAY_MS);
  begin();
  for (let turn = 0; turn < 3; turn++) {
    await cron(world);
    world.clock.advance(3_600_000);
    await arrive(world, world.mint(6, { days: 2, at: world.clock.nowMs() - DAY_MS }), 3);
    await world.runAlarms().catch(() => {});
  }
}

/** Every object that was shipped is listed once, no manifest is written twice, all verifies. */
async function isProven(world: World, isRepaired = false): Promise<void> {
  signWith(1);
  for (let day = 0; day < 4; day++) {
    world.clock.advance(DAY_MS);
    await cron(world);
  }
  for (const job of world.jobs.all) {
    const control = controlOf(job);
    const twice = (await control.puts()).filter(({ key, version }) => key.includes("_logship") && version > 1);
    // What the store kept half of is sent over it.
    if (!isRepaired) expect(twice).toEqual([]);
    const shipped = (await control.objects()).filter(({ key }) => key.endsWith(".log.gz")).map(({ key }) => key);
    expect(Object.keys(await listedIn(control)).sort()).toEqual(shipped.sort());
    expect((await manifestsIn(control)).map(({ chain }) => chain.position)).toEqual(
      (await manifestsIn(control)).map((_, i) => i + 1),
    );
    expect(await verified(control, world.clock.nowMs())).toMatchObject({ said: [], open: 0, objects: shipped.length });
    const named = (await manifestsIn(control)).flatMap(({ sketches = [] }) => sketches);
    expect(named.reduce((sum, { objects }) => sum + objects, 0)).toBeGreaterThanOrEqual(shipped.length);
  }
}

describe("the log", () => {
  const STEPS = [
    [Manifests.prototype, "step", "fixes", 2],
    [Manifests.prototype, "step", "writes", 3],
    [Manifests.prototype, "settle", "has written", 0],
    [JobReader.prototype, "deliveries", "counts for", 1],
    [JobReader.prototype, "deliveredOn", "lists for", 0],
    [SketchStore.prototype, "seal", "groups sketches for", 0],
    [SketchStore.prototype, "read", "sends a sketch for", 0],
    [SketchStore.prototype, "moved", "has sent a sketch for", 0],
  ] as const;
  for (const [[prototype, method, what, after], breakage] of cells(STEPS, PROMPT_BREAKAGES)) {
    row(
      `the log: ${breakage} as it ${what} a manifest`,
      async (world) => {
        const fault = new Fault(world, prototype, method, breakage);
        await archived(world, () => fault.begin(after));
        expect(fault.took()).toBe(true);
      },
      (world) => isProven(world),
    );
  }
});

describe("the store", () => {
  /** The most telling first. */
  const ACTIONS: readonly (readonly [words: string, action: Action])[] = [
    ["loses the answer to a manifest", { do: "reset", when: "after" }],
    ["refuses a manifest for good", { do: "answer", status: 403, code: "AccessDenied" }],
    ["keeps half of a manifest", { do: "truncate" }],
    ["takes a manifest and has none", { do: "discard" }],
    ["refuses a manifest itself", { do: "answer", status: 400, code: "InvalidRequest" }],
    ["refuses a manifest for now", { do: "answer", status: 503 }],
    ["breaks off within a manifest", { do: "reset", when: "during" }],
  ];
  for (const [words, action] of variants(ACTIONS, 5)) {
    const run = async (world: World): Promise<void> => {
      await archived(world, () => {});
      const [job] = world.jobs.all;
      if (job === undefined) throw new Error("there is no job");
      await controlOf(job).script([rule(action, PUT, 2)]);
      world.clock.advance(DAY_MS);
      for (let turn = 0; turn < 4; turn++) {
        await cron(world);
        world.clock.advance(3_600_000);
      }
      const asked = await controlOf(job).requests();
      if (asked.some(({ action: met }) => met === action.do)) world.injected();
    };
    row(`the store ${words}`, run, (world) => isProven(world, action.do === "truncate"));
  }
});
