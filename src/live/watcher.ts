import { encodeUtf8, fromBase64, toBase64 } from "../bytes.ts";
import { compileFilter, type RecordPredicate } from "../filter/compile.ts";
import { parseFilter } from "../filter/parse.ts";
import {
  FILTER_MAX_BYTES,
  LIVE_SCRIPT_MAX_BYTES,
  LIVE_WINDOW_MESSAGES,
  LIVE_WINDOW_RECORDS,
  LIVE_WINDOW_UNITS,
} from "../limits.ts";
import type { RecordLine } from "../record/line.ts";
import { type Counts, recordJson, recordsMessage } from "./protocol.ts";

/** All there is to know of one who watches, as it outlives the object's sleep: at most 16 kB as the platform writes it. */
export interface WatcherState {
  /** Hash of the session's id, in base64. */
  session: string;
  /** Whose session it is. */
  holder: string;
  /** UTF-8: as a text of two bytes a character, the longest filter would not fit. */
  filter: Uint8Array;
  /** Of which function, in UTF-8; empty: any. */
  script: Uint8Array;
  isPaused: boolean;
  counts: Counts;
  /** Number of the last message with records. */
  sent: number;
  /** Records and UTF-16 units of each message that is not drawn yet, the newest last. */
  underWay: (readonly [records: number, units: number])[];
  /** The counts have changed since they were last sent. */
  isBehind: boolean;
}

const decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });

/**
 * One who watches: what of the records that arrive is sent to him, and what became of the others. Nothing waits here: what he cannot draw in time is
 * dropped, and counted.
 */
export class Watcher {
  readonly #state: WatcherState;
  #wants: RecordPredicate | null;
  #script: string;

  private constructor(state: WatcherState) {
    this.#state = state;
    this.#script = decoder.decode(state.script);
    const parsed = parseFilter(decoder.decode(state.filter));
    this.#wants = parsed.ok && parsed.filter !== null ? compileFilter(parsed.filter) : null;
  }

  /** @param holder who watches, as {@link Watcher.holder} says it. */
  static newcomer(session: Uint8Array, holder: string): Watcher {
    return new Watcher({
      session: toBase64(session),
      holder,
      filter: new Uint8Array(),
      script: new Uint8Array(),
      isPaused: false,
      counts: { seen: 0, shown: 0, filtered: 0, dropped: 0, paused: 0 },
      sent: 0,
      underWay: [],
      isBehind: false,
    });
  }

  /** One who was there before the object slept. @param state as {@link Watcher.state} gave it. */
  static awoken(state: WatcherState): Watcher {
    return new Watcher(state);
  }

  get state(): WatcherState {
    return this.#state;
  }

  get session(): Uint8Array {
    return fromBase64(this.#state.session);
  }

  /** Tells those who watch with one token, or as one member, from all others. */
  get holder(): string {
    return this.#state.holder;
  }

  get counts(): Readonly<Counts> {
    return this.#state.counts;
  }

  /**
   * Takes records that have arrived.
   * @param records oldest first; null: one that cannot be read.
   * @param leftOut how many arrived beside these. Whether the filter wants them nobody knows.
   * @returns the message to send; null: none.
   */
  offer(records: readonly (RecordLine | null)[], leftOut: number): string | null {
    const { counts, underWay } = this.#state;
    if (this.#state.isPaused) {
      counts.paused += records.length + leftOut;
      return null;
    }
    counts.seen += records.length + leftOut;
    counts.dropped += leftOut;
    const canSend = underWay.length < LIVE_WINDOW_MESSAGES;
    const room = {
      records: canSend ? LIVE_WINDOW_RECORDS - sumOf(underWay, 0) : 0,
      units: LIVE_WINDOW_UNITS - sumOf(underWay, 1),
    };
    const texts: string[] = [];
    let units = 0;
    for (const record of records.toReversed()) {
      const text = this.#textOf(record);
      if (text === "unwanted") counts.filtered += 1;
      else if (text === null || room.records === 0 || units + text.length > room.units) {
        counts.dropped += 1;
        // What is older than one for which there was no room is not sent either: what is shown has no gaps but at its beginning.
        if (text !== null) room.records = 0;
      } else {
        counts.shown += 1;
        units += text.length;
        room.records -= 1;
        texts.push(text);
      }
    }
    this.#state.isBehind = true;
    return canSend ? this.#message(texts.reverse(), units) : null;
  }

  /** All messages up to this one are drawn. @returns false: there is no such message under way, nor was there one; or a message to send, or null. */
  drawn(number: number): string | null | false {
    const { sent, underWay, isBehind } = this.#state;
    if (number > sent) return false;
    underWay.splice(0, Math.max(0, underWay.length - (sent - number)));
    return isBehind && underWay.length < LIVE_WINDOW_MESSAGES ? this.#message([], 0) : null;
  }

  /**
   * Sets what is wanted from now on.
   * @param script of which function; "": any.
   * @returns what is wrong, in words; then all stays as it was.
   */
  want(filter: string, script: string): readonly string[] {
    const [bytes, name] = [encodeUtf8(filter), encodeUtf8(script)];
    if (bytes.length > FILTER_MAX_BYTES)
      return [`the filter has ${bytes.length} bytes; at most ${FILTER_MAX_BYTES} are possible`];
    if (name.length > LIVE_SCRIPT_MAX_BYTES) return ["the function's name is too long to be one"];
    const parsed = parseFilter(filter);
    if (!parsed.ok) return parsed.faults;
    this.#wants = parsed.filter === null ? null : compileFilter(parsed.filter);
    // As records are made: no text in them has a lone surrogate.
    this.#script = script.toWellFormed();
    this.#state.filter = bytes;
    this.#state.script = name;
    return [];
  }

  pause(): void {
    this.#state.isPaused = true;
  }

  /** @returns the message that says what arrived meanwhile; null: there is no room for it now. */
  resume(): string | null {
    this.#state.isPaused = false;
    this.#state.isBehind = true;
    return this.#state.underWay.length < LIVE_WINDOW_MESSAGES ? this.#message([], 0) : null;
  }

  /** @returns the record as it is sent; null: nobody can read it. */
  #textOf(record: RecordLine | null): string | "unwanted" | null {
    if (record === null) return null;
    try {
      if (this.#script !== "" && record.ScriptName !== this.#script) return "unwanted";
      if (this.#wants !== null && !this.#wants(record)) return "unwanted";
      return recordJson(record);
    } catch {
      return null;
    }
  }

  #message(texts: readonly string[], units: number): string {
    this.#state.sent += 1;
    this.#state.underWay.push([texts.length, units]);
    this.#state.isBehind = false;
    return recordsMessage(this.#state.sent, this.#state.counts, texts);
  }
}

function sumOf(underWay: WatcherState["underWay"], place: 0 | 1): number {
  return underWay.reduce((sum, entry) => sum + entry[place], 0);
}
