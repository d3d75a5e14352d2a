/**
 * Intake, the queue behind it, and their failures: acknowledged events are not lost, and repeats
 * are not duplicated.
 */
import { createExecutionContext } from "cloudflare:test";
import { describe, expect, vi } from "vitest";
import { platform } from "../../src/base/platform.ts";
import { Packer, TraceLog } from "../../src/index.ts";
import { cells, variants } from "../support/matrix.ts";
import type { Minted } from "../support/oracle.ts";
import { BREAKAGES } from "../support/runtime/breakage.ts";
import type { SendFault } from "../support/runtime/queue.ts";
import type { World } from "../support/runtime/world.ts";
import { breaks } from "./fault.ts";
import { impatiently } from "./impatience.ts";
import { largeEvent } from "./large-event.ts";
import { jobRow, row } from "./row.ts";
import { countsOf, expectSettled, pass } from "./stores.ts";

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
  for (const [fault, times] of cells(SEND_FAULTS, [1, 7])) {
    jobRow(`sending: ${fault}, ${times} times; the log takes the rest`, async (world, job) => {
      const events = many(world);
      const stuck = sendsFail(world, fault, times);
      const request = { key: "order-42" };
      expect(await impatiently(stuck, () => world.post(events, request))).toBe(202);
      world.queue.sendFault = () => null;
      await world.deliverDue();
      // The client repeats without need, at once and a day later.
      await world.take(events, events.length, request);
      await world.settle();
      world.clock.advance(DAY_MS);
      await world.take(events, events.length, request);
      await expectSettled(world, job, { received: 2_000, delivered: 2_000 });
    });
  }

  for (const fault of variants(SEND_FAULTS)) {
    jobRow(`sending: ${fault}, for a while; nobody repeats, and there is no key`, async (world, job) => {
      const stuck = sendsFail(world, fault, 3);
      expect(await impatiently(stuck, () => world.post(many(world)))).toBe(202);
      world.queue.sendFault = () => null;
      await world.take(world.mint(5));
      await expectSettled(world, job, { received: 2_005 });
    });
  }

  jobRow("sending: refused, when a large event comes over RPC among others", async (world, job) => {
    sendsFail(world, "refused", 3);
    expect(await world.ship([...world.mint(3), largeEvent(world), ...world.mint(3)])).toBe(true);
    await expectSettled(world, job, { received: 7, delivered: 7 });
  });
});

describe("queue and log fail when a request comes", () => {
  for (const [breakage, [way, times]] of cells(BREAKAGES, [
    ["HTTP", 3],
    ["RPC", 7],
  ] as const)) {
    jobRow(`append() ${breakage}, ${times} times; the client repeats over ${way}`, async (world, job) => {
      const events = many(world);
      const appending = breaks(world, TraceLog, "append", (n) => (n <= times ? breakage : null));
      sendsFail(world, "refused", Number.POSITIVE_INFINITY);
      let taken = false;
      for (let tries = 0; !taken && tries < 10; tries++) {
        if (way === "RPC") taken = await impatiently(appending, () => world.ship(events, "order-42"));
        else {
          const status = await impatiently(appending, () => world.post(events, { key: "order-42" }));
          expect([202, 503]).toContain(status);
          taken = status === 202;
        }
        world.clock.advance(60_000);
      }
      expect(taken).toBe(true);
      world.queue.sendFault = () => null;
      // The client repeats without need, and the queue has it this time.
      expect(await (way === "RPC" ? world.ship(events, "order-42") : world.post(events, { key: "order-42" }))).toBe(
        way === "RPC" ? true : 202,
      );
      await expectSettled(world, job, { received: 2_000, delivered: 2_000 });
    });
  }
});

describe("the queue fails when events come by tail()", () => {
  const lengths = [
    ["for a while", 12],
    ["once", 1],
  ] as const;
  for (const [fault, [howLong, times]] of cells(SEND_FAULTS, lengths)) {
    jobRow(`sending: ${fault}, ${howLong}; the log takes what was gathered`, async (world, job) => {
      const stuck = sendsFail(world, fault, times);
      for (let i = 0; i < 3; i++) {
        await impatiently(stuck, () => world.tail(world.mint(500, { form: "trace" })));
      }
      world.queue.sendFault = () => null;
      await expectSettled(world, job, { received: 1_500, delivered: 1_500 });
    });
  }

  jobRow("the queue refuses everything for two days: the log has it all, and delivers", async (world, job) => {
    sendsFail(world, "refused", Number.POSITIVE_INFINITY);
    for (let hours = 0; hours < 48; hours += 4) {
      await world.tail(world.mint(5, { form: "trace" }));
      await pass(world, 4 * 3_600_000);
    }
    expect(world.queue.held).toEqual([]);
    expect((await countsOf(job)).received).toBe(60);
    await expectSettled(world, job, { received: 60, delivered: 60 });
  });

  for (const breakage of BREAKAGES) {
    row(`and append() ${breakage} as well, twice; nothing is lost, or it is counted`, async (world) => {
      await world.createJob();
      // A durable object's timers are its own: isolates send by themselves.
      vi.spyOn(Packer.prototype, "pack").mockImplementation(async () => ({ refused: "full" }));
      sendsFail(world, "refused", Number.POSITIVE_INFINITY);
      const appending = breaks(world, TraceLog, "append", (n) => (n <= 2 ? breakage : null));
      for (let i = 0; i < 3; i++) await impatiently(appending, () => world.tail(world.mint(5, { form: "trace" })));
      world.queue.sendFault = () => null;
      await world.settle();
      expect((await world.accountCounts()).processed).toBeGreaterThanOrEqual(5);
    });
  }
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

  jobRow("the isolate dies: what was gathered within two seconds is missing, and nothing else", async (world, job) => {
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
    await expectSettled(world, job, { received: 10, delivered: 10 });
  });

  row("the invocation that was to send is cut off, and the isolate lives on: nothing is missing", async (world) => {
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
    await expectSettled(world, job, { received: 15, delivered: 15 });
  });

  jobRow("its own events reach tail(): they are left out, and nothing goes round", async (world, job) => {
    for (let i = 0; i < 10; i++) {
      await gather(world, world.mint(20, { form: "trace", scriptName: "logship" }));
      world.injected(20);
    }
    expect(world.queue.held).toEqual([]);
    await world.tail(world.mint(5, { form: "trace" }));
    expect(world.queue.held).toHaveLength(1);
    await expectSettled(world, job, { received: 5, delivered: 5 });
  });
});
