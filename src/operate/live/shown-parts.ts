import { fromHex, toHex } from "../../base/bytes.ts";
import { SESSION_MS } from "../../base/limits.ts";
import { errorText, log } from "../../base/logger.ts";
import type { Platform } from "../../base/platform.ts";
import type { EarlyPart } from "../../ship/intake/viewers.ts";

/**
 * Parts that are remembered: those of 1,000 isolates for half a minute. Beyond that nothing is
 * shown early, and nothing twice.
 */
const PARTS_MAX = 32_768;

/** How old a part may be when it is shown early, in ms since its intake. */
const EARLY_MAX_MS = 20_000;

/** How long a part that the log has is remembered, in ms: longer than the above. */
const COUNTED_KEPT_MS = 30_000;

/** How long one is that it does not have yet, in ms: as long as a page that saw it is open. */
const EARLY_KEPT_MS = SESSION_MS;

/**
 * How often they are stored, in ms. The timer until then keeps the object from hibernating, so that
 * none is forgotten.
 */
const STORE_MS = 5_000;

/** Key of the stored value. */
const KEY = "shown";

/** Bytes of an id. */
const ID_BYTES = 16;

/**
 * When a part was shown early: the time of it, or a number beyond the last one, so that all differ.
 * 0: it was not.
 */
export type Turn = number;

interface Shown {
  turn: Turn;
  /** When the log had it, in ms since the epoch; 0: it has not. */
  countedMs: number;
}

/** As it is stored. */
interface Stored {
  /** 16 bytes each. */
  ids: Uint8Array;
  turns: Float64Array;
  countedMs: Float64Array;
}

/** Which parts were shown, early or from the log, so that each is shown once. */
export class ShownParts {
  readonly #maxParts: number;
  readonly #parts = new Map<string, Shown>();
  #lastTurn: Turn = 0;
  /** Until then nothing is shown early, in ms since the epoch: the log would show it again. */
  #lateOnlyUntilMs = 0;

  constructor(maxParts: number = PARTS_MAX) {
    this.#maxParts = maxParts;
  }

  /** @param stored as {@link ShownParts.stored} gave it, perhaps in another release. */
  static read(stored: unknown): ShownParts {
    const shown = new ShownParts();
    const { ids, turns, countedMs } = (stored ?? {}) as Partial<Record<keyof Stored, unknown>>;
    if (!(ids instanceof Uint8Array && turns instanceof Float64Array && countedMs instanceof Float64Array))
      return shown;
    for (let n = 0; n < turns.length && (n + 1) * ID_BYTES <= ids.length; n++) {
      const turn = turns[n] as number;
      shown.#parts.set(toHex(ids.subarray(n * ID_BYTES, (n + 1) * ID_BYTES)), { turn, countedMs: countedMs[n] ?? 0 });
      shown.past(turn);
    }
    return shown;
  }

  get stored(): Stored {
    const parts = [...this.#parts];
    const ids = new Uint8Array(parts.length * ID_BYTES);
    for (const [n, [id]] of parts.entries()) ids.set(fromHex(id), n * ID_BYTES);
    return {
      ids,
      turns: Float64Array.from(parts, ([, { turn }]) => turn),
      countedMs: Float64Array.from(parts, ([, each]) => each.countedMs),
    };
  }

  /** Later turns are beyond this one. */
  past(turn: Turn): void {
    this.#lastTurn = Math.max(this.#lastTurn, turn);
  }

  /** A turn of its own: what was shown before it is smaller, and what is shown after it larger. */
  next(nowMs: number): Turn {
    this.#lastTurn = Math.max(nowMs, this.#lastTurn + 1);
    return this.#lastTurn;
  }

  /** Takes parts that are shown early from now on. @returns those that may be. */
  takeEarly<P extends Pick<EarlyPart, "id" | "takenInMs">>(parts: readonly P[], nowMs: number): P[] {
    this.#sweep(nowMs);
    if (nowMs < this.#lateOnlyUntilMs) return [];
    const turn = this.next(nowMs);
    return parts.filter(({ id, takenInMs }) => {
      const isTooOld = nowMs - takenInMs > EARLY_MAX_MS;
      if (isTooOld || this.#parts.has(id) || this.#parts.size >= this.#maxParts) return false;
      this.#parts.set(id, { turn, countedMs: 0 });
      return true;
    });
  }

  /** Notes parts that the log has. @returns the turn of each, by id. */
  counted(ids: readonly string[], nowMs: number): Map<string, Turn> {
    this.#sweep(nowMs);
    const turns = ids.map((id): [string, Turn] => {
      const turn = this.#parts.get(id)?.turn ?? 0;
      if (this.#parts.size >= this.#maxParts && !this.#parts.has(id)) this.#lateOnlyUntilMs = nowMs + COUNTED_KEPT_MS;
      else this.#parts.set(id, { turn, countedMs: nowMs });
      return [id, turn];
    });
    return new Map(turns);
  }

  #sweep(nowMs: number): void {
    for (const [id, { turn, countedMs }] of this.#parts) {
      const isOver = countedMs > 0 ? nowMs - countedMs > COUNTED_KEPT_MS : nowMs - turn > EARLY_KEPT_MS;
      if (isOver) this.#parts.delete(id);
    }
  }
}

/** {@link ShownParts} of a durable object, which survive hibernation. */
export class ShownStore {
  readonly #ctx: DurableObjectState;
  readonly #platform: Pick<Platform, "now" | "sleep">;
  /** null: not read since the object woke up. */
  #parts: ShownParts | null = null;
  /** When they were stored last, in ms since the epoch; null: they are about to be. */
  #storedMs: number | null = 0;

  constructor(ctx: DurableObjectState, platform: Pick<Platform, "now" | "sleep">) {
    this.#ctx = ctx;
    this.#platform = platform;
  }

  /** @param since turns in which viewers came; asked when the parts are read. */
  parts(since: () => readonly Turn[]): ShownParts {
    if (this.#parts !== null) return this.#parts;
    this.#parts = ShownParts.read(this.#ctx.storage.kv.get(KEY));
    for (const turn of since()) this.#parts.past(turn);
    return this.#parts;
  }

  /** Stores them: now, or a while after they were stored last. */
  changed(): void {
    if (this.#storedMs === null) return;
    const restMs = this.#storedMs + STORE_MS - this.#platform.now();
    if (restMs <= 0 || restMs > STORE_MS) {
      this.#store();
      return;
    }
    this.#storedMs = null;
    this.#ctx.waitUntil(this.#platform.sleep(restMs).then(() => this.#store()));
  }

  /** No page is left that saw any of them. */
  forget(): void {
    this.#parts = null;
    this.#ctx.storage.kv.delete(KEY);
  }

  #store(): void {
    this.#storedMs = this.#platform.now();
    try {
      if (this.#parts !== null) this.#ctx.storage.kv.put(KEY, this.#parts.stored);
    } catch (error) {
      log.error("what live viewers have seen could not be stored", { error: errorText(error) });
    }
  }
}
