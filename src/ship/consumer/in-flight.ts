import { errorText, log } from "../../base/logger.ts";
import { TimeoutError } from "../../base/platform.ts";
import { type Delivery, takenIds } from "../../formats/queue/retries.ts";
import type { ConsumerContext } from "./context.ts";

/**
 * Messages in flight elsewhere (other consumers, intake) are younger than this, in ms; older ones
 * are noted in their shard of the log.
 */
export const IN_FLIGHT_MS = 60_000;

/**
 * A shard is told of a batch when its oldest message has this age, in ms: before others may
 * count it as finished.
 */
const NOTE_AFTER_MS = 40_000;

/**
 * Wait before a note that failed is sent again, in ms. A batch lasts four minutes: at most 24
 * calls.
 */
const NOTE_AGAIN_MS = 10_000;

/**
 * The messages of a batch that are being processed. Other consumers claim completeness up to a
 * minute before their own messages. So the log is told of this batch before its oldest message
 * is a minute old, at once if it is older already (a backlog, a retry), and again until the log
 * answers or the batch ends. A batch that is done sooner is never noted. Call {@link InFlight.end},
 * or the timer stays.
 */
export class InFlight {
  readonly #held: Set<Delivery>;
  readonly #expectAgain: ConsumerContext["expectAgain"];
  readonly #isStale: boolean;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The latest note; never rejects. */
  #note: Promise<void> = Promise.resolve();
  /** By message id. */
  #deaths: ReadonlyMap<string, number> = new Map();
  #hung = false;
  #ended = false;

  /** @param context its `expectAgain` has a deadline. */
  constructor(deliveries: readonly Delivery[], context: Pick<ConsumerContext, "expectAgain" | "platform">) {
    this.#held = new Set(deliveries);
    this.#expectAgain = context.expectAgain;
    const oldestMs = Math.min(...takenIds(deliveries).map(({ takenInMs }) => takenInMs));
    const waitMs = Math.min(Math.max(0, oldestMs + NOTE_AFTER_MS - context.platform.now()), NOTE_AFTER_MS);
    this.#isStale = waitMs === 0;
    if (this.#isStale) this.#send();
    else this.#timer = setTimeout(() => this.#send(), waitMs);
  }

  /**
   * To be awaited before the first append: the first note of an old batch has landed, failed or
   * timed out. Never throws.
   */
  async ready(): Promise<void> {
    if (this.#isStale) await this.#note;
  }

  /**
   * How many deliveries of a message in a row were killed, after {@link InFlight.ready}, as far as
   * the log knows: it was told of those that were old, or long in hand.
   */
  deathsOf({ taken }: Pick<Delivery, "taken">): number {
    return Math.max(0, ...taken.map(({ id }) => this.#deaths.get(id) ?? 0));
  }

  /**
   * Drops a message that is about to be set aside. An unreadable message is remembered by another
   * id than the one in its header. Setting it aside removes a note under the header's id, but a
   * note that lands later would stay for good.
   * @returns false: a note that may name it timed out and may still land. The message must not be
   *   set aside now.
   */
  async letGo(delivery: Delivery): Promise<boolean> {
    this.#held.delete(delivery);
    await this.#note;
    return !this.#hung;
  }

  /** Stops noting, and waits for a note under way: it must not land after a later delivery. */
  async end(): Promise<void> {
    this.#ended = true;
    clearTimeout(this.#timer);
    await this.#note;
  }

  #send(): void {
    if (this.#held.size > 0) this.#note = this.#noted([...this.#held]);
  }

  /** Each shard is told of its own messages. */
  async #noted(deliveries: readonly Delivery[]): Promise<void> {
    const deaths = new Map(this.#deaths);
    let isAgain = false;
    const tell = async ([shard, own]: [number, Delivery[]]): Promise<void> => {
      try {
        for (const [id, count] of readDeaths(await this.#expectAgain(shard, takenIds(own), "begun")))
          deaths.set(id, count);
      } catch (error) {
        log.error("messages in flight could not be noted", { shard, error: errorText(error) });
        this.#hung ||= error instanceof TimeoutError;
        isAgain = true;
      }
    };
    await Promise.all([...Map.groupBy(deliveries, (delivery) => delivery.shard)].map(tell));
    this.#deaths = deaths;
    if (isAgain && !this.#ended) this.#timer = setTimeout(() => this.#send(), NOTE_AGAIN_MS);
  }
}

/** What is no list of deaths says nothing. */
function readDeaths(answer: unknown): ReadonlyMap<string, number> {
  const deaths = new Map<string, number>();
  for (const each of Array.isArray(answer) ? answer : []) {
    const { id, deaths: count } = (each ?? {}) as { id?: unknown; deaths?: unknown };
    if (typeof id === "string" && typeof count === "number") deaths.set(id, count);
  }
  return deaths;
}
