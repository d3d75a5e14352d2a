/**
 * Intake, the queue behind it, and their failures: acknowledged events are not lost, and repeats
 * are not duplicated.
 */
import { createExecutionContext, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, vi } from "vitest";
import { KeyRegister } from "../../src/index.ts";
import { keyShard } from "../../src/intake/key-register.ts";
import { outboxStatus } from "../../src/intake/outboxes.ts";
import { KEYS_SHARDS } from "../../src/limits.ts";
import { platform } from "../../src/platform.ts";
import { cells, variants } from "../support/matrix.ts";
import type { Minted } from "../support/oracle.ts";
import { BREAKAGES, type Breakage, breakable, firstCalls } from "../support/runtime/breakage.ts";
import { oldRegister } from "../support/runtime/keys.ts";
import type { SendFault } from "../support/runtime/queue.ts";
import type { World } from "../support/runtime/world.ts";
import { impatiently } from "./impatience.ts";
import { row } from "./row.ts";
import { countsOf } from "./stores.ts";

const DAY_MS = 86_400_000;
/** The most telling first. */
const SEND_FAULTS: readonly SendFault[] = ["half", "lost", "refused", "hang"];

/**
 * The queue fails this many times.
 * @returns the number of calls that will never be answered.
 */
function sendsFail(world: World, fault: SendFault, times: number): () => number {
  let hanging = 0;
  let left = times;
  world.queue.sendFault = () => {
    if (left <= 0) return null;
    left -= 1;
    world.injected();
    if (fault === "hang") hanging += 1;
    return fault;
  };
  return () => hanging;
}

/** Large enough for three messages, so that `half` takes some of them and not the others. */
const many = (world: World): Minted[] => world.mint(2_000);

describe("the queue fails when events come over HTTP", () => {
  for (const [fault, times] of cells(SEND_FAULTS, [1, 3, 7])) {
    row(`sending: ${fault}, ${times} times; the client repeats over HTTP`, async (world, { expect }) => {
      const job = await world.createJob();
      const events = many(world);
      const stuck = sendsFail(world, fault, times);
      const request = { key: "order-42" };
      let status: number | null = null;
      for (let tries = 0; status !== 202 && tries < 10; tries++) {
        if (tries > 0) expect(status).toBe(503);
        status = await impatiently(stuck, () => world.post(events, request));
      }
      expect(status).toBe(202);
      await world.deliverDue();
      // The client repeats without need, at once and a day later.
      await world.take(events, events.length, request);
      await world.settle();
      world.clock.advance(DAY_MS);
      await world.take(events, events.length, request);
      await world.settle();
      expect(await countsOf(job)).toMatchObject({ received: 2_000, delivered: 2_000 });
    });
  }

  for (const fault of variants(SEND_FAULTS)) {
    row(`sending: ${fault}, for a while; nobody repeats`, async (world) => {
      await world.createJob();
      const stuck = sendsFail(world, fault, 3);
      await impatiently(stuck, () => world.post(many(world)));
      world.queue.sendFault = () => null;
      await world.take(world.mint(5));
    });
  }
});

describe("the queue fails when events come over RPC", () => {
  for (const fault of variants(SEND_FAULTS)) {
    row(`sending: ${fault}, 4 times; the client repeats over RPC`, async (world, { expect }) => {
      const job = await world.createJob();
      const events = many(world);
      const stuck = sendsFail(world, fault, 4);
      let shipped = false;
      for (let tries = 0; !shipped && tries < 10; tries++) {
        shipped = await impatiently(stuck, () => world.ship(events, "order-42"));
      }
      expect([shipped, await world.ship(events, "order-42")]).toEqual([true, true]);
      await world.settle();
      expect(await countsOf(job)).toMatchObject({ received: 2_000, delivered: 2_000 });
    });
  }
});

describe("the register of keys fails", () => {
  /** A register that breaks this many times, and calls that are never answered. */
  function registerFails(world: World, breakage: Breakage, times: number): () => number {
    const { decide } = firstCalls(breakage, times);
    return breakable(KeyRegister.prototype, "first", () => {
      const broken = decide();
      if (broken !== null) world.injected();
      return broken;
    }).stuck;
  }

  for (const breakage of BREAKAGES) {
    for (const [way, times] of [
      ["HTTP", 1],
      ["HTTP", 7],
      ["RPC", 4],
    ] as const) {
      row(
        `the register: first() ${breakage}, ${times} times; the client repeats over ${way}`,
        async (world, { expect }) => {
          if (times > 1) await oldRegister(world.clock);
          const job = await world.createJob();
          const events = many(world);
          const stuck = registerFails(world, breakage, times);
          let taken = false;
          for (let tries = 0; !taken && tries < 10; tries++) {
            if (way === "RPC") taken = await impatiently(stuck, () => world.ship(events, "order-42"));
            else {
              const status = await impatiently(stuck, () => world.post(events, { key: "order-42" }));
              expect([202, 503]).toContain(status);
              taken = status === 202;
            }
            // Nothing is sent before the register has answered.
            if (!taken) expect(world.queue.held).toEqual([]);
            world.clock.advance(60_000);
          }
          expect(taken).toBe(true);
          await world.deliverDue();
          const again = way === "RPC" ? world.ship(events, "order-42") : world.post(events, { key: "order-42" });
          expect(await again).toBe(way === "RPC" ? true : 202);
          await world.settle();
          expect(await countsOf(job)).toMatchObject({ received: 2_000, delivered: 2_000 });
        },
      );
    }
  }

  row(
    "the register is full: new keys are refused, repeats and requests without a key are not",
    async (world, { expect }) => {
      const job = await world.createJob();
      const events = world.mint(5);
      await world.take(events, 5, { key: "known" });
      await Promise.all(
        Array.from({ length: KEYS_SHARDS }, (_, n) =>
          runInDurableObject(keyShard(env.KEYS, n), (register: KeyRegister) => {
            register.maxBytes = 1;
          }),
        ),
      );
      world.injected();
      const refused = world.mint(5);
      expect(await world.post(refused, { key: "new" })).toBe(503);
      await world.take(events, 5, { key: "known" });
      await world.take(refused);
      await world.settle();
      expect(await countsOf(job)).toMatchObject({ received: 10, delivered: 10 });
    },
  );
});

describe("the queue fails when events come by tail()", () => {
  const lengths = [
    ["for a while", 12],
    ["once", 1],
  ] as const;
  for (const [fault, [howLong, times]] of cells(SEND_FAULTS, lengths)) {
    row(`sending: ${fault}, ${howLong}; tail() keeps what was gathered`, async (world, { expect }) => {
      const job = await world.createJob();
      const stuck = sendsFail(world, fault, times);
      for (let i = 0; i < 3; i++) {
        await impatiently(stuck, () => world.tail(world.mint(500, { form: "trace" })));
      }
      world.queue.sendFault = () => null;
      await world.settle();
      expect(await countsOf(job)).toMatchObject({ received: 1_500, delivered: 1_500 });
      expect(await outboxStatus(env.OUTBOX)).toMatchObject({ messages: 0 });
    });
  }

  row("the queue refuses everything for two days: the outbox keeps it and works it off", async (world, { expect }) => {
    const job = await world.createJob();
    sendsFail(world, "refused", Number.POSITIVE_INFINITY);
    for (let hours = 0; hours < 48; hours += 2) {
      await world.tail(world.mint(5, { form: "trace" }));
      world.clock.advance(2 * 3_600_000);
      await world.runAlarms();
    }
    expect(await outboxStatus(env.OUTBOX)).toMatchObject({ messages: 24, events: 120 });
    expect((await countsOf(job)).received).toBe(0);
    world.queue.sendFault = () => null;
    await world.settle();
    expect(await countsOf(job)).toMatchObject({ received: 120, delivered: 120 });
  });

  row("the outbox sends, and each answer of the queue is lost for a while", async (world, { expect }) => {
    const job = await world.createJob();
    // Three tries of each call, and before those of the first one, three of the packer.
    sendsFail(world, "refused", 12);
    for (let i = 0; i < 3; i++) await world.tail(world.mint(5, { form: "trace" }));
    expect(await outboxStatus(env.OUTBOX)).toMatchObject({ messages: 3, events: 15 });
    sendsFail(world, "lost", 6);
    for (let i = 0; i < 3; i++) {
      world.clock.advance(300_000);
      await world.runAlarms();
      await world.deliverDue();
    }
    await world.settle();
    expect(await countsOf(job)).toMatchObject({ received: 15, delivered: 15 });
  });
});

describe("an isolate that dies, with what tail() has gathered in it", () => {
  /** Hands items to `tail()` in an invocation that is cut off while it waits. */
  async function gather(world: World, events: readonly Minted[]): Promise<void> {
    const items = events.map(({ event }) => event) as unknown as TraceItem[];
    await world.isolate.tail(items, world.env, createExecutionContext());
  }

  /** Every wait hangs: the invocation is cut off. */
  function cutOff(world: World): () => void {
    const spy = vi.mocked(platform.sleep);
    const before = spy.getMockImplementation();
    spy.mockImplementation(() => {
      world.injected();
      return new Promise(() => {});
    });
    return () => before !== undefined && spy.mockImplementation(before);
  }

  row(
    "the isolate dies: what was gathered within two seconds is missing, and nothing else",
    async (world, { expect }) => {
      const job = await world.createJob();
      world.coldIsolate();
      await world.tail(world.mint(5, { form: "trace" }));
      const mend = cutOff(world);
      // The oracle does not expect these: any that arrived would fail the audit.
      for (let i = 0; i < 10; i++) {
        await gather(world, world.mint(1, { form: "trace" }));
        world.clock.advance(199);
      }
      mend();
      world.coldIsolate();
      await world.tail(world.mint(5, { form: "trace" }));
      await world.settle();
      expect(await countsOf(job)).toMatchObject({ received: 10, delivered: 10 });
    },
  );

  row(
    "the invocation that was to send is cut off, and the isolate lives on: nothing is missing",
    async (world, { expect }) => {
      const job = await world.createJob();
      world.coldIsolate();
      const mend = cutOff(world);
      const gathered = world.mint(10, { form: "trace" });
      for (const event of gathered) {
        await gather(world, [event]);
        world.clock.advance(199);
      }
      mend();
      world.clock.advance(1_000);
      // The next invocation sends these events, and its own.
      await world.tail([]);
      const next = world.mint(5, { form: "trace" });
      world.owe(gathered);
      await world.tail(next);
      await world.settle();
      expect(await countsOf(job)).toMatchObject({ received: 15, delivered: 15 });
    },
  );

  row("its own events reach tail(): they are left out, and nothing goes round", async (world, { expect }) => {
    const job = await world.createJob();
    for (let i = 0; i < 10; i++) {
      await gather(world, world.mint(20, { form: "trace", scriptName: "logship" }));
      world.injected(20);
    }
    expect(world.queue.held).toEqual([]);
    await world.tail(world.mint(5, { form: "trace" }));
    expect(world.queue.held).toHaveLength(1);
    await world.settle();
    expect(await countsOf(job)).toMatchObject({ received: 5, delivered: 5 });
  });
});
