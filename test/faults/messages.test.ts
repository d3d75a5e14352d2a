/**
 * Messages that cannot be read or processed, and events too large for a message. They are kept and
 * counted, and do not block others.
 */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect } from "vitest";
import { TraceLog } from "../../src/index.ts";
import { traceLog } from "../../src/ship/log/trace-log.ts";
import { variants } from "../support/matrix.ts";
import { encodeMessage } from "../support/message.ts";
import type { Minted } from "../support/oracle.ts";
import { BREAKAGES, PROMPT_BREAKAGES } from "../support/runtime/breakage.ts";
import { pack } from "../support/runtime/pipeline.ts";
import type { World } from "../support/runtime/world.ts";
import { breaks } from "./fault.ts";
import { impatiently } from "./impatience.ts";
import { largeEvent } from "./large-event.ts";
import { jobRow, row } from "./row.ts";
import { countsOf, deliver, expectSettled } from "./stores.ts";

const DAY_MS = 86_400_000;

/** Events of unreadable messages count as processed; the final fresh event is not in `taken`. */
function expectAside(world: World, events: number, taken: number): void {
  world.accountLeftOut.set_aside = events;
  world.accountLeftOut.processed = { atLeast: taken + events, atMost: taken + events + 1 };
}

/** Pseudo-random bytes, the same each time. */
function noiseBytes(length: number): Uint8Array {
  let state = 7;
  return Uint8Array.from({ length }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state >>> 24;
  });
}

/** A valid message of events that the oracle does not expect. */
function goodBody(world: World): Uint8Array<ArrayBuffer> {
  return pack(world.mint(3), world.clock.nowMs())[0]?.body ?? new Uint8Array();
}

/**
 * The queue delivers for so many days, or until it holds nothing: at once at first, more often than
 * the platform tries again; then every six hours.
 */
async function queueFor(world: World, days: number): Promise<void> {
  const untilMs = world.clock.nowMs() + days * DAY_MS;
  for (let times = 0; world.queue.held.length > 0 && world.clock.nowMs() < untilMs; times++) {
    const nextMs = world.queue.nextDueMs() - world.clock.nowMs();
    world.clock.advance(times < 120 ? nextMs : Math.max(nextMs, DAY_MS / 4));
    await world.queue.deliverDue(world.isolate.queue, world.env);
  }
}

function withByte(body: Uint8Array, at: number, change: number): Uint8Array {
  const changed = body.slice();
  changed[at] = (changed[at] ?? 0) ^ change;
  return changed;
}

function withVersion(body: Uint8Array, version: number): Uint8Array {
  const changed = body.slice();
  changed[2] = version;
  return changed;
}

function bodyOf(lines: string, world: World, records: number): Uint8Array {
  const envelope = { id: "ab".repeat(16), takenInMs: world.clock.nowMs(), keyed: false, shards: 1, records };
  return encodeMessage(envelope, new TextEncoder().encode(lines));
}

describe("a message that cannot be read", () => {
  /** The most telling first. `events`: the number of events it counts as. */
  const poisons: readonly (readonly [name: string, body: (world: World) => unknown, events: number])[] = [
    ["is cut off in its records", (world) => goodBody(world).slice(0, -9), 1],
    ["has a wrong checksum", (world) => withByte(goodBody(world), 39, 1), 1],
    ["is 128 kB of noise", () => noiseBytes(128_000), 1],
    ["has a line that breaks off", (world) => bodyOf('{"CPUTimeMs":3\n{}\n', world, 2), 2],
    ["is empty", () => new Uint8Array(), 1],
    ["is one byte", () => new Uint8Array([76]), 1],
    ["is a text", () => "not a message of ours", 1],
    ["is JSON", () => ({ where: { key: "Outcome" } }), 1],
    ["is null", () => null, 1],
    ["is a header of noise", () => noiseBytes(40), 1],
    ["is cut off in its header", (world) => goodBody(world).slice(0, 30), 1],
    ["is cut off after its header", (world) => goodBody(world).slice(0, 40), 1],
    ["says another number of records", (world) => withByte(goodBody(world), 31, 1), 1],
    ["is of a version that never was", (world) => withVersion(goodBody(world), 0), 1],
    ["was taken in at the end of time", (world) => withByte(goodBody(world), 20, 255), 1],
    ["has no record in it", (world) => bodyOf("no record\n", world, 1), 1],
  ];
  for (const [name, poison, events] of variants(poisons, 5)) {
    jobRow(`a message among good ones ${name}: set aside, and its neighbours go on`, async (world, job) => {
      await world.take(world.mint(20), 5);
      world.queue.put(poison(world));
      world.injected();
      await world.take(world.mint(20), 5);
      const { queue } = world;
      // In one batch; the poison's acknowledgement is lost, so it is delivered again.
      await deliver(world, [...queue.held], ({ body }) => body === queue.held[4]?.body);
      expect(await countsOf(job)).toMatchObject({ received: 40 });
      await world.deliverDue();
      await world.settle();
      expectAside(world, events, 40);
      expect(await world.accountCounts()).toMatchObject({ processed: 40 + events, set_aside: events });
    });
  }

  row("every message of a hundred is poison", async (world) => {
    await world.createJob();
    for (let i = 0; i < 100; i++) world.queue.put(noiseBytes(1_000 + i));
    world.injected(100);
    await world.take(world.mint(5));
    await world.settle();
    expectAside(world, 100, 5);
  });

  row("an item of tail() breaks whoever reads it: its neighbours go on, and it is counted as lost", async (world) => {
    const job = await world.createJob();
    const [first, poison, last] = world.mint(3, { form: "trace" }) as [Minted, Minted, Minted];
    Object.defineProperty(poison.event, "logs", {
      get: () => {
        throw new Error("poison");
      },
    });
    world.injected();
    await world.tail([first, poison, last]);
    await world.settle();
    expect((await countsOf(job)).delivered).toBe(2);
  });
});

/** The reasons recorded in the account's ledger for the messages set aside. */
const whyAside = (): Promise<string[]> =>
  runInDurableObject(traceLog(env.TRACE_LOG, 0), (_ledger, { storage: { sql } }) =>
    sql
      .exec("SELECT why FROM hold_note ORDER BY id")
      .toArray()
      .map(({ why }) => String(why)),
  );

describe("a message of a newer version", () => {
  jobRow("waits until code comes that can read it, beside others, and is not claimed complete", async (world, job) => {
    await world.take(world.mint(5));
    const held = world.queue.held.length;
    await world.take(world.mint(3));
    const later = world.queue.held[held];
    if (later === undefined) throw new Error("no message is held");
    const version = later.body[2] ?? 0;
    later.body[2] = 200;
    world.injected();
    for (let days = 0; days < 9; days++) {
      await world.deliverDue();
      world.clock.advance(DAY_MS);
    }
    expect(world.queue.held).toHaveLength(1);
    expect(await countsOf(job)).toMatchObject({ received: 5 });
    expect(await world.accountCounts()).toMatchObject({ processed: 5, set_aside: 0 });
    const noted = await traceLog(env.TRACE_LOG, 0).oldestUnfinishedMs();
    expect(noted).toBe(later.sentMs);
    later.body[2] = version;
    await expectSettled(world, job, { received: 8, delivered: 8 });
    expect(await traceLog(env.TRACE_LOG, 0).oldestUnfinishedMs()).toBeNull();
  });

  row("that no code came for is set aside after ten days, before the queue deletes it", async (world) => {
    await world.createJob();
    world.queue.put(withVersion(goodBody(world), 200));
    world.injected();
    const begunMs = world.clock.nowMs();
    await queueFor(world, 15);
    const days = (world.clock.nowMs() - begunMs) / DAY_MS;
    expect([days > 10, days < 11]).toEqual([true, true]);
    expect(await whyAside()).toEqual(["of unknown version 200"]);
    // Its time of intake is unknown: nothing is claimed complete for any job.
    expect(await traceLog(env.TRACE_LOG, 0).oldestUnfinishedMs()).toBe(0);
    expectAside(world, 1, 0);
  });
});

describe("a message that fails again and again", () => {
  row("the handler dies a hundred times: dead letter, set aside, and the next one goes its way", async (world) => {
    const job = await world.createJob();
    const events = world.mint(5);
    await world.take(events);
    for (let times = 0; times <= 100; times++) {
      await world.queue.deliver(world.queue.due(), () => Promise.reject(new Error("killed")), world.env);
      world.clock.advance(300_000);
      world.injected();
    }
    expect(world.queue.due({ dead: true })).toHaveLength(1);
    await world.deliverDue();
    expect(world.queue.held).toEqual([]);
    world.setAside(events);
    expect(await world.accountCounts()).toMatchObject({ processed: 5, set_aside: 5 });
    expect((await countsOf(job)).received).toBe(0);
  });

  row("a dead letter cannot be set aside for a while either", async (world) => {
    await world.createJob();
    const events = world.mint(5);
    await world.take(events);
    for (let times = 0; times <= 150; times++) {
      const dead = world.queue.due({ dead: true });
      const due = dead.length > 0 ? dead : world.queue.due();
      await world.queue.deliver(due, () => Promise.reject(new Error("killed")), world.env);
      world.clock.advance(300_000);
      world.injected();
    }
    await world.settle();
    world.setAside(events);
  });

  jobRow("the log takes nothing for ten days: set aside before the queue deletes it", async (world, job) => {
    const events = world.mint(5);
    await world.take(events);
    breaks(world, TraceLog, "append", "refused");
    const begunMs = world.clock.nowMs();
    await queueFor(world, 15);
    const days = (world.clock.nowMs() - begunMs) / DAY_MS;
    expect([days > 10, days < 11]).toEqual([true, true]);
    expect(await whyAside()).toEqual(["could not be processed for ten days"]);
    world.setAside(events);
    expect(await world.accountCounts()).toMatchObject({ processed: 5, set_aside: 5 });
    expect((await countsOf(job)).received).toBe(0);
  });

  jobRow("the log takes nothing for nine days: delivered on the tenth", async (world, job) => {
    await world.take(world.mint(5));
    breaks(world, TraceLog, "append", "refused");
    await queueFor(world, 9);
    await world.mend();
    await expectSettled(world, job, { received: 5, delivered: 5 });
  });
});

describe("an event that no message can carry, among small ones", () => {
  const events = (world: World): Minted[] => [...world.mint(5), largeEvent(world, 1_000_000), ...world.mint(5)];

  for (const breakage of variants(BREAKAGES)) {
    jobRow(`append() ${breakage}, 4 times; the client repeats over HTTP`, async (world, job) => {
      const large = events(world);
      const stuck = breaks(world, TraceLog, "append", (n) => (n <= 4 ? breakage : null));
      let status: number | null = null;
      for (let tries = 0; status !== 202 && tries < 10; tries++) {
        status = await impatiently(stuck, () => world.post(large, { key: "large" }));
      }
      await world.take(large, large.length, { key: "large" });
      await expectSettled(world, job, { received: 11, delivered: 11 });
    });
  }

  for (const breakage of variants(PROMPT_BREAKAGES)) {
    jobRow(`append() ${breakage}, twice, when it comes by tail()`, async (world, job) => {
      breaks(world, TraceLog, "append", (n) => (n <= 2 ? breakage : null));
      await world.tail(events(world));
      await expectSettled(world, job, { received: 11, delivered: 11 });
    });
  }
});
