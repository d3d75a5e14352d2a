import type { Scheduler } from "./scheduler.ts";

/** As wrangler.jsonc has them. */
const BATCH_MAX = 100;
const RETRY_DELAY_MS = 300_000;
const RETENTION_MS = 14 * 86_400_000;
const NAMES = ["logship-events", "logship-events-dead"] as const;

interface Held {
  id: string;
  body: Uint8Array<ArrayBuffer>;
  sentMs: number;
  dueMs: number;
  attempts: number;
  /** In the dead-letter queue. */
  isDead: boolean;
  /** A handler has it. */
  isOut: boolean;
}

/** What was told of a message. */
type Fate = { ack: true } | { ack: false; delayMs: number };

class DeliveredMessage {
  readonly id: string;
  readonly timestamp: Date;
  readonly attempts: number;
  readonly body: ArrayBuffer;
  fate: Fate | null = null;

  constructor({ id, sentMs, attempts, body }: Held) {
    this.id = id;
    this.timestamp = new Date(sentMs);
    this.attempts = attempts;
    this.body = body.slice().buffer;
  }
  ack(): void {
    this.fate ??= { ack: true };
  }
  retry({ delaySeconds = RETRY_DELAY_MS / 1_000 }: { delaySeconds?: number } = {}): void {
    this.fate ??= { ack: false, delayMs: delaySeconds * 1_000 };
  }
}

class DeliveredBatch {
  readonly queue: string;
  readonly messages: readonly DeliveredMessage[];
  readonly metadata: object;

  constructor(queue: string, messages: readonly DeliveredMessage[], metrics: object) {
    this.queue = queue;
    this.messages = messages;
    this.metadata = { metrics };
  }
  ackAll(): void {
    for (const message of this.messages) message.ack();
  }
  retryAll(): void {
    for (const message of this.messages) message.retry();
  }
}

/** Runs a handler. @returns whether it ended well: it did not throw, or die. */
export type Handler = (batch: DeliveredBatch) => Promise<boolean>;

/**
 * The queue and its dead-letter queue: each message at least once, in any order, in batches of any
 * size. What a handler dies with comes back, acknowledged or not.
 */
export class StandInQueue {
  readonly held: Held[] = [];
  /** Messages that it deleted for their age: no run may cause that. */
  expired = 0;
  /** How likely it refuses, or takes and does not say so. */
  refusalOdds = 0;
  lostOdds = 0;
  /** How likely an acknowledgement is lost. */
  forgetfulness = 0;
  maxRetries = 100;
  /** Nothing is delivered until then. */
  pausedUntilMs = 0;
  readonly #scheduler: Scheduler;
  readonly #handle: Handler;
  #next = 1;

  constructor(scheduler: Scheduler, handle: Handler) {
    this.#scheduler = scheduler;
    this.#handle = handle;
  }

  /** As a binding has it. */
  readonly sendBatch = async (messages: { body: Uint8Array }[]): Promise<void> => {
    const { random, hasFaults } = this.#scheduler;
    const bodies = messages.map(({ body }) => new Uint8Array(body));
    await this.#pause();
    if (hasFaults && random.chance(this.refusalOdds)) throw new Error("Unknown Internal Error (15000)");
    for (const body of bodies) this.#add(body);
    await this.#pause();
    if (hasFaults && random.chance(this.lostOdds)) throw new Error("Unknown Internal Error (15000)");
  };

  #pause(): Promise<void> {
    return new Promise((resolve) => void this.#scheduler.soon(resolve));
  }

  #add(body: Uint8Array<ArrayBuffer>): void {
    const { nowMs } = this.#scheduler;
    const id = `message ${this.#next++}`;
    this.held.push({ id, body, sentMs: nowMs, dueMs: nowMs, attempts: 0, isDead: false, isOut: false });
    this.#look(10_000);
  }

  /** Delivers what is due within that time. */
  #look(withinMs: number): void {
    const { random, nowMs } = this.#scheduler;
    this.#scheduler.at(nowMs + random.below(withinMs + 1), () => this.deliver());
  }

  /** One batch of what is due. */
  deliver(): void {
    const { random, nowMs } = this.#scheduler;
    if (nowMs < this.pausedUntilMs) {
      this.#scheduler.at(this.pausedUntilMs, () => this.deliver());
      return;
    }
    for (const old of this.held.filter(({ sentMs }) => sentMs < nowMs - RETENTION_MS)) {
      this.held.splice(this.held.indexOf(old), 1);
      this.expired += 1;
    }
    const isDead = random.chance(0.5);
    for (const dead of [isDead, !isDead]) {
      const due = this.held.filter((held) => held.isDead === dead && !held.isOut && held.dueMs <= nowMs);
      if (due.length === 0) continue;
      const most = dead ? 10 : random.chance(0.5) ? BATCH_MAX : 1 + random.below(4);
      const batch: Held[] = [];
      while (batch.length < most && due.length > 0) batch.push(...due.splice(random.below(due.length), 1));
      void this.#deliver(batch, dead);
      if (due.length > 0) this.#look(1_000);
    }
  }

  async #deliver(batch: readonly Held[], isDead: boolean): Promise<void> {
    for (const held of batch) {
      held.isOut = true;
      held.attempts += 1;
    }
    const messages = batch.map((held) => new DeliveredMessage(held));
    const waiting = this.held.filter((held) => held.isDead === isDead && !batch.includes(held));
    const oldest = waiting.reduce((min, { sentMs }) => Math.min(min, sentMs), Number.POSITIVE_INFINITY);
    const delivered = new DeliveredBatch(NAMES[isDead ? 1 : 0], messages, {
      backlogCount: waiting.length,
      backlogBytes: waiting.reduce((sum, { body }) => sum + body.length, 0),
      oldestMessageTimestamp: new Date(Number.isFinite(oldest) ? oldest : 0),
    });
    const isWell = await this.#handle(delivered);
    const { random, nowMs, hasFaults } = this.#scheduler;
    for (const [i, held] of batch.entries()) {
      held.isOut = false;
      const fate: Fate = isWell
        ? (messages[i]?.fate ?? { ack: true })
        : { ack: false, delayMs: isDead ? 12_000_000 : RETRY_DELAY_MS };
      const isForgotten = hasFaults && random.chance(this.forgetfulness);
      if (fate.ack && !isForgotten) this.held.splice(this.held.indexOf(held), 1);
      else this.#again(held, fate.ack ? RETRY_DELAY_MS : fate.delayMs, nowMs);
    }
  }

  #again(held: Held, delayMs: number, nowMs: number): void {
    held.dueMs = nowMs + delayMs;
    if (held.attempts > this.maxRetries && !held.isDead) {
      held.isDead = true;
      held.attempts = 0;
      held.dueMs = nowMs;
    }
    this.#scheduler.at(held.dueMs + 1, () => this.#look(10_000));
  }
}
