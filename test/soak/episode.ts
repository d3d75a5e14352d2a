import { vi } from "vitest";
import { platform } from "../../src/base/platform.ts";
import { EXTRA_FIELDS } from "../../src/formats/record/fields.ts";
import { listed, signWith, verified } from "../ship/reader/manifest-world.ts";
import { NOON } from "../support/runtime/pipeline.ts";
import { type Summary, World } from "../support/runtime/world.ts";
import { DEEDS, type Scene, sendAgain } from "./actions.ts";
import { Breakdowns } from "./breakdowns.ts";
import { Copies } from "./copies.ts";
import { anyJob } from "./job-kinds.ts";
import { Random } from "./random.ts";

/** Steps of the trace that a failure shows. */
const TRACE_SHOWN = 60;

/** More than an episode ever sets aside. */
const ASIDE_MAX = 100;

const DAY_MS = 86_400_000;

const OBJECT = /\.(?:log\.gz|parquet)$/;

/** Days are over. Then a stranger finds every object of each store in manifests, and no other. */
async function isProven(world: World): Promise<void> {
  // The end of the faults has restored every mock.
  signWith(1);
  for (let day = 0; day < 4; day++) {
    world.clock.advance(DAY_MS);
    await world.runCron();
    await world.runAlarms();
    for (const { id } of world.jobs.all) await listed(id);
  }
  for (const { id, buckets, receiver } of world.jobs.all) {
    if (receiver !== null) continue;
    for (const { control } of buckets) {
      const keys = (await control.contents()).map(({ key }) => key);
      const isLeft = control !== buckets.at(-1)?.control;
      // A job lists what it ships where it ships then: one that moved before has none here.
      if (!keys.some((key) => key.includes("_logship/")) && (isLeft || keys.every((key) => !OBJECT.test(key))))
        continue;
      const { said } = await verified(control, world.clock.nowMs());
      if (said.length > 0) throw new Error(`the archive of job ${id}: ${said.join("; ")}`);
    }
  }
}

/**
 * One episode: a service with a few jobs and random actions for some simulated hours or days. Then
 * the faults stop, waiting records settle, everything is audited, and a fresh event has to be
 * delivered. The same seed draws the same actions in the same order.
 * @throws with the last steps if anything is lost, duplicated or altered, or does not add up, at
 * any moment.
 */
export async function episode(seed: number): Promise<Summary> {
  const random = new Random(seed);
  const world = new World(NOON);
  const scene: Scene = {
    world,
    random,
    breakdowns: new Breakdowns(world, random),
    repeats: [],
    isolates: [],
    keys: 0,
    copies: new Copies(world),
  };
  // A third of them take extra fields, which no job ships: its records are what they were.
  if (seed % 3 === 0) Object.assign(world.env, { EXTRA_FIELDS: EXTRA_FIELDS.join() });
  // Isolates of an earlier episode have the configuration of another account.
  world.coldIsolate();
  scene.isolates.push(world.isolate);
  world.jobs.tries = 30;
  const trace: string[] = [];
  try {
    vi.spyOn(platform, "random").mockImplementation(() => random.next());
    // A quarter of them sign what they ship.
    const isSigned = seed % 4 === 1;
    if (isSigned) signWith(1);
    for (let i = random.int(1, 3); i > 0; i--) await world.createJob(anyJob(random));
    scene.breakdowns.install();
    for (let steps = random.int(30, 120); steps > 0; steps--) {
      const deed = random.weighted(DEEDS);
      const at = new Date(world.clock.nowMs()).toISOString();
      trace.push(`${at} ${deed.name} …`);
      const words = await deed.run(scene);
      if (words === null) trace.pop();
      else trace[trace.length - 1] = `${at} ${deed.name} ${words}`;
      await world.checkBalances();
    }
    trace.push("the faults stop");
    await world.mend();
    // Clients repeat requests that were not acknowledged.
    for (const { events, ...how } of scene.repeats) await world.take(events, events.length, how);
    await world.settle();
    // And they send again what was set aside.
    for (let tries = 0; ; tries++) {
      const sent = await sendAgain(0);
      if (sent === null) break;
      if (tries > ASIDE_MAX) throw new Error(`something stays set aside: ${sent}`);
      await world.settle();
    }
    await scene.copies.finish();
    if (isSigned) await isProven(world);
    return await world.finish();
  } catch (error) {
    const shown = trace.slice(-TRACE_SHOWN);
    throw new Error(`${error instanceof Error ? error.message : String(error)}\n\n${shown.join("\n")}`, {
      cause: error,
    });
  } finally {
    for (const { buckets } of world.jobs.all) for (const { control } of buckets) await control.forget();
    await scene.copies.forget();
  }
}
