import { vi } from "vitest";
import { platform } from "../../src/platform.ts";
import { NOON } from "../support/runtime/pipeline.ts";
import { type Summary, World } from "../support/runtime/world.ts";
import { DEEDS, type Scene } from "./actions.ts";
import { Breakdowns } from "./breakdowns.ts";
import { anyJob } from "./job-kinds.ts";
import { Random } from "./random.ts";

/** Steps of the trace that a failure shows. */
const TRACE_SHOWN = 60;

/**
 * One episode: a service with a few jobs, to which things happen at random for some simulated hours or days; then the faults stop, what waits settles, everything
 * is audited, and a fresh event has to flow. The same seed draws the same things in the same order.
 * @throws with the last steps, if anything is lost, twice, altered, or does not add up, at any moment.
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
  };
  // Whatever isolates have read in an earlier episode is of another account.
  world.coldIsolate();
  scene.isolates.push(world.isolate);
  world.jobs.tries = 30;
  const trace: string[] = [];
  try {
    vi.spyOn(platform, "random").mockImplementation(() => random.next());
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
    // Clients repeat what was not acknowledged.
    for (const { events, ...how } of scene.repeats) await world.take(events, events.length, how);
    return await world.finish();
  } catch (error) {
    const shown = trace.slice(-TRACE_SHOWN);
    throw new Error(`${error instanceof Error ? error.message : String(error)}\n\n${shown.join("\n")}`, {
      cause: error,
    });
  } finally {
    for (const { buckets } of world.jobs.all) for (const { control } of buckets) await control.forget();
  }
}
