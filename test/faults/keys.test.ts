/**
 * Races of the copies of a request with an `Idempotency-Key`, as docs/delivery.md numbers them: in
 * a register that is new, and in one that has been in use for long.
 */
import { describe, expect, vi } from "vitest";
import { KeyRegister } from "../../src/index.ts";
import { decodeEnvelope, type Part } from "../../src/queue/message.ts";
import { oldRegister } from "../support/runtime/keys.ts";
import type { HeldMessage } from "../support/runtime/queue.ts";
import type { World } from "../support/runtime/world.ts";
import { largeEvent } from "./large-event.ts";
import { row } from "./row.ts";
import { countsOf } from "./stores.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const KEY = { key: "order-42" };

const partOf = ({ body }: HeldMessage): Part => {
  const envelope = decodeEnvelope(body.slice().buffer);
  if (!envelope.ok || envelope.value.parts[0] === undefined) throw new Error("not a message");
  return envelope.value.parts[0];
};

/** Several messages of one request. */
const MANY = 150;
const many = (world: World) => world.mint(MANY, { padding: 2_000 });

/** The queue takes nothing of the next request. */
async function refused(world: World, events: ReturnType<typeof many>): Promise<void> {
  world.queue.sendFault = () => "refused";
  expect(await world.post(events, KEY)).toBe(503);
  world.queue.sendFault = () => null;
  world.injected();
}

/** The queue takes all of the next request, and its answer is lost. */
async function lost(world: World, events: ReturnType<typeof many>): Promise<void> {
  world.queue.sendFault = () => "lost";
  // Three tries: the first is enough.
  expect(await world.post(events, KEY)).toBe(503);
  world.queue.sendFault = () => null;
  world.injected();
}

async function pass(world: World, ms: number): Promise<void> {
  world.clock.advance(ms);
  await world.deliverDue();
  await world.runAlarms();
  await world.runCron();
}

const AGES: [string, (world: World) => Promise<void>][] = [
  ["new", async () => {}],
  ["old", (world) => oldRegister(world.clock)],
];

describe.each(AGES)("in a register that is %s", (age, begin) => {
  row(`${age}: two copies come at once, and the first one to ask is the last one to send`, async (world) => {
    await begin(world);
    const job = await world.createJob();
    const events = many(world);
    // (1) A asks, and its answer is on its way for two minutes.
    const answer = Promise.withResolvers<void>();
    const { first } = KeyRegister.prototype;
    const asked = vi.spyOn(KeyRegister.prototype, "first").mockImplementationOnce(function (
      this: KeyRegister,
      ...args
    ) {
      const fixed = first.apply(this, args);
      return answer.promise.then(() => fixed) as never;
    });
    const a = world.post(events, KEY);
    await vi.waitUntil(() => asked.mock.calls.length > 0);
    // (2) B is told what A has fixed, and sends.
    world.clock.advance(2 * MINUTE_MS);
    await world.take(events, events.length, KEY);
    const [b = null] = world.queue.held;
    world.clock.advance(2 * MINUTE_MS);
    answer.resolve();
    // (3) A sends.
    expect(await a).toBe(202);
    world.injected();
    const [half, times] = [world.queue.held.length / 2, world.queue.held.map(partOf)];
    expect(times.slice(0, half).map(({ id }) => id)).toEqual(times.slice(half).map(({ id }) => id));
    expect(b && partOf(b)).toMatchObject({ keyed: age === "new" });
    for (const copies of [world.queue.held.slice(half), world.queue.held.slice(0, half)])
      await world.queue.deliver(copies, world.isolate.queue, world.env);
    await world.settle();
    expect(await countsOf(job)).toMatchObject({ received: MANY, delivered: MANY });
  });

  row(`${age}: the first copy was sent, and nobody knows; its repeat is delivered before it`, async (world) => {
    await begin(world);
    const job = await world.createJob();
    const events = many(world);
    await lost(world, events);
    const firsts = [...world.queue.held];
    world.clock.advance(3 * MINUTE_MS);
    await world.take(events, events.length, KEY);
    const repeats = world.queue.held.filter((message) => !firsts.includes(message));
    expect(repeats.map((message) => partOf(message).firstMs)).toEqual(
      repeats.map(() => firsts[0] && partOf(firsts[0]).takenInMs),
    );
    const { queue } = world;
    await queue.deliver(repeats, world.isolate.queue, world.env, () => true);
    await queue.deliver(firsts, world.isolate.queue, world.env, () => true);
    await queue.deliver([...firsts, ...repeats].slice(0, 90), world.isolate.queue, world.env);
    await world.settle();
    expect(await countsOf(job)).toMatchObject({ received: MANY, delivered: MANY });
  });

  row(
    `${age}: the first copy was sent by half; the rest of it comes fourteen days later, and again after that`,
    async (world) => {
      await begin(world);
      const job = await world.createJob();
      const events = many(world);
      world.queue.sendFault = () => "half";
      expect(await world.post(events, KEY)).toBe(503);
      world.queue.sendFault = () => null;
      world.injected();
      expect(world.queue.held.length).toBeGreaterThan(0);
      await world.deliverDue();
      const half = (await countsOf(job)).received;
      expect([half > 0, half < MANY]).toEqual([true, true]);
      await pass(world, 14 * DAY_MS);
      await world.take(events, events.length, KEY);
      const repeats = [...world.queue.held];
      // Its acknowledgement is lost, and the minute of the first copy is forgotten meanwhile.
      await world.queue.deliver(repeats, world.isolate.queue, world.env, () => true);
      await pass(world, 3 * DAY_MS);
      await world.queue.deliver(repeats, world.isolate.queue, world.env);
      await world.settle();
      expect(await countsOf(job)).toMatchObject({ received: MANY, delivered: MANY });
    },
  );

  row(
    `${age}: nothing of the first copy was taken; what its repeat brings is taken in then, once, whatever comes later`,
    async (world) => {
      await begin(world);
      const job = await world.createJob();
      const events = world.mint(20);
      await refused(world, events);
      await pass(world, 14 * DAY_MS);
      await world.take(events, 20, KEY);
      await pass(world, MINUTE_MS);
      // The register remembers it for fifteen days from here.
      await pass(world, 14 * DAY_MS);
      await world.take(events, 20, KEY);
      await world.settle();
      expect(await countsOf(job)).toMatchObject({ received: 20, delivered: 20 });
    },
  );

  row(
    `${age}: a job is created after the first copy, which nobody took: it gets what the repeat brings`,
    async (world) => {
      await begin(world);
      const events = world.mint(20);
      await refused(world, events);
      const job = await world.createJob();
      world.clock.advance(MINUTE_MS);
      await world.take(events, 20, KEY);
      await world.settle();
      expect(await countsOf(job)).toMatchObject({ received: 20, delivered: 20 });
    },
  );

  row(
    `${age}: logging is switched off after the first copy, which nobody took: the repeat is not shipped`,
    async (world) => {
      await begin(world);
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
    },
  );

  row(
    `${age}: logging was off at the first copy, which nobody took, and is on again: the repeat is shipped`,
    async (world) => {
      await begin(world);
      const job = await world.createJob();
      await world.jobs.setLogging("shop", false);
      const events = world.mint(20);
      await refused(world, events);
      await world.jobs.setLogging("shop", true);
      world.clock.advance(MINUTE_MS);
      await world.take(events, 20, KEY);
      await world.settle();
      expect(await countsOf(job)).toMatchObject({ received: 20, delivered: 20 });
    },
  );

  row(
    `${age}: a job is disabled after the first copy was acknowledged, and both copies come in one batch`,
    async (world) => {
      await begin(world);
      const job = await world.createJob();
      const events = world.mint(20);
      await world.take(events, 20, KEY);
      world.clock.advance(MINUTE_MS);
      await world.jobs.change(job, { enabled: false });
      world.clock.advance(MINUTE_MS);
      await world.take(events, 20, KEY);
      await world.queue.deliver([...world.queue.held].reverse(), world.isolate.queue, world.env);
      world.injected();
      await world.settle();
      expect(await countsOf(job)).toMatchObject({ received: 20, delivered: 20 });
    },
  );

  row(`${age}: the key is used for other events by mistake: these are another request`, async (world) => {
    await begin(world);
    const job = await world.createJob();
    const [one, other] = [world.mint(20), world.mint(20)];
    await refused(world, one);
    await world.take(other, 20, KEY);
    await world.take(one, 20, KEY);
    await world.take(other, 20, KEY);
    await world.settle();
    expect(await countsOf(job)).toMatchObject({ received: 40, delivered: 40 });
  });

  row(`${age}: a large event is repeated while its first copy waits, and is delivered first`, async (world) => {
    await begin(world);
    const job = await world.createJob();
    const events = [...world.mint(3), largeEvent(world), ...world.mint(3)];
    await lost(world, events);
    const firsts = [...world.queue.held];
    world.clock.advance(2 * MINUTE_MS);
    await world.take(events, events.length, KEY);
    const repeats = world.queue.held.filter((message) => !firsts.includes(message));
    await world.queue.deliver(repeats, world.isolate.queue, world.env);
    await world.settle();
    expect(await countsOf(job)).toMatchObject({ received: 7, delivered: 7 });
  });
});

describe("a request that is repeated every six days", () => {
  for (const [age, begin] of AGES) {
    row(`${age}: is known for fifteen days from its latest copy`, async (world) => {
      await begin(world);
      const job = await world.createJob();
      const events = world.mint(20);
      for (let times = 0; times < 4; times++) {
        await world.take(events, 20, KEY);
        world.injected();
        await pass(world, MINUTE_MS);
        expect(await countsOf(job)).toMatchObject({ received: 20 });
        await pass(world, 6 * DAY_MS);
      }
    });
  }
});
