import { errorText, log } from "../../base/logger.ts";
import { answered } from "../../base/platform.ts";
import type { Due } from "./readers.ts";

/** How a reader is to read. */
export interface Pull {
  segment: number;
  /** The shard's cursor for it: a new reader begins there. */
  from: number;
  /** All that it reads is to be cut. */
  cut: boolean;
}

/** How far a reader has come. */
export interface Pulled {
  cursor: number;
  /** There is more to read, by it or the next segment. */
  more: boolean;
  /** It reads no more: the next segment goes on at its cursor. */
  sealed: boolean;
  /** It has something that waits, is set aside, or could not be made. */
  holds: boolean;
  /** `stampOf` the configuration that it has. */
  stamp: string;
}

/** What the driver needs of its shard. */
export interface DriverHost {
  pull(due: Due): Promise<Pulled>;
  /** What is due now. @param everything also what is unread, and not due yet. */
  due(everything: boolean): Due[];
  /** @param pulled null: it did not answer. */
  done(due: Due, pulled: Pulled | null): void;
  /** It did not answer when it was last driven. */
  hasFailed(job: number): boolean;
  waitUntil(promise: Promise<unknown>): void;
}

/** Readers that are driven at once, and those among them that failed last, or have much to read. */
const AT_ONCE = 6;
const SLOW_AT_ONCE = 3;

/** Deadline of one reader, in ms. It goes on afterwards. */
const PULL_MS = 10_000;

/** A reader that has had more to read so often in a row gives way to others. */
const MUCH = 2;

/**
 * Drives the readers of a shard: each that is due, once at a time. Those that fail, or have much to
 * read, never take all places.
 */
export class Driver {
  readonly #host: DriverHost;
  /** Under way, by reader. */
  readonly #running = new Map<string, { promise: Promise<void>; isSlow: boolean }>();
  /** How often in a row a job had more to read. */
  readonly #more = new Map<number, number>();

  constructor(host: DriverHost) {
    this.#host = host;
  }

  /** Begins what is due now, beside what its caller waits for. */
  wake(): void {
    if (this.#host.due(false).length > 0) this.#host.waitUntil(this.due());
  }

  /** Drives what is due, until nothing is. */
  due(): Promise<void> {
    return this.#run(() => this.#host.due(false));
  }

  /** Drives what is due or unread, until all that is there now is read. @param jobs absent: all. */
  drive(jobs?: readonly number[]): Promise<void> {
    const wanted = () => this.#host.due(true).filter(({ job }) => jobs?.includes(job) !== false);
    // Those that read already may have read their last page.
    const again = new Set(
      wanted()
        .map(nameOf)
        .filter((name) => this.#running.has(name)),
    );
    let isFirst = true;
    return this.#run(() => {
      const now = wanted().filter((due) => {
        const name = nameOf(due);
        const isAgain = !this.#running.has(name) && again.delete(name);
        return isFirst || isAgain || (this.#more.get(due.job) ?? 0) > 0;
      });
      isFirst = false;
      return now;
    });
  }

  /** Whether its reader reads at this moment. */
  isRunning(job: number): boolean {
    return [...this.#running.keys()].some((name) => name.startsWith(`${job}.`));
  }

  /** @param next is asked again whenever a reader has ended. */
  async #run(next: () => Due[]): Promise<void> {
    const waiting = new Map<string, Due>();
    for (;;) {
      for (const due of next()) waiting.set(nameOf(due), due);
      const mine: Promise<void>[] = [];
      for (const [name, due] of waiting) {
        const running = this.#running.get(name)?.promise ?? this.#begin(due);
        if (running === null) continue;
        waiting.delete(name);
        mine.push(running);
      }
      if (mine.length > 0) await Promise.race(mine);
      else if (waiting.size > 0) await Promise.race([...this.#running.values()].map(({ promise }) => promise));
      else if (this.#running.size > 0) await Promise.all([...this.#running.values()].map(({ promise }) => promise));
      else return;
    }
  }

  /** null: there is no place for it now. */
  #begin(due: Due): Promise<void> | null {
    const isSlow = this.#host.hasFailed(due.job) || (this.#more.get(due.job) ?? 0) >= MUCH;
    const slow = [...this.#running.values()].filter((each) => each.isSlow).length;
    if (this.#running.size >= AT_ONCE || (isSlow && slow >= SLOW_AT_ONCE)) return null;
    const name = nameOf(due);
    const promise = this.#pull(due).finally(() => this.#running.delete(name));
    this.#running.set(name, { promise, isSlow });
    return promise;
  }

  async #pull(due: Due): Promise<void> {
    const { job } = due;
    let pulled: Pulled | null = null;
    try {
      const answer = await answered(`job ${job}`, PULL_MS, this.#host.pull(due));
      if (!isPulled(answer)) throw new Error("its answer is not how far it has come");
      pulled = answer;
    } catch (error) {
      log.error("a job does not read", { durable_object: "TraceLog", job, error: errorText(error) });
    }
    if (pulled?.more === true) this.#more.set(job, (this.#more.get(job) ?? 0) + 1);
    else this.#more.delete(job);
    this.#host.done(due, pulled);
  }
}

/** What another release answers must not pass for a position. */
function isPulled(answer: unknown): answer is Pulled {
  const { cursor, more, sealed, holds, stamp } = (answer ?? {}) as Partial<Record<keyof Pulled, unknown>>;
  const areFlags = [more, sealed, holds].every((flag) => typeof flag === "boolean");
  return Number.isSafeInteger(cursor) && areFlags && typeof stamp === "string";
}

function nameOf({ job, segment }: Due): string {
  return `${job}.${segment}`;
}
