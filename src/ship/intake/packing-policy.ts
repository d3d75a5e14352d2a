/**
 * How long records of several invocations are gathered before they are sent together, in ms. An
 * isolate that dies loses at most this. A longer time costs less: each busy isolate sends one
 * message per interval (docs/costs.md).
 */
export const GATHER_MS = 2_000;

/**
 * How long an isolate leaves the packer alone after a failure, in ms, so that it cannot slow intake
 * down.
 */
const FAILED_MS = 60_000;

/**
 * An isolate that no other shares messages with goes to the queue directly until the next multiple
 * of this, in ms since the epoch. All isolates ask again at the same moment, so they find each
 * other.
 */
const ALONE_MS = 300_000;

/**
 * Parts in a message from which on packing them costs no more than sending each by itself: a
 * message is three operations of the queue ($1.2 for a million), a call of the packer $0.15, the
 * 0.6 s that it works for a message $0.96 (src/base/prices.ts).
 */
const SHARED_MIN = 2;

/** Weight of the newest message in the mean: one that happens to be small does not decide. */
const NEWEST = 0.25;

/**
 * Whether an isolate hands its records to the packer, and when: decided from how many others were
 * in its messages. Plain data, as all invocations of the isolate share it. Its own clock alone
 * counts; one that is wrong makes an isolate pay for messages of its own, and loses nothing.
 */
export class PackingPolicy {
  /** Until then it goes to the queue directly, in ms since the epoch. */
  #directUntilMs = 0;
  /** Mean of the parts in its messages; null: none was packed since it last went directly. */
  #parts: number | null = null;

  /** Whether what is sent now goes to the packer first. */
  asksPacker(nowMs: number): boolean {
    // A clock that was set back does not keep it away for longer.
    return nowMs >= this.#directUntilMs || this.#directUntilMs > nowMs + ALONE_MS;
  }

  /**
   * How long records gather from now, in ms. For the packer up to the next whole interval of the
   * clock, at which all isolates hand over: so it gathers for a moment instead of all the time,
   * and events wait half as long.
   */
  gatherMs(nowMs: number): number {
    return this.asksPacker(nowMs + GATHER_MS) ? GATHER_MS - (nowMs % GATHER_MS) : GATHER_MS;
  }

  /** The packer has sent a message with so many parts, one of which is of this isolate. */
  packed(parts: number, nowMs: number): void {
    this.#parts = this.#parts === null ? parts : this.#parts + NEWEST * (parts - this.#parts);
    if (this.#parts < SHARED_MIN) this.#goDirect((Math.floor(nowMs / ALONE_MS) + 1) * ALONE_MS);
  }

  /** The packer failed, refused or did not answer. */
  failed(nowMs: number): void {
    this.#goDirect(nowMs + FAILED_MS);
  }

  #goDirect(untilMs: number): void {
    this.#directUntilMs = untilMs;
    this.#parts = null;
  }
}
