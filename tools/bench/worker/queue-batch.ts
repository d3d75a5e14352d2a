/** A batch as the queue delivers it. */
export interface Batch extends MessageBatch<unknown> {
  /** @throws if a message was not acknowledged: the measurement would be wrong. */
  assertAcknowledged(): void;
}

/**
 * The shipper takes what the runtime made, which it tells by the methods of the prototype: so these
 * are classes.
 */
class Delivered implements Message<unknown> {
  readonly id: string;
  readonly timestamp: Date;
  readonly attempts = 1;
  readonly #body: ArrayBuffer;
  readonly #beforeRead: () => void;
  isAcknowledged = false;

  constructor(id: string, nowMs: number, body: ArrayBuffer, beforeRead: () => void) {
    this.id = id;
    this.timestamp = new Date(nowMs);
    this.#body = body;
    this.#beforeRead = beforeRead;
  }

  get body(): ArrayBuffer {
    this.#beforeRead();
    return this.#body;
  }

  ack(): void {
    this.isAcknowledged = true;
  }

  retry(): void {}
}

class DeliveredBatch implements Batch {
  readonly queue = "logship-events";
  readonly metadata = { metrics: { backlogCount: 0, backlogBytes: 0, oldestMessageTimestamp: new Date(0) } };
  readonly messages: readonly Delivered[];

  constructor(messages: readonly Delivered[]) {
    this.messages = messages;
  }

  ackAll(): void {}

  retryAll(): void {}

  assertAcknowledged(): void {
    const acknowledged = this.messages.filter(({ isAcknowledged }) => isAcknowledged).length;
    if (acknowledged !== this.messages.length)
      throw new Error(`${acknowledged} of ${this.messages.length} messages were acknowledged`);
  }
}

/** @param beforeRead is called before the body of a message is read. */
export function batchOf(bodies: readonly ArrayBuffer[], nowMs: number, beforeRead: () => void = () => {}): Batch {
  return new DeliveredBatch(bodies.map((body, i) => new Delivered(`${i}`, nowMs, body, beforeRead)));
}

/** An invocation of the clock. */
export class Tick implements ScheduledController {
  readonly cron: string;
  readonly scheduledTime: number;

  constructor(cron: string, scheduledTime: number) {
    this.cron = cron;
    this.scheduledTime = scheduledTime;
  }

  noRetry(): void {}
}
