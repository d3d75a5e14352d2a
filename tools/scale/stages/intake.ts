/** Real bytes: events at random, as `tail()` gets them, until the queue has them. */

import { decodeEnvelope } from "../../../src/formats/queue/message.ts";
import { Gatherer } from "../../../src/ship/intake/gather.ts";
import { handleTail } from "../../../src/ship/intake/tail.ts";
import { tailContext } from "../../../src/ship/intake/tail-context.ts";
import { RecordMix, seeded, type TraceItem } from "../../bench/records.ts";
import { threadCpuMs } from "../runtime/meter.ts";
import type { Sent } from "../runtime/queue.ts";
import { World } from "../runtime/world.ts";

/** Trace items that are reused with a new time and version: making them would cost the most. */
const POOL = 5_000;

/**
 * Before counting begins, in s: gathering takes two, and isolates begin at random in the first two,
 * or all would send at the same time.
 */
const WARM_UP_S = 5;
const BEGIN_WITHIN_MS = 2_000;

export interface Taken {
  /** Counted time, in s. */
  seconds: number;
  /** Events that came in it. */
  events: number;
  /** Messages that the queue got in it. */
  messages: readonly Packed[];
  /** Calls of `sendBatch` in it. */
  sends: number;
  /** CPU time of all isolates for an event, in µs. */
  cpuUs: number;
}

export interface Packed extends Sent {
  records: number;
}

/** Events that come, each in a random one of these isolates. */
export interface Load {
  eventsPerSecond: number;
  isolates: number;
  /** Of the log. */
  shards: number;
}

/**
 * @param seconds counted time. @param say gets warnings and errors of the shipper.
 */
export async function takeIn(rate: Load, seconds: number, say: (line: string) => void): Promise<Taken> {
  const world = new World(say, rate.shards);
  const { clock, queue } = world;
  const random = seeded(3);
  const mix = new RecordMix(3);
  const pool: TraceItem[] = Array.from({ length: POOL }, () => mix.next(clock.nowMs));
  const isolates = Array.from({ length: rate.isolates }, () => {
    const gatherer = new Gatherer();
    // Each by itself, without the packer: that is what takes most messages.
    gatherer.company.packed(1, clock.nowMs);
    return { gatherer, beginMs: clock.nowMs + random() * BEGIN_WITHIN_MS };
  });
  const context = { waitUntil: (promise: Promise<unknown>) => void promise };
  const messages: Packed[] = [];
  queue.onSend = (sent) => messages.push({ ...sent, records: recordsOf(sent.body) });
  const gapMs = (): number => (-Math.log(1 - random()) / rate.eventsPerSecond) * 1_000;
  let events = 0;
  let dueMs = clock.nowMs + gapMs();
  const until = async (endMs: number): Promise<void> => {
    for (;;) {
      const atMs = Math.min(dueMs, clock.nextMs);
      if (atMs > endMs) break;
      clock.advanceTo(atMs);
      if (atMs < dueMs) {
        clock.fire();
        await world.ended(Promise.resolve());
        continue;
      }
      dueMs += gapMs();
      const isolate = isolates[Math.floor(random() * isolates.length)];
      const item = pool[Math.floor(random() * POOL)];
      if (isolate === undefined) throw new Error("there is no isolate");
      if (isolate.beginMs > clock.nowMs) continue;
      events += 1;
      const trace = { ...item, eventTimestamp: Math.floor(clock.nowMs), scriptVersion: { id: versionOf(events) } };
      await handleTail([trace], tailContext(world.env, context, isolate.gatherer));
    }
    clock.advanceTo(endMs);
  };
  world.enter();
  try {
    await until(clock.nowMs + WARM_UP_S * 1_000);
    const before = { events, sends: queue.sends, cpuMs: threadCpuMs(), messages: messages.splice(0).length };
    await until(clock.nowMs + seconds * 1_000);
    const cpuMs = threadCpuMs() - before.cpuMs;
    events -= before.events;
    return { seconds, events, messages, sends: queue.sends - before.sends, cpuUs: (cpuMs / events) * 1_000 };
  } finally {
    world.leave();
  }
}

function recordsOf(body: ArrayBuffer): number {
  const envelope = decodeEnvelope(body);
  if (!envelope.ok) throw new Error(envelope.why);
  return envelope.value.parts.reduce((sum, { records }) => sum + records, 0);
}

/** A UUID of its own for each event, by which it is found again; as random as real ones. */
function versionOf(event: number): string {
  const random = seeded(event);
  const hex = Array.from({ length: 3 }, () =>
    Math.floor(random() * 2 ** 32)
      .toString(16)
      .padStart(8, "0"),
  ).join("");
  const number = event.toString(16).padStart(8, "0");
  return `${number}-${hex.slice(0, 4)}-${hex.slice(4, 8)}-${hex.slice(8, 12)}-${hex.slice(12)}`;
}
