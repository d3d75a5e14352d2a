import { utf8Length } from "../bytes.ts";
import { MESSAGE_RAW_MAX_BYTES } from "../limits.ts";
import type { Entry } from "../record/extras.ts";
import type { Source } from "../record/source.ts";
import { Company, GATHER_MS } from "./company.ts";

/**
 * After this time, in ms, an invocation that should have sent is taken for dead, and the next one
 * waits in its place. If it does send after all, one of the two finds nothing, which is harmless.
 */
const GIVEN_UP_MS = GATHER_MS + 500;

/**
 * Gathers records of several invocations in one isolate: `tail()` is called for each invocation of
 * a function, and the queue bills each message. Holds plain data only: invocations must not share
 * I/O objects.
 */
export class Gatherer {
  /** Of all its records. */
  readonly source: Source;
  readonly company = new Company();
  #lines: Entry[] = [];
  #bytes = 0;
  /** When the sending invocation began to wait, in ms since the epoch; null: there is none. */
  #waitingSinceMs: number | null = null;

  constructor(source: Source = "tail") {
    this.source = source;
  }

  /**
   * Adds records.
   * @param lines one a record.
   * @returns what the caller has to do: send `full`, earlier records that fill a message; and, if
   * `wait`, wait for as long as {@link company} says, {@link GATHER_MS} at most, then take and send
   * everything.
   */
  add(lines: readonly Entry[], nowMs: number): { full: Entry[]; wait: boolean } {
    const bytes = lines.reduce((sum, line) => sum + utf8Length(line) + 1, 0);
    // Before these are added: one full message, not one and a small rest.
    const full = this.#bytes + bytes > MESSAGE_RAW_MAX_BYTES ? this.#takeAll() : [];
    this.#lines.push(...lines);
    this.#bytes += bytes;
    const since = this.#waitingSinceMs;
    const isWaitedFor = since !== null && Math.abs(nowMs - since) < GIVEN_UP_MS;
    const wait = this.#lines.length > 0 && !isWaitedFor;
    if (wait) this.#waitingSinceMs = nowMs;
    return { full, wait };
  }

  /** Takes everything, at the end of the caller's wait. */
  take(): Entry[] {
    this.#waitingSinceMs = null;
    return this.#takeAll();
  }

  #takeAll(): Entry[] {
    const lines = this.#lines;
    this.#lines = [];
    this.#bytes = 0;
    return lines;
  }
}
