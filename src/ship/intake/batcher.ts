import { concat } from "../../base/bytes.ts";
import { MESSAGE_RAW_MAX_BYTES, PACKED_MAX_PARTS, QUEUE_MESSAGE_MAX_BYTES } from "../../base/limits.ts";
import { encodeExtras } from "../../formats/queue/extras.ts";
import type { MacKey } from "../../formats/queue/mac.ts";
import { encodeParts, type Part } from "../../formats/queue/message.ts";
import { shardOf } from "../../formats/queue/shard.ts";
import type { PackedMessage } from "./packing.ts";

/** A part, as an isolate has handed it over. */
export interface BatchedPart {
  part: Part;
  /** Its records as NDJSON, each line ended by a newline. */
  raw: Uint8Array;
  /** The extra fields of each record; absent: no record has any. */
  extras?: readonly string[];
}

/** What it takes, in bytes: units of extra fields count as such. */
export function sizeOf({ raw, extras = [] }: BatchedPart): number {
  return extras.reduce((sum, extra) => sum + extra.length, raw.length);
}

/** Parts that are sent together. */
export interface Group {
  readonly parts: BatchedPart[];
  /** When it was begun, in ms since the epoch. */
  readonly openedMs: number;
  /** Resolves when nothing more is added. */
  readonly closed: Promise<void>;
}

interface OpenGroup extends Group {
  rawBytes: number;
  close(): void;
}

/**
 * Size of a message that is aimed at, in bytes: an operation of the queue carries 64,000 with 100
 * of the platform's own, and two such messages cost what one of 128,000 does. The rest is for
 * parts that compress less well than those before.
 */
const AIM_BYTES = 61_000;

/** Of a part in the head of a message, with its source. */
const HEAD_BYTES = 30;

/** What records shrink to, before any was seen, as those of the benchmark do. */
const FIRST_RATIO = 0.2;

/** Weight of the newest message in the mean of ratios. */
const NEWEST = 0.3;

/**
 * Gathers parts into groups that fit a message, and prefers messages that fill one billed unit.
 * Pure but for the promises: the caller has the clock, and closes what has waited long enough.
 */
export class Batcher {
  #open: OpenGroup | null = null;
  /** Mean size of records in a message, as a part of their NDJSON. */
  #ratio = FIRST_RATIO;

  /** @returns the part's group; `isNew`: the caller has to close and send it. */
  add(part: BatchedPart, nowMs: number): { group: Group; isNew: boolean } {
    if (this.#open !== null && !this.#fits(this.#open, part)) this.close(this.#open);
    const isNew = this.#open === null;
    const group = this.#open ?? begun(nowMs);
    this.#open = group;
    group.parts.push(part);
    group.rawBytes += sizeOf(part);
    return { group, isNew };
  }

  /** Nothing more is added to this group. May be called again. */
  close(group: Group): void {
    if (this.#open !== group) return;
    this.#open.close();
    this.#open = null;
  }

  /** Learns how well records compress. */
  learn(rawBytes: number, messageBytes: number): void {
    if (rawBytes > 0) this.#ratio += NEWEST * (messageBytes / rawBytes - this.#ratio);
  }

  #fits({ parts, rawBytes }: OpenGroup, part: BatchedPart): boolean {
    const all = rawBytes + sizeOf(part);
    return (
      parts.length < PACKED_MAX_PARTS &&
      all <= MESSAGE_RAW_MAX_BYTES &&
      all * this.#ratio + (parts.length + 1) * HEAD_BYTES <= AIM_BYTES
    );
  }
}

function begun(openedMs: number): OpenGroup {
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  return { parts: [], openedMs, rawBytes: 0, closed, close };
}

/**
 * The messages of a group: one, or several where its records compress so badly that they do not
 * fit. Each part is in one of them.
 * @param parts of one shard of the log, each small enough to fit a message without compression.
 * @param seal absent: messages are not sealed.
 */
export function messagesOf(parts: readonly BatchedPart[], seal?: MacKey): { message: PackedMessage; ids: string[] }[] {
  const [first, ...others] = parts;
  if (first === undefined) return [];
  const raw = others.length === 0 ? first.raw : concat(parts.map((each) => each.raw));
  const hasExtras = parts.some(({ extras }) => extras !== undefined);
  const none = ({ part }: BatchedPart): string[] => Array.from({ length: part.records }, () => "");
  const extras = hasExtras ? parts.flatMap((each) => each.extras ?? none(each)) : [];
  const more = { body: encodeExtras(extras) };
  const body = encodeParts([first.part, ...others.map(({ part }) => part)], raw, more, seal);
  if (others.length > 0 && body.length > QUEUE_MESSAGE_MAX_BYTES) {
    const half = parts.length >> 1;
    return [...messagesOf(parts.slice(0, half), seal), ...messagesOf(parts.slice(half), seal)];
  }
  const records = parts.reduce((sum, { part }) => sum + part.records, 0);
  const takenInMs = Math.min(...parts.map(({ part }) => part.takenInMs));
  const { id } = first.part;
  const message = { id, shard: shardOf(first.part), takenInMs, records, body };
  return [{ message, ids: parts.map(({ part }) => part.id) }];
}
