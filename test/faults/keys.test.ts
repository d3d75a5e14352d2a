/**
 * Copies of a request with an `Idempotency-Key`: whatever comes of them, and when, is taken once.
 */
import { describe, expect } from "vitest";
import { decodeEnvelope, type Part } from "../../src/formats/queue/message.ts";
import { TraceLog } from "../../src/index.ts";
import { variants } from "../support/matrix.ts";
import type { HeldMessage } from "../support/runtime/queue.ts";
import type { World } from "../support/runtime/world.ts";
import { breaks } from "./fault.ts";
import { largeEvent } from "./large-event.ts";
import { jobRow, row } from "./row.ts";
import { countsOf, deliver, expectSettled } from "./stores.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const KEY = { key: "order-42" };

const idOf = ({ body }: HeldMessage): string => {
  const envelope = decodeEnvelope(body.slice().buffer);
  if (!envelope.ok) throw new Error("not a message");
  return (envelope.value.parts[0] as Part).id;
};

/** Several messages of one request. */
const MANY = 150;
const many = (world: World) => world.mint(MANY, { padding: 2_000 });

/**
 * Neither the queue nor the log takes anything more of the next request. @param fault of the queue.
 */
async function refused(world: World, events: ReturnType<typeof many>, fault: "refused" | "half" = "refused") {
  let isBroken = true;
  breaks(world, TraceLog, "append", () => (isBroken ? "refused" : null));
  world.queue.sendFault = () => fault;
  expect(await world.post(events, KEY)).toBe(503);
  world.queue.sendFault = () => null;
  isBroken = false;
}

/** The queue takes all of the next request, and its answer is lost, so the log takes it as well. */
async function twice(world: World, events: ReturnType<typeof many>): Promise<void> {
  world.queue.sendFault = () => "lost";
  await world.take(events, events.length, KEY);
  world.queue.sendFault = () => null;
  world.injected();
}

async function pass(world: World, ms: number): Promise<void> {
  world.clock.advance(ms);
  await world.deliverDue();
  await world.runAlarms();
  await world.runCron();
}

const ORDERS = ["the first copy before", "the first copy after", "both at once, the first copy before"] as const;

for (const order of variants(ORDERS)) {
  jobRow(`two copies come in one moment, and the queue delivers ${order}`, async (world, job) => {
    const events = many(world);
    for (let times = 0; times < 2; times++) await world.take(events, MANY, KEY);
    world.injected();
    const half = world.queue.held.length / 2;
    const [first, second] = [world.queue.held.slice(0, half), world.queue.held.slice(half)];
    expect(new Set(first.map(idOf))).toEqual(new Set(second.map(idOf)));
    const batches = {
      [ORDERS[0]]: [first, second],
      [ORDERS[1]]: [second, first],
      [ORDERS[2]]: [[...first, ...second]],
    };
    for (const batch of batches[order] ?? []) await deliver(world, batch);
    await expectSettled(world, job, { received: MANY, delivered: MANY });
  });
}

jobRow("the log has the first copy, and the queue as well; its repeat is delivered between", async (world, job) => {
  const events = many(world);
  await twice(world, events);
  const firsts = [...world.queue.held];
  expect(firsts.length).toBeGreaterThan(0);
  world.clock.advance(3 * MINUTE_MS);
  await world.take(events, events.length, KEY);
  const repeats = world.queue.held.filter((message) => !firsts.includes(message));
  await deliver(world, repeats, () => true);
  await deliver(world, firsts, () => true);
  await deliver(world, [...firsts, ...repeats].slice(0, 90));
  await expectSettled(world, job, { received: MANY, delivered: MANY });
});

row("the first copy was taken by half; its repeat comes four days later, and again after that", async (world) => {
  const job = await world.createJob();
  const events = many(world);
  await refused(world, events, "half");
  expect(world.queue.held.length).toBeGreaterThan(0);
  await world.deliverDue();
  const half = (await countsOf(job)).received;
  expect([half > 0, half < MANY]).toEqual([true, true]);
  await pass(world, 4 * DAY_MS);
  await world.take(events, events.length, KEY);
  const repeats = [...world.queue.held];
  // Its acknowledgement is lost.
  await deliver(world, repeats, () => true);
  await pass(world, 3 * DAY_MS);
  await deliver(world, repeats);
  await expectSettled(world, job, { received: MANY, delivered: MANY });
});

jobRow("nothing of the first copy was taken; what its repeat brings is taken in then, once", async (world, job) => {
  const events = world.mint(20);
  await refused(world, events);
  await pass(world, 14 * DAY_MS);
  await world.take(events, 20, KEY);
  await pass(world, 4 * DAY_MS);
  await world.take(events, 20, KEY);
  await expectSettled(world, job, { received: 20, delivered: 20 });
});

row("a job is created after the first copy, which nobody took: it gets what the repeat brings", async (world) => {
  const events = world.mint(20);
  await refused(world, events);
  const job = await world.createJob();
  world.clock.advance(MINUTE_MS);
  await world.take(events, 20, KEY);
  await expectSettled(world, job, { received: 20, delivered: 20 });
});

row("a job is created after the first copy, which another one has: each gets it once", async (world) => {
  const before = await world.createJob();
  const events = many(world);
  await world.take(events, MANY, KEY);
  await pass(world, MINUTE_MS);
  const after = await world.createJob();
  for (const days of [1, 3]) {
    world.clock.advance(days * DAY_MS);
    await world.take(events, MANY, KEY);
    world.injected();
  }
  await expectSettled(world, before, { received: MANY, delivered: MANY });
  expect(await countsOf(after)).toMatchObject({ received: MANY, delivered: MANY });
});

row("logging is switched off after the first copy, which nobody took: the repeat is not shipped", async (world) => {
  const job = await world.createJob();
  const events = world.mint(20);
  await refused(world, events);
  await world.jobs.setLogging("shop", false);
  world.clock.advance(MINUTE_MS);
  await world.take(events, 20, KEY);
  await world.settle();
  expect([await countsOf(job), await world.accountCounts()]).toMatchObject([
    { received: 0 },
    { processed: 20, not_enabled: 20 },
  ]);
});

row("logging was off at the first copy, which nobody took, and is on again: the repeat is shipped", async (world) => {
  const job = await world.createJob();
  await world.jobs.setLogging("shop", false);
  const events = world.mint(20);
  await refused(world, events);
  await world.jobs.setLogging("shop", true);
  world.clock.advance(MINUTE_MS);
  await world.take(events, 20, KEY);
  await expectSettled(world, job, { received: 20, delivered: 20 });
});

row("a job is disabled after the first copy was acknowledged, and both copies come in one batch", async (world) => {
  const job = await world.createJob();
  const events = world.mint(20);
  await world.take(events, 20, KEY);
  world.clock.advance(MINUTE_MS);
  await world.jobs.change(job, { enabled: false });
  world.clock.advance(MINUTE_MS);
  await world.take(events, 20, KEY);
  await deliver(world, [...world.queue.held].reverse());
  world.injected();
  await expectSettled(world, job, { received: 20, delivered: 20 });
});

jobRow("the key is used for other events by mistake: these are another request", async (world, job) => {
  const [one, other] = [world.mint(20), world.mint(20)];
  await refused(world, one);
  await world.take(other, 20, KEY);
  await world.take(one, 20, KEY);
  await world.take(other, 20, KEY);
  await expectSettled(world, job, { received: 40, delivered: 40 });
});

row("a large event is repeated, which the queue cannot carry, while its neighbours wait there", async (world) => {
  const job = await world.createJob();
  const events = [...world.mint(3), largeEvent(world), ...world.mint(3)];
  await twice(world, events);
  const firsts = [...world.queue.held];
  world.clock.advance(2 * MINUTE_MS);
  await world.take(events, events.length, KEY);
  const repeats = world.queue.held.filter((message) => !firsts.includes(message));
  await deliver(world, repeats);
  await expectSettled(world, job, { received: 7, delivered: 7 });
});

describe("the settings change between two copies", () => {
  jobRow("the first copy that the log takes decides: each event is there once", async (world, job) => {
    const events = world.mint(250);
    await world.take(events, 250, KEY);
    Object.assign(world.env, { LOG_SHARDS: "8", DEFAULT_SCRIPT_NAME: "x".repeat(2_000), EXTRA_FIELDS: "Truncated" });
    await world.take(events, 250, KEY);
    world.injected();
    await expectSettled(world, job, { received: 250, delivered: 250 });
  });
});
