import { readWatched } from "../account/outcome.ts";
import { log } from "../log.ts";
import type { AsideContext } from "../set-aside/keep.ts";
import type { ConsumerContext } from "./commit.ts";

/**
 * What became of a batch, for its line: it looks on as messages are acknowledged and given back, and as the world is asked, and changes nothing of it.
 */
export class Tally {
  readonly #queue: string;
  readonly #startedMs: number;
  readonly #fates: ("acknowledged" | "retried" | null)[];
  readonly #jobs = new Set<number>();
  #events = 0;
  #setAside = 0;

  constructor(batch: MessageBatch<unknown>, startedMs: number) {
    this.#queue = batch.queue;
    this.#startedMs = startedMs;
    this.#fates = batch.messages.map(() => null);
  }

  /** The batch, whose messages are looked at. */
  watch(batch: MessageBatch<unknown>): MessageBatch<unknown> {
    const messages = batch.messages.map((message, i) => {
      // As with the queue, the last word counts.
      const decided = (fate: "acknowledged" | "retried"): void => {
        this.#fates[i] = fate;
      };
      return new Watched(message, decided);
    });
    return {
      messages,
      queue: batch.queue,
      metadata: batch.metadata,
      ackAll: () => batch.ackAll(),
      retryAll: (options) => batch.retryAll(options),
    };
  }

  /** What the handler asks, where an answer means that something is done. */
  context(context: ConsumerContext): ConsumerContext {
    return {
      ...context,
      ...this.aside(context),
      blobs: context.blobs,
      append: async (job, build, suspects) => {
        const result = await context.append(job, build, suspects);
        if (result.kind === "taken") this.#jobs.add(job.id);
        return result;
      },
      count: async (outcome) => {
        const answer = await context.count(outcome);
        if (answer === null || readWatched(answer) !== null)
          this.#events += outcome.done.reduce((sum, { events }) => sum + events, 0);
        return answer;
      },
    };
  }

  /** The same of what is needed to set messages aside. */
  aside({ setAside, blobs }: AsideContext): AsideContext {
    return {
      blobs,
      setAside: async (message) => {
        await setAside(message);
        this.#setAside += 1;
      },
    };
  }

  /** Writes the batch's line. */
  end(nowMs: number): void {
    const count = (wanted: string): number => this.#fates.filter((fate) => fate === wanted).length;
    log.info("batch", {
      queue: this.#queue,
      messages: this.#fates.length,
      events: this.#events,
      acknowledged: count("acknowledged") - this.#setAside,
      retried: count("retried"),
      set_aside: this.#setAside,
      jobs: this.#jobs.size,
      ms: nowMs - this.#startedMs,
    });
  }
}

/** A message of the runtime's, which must be spoken to itself: what it is asked, it is asked when it is asked. */
class Watched implements Message<unknown> {
  readonly #message: Message<unknown>;
  readonly #decided: (fate: "acknowledged" | "retried") => void;

  constructor(message: Message<unknown>, decided: (fate: "acknowledged" | "retried") => void) {
    this.#message = message;
    this.#decided = decided;
  }

  get id(): string {
    return this.#message.id;
  }

  get timestamp(): Date {
    return this.#message.timestamp;
  }

  get body(): unknown {
    return this.#message.body;
  }

  get attempts(): number {
    return this.#message.attempts;
  }

  retry(options?: QueueRetryOptions): void {
    this.#message.retry(options);
    this.#decided("retried");
  }

  ack(): void {
    this.#message.ack();
    this.#decided("acknowledged");
  }
}
