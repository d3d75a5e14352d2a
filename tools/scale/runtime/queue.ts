/** The queue, by its documented rules: it takes within its limits, and delivers in batches. */

/** https://developers.cloudflare.com/queues/platform/limits/ */
const LIMITS = { messageBytes: 128_000, sendBatchBytes: 256_000, sendBatchMessages: 100 };

/** Billed operations: one for each started 64 KB. */
const UNIT_BYTES = 64_000;

export interface ConsumerSettings {
  name: string;
  batchSize: number;
  batchTimeoutMs: number;
  /** Invocations of the consumer at the same time. */
  concurrency: number;
}

export interface Sent {
  body: ArrayBuffer;
  sentMs: number;
}

interface Waiting extends Sent {
  /** Deliveries so far. */
  attempts: number;
  /** When it may be delivered, in ms since the epoch. */
  dueMs: number;
}

/** Its methods are those by which src tells what the runtime made. */
class DeliveredMessage {
  readonly id: string;
  readonly timestamp: Date;
  readonly attempts: number;
  readonly body: ArrayBuffer;
  fate: "acknowledged" | { retryMs: number } | null = null;

  constructor(id: string, { body, sentMs, attempts }: Waiting) {
    this.id = id;
    this.timestamp = new Date(sentMs);
    this.attempts = attempts;
    this.body = body;
  }

  ack(): void {
    this.fate = "acknowledged";
  }

  retry({ delaySeconds = 0 } = {}): void {
    this.fate = { retryMs: delaySeconds * 1_000 };
  }
}

class DeliveredBatch {
  readonly queue: string;
  readonly messages: readonly DeliveredMessage[];
  readonly metadata: MessageBatchMetadata;

  constructor(queue: string, messages: readonly DeliveredMessage[], waiting: number, oldestMs: number) {
    this.queue = queue;
    this.messages = messages;
    const oldestMessageTimestamp = new Date(waiting === 0 ? 0 : oldestMs);
    this.metadata = { metrics: { backlogCount: waiting, backlogBytes: 0, oldestMessageTimestamp } };
  }

  ackAll(): void {
    for (const message of this.messages) message.ack();
  }

  retryAll(options = {}): void {
    for (const message of this.messages) message.retry(options);
  }
}

export type Consume = (batch: MessageBatch<unknown>) => Promise<void>;

export class SimulatedQueue {
  readonly #settings: ConsumerSettings;
  readonly #consume: Consume;
  readonly #nowMs: () => number;
  /** The next one due comes first. */
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  sends = 0;
  messages = 0;
  bytes = 0;
  units = 0;
  /** Delivered in batches: messages, those included that came again. */
  deliveries = 0;
  batches = 0;
  /** Most bytes that waited at a time. */
  highestBytes = 0;
  /** Takes what is sent, so that nothing is delivered; null: the consumer gets it. */
  onSend: ((sent: Sent) => void) | null = null;
  /** Takes nothing. */
  refuses = false;
  /** Delivers nothing. */
  holds = false;

  constructor(settings: ConsumerSettings, consume: Consume, nowMs: () => number) {
    this.#settings = settings;
    this.#consume = consume;
    this.#nowMs = nowMs;
  }

  /** The binding of the producer. */
  async sendBatch(messages: Iterable<{ body: unknown }>): Promise<void> {
    const bodies = [...messages].map(({ body }) => body as Uint8Array);
    const bytes = bodies.reduce((sum, body) => sum + body.length, 0);
    const tooLarge = bodies.some((body) => body.length > LIMITS.messageBytes);
    if (this.refuses || tooLarge || bytes > LIMITS.sendBatchBytes || bodies.length > LIMITS.sendBatchMessages)
      throw new Error("Unknown Internal Error (15000)");
    this.sends += 1;
    for (const body of bodies) this.put({ body: body.slice().buffer as ArrayBuffer, sentMs: this.#nowMs() });
  }

  put(sent: Sent): void {
    this.messages += 1;
    this.bytes += sent.body.byteLength;
    this.units += Math.ceil(sent.body.byteLength / UNIT_BYTES);
    if (this.onSend !== null) {
      this.onSend(sent);
      return;
    }
    this.#wait({ ...sent, attempts: 0, dueMs: sent.sentMs });
    this.#waitingBytes += sent.body.byteLength;
    this.highestBytes = Math.max(this.highestBytes, this.#waitingBytes);
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** When the next batch is delivered, in ms since the epoch. */
  nextMs(): number {
    if (this.holds) return Number.POSITIVE_INFINITY;
    const { batchSize, batchTimeoutMs } = this.#settings;
    const dueMs = (index: number): number => this.#waiting[index]?.dueMs ?? Number.POSITIVE_INFINITY;
    return Math.min(dueMs(batchSize - 1), dueMs(0) + batchTimeoutMs);
  }

  /** Puts it in its place, most of the time the last. */
  #wait(waiting: Waiting): void {
    let place = this.#waiting.length;
    while (place > 0 && (this.#waiting[place - 1]?.dueMs ?? 0) > waiting.dueMs) place -= 1;
    this.#waiting.splice(place, 0, waiting);
  }

  async deliver(): Promise<void> {
    const now = this.#nowMs();
    const notYet = this.#waiting.findIndex(({ dueMs }) => dueMs > now);
    const { batchSize } = this.#settings;
    const due = this.#waiting.splice(0, notYet === -1 ? batchSize : Math.min(notYet, batchSize));
    const messages = due.map((waiting) => {
      waiting.attempts += 1;
      this.deliveries += 1;
      return new DeliveredMessage(`${this.deliveries}`, waiting);
    });
    this.batches += 1;
    const rest = this.#waiting;
    const oldest = rest.reduce((oldestMs, { sentMs }) => Math.min(oldestMs, sentMs), Number.POSITIVE_INFINITY);
    await this.#consume(new DeliveredBatch(this.#settings.name, messages, rest.length, oldest) as never);
    messages.forEach(({ fate }, i) => {
      const waiting = due[i];
      if (waiting === undefined) return;
      // A handler that returns acknowledges what it did not decide on.
      if (fate === null || fate === "acknowledged") this.#waitingBytes -= waiting.body.byteLength;
      else this.#wait({ ...waiting, dueMs: this.#nowMs() + fate.retryMs });
    });
  }
}
