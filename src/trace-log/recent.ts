import { RECENT_EVENT_MAX_BYTES, RECENT_MAX_BYTES, RECENT_MAX_EVENTS } from "../limits.ts";
import { RecordLine } from "../record/line.ts";
import type { Source } from "../record/source.ts";

/** Some of a message's records, for {@link RecentRing}. */
export interface RecentRecords {
  /** Canonical lines with extra fields, in order, each ended by a newline, in UTF-8. */
  ndjson: Uint8Array;
  /** How many records were too large to be held. */
  tooLarge: number;
  /**
   * Where they came from, "" where that is unknown: one for each; of a message's records, which
   * have the same, one alone. Absent: unknown.
   */
  sources?: Source[];
}

export interface RecentLimits {
  events: number;
  /** Of all lines together, in UTF-8, without newlines. */
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
 * The newest records, in memory only. Each is bytes in its own buffer: text may take two bytes a
 * character, and a view would keep the whole larger buffer.
 */
export class RecentRing {
  readonly #limits: RecentLimits;
  /** Oldest first. */
  #lines: { line: Uint8Array; source: Source }[] = [];
  #bytes = 0;
  #tooLarge = 0;

  constructor(limits = LIMITS) {
    this.#limits = limits;
  }

  /**
   * Adds records, newest last, and drops the oldest beyond the limits. A part without a newline is
   * ignored.
   */
  add({ ndjson, tooLarge, sources = [] }: RecentRecords): void {
    this.#tooLarge += tooLarge;
    const only = sources.length === 1 ? sources[0] : undefined;
    for (let from = 0, n = 0; from < ndjson.length; n++) {
      const end = ndjson.indexOf(NEWLINE, from);
      if (end === -1) break;
      if (end - from > this.#limits.eventBytes) this.#tooLarge += 1;
      else {
        this.#lines.push({ line: ndjson.slice(from, end), source: only ?? sources[n] ?? "" });
        this.#bytes += end - from;
      }
      from = end + 1;
    }
    let gone = 0;
    while (this.#lines.length - gone > this.#limits.events || this.#bytes > this.#limits.bytes) {
      this.#bytes -= this.#lines[gone]?.line.length ?? 0;
      gone += 1;
    }
    this.#lines.splice(0, gone);
  }

  /** Drops lines that are not wanted. */
  keep(isWanted: (line: string) => boolean): void {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    this.#lines = this.#lines.filter(({ line }) => isWanted(decoder.decode(line)));
    this.#bytes = this.#lines.reduce((sum, { line }) => sum + line.length, 0);
  }

  /** Drops the records of these functions, and of none. */
  forget(scriptNames: ReadonlySet<string>): void {
    if (scriptNames.size === 0) return;
    this.keep((line) => {
      const name = scriptNameOf(line);
      return name !== null && !scriptNames.has(name);
    });
  }

  /** All records, oldest first; and how many were too large, ever. */
  all(): RecentRecords {
    const ndjson = new Uint8Array(this.#bytes + this.#lines.length);
    let at = 0;
    for (const { line } of this.#lines) {
      ndjson.set(line, at);
      at += line.length;
      ndjson[at++] = NEWLINE;
    }
    return { ndjson, tooLarge: this.#tooLarge, sources: this.#lines.map(({ source }) => source) };
  }
}

/** null: none. Never throws: previews must not disturb counting. */
function scriptNameOf(line: string): string | null {
  try {
    return RecordLine.ofEntry(line)?.ScriptName ?? null;
  } catch {
    return null;
  }
}
