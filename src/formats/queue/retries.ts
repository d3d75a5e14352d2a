import { CLOCK_AHEAD_MAX_MS, MESSAGE_MAX_AGE_MS } from "../../base/limits.ts";
import type { DedupId } from "../../base/storage/dedup-id.ts";
import { type Decoded, decodeEnvelope, type Envelope, headOf, idOf, isNewer, type Part } from "./message.ts";
import { shardOf } from "./shard.ts";

/**
 * A message as the queue delivered it, its header decoded once, and what the queue was told about
 * it.
 */
export class Delivery {
  readonly body: unknown;
  readonly envelope: Decoded<Envelope>;
  /** Deliveries so far, this one included. */
  readonly attempts: number;
  /** When the queue took the message, in ms since the epoch. */
  readonly queuedMs: number;
  readonly #message: Message<unknown>;
  #fate: "acknowledged" | "set_aside" | "retried" | null = null;

  constructor(message: Message<unknown>) {
    this.body = message.body;
    this.envelope = decodeEnvelope(message.body);
    this.attempts = message.attempts;
    this.queuedMs = message.timestamp.getTime();
    this.#message = message;
  }

  /** A newer version of this code wrote it, and can read it. */
  get isNewer(): boolean {
    return isNewer(this.body);
  }

  /** The ids of its parts; of a newer version, that of the first; none: it has no readable head. */
  get taken(): readonly DedupId[] {
    return this.#parts.map(idOf);
  }

  /** The shard of the log that its parts belong to; 0: it has no readable head. */
  get shard(): number {
    const [first] = this.#parts;
    return first === undefined ? 0 : shardOf(first);
  }

  get #parts(): readonly Omit<Part, "records">[] {
    if (this.envelope.ok) return this.envelope.value.parts;
    const head = this.isNewer ? headOf(this.body) : null;
    return head === null ? [] : [head];
  }

  /** null: the queue was told nothing yet. */
  get fate(): "acknowledged" | "set_aside" | "retried" | null {
    return this.#fate;
  }

  ack(fate: "acknowledged" | "set_aside" = "acknowledged"): void {
    this.#message.ack();
    this.#fate = fate;
  }

  /** Returns the message to the queue after a failure. The delay grows with the attempts. */
  retry(): void {
    this.#retryAfter(retryDelayS(this.attempts));
  }

  /** Returns a message that was not tried, for want of room: the first delay. */
  giveBack(): void {
    this.#retryAfter(retryDelayS(1));
  }

  #retryAfter(delaySeconds: number): void {
    this.#message.retry({ delaySeconds });
    this.#fate = "retried";
  }
}

/** The ids of those that have a readable head, with the number of the delivery. */
export function takenIds(deliveries: Iterable<Delivery>): (DedupId & { attempts: number })[] {
  return [...deliveries].flatMap(({ taken, attempts }) => taken.map((id) => ({ ...id, attempts })));
}

/**
 * How long a message that failed waits, in seconds. Short at first, as most faults are; then so
 * that a recovery is noticed within ten minutes. Before the platform's hundred retries are used up,
 * the handler sends it anew.
 * @param attempts deliveries so far, this one included, from 1.
 */
export function retryDelayS(attempts: number): number {
  return Math.min(2 ** attempts, 600);
}

/**
 * Whether a failed message is so old that the queue might delete it before it is tried often
 * enough.
 */
export function isOverdue(takenInMs: number, nowMs: number): boolean {
  return nowMs - takenInMs > MESSAGE_MAX_AGE_MS;
}

/** Why a message is set aside that {@link isFromFuture}. */
export const FROM_FUTURE = "says that it was taken in at a time yet to come";

/** Whether a message says that it was taken in later than a wrong clock explains. */
export function isFromFuture(takenInMs: number, nowMs: number): boolean {
  return takenInMs > nowMs + CLOCK_AHEAD_MAX_MS;
}
