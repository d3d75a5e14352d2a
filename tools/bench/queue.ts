/** The queue, by its documented rules: in batches, and again what is not acknowledged. */
import { queueUnits } from "../../src/ship/log/bill.ts";
import type { Scheduler } from "../../test/schedule/scheduler.ts";
import { DeliveredBatch, type Queued } from "./queue-batch.ts";
import { settings } from "./settings.ts";

/** Until a message is stored, in ms: assumed. */
const TAKES_MS = 100;

/** A message that waits. */
interface Waiting extends Queued {
  /** When it may be delivered, in ms since the epoch. */
  dueMs: number;
}

export class SimulatedQueue {
  readonly #scheduler: Scheduler;
  readonly #consume: (batch: MessageBatch<unknown>) => Promise<void>;
  /** The next one due comes first. */
  readonly #waiting: Waiting[] = [];
  #cancelNext = (): void => {};
  messages = 0;
  bytes = 0;
  batches = 0;
  /** Billed operations to write, read or delete these messages once. */
  units = 0;
  /** Takes nothing. */
  refuses = false;
  /** Delivers nothing. */
  #holds = false;

  constructor(scheduler: Scheduler, consume: (batch: MessageBatch<unknown>) => Promise<void>) {
    this.#scheduler = scheduler;
    this.#consume = consume;
    this.sendBatch = async (messages) => {
      const bodies = [...messages].map(({ body }) => body.slice().buffer as ArrayBuffer);
      await scheduler.sleep(TAKES_MS);
      if (this.refuses) throw new Error("Unknown Internal Error (15000)");
      for (const body of bodies) {
        this.messages += 1;
        this.bytes += body.byteLength;
        this.units += queueUnits(body.byteLength);
        this.#wait({ body, sentMs: scheduler.nowMs, attempts: 0, dueMs: scheduler.nowMs });
      }
    };
  }

  /** The binding of the producer. */
  readonly sendBatch: (messages: Iterable<{ body: Uint8Array }>) => Promise<void>;

  get waitingBytes(): number {
    return this.#waiting.reduce((sum, { body }) => sum + body.byteLength, 0);
  }

  set holds(holds: boolean) {
    this.#holds = holds;
    this.#plan();
  }

  /** Puts it in its place, most of the time the last. */
  #wait(waiting: Waiting): void {
    let place = this.#waiting.length;
    while (place > 0 && (this.#waiting[place - 1]?.dueMs ?? 0) > waiting.dueMs) place -= 1;
    this.#waiting.splice(place, 0, waiting);
    this.#plan();
  }

  /** Sets a timer for the next batch: when it is full, or the first message has waited. */
  #plan(): void {
    this.#cancelNext();
    if (this.#holds || this.#waiting.length === 0) return;
    const dueMs = (index: number): number => this.#waiting[index]?.dueMs ?? Number.POSITIVE_INFINITY;
    const atMs = Math.min(dueMs(settings.batchSize - 1), dueMs(0) + settings.batchTimeoutMs);
    this.#cancelNext = this.#scheduler.at(atMs, () => void this.#deliver());
  }

  async #deliver(): Promise<void> {
    const now = this.#scheduler.nowMs;
    const notYet = this.#waiting.findIndex(({ dueMs }) => dueMs > now);
    const most = notYet === -1 ? settings.batchSize : Math.min(notYet, settings.batchSize);
    const due = this.#waiting.splice(0, most);
    for (const message of due) message.attempts += 1;
    this.batches += 1;
    this.#plan();
    const batch = new DeliveredBatch(due, this.#waiting);
    await this.#consume(batch as never);
    for (const [i, { fate }] of batch.messages.entries()) {
      const message = due[i];
      // A handler that returns acknowledges what it did not decide on.
      if (message === undefined || fate === null || fate === "acknowledged") continue;
      this.#wait({ ...message, dueMs: this.#scheduler.nowMs + fate.againMs });
    }
  }
}
