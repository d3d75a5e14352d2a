import type { Append } from "../object/append.ts";

/** What one log takes, in a second of intake. */
export interface Rates {
  messages: number;
  /** Of fragments, as they are stored. */
  bytes: number;
  appends: number;
}

const MINUTE_MS = 60_000;

/** Minutes in a row that have to be above the limits: less is a peak, which passes. */
const MINUTES = 3;

/** Minutes that are remembered: those before have done what they could. */
const REMEMBERED = 30;

/**
 * What comes to a log, by the minute in which it was taken in. By that, and not by when it arrives,
 * a backlog weighs what it weighed when it came, however fast it is worked off. Keyed messages do
 * not count: no split moves them.
 */
export class Load {
  readonly #minutes = new Map<number, Rates>();

  /** An append was taken. */
  note({ messages, fragments }: Pick<Append, "messages" | "fragments">): void {
    const share = 1 / messages.length;
    const bytes = fragments.reduce((sum, { body }) => sum + body.length, 0) * share;
    for (const { takenInMs, keyed } of messages) {
      if (keyed) continue;
      const minute = Math.floor(takenInMs / MINUTE_MS);
      const sum = this.#minutes.get(minute) ?? { messages: 0, bytes: 0, appends: 0 };
      this.#minutes.set(minute, {
        messages: sum.messages + 1,
        bytes: sum.bytes + bytes,
        appends: sum.appends + share,
      });
    }
    if (this.#minutes.size > REMEMBERED) this.#minutes.delete(Math.min(...this.#minutes.keys()));
  }

  /**
   * Whether more came than the limits say, throughout {@link MINUTES} minutes in a row, begun at
   * `sinceMs` or later.
   */
  exceeds(limits: Rates, sinceMs: number): boolean {
    const isAbove = (minute: number): boolean => {
      const sum = this.#minutes.get(minute);
      if (sum === undefined || minute * MINUTE_MS < sinceMs) return false;
      return (Object.keys(limits) as (keyof Rates)[]).some((name) => sum[name] / 60 > limits[name]);
    };
    const row = Array.from({ length: MINUTES }, (_, i) => i);
    return [...this.#minutes.keys()].some((minute) => row.every((i) => isAbove(minute + i)));
  }
}
