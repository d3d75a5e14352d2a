import { utf8Length } from "../../base/bytes.ts";
import { LIVE_PUSH_MAX_BYTES, LIVE_PUSH_MAX_RECORDS } from "../../base/limits.ts";
import { log } from "../../base/logger.ts";
import { answered, type Platform } from "../../base/platform.ts";
import type { Entry } from "../../formats/record/extras.ts";
import type { Source } from "../../formats/record/source.ts";
import type { PackedMessage } from "./packing.ts";

/** Records of a part that the queue has taken, for live viewers. */
export interface EarlyPart {
  /** As of a part of the queue message: the consumer names it, too. */
  id: string;
  takenInMs: number;
  source: Source;
  /** Canonical lines with extra fields, whole. */
  entries: Entry[];
}

/** The way to live viewers before the consumer. Nothing of it may delay or fail intake. */
export interface Early {
  /** false: a moment ago there was no viewer, and showing would do nothing. */
  mayWatch(): boolean;
  /** Shows parts that the queue has taken, if a page is open. Returns at once, and never throws. */
  show(parts: readonly EarlyPart[]): void;
}

/** How it reaches the viewers; its answer is not believed before it was looked at. */
export interface EarlyWay {
  /** Whether there are viewers. @param parts to show; none: only the question. */
  call(parts: readonly EarlyPart[]): Promise<unknown>;
  waitUntil(promise: Promise<void>): void;
  platform: Pick<Platform, "now">;
}

/** How long a sender relies on there being no viewer, in ms: docs/dashboard.md has its cost. */
export const ASK_MS = 5_000;

/** How long it leaves them alone after a failure, in ms. */
const FAILED_MS = 60_000;

/** Deadline of one call, in ms. The queue has the records already: only the call itself waits. */
const CALL_MS = 2_000;

/** Calls under way from one isolate. */
const CALLS_MAX = 8;

/**
 * What one sender knows of live viewers. It asks only when it has sent something. With viewers,
 * every call says whether there still are any. Plain data, as all invocations of an isolate share
 * it.
 */
export class Viewers {
  readonly #askMs: number;
  #isWatched = false;
  /** Until then it does not ask, in ms since the epoch. */
  #quietUntilMs = 0;
  readonly #underWay = { calls: 0, bytes: 0 };

  /** @param askMs how often it asks while there is no viewer; Infinity: once, then it is told. */
  constructor(askMs: number = ASK_MS) {
    this.#askMs = askMs;
  }

  /** There are viewers. */
  told(): void {
    this.#isWatched = true;
  }

  by(way: EarlyWay): Early {
    return {
      mayWatch: () => this.#mayWatch(way.platform.now()),
      show: (parts) => way.waitUntil(this.#show(parts, way)),
    };
  }

  #mayWatch(nowMs: number): boolean {
    if (this.#isWatched || nowMs >= this.#quietUntilMs) return true;
    // A clock that was set back keeps it quiet no longer.
    return this.#quietUntilMs > nowMs + Math.max(this.#askMs, FAILED_MS);
  }

  async #show(parts: readonly EarlyPart[], way: EarlyWay): Promise<void> {
    if (!this.#mayWatch(way.platform.now())) return;
    if (!this.#isWatched && !(await this.#tell([], way))) return;
    const { calls, bytes } = this.#underWay;
    if (calls >= CALLS_MAX) return;
    const fitting = fittingOf(parts, LIVE_PUSH_MAX_BYTES - bytes);
    if (fitting.parts.length === 0) return;
    this.#underWay.calls += 1;
    this.#underWay.bytes += fitting.bytes;
    await this.#tell(fitting.parts, way);
    this.#underWay.calls -= 1;
    this.#underWay.bytes -= fitting.bytes;
  }

  /** @returns whether there are viewers. Never throws. */
  async #tell(parts: readonly EarlyPart[], { call, platform }: EarlyWay): Promise<boolean> {
    // One invocation asks for all.
    this.#quietUntilMs = platform.now() + this.#askMs;
    try {
      this.#isWatched = (await answered("the live viewers", CALL_MS, call(parts))) === true;
      this.#quietUntilMs = platform.now() + this.#askMs;
    } catch (error) {
      this.#isWatched = false;
      this.#quietUntilMs = platform.now() + FAILED_MS;
      // By its kind alone: its message may quote a record.
      const kind = error instanceof Error ? error.name : typeof error;
      log.warn("live viewers get records later", { error: kind });
    }
    return this.#isWatched;
  }
}

/**
 * The newest parts that fit one call, whole: what does not fit, the consumer shows.
 * @param room in bytes.
 */
function fittingOf(parts: readonly EarlyPart[], room: number): { parts: EarlyPart[]; bytes: number } {
  const fitting: EarlyPart[] = [];
  let records = 0;
  let bytes = 0;
  for (const part of parts.toReversed()) {
    if (records + part.entries.length > LIVE_PUSH_MAX_RECORDS) continue;
    const size = part.entries.reduce((sum, entry) => sum + utf8Length(entry), 0);
    if (bytes + size > room) continue;
    fitting.push(part);
    records += part.entries.length;
    bytes += size;
  }
  return { parts: fitting.reverse(), bytes };
}

/** Messages as parts. @param entries of all of them, in order. */
export function earlyParts(messages: readonly PackedMessage[], entries: readonly Entry[], source: Source): EarlyPart[] {
  let at = 0;
  return messages.map(({ id, takenInMs, records }) => {
    const from = at;
    at += records;
    return { id, takenInMs, source, entries: entries.slice(from, at) };
  });
}

/** The entries of a request, while they are few enough to be shown early. */
export class KeptEntries {
  #entries: Entry[] | null = [];
  #units = 0;

  /** null: there were too many. */
  get entries(): readonly Entry[] | null {
    return this.#entries;
  }

  /** What they take at most, in bytes. */
  get bytes(): number {
    return this.#entries === null ? 0 : this.#units * 2;
  }

  add(entry: Entry): void {
    if (this.#entries === null) return;
    this.#entries.push(entry);
    this.#units += entry.length;
    if (this.#entries.length > LIVE_PUSH_MAX_RECORDS || this.#units > LIVE_PUSH_MAX_BYTES) this.#entries = null;
  }
}

/** Of this isolate, for HTTP and RPC intake. */
export const isolateViewers = new Viewers();

/** The call to the live viewers' object, as live.ts has it. */
export function earlyCall({ LIVE }: Pick<Env, "LIVE">): EarlyWay["call"] {
  // Not an async function of the stub's own: a binding that is missing fails as the call does.
  return async (parts) => LIVE.getByName("live").showEarly(parts);
}
