/**
 * The packer, between `tail()` and the queue: whatever it does, what isolates gathered arrives
 * once, by its message, by that of the isolate, or by both.
 */
import { createExecutionContext, runInDurableObject, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, vi } from "vitest";
import { platform } from "../../src/base/platform.ts";
import { decodeEnvelope } from "../../src/formats/queue/message.ts";
import { JobReader, Packer } from "../../src/index.ts";
import { PACK_MS, packer } from "../../src/ship/intake/packer.ts";
import { LogShards } from "../../src/ship/log/log-shards.ts";
import { createWorker } from "../../src/worker.ts";
import { cells, variants } from "../support/matrix.ts";
import type { Minted } from "../support/oracle.ts";
import { BREAKAGES, type Breakage } from "../support/runtime/breakage.ts";
import type { SendFault } from "../support/runtime/queue.ts";
import type { World } from "../support/runtime/world.ts";
import { breaks } from "./fault.ts";
import { impatiently } from "./impatience.ts";
import { jobRow, row } from "./row.ts";
import { countsOf, deliver, expectSettled } from "./stores.ts";

const ISOLATES = 3;
const EVENTS = 4;

/**
 * Isolates whose parts come into one message: the packer waits until all of them are there.
 * @param breakage of every call of the packer; null: none.
 * @returns how many calls are never answered.
 */
function together(world: World, breakage: Breakage | null): () => number {
  let came = 0;
  const stuck = breaks(world, Packer, "pack", (n) => {
    came = n;
    return breakage;
  });
  const before = vi.mocked(platform.sleep).getMockImplementation();
  vi.mocked(platform.sleep).mockImplementation(async (ms, end) => {
    if (ms === PACK_MS) while (came < ISOLATES) await scheduler.wait(1);
    await before?.(ms, end);
  });
  return stuck;
}

/** Events come in several isolates at once. @returns them. */
async function tailInAll(world: World, isolates = Array.from({ length: ISOLATES }, () => createWorker())) {
  const gathered: Minted[][] = isolates.map(() => world.mint(EVENTS, { form: "trace" }));
  await Promise.all(
    isolates.map(async (isolate, n) => {
      const ctx = createExecutionContext();
      const items = gathered[n]?.map(({ event }) => event) as unknown as TraceItem[];
      await isolate.tail(items, world.env, ctx);
      await waitOnExecutionContext(ctx);
    }),
  );
  world.owe(gathered.flat());
  return isolates;
}

/** Numbers of parts of the messages in the queue. */
function partsHeld({ queue }: World): number[] {
  return queue.held.map(({ body }) => {
    const envelope = decodeEnvelope(body.slice().buffer);
    return envelope.ok ? envelope.value.parts.length : 0;
  });
}

const ALL = ISOLATES * EVENTS;

/** Where the packer's message reaches the queue, and the isolates do not learn of it. */
const TWICE: readonly Breakage[] = ["lost", "late", "dies after", "dies after, on disk"];

/** In which order the queue delivers the packer's message and those of the isolates. */
const ORDERS = ["one batch", "packed first", "packed last"] as const;

describe("the packer fails", () => {
  for (const [breakage, order] of cells(BREAKAGES, ORDERS)) {
    jobRow(`every call: ${breakage}; ${order}`, async (world, job) => {
      const stuck = together(world, breakage);
      await impatiently(stuck, () => tailInAll(world));
      const parts = partsHeld(world);
      const direct = parts.filter((count) => count === 1).length;
      expect(direct).toBe(ISOLATES);
      if (TWICE.includes(breakage)) expect(parts).toContain(ISOLATES);
      const isPacked = (_: unknown, n: number): boolean => parts[n] !== 1;
      const held = [...world.queue.held];
      const packed = held.filter(isPacked);
      const single = held.filter((message) => !packed.includes(message));
      const batches = order === "one batch" ? [held] : order === "packed first" ? [packed, single] : [single, packed];
      for (const batch of batches) await deliver(world, batch);
      await expectSettled(world, job, { received: ALL, delivered: ALL });
    });
  }

  jobRow("once, and is well again: it is left alone for a minute, and then asked again", async (world, job) => {
    let calls = 0;
    breaks(world, Packer, "pack", (n) => {
      calls = n;
      return n === 1 ? "refused" : null;
    });
    world.coldIsolate();
    for (let n = 0; n < 3; n++) {
      await world.tail(world.mint(2, { form: "trace" }));
      if (n === 1) world.clock.advance(60_000);
    }
    expect(calls).toBe(2);
    await expectSettled(world, job, { received: 6, delivered: 6 });
  });

  jobRow("it is full: isolates go to the queue at once", async (world, job) => {
    await runInDurableObject(packer(env.PACKER), (object: Packer) => {
      object.maxBytes = 1;
    });
    world.injected();
    await tailInAll(world);
    expect(partsHeld(world)).toEqual([1, 1, 1]);
    await expectSettled(world, job, { received: ALL, delivered: ALL });
  });
});

describe("the queue fails under the packer", () => {
  const faults: readonly SendFault[] = ["lost", "refused"];
  const lengths = [
    ["the packer's tries", 3],
    ["once", 1],
    ["those of the isolates as well: the log has the parts", 100],
  ] as const;
  for (const [fault, [howLong, times]] of cells(faults, lengths)) {
    jobRow(`sending: ${fault}, for ${howLong}`, async (world, job) => {
      const packing = together(world, null);
      let left: number = times;
      world.queue.sendFault = () => {
        if (left <= 0) return null;
        left -= 1;
        world.injected();
        return fault;
      };
      await impatiently(packing, () => tailInAll(world));
      world.queue.sendFault = () => null;
      await expectSettled(world, job, { received: ALL, delivered: ALL });
    });
  }
});

row("one isolate's answer is lost, and a job's reader fails: each part reaches both jobs once", async (world) => {
  const jobs = [await world.createJob(), await world.createJob()];
  together(world, null);
  breaks(world, Packer, "pack", (n) => (n === 1 ? "lost" : null));
  breaks(world, JobReader, "pull", (_n, name) => (name === `job ${jobs[1]?.id} log 0` ? "refused" : null));
  await tailInAll(world);
  expect(partsHeld(world).sort()).toEqual([1, ISOLATES]);
  // Its own message comes first.
  await deliver(world, world.queue.held.toReversed());
  await world.mend();
  await world.settle();
  for (const job of jobs) expect(await countsOf(job)).toMatchObject({ received: ALL, delivered: ALL });
});

jobRow("packer and queue hang, one after the other: the log has the parts", async (world, job) => {
  const packing = together(world, "hangs");
  let hanging = 0;
  world.queue.sendFault = () => {
    hanging += 1;
    return "hang";
  };
  await impatiently(
    () => packing() + hanging,
    () => tailInAll(world),
  );
  expect([hanging, world.queue.held.length]).toEqual([ISOLATES, 0]);
  world.queue.sendFault = () => null;
  await expectSettled(world, job, { received: ALL, delivered: ALL });
});

describe("messages of several isolates", () => {
  for (const times of variants([2, 5])) {
    jobRow(`come ${times} times, in any grouping, and each part is taken once`, async (world, job) => {
      together(world, null);
      await tailInAll(world);
      expect(partsHeld(world)).toEqual([ISOLATES]);
      const copies = Array.from({ length: times }, () => world.queue.held.map((message) => ({ ...message }))).flat();
      world.injected();
      await deliver(world, copies);
      await world.settle();
      // The month's use knows one message, in which two isolates joined a third one.
      const use = await new LogShards(env).monthUse();
      expect(use).toMatchObject({ messages: 1, messageUnits: 1, furtherParts: ISOLATES - 1, events: ALL });
      expect(await countsOf(job)).toMatchObject({ received: ALL, delivered: ALL });
    });
  }

  row("are begun before a job is disabled, and arrive after it: the time of each part decides", async (world) => {
    const job = await world.createJob();
    together(world, null);
    await tailInAll(world);
    world.injected();
    world.clock.advance(1_000);
    await world.jobs.change(job, { enabled: false });
    world.clock.advance(20_000);
    await expectSettled(world, job, { received: ALL, delivered: ALL });
  });
});
