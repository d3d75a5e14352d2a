/** The platform kills the handler in the middle of a batch: for memory, CPU time, or a bug. */
import { describe, expect } from "vitest";
import { decodeEnvelope } from "../../src/formats/queue/message.ts";
import type { Append } from "../../src/ship/log/append-types.ts";
import { variants } from "../support/matrix.ts";
import type { Minted } from "../support/oracle.ts";
import { mortal } from "../support/runtime/mortal.ts";
import type { HeldMessage } from "../support/runtime/queue.ts";
import type { World } from "../support/runtime/world.ts";
import { listed } from "./aside.ts";
import { summedJobRow, summedRow } from "./row.ts";
import { arrive, countsOf, expectSettled } from "./stores.ts";

/** What the platform waits after a handler died, in ms, and some. */
const RETRY_MS = 301_000;

/**
 * Delivers what is due, in batches of a hundred, to handlers that may be killed.
 * @param kills whether this append is the end. @returns how many were killed.
 */
async function deliver(world: World, kills: (ids: readonly string[]) => boolean): Promise<number> {
  let killed = 0;
  const due = world.queue.due();
  for (let from = 0; from < due.length; from += 100) {
    const handle = async (batch: MessageBatch<unknown>, env: Env): Promise<void> => {
      const invocation = mortal(env, (binding, method, [append]) => {
        if (binding !== "TRACE_LOG" || method !== "append") return false;
        const isKilled = kills((append as Append).parts.map(({ id }) => id));
        if (isKilled) killed += 1;
        return isKilled;
      });
      await world.isolate.queue(batch, invocation.env);
      if (!invocation.isDead()) return;
      world.coldIsolate();
      throw new Error("the invocation was killed");
    };
    await world.queue.deliver(due.slice(from, from + 100), handle, world.env);
  }
  world.injected(killed);
  return killed;
}

/** The id of the message that was taken last. */
function lastId(world: World): string {
  const envelope = decodeEnvelope(world.queue.held.at(-1)?.body.slice().buffer);
  const id = envelope.ok ? envelope.value.parts[0]?.id : undefined;
  if (id === undefined) throw new Error("no message");
  return id;
}

const attemptsOf = (messages: readonly HeldMessage[]): number =>
  Math.max(0, ...messages.map(({ attempts }) => attempts));

describe("a message that kills the handler", () => {
  const cases = [
    [2, 10],
    [1, 0],
    [1, 40],
  ] as const;
  for (const [count, fresh] of variants(cases, 2)) {
    summedRow(
      `${count} among a hundred, while ${fresh} new ones come each time: set aside, and their neighbours are delivered`,
      async (world) => {
        const job = await world.createJob();
        const events = world.mint(99);
        await world.take(events.slice(0, 60), 1);
        const poison: Minted[] = [];
        const poisonIds: string[] = [];
        for (let n = 0; n < count; n++) {
          const [killer] = world.mint(1) as [Minted];
          await world.take([killer]);
          poison.push(killer);
          poisonIds.push(lastId(world));
        }
        await world.take(events.slice(60), 1);
        const killers = world.queue.held.slice(60, 60 + count);
        const neighbours = world.queue.held.filter((message) => !killers.includes(message));
        let kills = 0;
        let taken = 99;
        for (let round = 0; world.queue.held.length > 0 && round < 80; round++) {
          if (fresh > 0 && world.queue.held.some((message) => killers.includes(message))) {
            await world.take(world.mint(fresh), 1);
            taken += fresh;
          }
          kills += await deliver(world, (ids) => ids.some((id) => poisonIds.includes(id)));
          world.clock.advance(RETRY_MS);
        }
        world.setAside(poison);
        expect(world.queue.held).toEqual([]);
        expect([kills >= 5, kills <= 12 * count]).toEqual([true, true]);
        // Far from the hundred after which they would be dead letters.
        expect(attemptsOf(neighbours)).toBeLessThan(60);
        expect(await countsOf(job)).toMatchObject({ received: taken });
        const result = await listed();
        const aside = { why: "batches died with it, and so it did alone", events: 1 };
        expect(result).toMatchObject(Array(count).fill(aside));
        expect(result[0]).not.toHaveProperty("unreadable");
      },
    );
  }

  summedJobRow("and is well again after a new deployment: it is delivered when it comes next", async (world, job) => {
    await world.take(world.mint(10), 1);
    await world.take(world.mint(1));
    const id = lastId(world);
    for (let round = 0; round < 4; round++) {
      expect(await deliver(world, (ids) => ids.includes(id))).toBeLessThanOrEqual(1);
      world.clock.advance(RETRY_MS);
    }
    await expectSettled(world, job, { received: 11, delivered: 11 });
  });
});

describe("a batch that is killed though none of its messages is to blame", () => {
  summedJobRow("comes back smaller, and all of it is delivered", async (world, job) => {
    await world.take(world.mint(100), 1);
    let kills = 0;
    // The handler has room for 30 messages.
    for (let round = 0; world.queue.held.length > 0 && round < 60; round++) {
      kills += await deliver(world, ({ length }) => length > 30);
      world.clock.advance(RETRY_MS);
    }
    expect(world.queue.held).toEqual([]);
    expect(kills).toBeLessThanOrEqual(8);
    await expectSettled(world, job, { received: 100, delivered: 100 });
    expect(await world.accountCounts()).toMatchObject({ set_aside: 0 });
  });
});

describe("a deployment that dies of every message", () => {
  summedJobRow("sets none aside, and all is delivered after the next one", async (world, job) => {
    await arrive(world, world.mint(1));
    await world.take(world.mint(30), 1);
    await world.take(world.mint(1), 1);
    let kills = 0;
    for (let round = 0; round < 20; round++) {
      kills += await deliver(world, () => true);
      world.clock.advance(RETRY_MS);
    }
    expect([kills, world.queue.held.length]).toEqual([20, 31]);
    await expectSettled(world, job, { received: 32, delivered: 32 });
    expect(await world.accountCounts()).toMatchObject({ set_aside: 0 });
  });
});
