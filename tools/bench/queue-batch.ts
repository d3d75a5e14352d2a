/** Messages as the queue delivers them. */

/** A message. */
export interface Queued {
  /** Read when the consumer reads it. */
  readonly body: ArrayBuffer;
  sentMs: number;
  /** Deliveries so far. */
  attempts: number;
}

/** Its methods are those by which src tells what the runtime made. */
class DeliveredMessage {
  readonly id: string;
  readonly timestamp: Date;
  readonly attempts: number;
  readonly #message: Queued;
  fate: "acknowledged" | { againMs: number } | null = null;

  constructor(id: string, message: Queued) {
    this.id = id;
    this.timestamp = new Date(message.sentMs);
    this.attempts = message.attempts;
    this.#message = message;
  }
  get body(): ArrayBuffer {
    return this.#message.body;
  }
  ack(): void {
    this.fate = "acknowledged";
  }
  retry({ delaySeconds = 0 } = {}): void {
    this.fate = { againMs: delaySeconds * 1_000 };
  }
}

/** As wrangler.jsonc names it. */
const QUEUE = "logship-events";

export class DeliveredBatch {
  readonly queue = QUEUE;
  readonly messages: readonly DeliveredMessage[];
  readonly metadata: MessageBatchMetadata;

  /** @param waiting what is left in the queue. */
  constructor(messages: readonly Queued[], waiting: readonly Queued[] = []) {
    this.messages = messages.map((message, i) => new DeliveredMessage(`${i}`, message));
    const oldestMs = waiting.reduce((oldest, { sentMs }) => Math.min(oldest, sentMs), Number.POSITIVE_INFINITY);
    const oldestMessageTimestamp = new Date(waiting.length === 0 ? 0 : oldestMs);
    this.metadata = { metrics: { backlogCount: waiting.length, backlogBytes: 0, oldestMessageTimestamp } };
  }
  ackAll(): void {
    for (const message of this.messages) message.ack();
  }
  retryAll(options = {}): void {
    for (const message of this.messages) message.retry(options);
  }

  /** @throws if a message was not acknowledged: the measurement would be wrong. */
  assertAcknowledged(): void {
    const left = this.messages.filter(({ fate }) => fate !== "acknowledged").length;
    if (left > 0) throw new Error(`${left} of ${this.messages.length} messages were not acknowledged`);
  }
}

/** A batch of these bodies, delivered for the first time. */
export function batchOf(bodies: readonly ArrayBuffer[], sentMs: number): DeliveredBatch {
  return new DeliveredBatch(bodies.map((body) => ({ body, sentMs, attempts: 1 })));
}
