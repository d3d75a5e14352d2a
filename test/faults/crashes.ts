/**
 * Scenes in which a step of a durable object dies, refuses, loses its answer or hangs.
 * crashes-*.test.ts have a row for each.
 */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { encodeUtf8 } from "../../src/base/bytes.ts";
import { TraceLog } from "../../src/index.ts";
import { controlPlane } from "../../src/state/control/plane.ts";
import { cells } from "../support/matrix.ts";
import { BREAKAGES, type Breakage, breakable, firstCalls } from "../support/runtime/breakage.ts";
import type { World } from "../support/runtime/world.ts";
import type { JobOptions } from "../support/runtime/world-jobs.ts";
import { Fault, type Patience } from "./fault.ts";
import { largeEvent } from "./large-event.ts";
import { row } from "./row.ts";
import { arrive, deliver } from "./stores.ts";

/** Runs a world in which a step breaks. `fault.begin()` sets the start of the fault. */
type Scene = (world: World, fault: Fault) => Promise<void>;

const WORDS: Record<Breakage, string> = {
  refused: "refuses",
  lost: "loses the answer of",
  "dies before": "dies before",
  "dies after": "dies after",
  "dies after, on disk": "dies, with all of it on disk, after",
  hangs: "hangs in",
  late: "never answers for",
};

/** A method of a durable object, or of a part of it, and the scene in which it breaks. */
interface Step {
  readonly prototype: object;
  readonly method: string;
  readonly scene: Scene;
  readonly breakages: readonly Breakage[];
  /** What tells its rows from those of the same method in another scene. */
  readonly words: string;
}

/** Steps that break in the same scene. */
export function steps<T extends object>(
  { prototype }: { prototype: T },
  methods: readonly (keyof T & string)[],
  scene: Scene,
  breakages: readonly Breakage[] = BREAKAGES,
  words = "",
): Step[] {
  return methods.map((method) => ({ prototype, method, scene, breakages, words }));
}

/** One row for each breakage of each step of a part of the service. */
export function rows(name: string, all: readonly Step[]): void {
  for (const [{ prototype, method, scene, breakages, words }, breakage] of cells(all, BREAKAGES)) {
    if (!breakages.includes(breakage)) continue;
    row(
      `the ${name} ${WORDS[breakage]} ${method}()${words}`,
      async (world) => {
        const fault = new Fault(world, prototype, method, breakage);
        await scene(world, fault);
        expect(fault.took()).toBe(true);
      },
      expectStoredOnce,
    );
  }
}

/** Expects every key to be written once; a second write fails even with the same bytes. */
async function expectStoredOnce(world: World): Promise<void> {
  for (const { buckets } of world.jobs.all) {
    for (const { control } of buckets) {
      const twice = (await control.puts()).filter(({ key, version }) => key.endsWith(".log.gz") && version > 1);
      expect(twice).toEqual([]);
    }
  }
}

/** LOG_SHARDS is raised and lowered; each message comes twice, and some of it late. */
export const resharded: Scene = async (world, fault) => {
  await world.createJob();
  await world.take(world.mint(10));
  fault.begin();
  for (const shards of ["4", "2", "1"]) {
    Object.assign(world.env, { LOG_SHARDS: shards });
    world.coldIsolate();
    await world.take(world.mint(40, { days: 2 }), 5);
    const messages = [...world.queue.held];
    await fault.meet(() => deliver(world, messages.slice(0, 6), () => true));
    world.clock.advance(60_000);
    await fault.meet(() => deliver(world, messages));
    await fault.meet(() => world.runAlarms(), "the platform");
  }
};

/** Messages come late: the log is told of them before anything else. */
export const late: Scene = async (world, fault) => {
  await world.createJob();
  await world.take(world.mint(40, { days: 2 }), 10);
  const messages = [...world.queue.held];
  world.clock.advance(120_000);
  fault.begin();
  await fault.meet(() => world.deliverDue());
  world.clock.advance(300_000);
  await fault.meet(() => deliver(world, messages));
};

/** Events are taken in, appended, cut and uploaded; the queue delivers them a second time. */
export const shipped =
  (ends: Patience, options: JobOptions = {}): Scene =>
  async (world, fault) => {
    world.coldIsolate();
    await world.createJob(options);
    await arrive(world, world.mint(10));
    await world.take([...world.mint(40, { days: 3 }), largeEvent(world)], 10);
    const messages = [...world.queue.held];
    fault.begin();
    await fault.meet(() => world.deliverDue(), ends);
    await fault.meet(() => deliver(world, messages), ends);
    world.clock.advance(60_000);
    await fault.meet(() => world.runAlarms(), ends);
    await world.take(world.mint(20, { days: 2 }), 10);
    await fault.meet(() => world.deliverDue(), ends);
  };

/** Records are waiting when the cron runs. */
export const swept: Scene = async (world, fault) => {
  await world.createJob();
  await arrive(world, world.mint(40, { days: 3 }), 10);
  world.clock.advance(300_000);
  fault.begin();
  await fault.meet(() => world.runCron());
};

/**
 * Events before and after changes to a job and to a function's logging. The client repeats each
 * change until it is confirmed.
 */
export const changed: Scene = async (world, fault) => {
  world.jobs.tries = 5;
  await runInDurableObject(controlPlane(env.CONTROL), ({ patience }) => {
    // The control plane uses real timers for these limits.
    patience.oneMs = 20;
    patience.allMs = 50;
  });
  fault.begin();
  const first = await world.createJob();
  const taken = async (): Promise<void> => {
    await world.take(world.mint(10));
    // Clocks may differ by up to this around the next change.
    world.clock.advance(1_000);
  };
  await taken();
  await world.jobs.change(first, { max_upload_records: 1_000, output_options: { batch_suffix: "" } });
  await taken();
  await world.jobs.setLogging("shop", false);
  await taken();
  await world.jobs.setLogging("shop", true);
  await taken();
  const second = await world.createJob();
  await world.deliverDue();
  await world.jobs.change(first, { enabled: false });
  await taken();
  await world.jobs.change(first, { enabled: true });
  await taken();
  await world.jobs.remove(second);
  await taken();
};

/** The log does not confirm a change, so the control plane's alarm has to bring it there. */
export const unconfirmed: Scene = async (world, fault) => {
  const job = await world.createJob();
  await world.take(world.mint(10));
  breakable(TraceLog.prototype, "configure", firstCalls("refused").decide);
  await expect(world.jobs.change(job, { output_options: { batch_suffix: "" } })).rejects.toThrow("503");
  world.clock.advance(10_000);
  fault.begin();
  await fault.meet(() => world.runAlarms(), "the platform");
};

/**
 * An event too large for a message, among small ones. The client repeats the request until it is
 * acknowledged, and the queue delivers it a second time.
 */
export const large: Scene = async (world, fault) => {
  await world.createJob();
  const events = [...world.mint(3), largeEvent(world), ...world.mint(3)];
  fault.begin();
  let status: number | null = null;
  for (let tries = 0; tries < 5 && status !== 202; tries++) {
    await fault.meet(async () => {
      status = await world.post(events, { key: "large" });
    });
  }
  expect(status).toBe(202);
  const messages = [...world.queue.held];
  await fault.meet(() => world.deliverDue());
  world.clock.advance(600_000);
  await fault.meet(() => world.deliverDue());
  await fault.meet(() => deliver(world, messages));
};

/** An unreadable message among good ones. */
export const unreadable: Scene = async (world, fault) => {
  await world.createJob();
  await world.take(world.mint(10), 5);
  await world.queue.sendBatch([{ body: encodeUtf8("no message of ours"), contentType: "bytes" }]);
  await world.take(world.mint(10), 5);
  world.accountLeftOut.set_aside = 1;
  world.accountLeftOut.processed = { atLeast: 21, atMost: 22 };
  fault.begin();
  await fault.meet(() => world.deliverDue());
  world.clock.advance(600_000);
  await fault.meet(() => world.deliverDue());
};
