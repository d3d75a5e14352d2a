import { RECENT_EVENT_MAX_BYTES, RECENT_MAX_BYTES, RECENT_MAX_EVENTS } from "../limits.ts";
import { RecordLine } from "../record/line.ts";

/** Some of a message's records, on their way to where recent ones are held. */
export interface RecentRecords {
  /** Canonical lines in order, each ended by a newline, in UTF-8. */
  ndjson: Uint8Array;
  /** How many of those that were looked at were too large to be held. */
  tooLarge: number;
}

export interface RecentLimits {
  events: number;
  /** Of all lines together, in UTF-8, without their newlines. */
  bytes: number;
  /** Of one. */
  eventBytes: number;
}

const LIMITS: RecentLimits = {
  events: RECENT_MAX_EVENTS,
  bytes: RECENT_MAX_BYTES,
  eventBytes: RECENT_EVENT_MAX_BYTES,
};

const NEWLINE = 0x0a;

/**
 * The newest records, in memory and nowhere else. They are held as bytes, each in a buffer of its own: a text may take two bytes a character, and a
 * piece of a larger buffer would keep all of it.
 */
export class RecentRing {
  readonly #limits: RecentLimits;
  /** Oldest first. */
  #lines: Uint8Array[] = [];
  #bytes = 0;
  #tooLarge = 0;

  constructor(limits = LIMITS) {
    this.#limits = limits;
  }

  /** Adds records, newest last; the oldest make room. What ends without a newline is no line. */
  add({ ndjson, tooLarge }: RecentRecords): void {
    this.#tooLarge += tooLarge;
    for (let from = 0; from < ndjson.length; ) {
      const end = ndjson.indexOf(NEWLINE, from);
      if (end === -1) break;
      if (end - from > this.#limits.eventBytes) this.#tooLarge += 1;
      else {
        this.#lines.push(ndjson.slice(from, end));
        this.#bytes += end - from;
      }
      from = end + 1;
    }
    let gone = 0;
    while (this.#lines.length - gone > this.#limits.events || this.#bytes > this.#limits.bytes) {
      this.#bytes -= this.#lines[gone]?.length ?? 0;
      gone += 1;
    }
    this.#lines.splice(0, gone);
  }

  /** Lets go of some. @param isWanted of a line, as text. */
  keep(isWanted: (line: string) => boolean): void {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    this.#lines = this.#lines.filter((line) => isWanted(decoder.decode(line)));
    this.#bytes = this.#lines.reduce((sum, { length }) => sum + length, 0);
  }

  /** Lets go of the records of these functions, and of those that name none. */
  forget(scriptNames: ReadonlySet<string>): void {
    if (scriptNames.size === 0) return;
    this.keep((line) => {
      const name = scriptNameOf(line);
      return name !== null && !scriptNames.has(name);
    });
  }

  /** All that is held, oldest first; and how many were too large to be held since the beginning. */
  all(): RecentRecords {
    const ndjson = new Uint8Array(this.#bytes + this.#lines.length);
    let at = 0;
    for (const line of this.#lines) {
      ndjson.set(line, at);
      at += line.length;
      ndjson[at++] = NEWLINE;
    }
    return { ndjson, tooLarge: this.#tooLarge };
  }
}

/** Of a record's line; null if it has none. Never throws: what is only there to be shown may not stop what it comes along with. */
function scriptNameOf(line: string): string | null {
  try {
    return RecordLine.read(line)?.ScriptName ?? null;
  } catch {
    return null;
  }
}
