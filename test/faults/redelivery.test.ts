/** The queue may deliver messages again, in any grouping and order, at any time within 15 days. */
import { expect } from "vitest";
import { cells } from "../support/matrix.ts";
import type { HeldMessage } from "../support/runtime/queue.ts";
import { summedRow } from "./row.ts";
import { deliver } from "./stores.ts";

type Redelivery = (messages: readonly HeldMessage[]) => HeldMessage[][];

const REDELIVERIES: Record<string, Redelivery> = {
  whole: (messages) => [[...messages]],
  "split one by one": (messages) => messages.map((message) => [message]),
  "merged with themselves": (messages) => [[...messages, ...messages]],
  reordered: (messages) => [[...messages].reverse()],
  "interleaved over two batches": (messages) => [
    messages.filter((_, i) => i % 2 === 0),
    messages.filter((_, i) => i % 2 === 1),
  ],
  "ten times": (messages) => Array.from({ length: 10 }, () => [...messages]),
};

const TIMES = [
  ["before the cut", 0],
  ["after their delivery", 600_000],
  ["after thirteen days", 13 * 86_400_000],
] as const;

for (const [[how, again], [[when, waitMs], key]] of cells(
  Object.entries(REDELIVERIES),
  cells(TIMES, [undefined, "a-key"]),
)) {
  summedRow(`redelivered ${how}, ${when}${key === undefined ? "" : ", keyed"}`, async (world) => {
    await world.createJob();
    const errors = { fields: { filter: '{"where":{"key":"Outcome","operator":"eq","value":"exception"}}' } };
    await world.createJob({ ...errors, keeps: ({ record }) => record.Outcome === "exception" });
    for (let i = 0; i < 12; i++) {
      const events = world.mint(5, { days: 3, outcome: i % 3 === 0 ? "exception" : "ok" });
      await world.take(events, 5, key === undefined ? {} : { key: `${key}-${i}` });
    }
    // The first half alone, so that the redelivery mixes known records with new ones.
    const messages = [...world.queue.held];
    expect(messages).toHaveLength(12);
    await deliver(world, messages.slice(0, 6), () => true);
    world.clock.advance(waitMs);
    if (waitMs > 0) {
      await world.runAlarms();
      await world.runCron();
    }
    for (const batch of again(messages)) {
      await deliver(world, batch, () => true);
      world.injected(batch.length);
    }
  });
}
