import { errorText, log } from "../log.ts";
import { idOf } from "../object/build.ts";
import { TimeoutError } from "../platform.ts";
import { decodeEnvelope } from "../queue/message.ts";
import type { TakenId } from "../storage/id-memory.ts";
import type { ConsumerContext } from "./commit.ts";

/** What other consumers have in hand, and intake is sending, is younger than this, in ms; of what is older, the ledger knows. */
export const IN_HAND_MS = 60_000;

/** The ledger is told of a batch when its oldest message is so old, in ms: before anybody may believe that nothing so old is in anybody's hand. */
const NOTE_AFTER_MS = 40_000;

/** When it is told again, if it could not be, in ms. A batch lasts ten minutes: sixty calls at most. */
const NOTE_AGAIN_MS = 10_000;

/** Who a message says that it is, if it says anything. */
export function takenOf({ body }: Message<unknown>): TakenId[] {
  const envelope = decodeEnvelope(body);
  return envelope.ok ? [idOf(envelope.value)] : [];
}

/**
 * The messages that a batch has in hand. Others claim to be complete up to a minute before what they have themselves; so the ledger is told of a batch
 * before its oldest message is a minute old, or at once if it is older already (a backlog, a retry); and again, until it has answered or the batch
 * ends. A batch that is done sooner is never noted. {@link InHand.end} it, or its timer stays.
 */
export class InHand {
  readonly #held: Map<Message<unknown>, TakenId[]>;
  readonly #expectAgain: ConsumerContext["expectAgain"];
  readonly #isStale: boolean;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The note that was sent last; never rejected. */
  #note: Promise<void> = Promise.resolve();
  #hung = false;
  #ended = false;

  /** @param context its `expectAgain` is to be bounded. */
  constructor(messages: readonly Message<unknown>[], { expectAgain, platform }: ConsumerContext) {
    this.#held = new Map(messages.map((delivery) => [delivery, takenOf(delivery)]));
    this.#expectAgain = expectAgain;
    const oldestMs = Math.min(...[...this.#held.values()].flat().map(({ takenInMs }) => takenInMs));
    const waitMs = Math.min(Math.max(0, oldestMs + NOTE_AFTER_MS - platform.now()), NOTE_AFTER_MS);
    this.#isStale = waitMs === 0;
    if (this.#isStale) this.#send();
    else this.#timer = setTimeout(() => this.#send(), waitMs);
  }

  /** Before the first append: a batch that was old when it came is noted, or its first note has failed or hung. Never throws. */
  async ready(): Promise<void> {
    if (this.#isStale) await this.#note;
  }

  /**
   * Lets go of a message that is to be set aside. What cannot be read is remembered by another id than it says; under the one that it says, it is taken
   * back by being set aside, and a note that comes after that would stay for good. So there is none.
   * @returns false: a note that may name it hangs, and may still come. It is not to be set aside now.
   */
  async letGo(delivery: Message<unknown>): Promise<boolean> {
    this.#held.delete(delivery);
    await this.#note;
    return !this.#hung;
  }

  /** Sends no further note, and waits for the one that is under way: it is not to come after a later delivery. */
  async end(): Promise<void> {
    this.#ended = true;
    clearTimeout(this.#timer);
    await this.#note;
  }

  #send(): void {
    const messages = [...this.#held.values()].flat();
    if (messages.length > 0) this.#note = this.#noted(messages);
  }

  async #noted(messages: readonly TakenId[]): Promise<void> {
    try {
      await this.#expectAgain(messages);
    } catch (error) {
      log.error("what is in hand could not be noted", { error: errorText(error) });
      this.#hung ||= error instanceof TimeoutError;
      if (!this.#ended) this.#timer = setTimeout(() => this.#send(), NOTE_AGAIN_MS);
    }
  }
}
