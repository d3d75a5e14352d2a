import { DurableObject } from "cloudflare:workers";
import { decodeStrict, isValidUtf8, newlinesIn } from "../../base/bytes.ts";
import { PACKER_HELD_MAX_BYTES, PACKER_PART_MAX_BYTES } from "../../base/limits.ts";
import { platform } from "../../base/platform.ts";
import { readMacKeys } from "../../config.ts";
import { areAuthentic, type MacKey } from "../../formats/queue/mac.ts";
import type { Part } from "../../formats/queue/message.ts";
import { isShards, shardOf } from "../../formats/queue/shard.ts";
import { entryOf } from "../../formats/record/extras.ts";
import { isSource, type Source } from "../../formats/record/source.ts";
import { type BatchedPart, Batcher, type Group, messagesOf, sizeOf } from "./batcher.ts";
import { appendCall } from "./direct.ts";
import { QueueBackoff } from "./queue-backoff.ts";
import { type Deadlines, reasonOf, sendMessages } from "./send.ts";
import { type Early, type EarlyPart, earlyCall, Viewers } from "./viewers.ts";

/**
 * How long parts gather in the packer, from the first, in ms. Isolates hand over at the same moment
 * of their clocks: this is for differences of clocks and ways.
 */
export const PACK_MS = 500;

/**
 * How long an isolate waits for the packer's answer, in ms. Then it goes to the queue directly,
 * under the same id.
 */
export const PACKER_MS = 6_000;

/**
 * Of sending a message: what is taken later than a caller waits comes twice, which changes nothing
 * and costs a message.
 */
const DEADLINES: Deadlines = { queueMs: 2_000, logMs: 2_500 };

/** What an isolate hands over: records of one source, which are sent under this id alone. */
export interface HandedPart {
  /** As of {@link Part}. */
  id: string;
  /** When it was first handed over, in ms since the epoch. */
  takenInMs: number;
  source: Source;
  /** As of {@link Part}. */
  shards: number;
  records: number;
  /** The records as NDJSON, each line ended by a newline. */
  raw: Uint8Array<ArrayBuffer>;
  /** Extra fields, a line for each record; absent: no record has any. */
  extras?: Uint8Array<ArrayBuffer>;
  /** See seal.ts; null: there is no key. */
  seal: Uint8Array<ArrayBuffer> | null;
}

/**
 * `shared`: the queue or the log has the part, in a message of so many parts. `refused`: nothing
 * was taken, and nothing will be.
 */
export type PackAnswer = { shared: number } | { refused: "full" | "malformed" };

/**
 * Gathers what several isolates hand over into fewer and larger messages, in memory alone: a caller
 * keeps its part until it is sent, and goes to the queue itself if it is not told so in time.
 * One object: docs/delivery.md says what it carries, and what happens beyond that.
 */
export class Packer extends DurableObject<Env> {
  /** One for each shard of the log that parts came for. */
  readonly #batchers = new Map<number, Batcher>();
  /** Parts in each message that a group became, by id of the part. */
  readonly #sending = new WeakMap<Group, Promise<ReadonlyMap<string, number>>>();
  /** NDJSON of all parts that wait here, in bytes. */
  #heldBytes = 0;
  /** It asks once, when it is new; later it is told. */
  readonly #viewers = new Viewers(Number.POSITIVE_INFINITY);
  readonly #early: Early;
  readonly #backoff = new QueueBackoff();
  /** Overridden by tests. */
  maxBytes = PACKER_HELD_MAX_BYTES;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    const waitUntil = (promise: Promise<void>): void => ctx.waitUntil(promise);
    this.#early = this.#viewers.by({ call: (parts) => earlyCall(this.env)(parts), waitUntil, platform });
  }

  /** There are live viewers. */
  watched(): void {
    this.#viewers.told();
  }

  /**
   * @returns when the queue or the log has the part.
   * @throws if it is not known to have it: it may arrive all the same.
   */
  async pack(handed: HandedPart): Promise<PackAnswer> {
    const part = readPart(handed, readMacKeys(this.env));
    if (part === null) return { refused: "malformed" };
    const bytes = sizeOf(part);
    if (this.#heldBytes + bytes > this.maxBytes) return { refused: "full" };
    this.#heldBytes += bytes;
    try {
      const batcher = this.#basketOf(part.part);
      const { group, isNew } = batcher.add(part, platform.now());
      if (isNew) this.#sending.set(group, this.#send(group, batcher));
      const shared = (await this.#sending.get(group))?.get(part.part.id);
      if (shared === undefined) throw new Error("the part is in no message");
      return { shared };
    } finally {
      this.#heldBytes -= bytes;
    }
  }

  #basketOf(part: Part): Batcher {
    const shard = shardOf(part);
    const batcher = this.#batchers.get(shard) ?? new Batcher();
    this.#batchers.set(shard, batcher);
    return batcher;
  }

  /** Sends a group when it has waited, or is full. */
  async #send(group: Group, batcher: Batcher): Promise<ReadonlyMap<string, number>> {
    await platform.sleep(PACK_MS, group.closed);
    batcher.close(group);
    // Its callers have gone to the queue themselves.
    if (platform.now() - group.openedMs >= PACKER_MS) throw new Error("the packer was held up");
    const [seal] = readMacKeys(this.env);
    const packed = messagesOf(group.parts, seal);
    const sizes = packed.map(({ message }) => message.body.length);
    const rawBytes = group.parts.reduce((sum, part) => sum + sizeOf(part), 0);
    batcher.learn(
      rawBytes,
      sizes.reduce((sum, size) => sum + size, 0),
    );
    const messages = packed.map(({ message }) => message);
    try {
      const way = {
        queue: this.env.EVENTS,
        append: appendCall(this.env),
        platform,
        backoff: this.#backoff,
        ...(seal && { seal }),
      };
      await sendMessages(messages, way, DEADLINES);
    } catch (error) {
      // Without the messages, which it would carry to every caller.
      throw new Error("neither the queue nor the log took a message", { cause: reasonOf(error) });
    }
    if (this.#early.mayWatch()) this.#early.show(group.parts.map(earlyPart));
    return new Map(packed.flatMap(({ ids }) => ids.map((id) => [id, ids.length] as const)));
  }
}

/** Read as it was, so that it is what the consumer shows. */
function earlyPart({ part, raw, extras }: BatchedPart): EarlyPart {
  const entries = linesIn(raw).map((line, i) => entryOf(line, extras?.[i] ?? ""));
  return { id: part.id, takenInMs: part.takenInMs, source: part.source ?? "", entries };
}

/** The packer's one object. */
export function packer(namespace: DurableObjectNamespace<Packer>): DurableObjectStub<Packer> {
  return namespace.getByName("packer");
}

/**
 * One part that is not what it says would make a message unreadable, and with it the other parts.
 * @param keys of seals; with none, nothing is sealed, and the consumer parses every record.
 * @returns null: it is none, or with keys, not of this service.
 */
export function readPart(handed: unknown, keys: readonly MacKey[]): BatchedPart | null {
  const { id, takenInMs, source, shards, records, raw, extras, seal } = (handed ?? {}) as {
    readonly [N in keyof Required<HandedPart>]: unknown;
  };
  if (typeof id !== "string" || !/^[0-9a-f]{32}$/.test(id)) return null;
  if (!isCount(takenInMs) || !isCount(records) || typeof source !== "string" || !isSource(source)) return null;
  if (typeof shards !== "number" || !isShards(shards)) return null;
  if (!(raw instanceof Uint8Array) || raw.length === 0 || raw.length > PACKER_PART_MAX_BYTES) return null;
  const beside = extras ?? null;
  if (!areLines(raw, records) || (beside !== null && !(beside instanceof Uint8Array && areLines(beside, records))))
    return null;
  if (raw.length + (beside?.length ?? 0) > PACKER_PART_MAX_BYTES) return null;
  if (keys.length > 0 && !(seal instanceof Uint8Array && areAuthentic(raw, seal, keys, beside))) return null;
  const part: Part = { id, takenInMs, keyed: false, shards, records, ...(source !== "" && { source }) };
  return { part, raw, ...(beside !== null && { extras: linesIn(beside) }) };
}

function areLines(bytes: Uint8Array, count: number): boolean {
  return newlinesIn(bytes, count) !== null && bytes.at(-1) === NEWLINE && isValidUtf8(bytes);
}

function linesIn(bytes: Uint8Array): string[] {
  return decodeStrict(bytes).split("\n").slice(0, -1);
}

const NEWLINE = 0x0a;

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
