/**
 * Stand-ins for real messages: new ids, the present time, and a single small record each. The
 * consumer handles them like real ones. In its calls, the fragments and counts of real messages
 * replace those records: sizes are real, and no later step reads the content.
 */

import { randomIds } from "../../../src/intake/ids.ts";
import type { Append, AppendedMessage } from "../../../src/object/append.ts";
import type { Fragment } from "../../../src/object/encoder.ts";
import { encodeParts, type Part } from "../../../src/queue/message.ts";
import { recordLine } from "../../../src/record/encode.ts";
import { toRecord } from "../../../src/record/record.ts";
import type { MessageCount, Outcome } from "../../../src/trace-log/trace-log.ts";
import type { Intercepted } from "../runtime/objects.ts";
import type { Sent } from "../runtime/queue.ts";
import type { Batch } from "./consume.ts";

const DAY_MS = 86_400_000;

/** What one append and its count carried: the consumer forms such groups by their size. */
export interface Group {
  /** Begins a batch of the queue. */
  isFirst: boolean;
  /** When it was consumed, in ms since the epoch. */
  atMs: number;
  append: Append;
  /** By id of the message. */
  counts: ReadonlyMap<string, MessageCount>;
}

/** The groups of batches that were consumed for one job. @throws if they hold anything else. */
export function groupsOf(batches: readonly Batch[]): Group[] {
  return batches.flatMap(({ atMs, calls }) => {
    const groups: { append: Append; counts: Map<string, MessageCount> }[] = [];
    for (const { callee, args } of calls) {
      if (callee === "JobReader.append") groups.push({ append: args[0] as Append, counts: new Map() });
      if (callee !== "TraceLog.count") continue;
      for (const count of (args[0] as Outcome).done) groups.at(-1)?.counts.set(count.id, count);
    }
    return groups.map((group, i) => {
      if (group.append.messages.some(({ id }) => !group.counts.has(id))) throw new Error("a message was not counted");
      return { ...group, atMs, isFirst: i === 0 };
    });
  });
}

/** What a message stands for. */
interface Stand {
  group: Group;
  appended: AppendedMessage;
  count: MessageCount;
  /** Later than the real one, in ms. */
  laterMs: number;
}

export class StandIns {
  readonly #idOf = randomIds();
  /** By id of the message. */
  readonly #stands = new Map<string, Stand>();
  #state: unknown = null;

  /**
   * One message of the queue, in which each message of a group is a part: inflating a hundred would
   * take most of the time. The parts are known until the next ones are made.
   */
  messageFor(group: Group, nowMs: number): Sent {
    this.#stands.clear();
    const laterMs = nowMs - Math.floor(group.atMs);
    const [first, ...others] = group.append.messages.map((appended): Part => {
      const count = group.counts.get(appended.id);
      if (count === undefined) throw new Error("a message was not counted");
      const part = { id: this.#idOf(0), takenInMs: appended.takenInMs + laterMs, keyed: false, records: 1 };
      this.#stands.set(part.id, { group, appended, count, laterMs });
      return part;
    });
    if (first === undefined) throw new Error("a group has no messages");
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
      case "JobReader.append":
        return { args: [this.#appendOf(args[0] as Append), ...args.slice(1)] };
      case "TraceLog.count":
        return { args: [this.#outcomeOf(args[0] as Outcome), ...args.slice(1)] };
      default:
        return null;
    }
  }

  #appendOf(append: Append): Append {
    const stands = append.messages.map((message) => ({ message, stand: this.#standOf(message.id) }));
    const [first] = stands;
    if (first === undefined) return append;
    const { group, laterMs } = first.stand;
    // Another shard may have some of them.
    const kept = stands.reduce((sum, { stand }) => sum + keptOf(stand.appended), 0);
    const all = group.append.messages.reduce((sum, message) => sum + keptOf(message), 0);
    return {
      ...append,
      messages: stands.map(({ message, stand }) => ({ ...stand.appended, ...idOf(message) })),
      fragments: partOf(group.append.fragments, kept, all).map((fragment) => later(fragment, laterMs)),
    };
  }

  #outcomeOf(outcome: Outcome): Outcome {
    const done = outcome.done.map((message): MessageCount => {
      const { count, laterMs } = this.#standOf(message.id);
      const functions = count.functions.map((each) => ({ ...each, lastEventMs: each.lastEventMs + laterMs }));
      const { recent: _, ...real } = count;
      return { ...real, ...idOf(message), functions, ...(message.recent && { recent: message.recent }) };
    });
    return { ...outcome, done };
  }

  #standOf(id: string): Stand {
    const stand = this.#stands.get(id);
    if (stand === undefined) throw new Error("a message stands for none");
    return stand;
  }
}

function idOf({ id, takenInMs, keyed }: AppendedMessage | MessageCount): {
  id: string;
  takenInMs: number;
  keyed: boolean;
} {
  return { id, takenInMs, keyed };
}

/** Records of a message that the job ships. */
function keptOf({ received, filtered, sampledOut }: AppendedMessage): number {
  return received - filtered - sampledOut;
}

/** So many of the records in fragments, which have `all`: as much of each of them. */
function partOf(fragments: readonly Fragment[], records: number, all: number): Fragment[] {
  if (records === all) return [...fragments];
  let left = records;
  return fragments.flatMap((fragment, i) => {
    const isLast = i === fragments.length - 1;
    const own = isLast ? left : Math.min(left, Math.round((fragment.records * records) / all));
    left -= own;
    if (own === 0) return [];
    const of = (amount: number): number => Math.max(1, Math.round((amount * own) / fragment.records));
    // A copy: a view would carry all of it.
    const body = fragment.body.slice(0, of(fragment.body.length));
    return [{ ...fragment, records: own, rawBytes: of(fragment.rawBytes), body }];
  });
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
