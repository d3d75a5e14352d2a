import { HELD_MAX_BYTES } from "./limits.ts";
import { type Platform, platform } from "./platform.ts";

/** How often one that waits looks whether there is room, in ms: its own timer alone can wake it. */
const LOOK_MS = 10;

/** Shares of at most this part of all… */
const SMALL_PART = 1 / 32;
/** …may use all of it, others this part: large ones do not hold up small ones. */
const LARGE_PART = 2 / 3;

/** How long one waits for room, in ms. */
const ROOM_WAIT_MS = 10_000;

/**
 * What was held for so long without a word, in ms, is free again: the platform ends requests whose
 * client is gone, and does not say so. Longer than a body may take to arrive, or its events to be
 * sent.
 */
export const LEASE_MS = 90_000;

/** Memory that is held. */
export interface Share {
  /** It is now so many bytes. */
  set(bytes: number): void;
  /** Gives all of it back. May be called again. */
  release(): void;
}

interface Held {
  bytes: number;
  leaseMs: number;
  /** When its holder counts as dead, in ms since the epoch. */
  untilMs: number;
  /** It waited for room, and others wait for its end. */
  isTaken: boolean;
}

/**
 * What one isolate holds while it waits for something: bodies that arrive, messages until the queue
 * has them, batches and their groups. What does not fit waits. What runs between two waits is not
 * noted: there is never more than one of it, and it has the rest of the memory
 * (src/base/limits.ts).
 * Nothing waits for a second share while it has one that others wait for, so there is no circle.
 */
export class Memory {
  readonly #platform: Pick<Platform, "now" | "sleep">;
  readonly #maxBytes: number;
  readonly #held = new Map<symbol, Held>();

  constructor(platform: Pick<Platform, "now" | "sleep">, maxBytes: number = HELD_MAX_BYTES) {
    this.#platform = platform;
    this.#maxBytes = maxBytes;
  }

  /** In bytes. */
  get held(): number {
    return [...this.#held.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Notes what is there in any case, in bytes. @param leaseMs as {@link LEASE_MS}. */
  hold(bytes: number, leaseMs: number = LEASE_MS): Share {
    return this.#note({ bytes, leaseMs, isTaken: false });
  }

  /**
   * Waits until there is room for so many bytes. What never fits is let in once nothing else is
   * that had to wait: so a large body gets in beside batches.
   * @returns null: there was none in time.
   */
  async take(bytes: number): Promise<Share | null> {
    for (let waitedMs = 0; !this.#hasRoom(bytes); waitedMs += LOOK_MS) {
      if (waitedMs >= ROOM_WAIT_MS) return null;
      await this.#platform.sleep(LOOK_MS);
    }
    return this.#note({ bytes, leaseMs: LEASE_MS, isTaken: true });
  }

  /** Runs once there is room for so many bytes, or has not been in time: for what must go on. */
  async during<T>(bytes: number, run: () => Promise<T>): Promise<T> {
    const share = (await this.take(bytes)) ?? this.hold(bytes);
    try {
      return await run();
    } finally {
      share.release();
    }
  }

  #hasRoom(bytes: number): boolean {
    const nowMs = this.#platform.now();
    for (const [id, { untilMs }] of this.#held) if (untilMs <= nowMs) this.#held.delete(id);
    const maxBytes = bytes <= SMALL_PART * this.#maxBytes ? this.#maxBytes : LARGE_PART * this.#maxBytes;
    return this.held + bytes <= maxBytes || ![...this.#held.values()].some(({ isTaken }) => isTaken);
  }

  #note(held: Omit<Held, "untilMs">): Share {
    const id = Symbol("share");
    const note = (bytes: number): void => {
      this.#held.set(id, { ...held, bytes, untilMs: this.#platform.now() + held.leaseMs });
    };
    note(held.bytes);
    return {
      set: (bytes) => {
        if (this.#held.has(id)) note(bytes);
      },
      release: () => {
        this.#held.delete(id);
      },
    };
  }
}

/** Of the isolate that this code runs in. */
export const isolateMemory = new Memory(platform);
