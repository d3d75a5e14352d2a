/**
 * A queue with the platform's guarantees, and the test as its scheduler. It keeps a message until
 * the handler acknowledges it, and delivers in any grouping and order, any number of times. After a
 * hundred failures a message goes to the dead-letter queue. After fourteen days it is deleted,
 * which no test may cause.
 */
import { createExecutionContext, createMessageBatch, getQueueResult } from "cloudflare:test";
import type { EventQueue } from "../../../src/ship/intake/send.ts";

/** As in wrangler.jsonc. */
const QUEUE = "logship-events";
const DEAD_QUEUE = "logship-events-dead";
const MAX_RETRIES = 100;
/** For messages that the handler neither acknowledged nor retried, in ms. */
const RETRY_DELAY_MS = 300_000;
const RETENTION_MS = 14 * 86_400_000;
const BATCH_MAX = 100;

type QueueHandler = (batch: MessageBatch<unknown>, env: Env) => Promise<void>;

export interface HeldMessage {
  readonly body: Uint8Array;
  readonly sentMs: number;
  /** Time of the next delivery, in ms since the epoch. */
  dueMs: number;
  /** Deliveries so far. */
  attempts: number;
  /** Whether it is in the dead-letter queue. */
  dead: boolean;
}

/**
 * Faults of one `sendBatch`: `refused` takes nothing and fails; `lost` takes all and fails; `half`
 * takes the first half and fails; `hang` is never answered.
 */
export type SendFault = "refused" | "lost" | "half" | "hang";

export class SimulatedQueue implements EventQueue {
  /** Everything sent and not yet acknowledged. */
  readonly held: HeldMessage[] = [];
  /** Deleted for their age. */
  readonly expired: HeldMessage[] = [];
  /** Called before each `sendBatch`; null: no fault. */
  sendFault: () => SendFault | null = () => null;
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  async sendBatch(messages: { body: Uint8Array; contentType: "bytes" }[]): Promise<void> {
    const fault = this.sendFault();
    if (fault === "hang") return new Promise(() => {});
    const taken = fault === "refused" ? [] : messages.slice(0, fault === "half" ? messages.length >> 1 : undefined);
    const sentMs = this.#nowMs();
    for (const { body } of taken) {
      this.held.push({ body: body.slice(), sentMs, dueMs: sentMs, attempts: 0, dead: false });
    }
    if (fault !== null) throw new Error("Unknown Internal Error (15000)");
  }

  /** Adds any message that a queue accepts, as a sender other than intake does. */
  put(body: unknown): void {
    const sentMs = this.#nowMs();
    this.held.push({ body: body as Uint8Array, sentMs, dueMs: sentMs, attempts: 0, dead: false });
  }

  /** Messages that may be delivered now: without dead letters, or dead letters only. */
  due({ dead = false } = {}): HeldMessage[] {
    const now = this.#nowMs();
    return this.held.filter((message) => message.dead === dead && message.dueMs <= now);
  }

  /** Time of the next due message, in ms since the epoch; Infinity if there is none. */
  nextDueMs(): number {
    return this.held.reduce((next, { dueMs }) => Math.min(next, dueMs), Number.POSITIVE_INFINITY);
  }

  /**
   * Delivers one batch to the handler, and applies its decision to each message.
   * @param batch held messages, in the order of delivery; one may occur twice.
   * @param losesAck whether the queue misses the acknowledgement of a message.
   * @returns how many messages were acknowledged, and how many are to be retried.
   */
  async deliver(
    batch: readonly HeldMessage[],
    handler: QueueHandler,
    env: Env,
    losesAck: (message: HeldMessage) => boolean = () => false,
  ): Promise<{ acked: number; retried: number }> {
    if (batch.length === 0) return { acked: 0, retried: 0 };
    for (const message of new Set(batch)) message.attempts += 1;
    const delays = new Map<number, number>();
    const delivery = createMessageBatch<unknown>(
      batch[0]?.dead ? DEAD_QUEUE : QUEUE,
      batch.map(({ body, attempts, sentMs }, i) => ({
        id: `${i}`,
        timestamp: new Date(sentMs),
        attempts,
        body: body instanceof Uint8Array ? body.slice().buffer : body,
      })),
    );
    Object.defineProperty(delivery, "metadata", { value: { metrics: this.#metrics(batch) } });
    delivery.messages.forEach((message, i) => {
      const retry = message.retry.bind(message);
      // The runtime's result of a batch has no delays.
      Object.defineProperty(message, "retry", {
        value: (options?: QueueRetryOptions) => {
          delays.set(i, (options?.delaySeconds ?? RETRY_DELAY_MS / 1_000) * 1_000);
          retry(options);
        },
      });
    });
    let acks: ReadonlySet<number> = new Set();
    try {
      const ctx = createExecutionContext();
      await handler(delivery, env);
      acks = new Set((await getQueueResult(delivery, ctx)).explicitAcks.map(Number));
    } catch {
      // If the handler throws, the platform treats no message as acknowledged.
      delays.clear();
    }
    const now = this.#nowMs();
    const outcomes = new Map<HeldMessage, boolean>();
    for (const [i, message] of batch.entries()) {
      const isAcked = acks.has(i) && !losesAck(message);
      outcomes.set(message, (outcomes.get(message) ?? false) || isAcked);
      message.dueMs = now + (delays.get(i) ?? RETRY_DELAY_MS);
    }
    let acked = 0;
    for (const [message, isAcked] of outcomes) {
      const at = this.held.indexOf(message);
      if (isAcked) {
        acked += 1;
        if (at !== -1) this.held.splice(at, 1);
      } else if (message.attempts > MAX_RETRIES && !message.dead) {
        message.dead = true;
        message.attempts = 0;
      }
    }
    return { acked, retried: outcomes.size - acked };
  }

  /** What the platform says with a batch: what waits behind it. */
  #metrics(batch: readonly HeldMessage[]): MessageBatchMetrics {
    const waiting = this.held.filter((message) => !message.dead && !batch.includes(message));
    return {
      backlogCount: waiting.length,
      backlogBytes: waiting.reduce((sum, { body }) => sum + (body.length ?? 0), 0),
      // 1970: nothing waits.
      oldestMessageTimestamp: new Date(waiting.length === 0 ? 0 : Math.min(...waiting.map(({ sentMs }) => sentMs))),
    };
  }

  /** Delivers all due messages, in batches as the platform makes them, and deletes expired ones. */
  async deliverDue(handler: QueueHandler, env: Env): Promise<void> {
    this.expire();
    for (const dead of [false, true]) {
      const due = this.due({ dead });
      for (let from = 0; from < due.length; from += BATCH_MAX) {
        await this.deliver(due.slice(from, from + BATCH_MAX), handler, env);
      }
    }
  }

  expire(): void {
    const old = this.#nowMs() - RETENTION_MS;
    for (const message of this.held.filter(({ sentMs }) => sentMs < old)) {
      this.held.splice(this.held.indexOf(message), 1);
      this.expired.push(message);
    }
  }
}
