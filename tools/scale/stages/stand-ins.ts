/**
 * Stand-ins for real messages: new ids, the present time, and a single small record each. The
 * consumer handles them like real ones. In its calls, the bodies, fragments and counts of real
 * messages replace those records: sizes are real, and no later step reads the content.
 */

import type { Fragment } from "../../../src/formats/object/encoder.ts";
import { encodeParts, type Part } from "../../../src/formats/queue/message.ts";
import { shardOf } from "../../../src/formats/queue/shard.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { toRecord } from "../../../src/formats/record/record.ts";
import { randomIds } from "../../../src/ship/intake/ids.ts";
import type { Append, PartHead } from "../../../src/ship/log/append.ts";
import type { Intercepted } from "../runtime/objects.ts";
import type { Sent } from "../runtime/queue.ts";
import type { Batch } from "./consume.ts";

const DAY_MS = 86_400_000;

/** What one append carried: the consumer forms such groups by their size and their shard. */
export interface Group {
  /** Begins a batch of the queue. */
  isFirst: boolean;
  /** When it was consumed, in ms since the epoch. */
  atMs: number;
  append: Append;
}

/** The groups of batches that were consumed. */
export function groupsOf(batches: readonly Batch[]): Group[] {
  return batches.flatMap(({ atMs, calls }) =>
    calls
      .filter(({ callee }) => callee === "TraceLog.append")
      .map(({ args }, i) => ({ atMs, isFirst: i === 0, append: args[0] as Append })),
  );
}

/** Events of a group. */
export function eventsOf({ append: { parts } }: Group): number {
  return parts.reduce((sum, part) => sum + recordsOf(part), 0);
}

function recordsOf({ functions }: PartHead): number {
  return functions.reduce((sum, { records }) => sum + records, 0);
}

export class StandIns {
  readonly #shards: number;
  /** Of the parts that were made last: those that they stand for, by id. */
  #real = new Map<string, PartHead>();
  /** Later than the real ones, in ms. */
  #laterMs = 0;
  #state: unknown = null;

  /** @param shards of the log, when the groups were consumed. */
  constructor(shards: number) {
    this.#shards = shards;
  }

  /**
   * One message of the queue, in which each part of a group is a part: inflating a hundred messages
   * would take most of the time. The parts are known until the next ones are made.
   */
  messageFor({ append, atMs }: Group, nowMs: number): Sent {
    this.#real.clear();
    this.#laterMs = nowMs - Math.floor(atMs);
    const shards = this.#shards;
    const shard = shardOf({ id: append.parts[0]?.id ?? "", shards });
    let idOf = randomIds(shards);
    while (shardOf({ id: idOf(0), shards }) !== shard) idOf = randomIds(shards);
    const [first, ...others] = append.parts.map((real): Part => {
      const part = { id: idOf(0), takenInMs: real.takenInMs + this.#laterMs, keyed: false, shards, records: 1 };
      this.#real.set(part.id, real);
      return part;
    });
    if (first === undefined) throw new Error("a group has no parts");
    const raw = new TextEncoder().encode(`${lineAt(first.takenInMs)}\n`.repeat(1 + others.length));
    return { body: encodeParts([first, ...others], raw).buffer, sentMs: first.takenInMs };
  }

  /**
   * The consumer's calls, with what the real messages were; and a group that does not begin a batch
   * does not ask for the configuration: the consumer does that once a batch.
   */
  intercept(callee: string, args: readonly unknown[], group: Group): Intercepted | null {
    switch (callee) {
      case "ControlPlane.configSince":
        if (group.isFirst) this.#state = args[0];
        else if (args[0] === this.#state) return { answer: { state: this.#state, jobs: null } };
        return null;
      case "TraceLog.append":
        return { args: [this.#appendOf(args[0] as Append, group), ...args.slice(1)] };
      default:
        return null;
    }
  }

  #appendOf(append: Append, { isFirst, append: real }: Group): Append {
    const ids = new Map(append.parts.map(({ id }) => [this.#realOf(id).id, id]));
    const idOf = (id: string): string => ids.get(id) ?? id;
    const [shipped] = real.prepared;
    const [share] = shipped?.jobs ?? [];
    if (shipped === undefined || share === undefined) throw new Error("nothing was prepared");
    const { received, filtered, sampledOut } = share;
    return {
      ...append,
      parts: append.parts.map((part) => this.#headOf(part)),
      records: real.records.map(({ body, parts }) => ({ body, parts: parts.map(idOf) })),
      prepared: append.prepared.map((prepared) => ({
        ...prepared,
        jobs: prepared.jobs.map((job) => ({ ...job, received, filtered, sampledOut })),
        fragments: shipped.fragments.map((fragment) => later(fragment, this.#laterMs)),
      })),
      work: { ...append.work, batches: isFirst ? 1 : 0, offered: received * append.work.entries },
    };
  }

  #headOf({ id, takenInMs, keyed }: PartHead): PartHead {
    const real = this.#realOf(id);
    const functions = real.functions.map((each) => ({ ...each, lastEventMs: each.lastEventMs + this.#laterMs }));
    return { ...real, id, takenInMs, keyed, functions };
  }

  #realOf(id: string): PartHead {
    const real = this.#real.get(id);
    if (real === undefined) throw new Error("a part stands for none");
    return real;
  }
}

function later(fragment: Fragment, laterMs: number): Fragment {
  const firstEventMs = fragment.firstEventMs + laterMs;
  return {
    ...fragment,
    day: Math.floor(firstEventMs / DAY_MS),
    firstEventMs,
    lastEventMs: fragment.lastEventMs + laterMs,
    oldestTakenMs: fragment.oldestTakenMs + laterMs,
  };
}

/** A record, as it travels. */
function lineAt(timeMs: number): string {
  const item = { event: { cron: "* * * * *", scheduledTime: timeMs }, eventTimestamp: timeMs, scriptName: "stand-in" };
  const context = { takenInMs: timeMs, defaultScriptName: "unnamed", lenient: true };
  const record = toRecord({ ...item, logs: [], exceptions: [], outcome: "ok" }, context, "", {
    faults: [],
    unknownKeys: new Set(),
  });
  if (record === null) throw new Error("a trace item is none");
  return recordLine(record);
}
