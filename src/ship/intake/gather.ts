import { utf8Length } from "../../base/bytes.ts";
import { MESSAGE_RAW_MAX_BYTES } from "../../base/limits.ts";
import type { Entry } from "../../formats/record/extras.ts";
import type { Source } from "../../formats/record/source.ts";
import type { Loss } from "../log/account-status.ts";
import { GATHER_MS, PackingPolicy } from "./packing-policy.ts";
import { HOLD_MS, QueueBackoff } from "./queue-backoff.ts";

/**
 * This long after it should have sent, in ms, an invocation is taken for dead, and the next one
 * waits in its place. If it does send after all, one of the two finds nothing, which is harmless.
 */
const GIVEN_UP_MS = 500;

/** Records that gather while the queue refuses them, in bytes: as a rule, one append to the log. */
export const HELD_MAX_BYTES = 4_000_000;

/** What is to be done with what was added, and with what was there. */
export interface Gathered {
  /** Earlier records, which fill a message: to be sent. */
  full: Entry[];
  /**
   * How long the caller has to wait, in ms, before it takes and sends everything; null: another
   * invocation does.
   */
  waitMs: number | null;
  /** The queue refuses messages, and the packer is not asked. */
  isHeld: boolean;
}

/**
 * Gathers records of several invocations in one isolate: `tail()` is called for each invocation of
 * a function, and the queue bills each message. Holds plain data only: invocations must not share
 * I/O objects.
 */
export class Gatherer {
  /** Of all its records. */
  readonly source: Source;
  readonly policy = new PackingPolicy();
  readonly backoff = new QueueBackoff();
  /** Events that are lost, and not counted by the log yet. */
  readonly uncounted: Record<Loss, number> = { lost: 0, unfit: 0 };
  #lines: Entry[] = [];
  #bytes = 0;
  /** When the waiting invocation is to send, in ms since the epoch; null: there is none. */
  #sendsMs: number | null = null;

  constructor(source: Source = "tail") {
    this.source = source;
  }

  /** @param lines one a record. They are lost where there is no room for them. */
  add(lines: readonly Entry[], nowMs: number): Gathered {
    // By way of the packer, which holds them itself.
    const heldMs = this.policy.asksPacker(nowMs + GATHER_MS) ? 0 : this.backoff.holdMs(nowMs);
    const isHeld = heldMs > 0;
    const bytes = lines.reduce((sum, line) => sum + utf8Length(line) + 1, 0);
    const isOver = this.#bytes + bytes > (isHeld ? HELD_MAX_BYTES : MESSAGE_RAW_MAX_BYTES);
    // Before these are added: one full message, not one and a small rest.
    const full = isOver && !isHeld ? this.#takeAll() : [];
    if (isOver && isHeld) this.uncounted.lost += lines.length;
    else {
      this.#lines.push(...lines);
      this.#bytes += bytes;
    }
    const waitMs = isHeld ? heldMs : this.policy.gatherMs(nowMs);
    const waits = this.#lines.length > 0 && !this.#isWaitedFor(nowMs);
    if (waits) this.#sendsMs = nowMs + waitMs;
    return { full, waitMs: waits ? waitMs : null, isHeld };
  }

  #isWaitedFor(nowMs: number): boolean {
    if (this.#sendsMs === null) return false;
    const leftMs = this.#sendsMs - nowMs;
    return leftMs > -GIVEN_UP_MS && leftMs <= HOLD_MS;
  }

  /** Takes everything, at the end of the caller's wait. */
  take(): Entry[] {
    this.#sendsMs = null;
    return this.#takeAll();
  }

  #takeAll(): Entry[] {
    const lines = this.#lines;
    this.#lines = [];
    this.#bytes = 0;
    return lines;
  }
}
