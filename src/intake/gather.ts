import { utf8Length } from "../bytes.ts";
import { MESSAGE_RAW_MAX_BYTES } from "../limits.ts";

/**
 * How long records of several invocations are gathered before they are sent together, in ms. An isolate that dies loses no more than that; each isolate
 * that has anything sends a message so often, which is what most of the bill is where many share the load (docs/costs.md).
 */
export const GATHER_MS = 2_000;

/**
 * After this time, in ms, an invocation that was to send, and did not, is believed to be gone, and the next one waits in its place. Should it come after
 * all, there is nothing left for one of them, which is no harm.
 */
const GIVEN_UP_MS = GATHER_MS + 500;

/**
 * Records that wait in an isolate for company: `tail()` is called once for each invocation of a function, and a queue bills each message. Plain
 * data only, as what one invocation opens no other may touch.
 */
export class Gatherer {
  #lines: string[] = [];
  #bytes = 0;
  /** When the invocation that is to send what waits began to wait, in ms since the epoch; null: there is none. */
  #waitingSinceMs: number | null = null;

  /**
   * Adds records.
   * @param lines one JSON text a record.
   * @returns what the caller has to do: send `full`, earlier records that fill a message; and, if `wait` says so, wait for {@link GATHER_MS} and then
   * send what it takes, for itself and for all others.
   */
  add(lines: readonly string[], nowMs: number): { full: string[]; wait: boolean } {
    const bytes = lines.reduce((sum, line) => sum + utf8Length(line) + 1, 0);
    // Taken before it is passed: a message, not a message and a crumb.
    const full = this.#bytes + bytes > MESSAGE_RAW_MAX_BYTES ? this.#takeAll() : [];
    this.#lines.push(...lines);
    this.#bytes += bytes;
    const since = this.#waitingSinceMs;
    const isWaitedFor = since !== null && Math.abs(nowMs - since) < GIVEN_UP_MS;
    const wait = this.#lines.length > 0 && !isWaitedFor;
    if (wait) this.#waitingSinceMs = nowMs;
    return { full, wait };
  }

  /** Everything that waits, at the end of the caller's wait; from here on it is the caller's. */
  take(): string[] {
    this.#waitingSinceMs = null;
    return this.#takeAll();
  }

  #takeAll(): string[] {
    const lines = this.#lines;
    this.#lines = [];
    this.#bytes = 0;
    return lines;
  }
}
