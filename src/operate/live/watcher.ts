import { encodeUtf8, fromBase64, toBase64 } from "../../base/bytes.ts";
import { LIVE_WINDOW_MESSAGES, LIVE_WINDOW_RECORDS, LIVE_WINDOW_UNITS } from "../../base/limits.ts";
import type { ExtraField } from "../../formats/record/fields.ts";
import type { RecordLine } from "../../formats/record/line.ts";
import { type Counts, recordJson, recordsMessage } from "./protocol.ts";
import { readWants, type Wanted, type Wants } from "./wants.ts";

/** A viewer's state, which survives hibernation: at most 16 kB as the platform serializes it. */
export interface WatcherState {
  /** Hash of the session's id, in base64. */
  session: string;
  /** The token or member of the session. */
  holder: string;
  /** As of {@link Wants}, in UTF-8: with two bytes a character, the longest would not fit. */
  filter: Uint8Array;
  query: Uint8Array;
  isPaused: boolean;
  counts: Counts;
  /** Number of the last message with records. */
  sent: number;
  /** Records and UTF-16 units of each message that is not drawn yet, newest last. */
  underWay: (readonly [records: number, units: number])[];
  /** The counts have changed since they were last sent. */
  isBehind: boolean;
  /** The turn in which it came, see early.ts. */
  since: number;
}

const decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });

/**
 * A live viewer: decides which new records it gets, and counts the others. Nothing is queued: what
 * it cannot draw in time is dropped.
 */
export class Watcher {
  readonly #state: WatcherState;
  /** null: all. */
  #wanted: Wanted | null;

  private constructor(state: WatcherState) {
    this.#state = state;
    const read = readWants({ filter: decoder.decode(state.filter), query: decoder.decode(state.query) });
    this.#wanted = read.ok ? read.wanted : null;
  }

  /** @param holder as {@link Watcher.holder}. @param since as {@link Watcher.since}. */
  static newcomer(session: Uint8Array, holder: string, since = 0): Watcher {
    return new Watcher({
      session: toBase64(session),
      holder,
      filter: new Uint8Array(),
      query: new Uint8Array(),
      isPaused: false,
      counts: { seen: 0, shown: 0, filtered: 0, dropped: 0, paused: 0 },
      sent: 0,
      underWay: [],
      isBehind: false,
      since,
    });
  }

  /** After hibernation. @param state as {@link Watcher.state}. */
  static awoken(state: WatcherState): Watcher {
    return new Watcher(state);
  }

  get state(): WatcherState {
    return this.#state;
  }

  get session(): Uint8Array {
    return fromBase64(this.#state.session);
  }

  /** The token or member that watches. */
  get holder(): string {
    return this.#state.holder;
  }

  /** The turn in which it came: it sees what is shown early after that. */
  get since(): number {
    return this.#state.since;
  }

  get counts(): Readonly<Counts> {
    return this.#state.counts;
  }

  /**
   * Takes new records.
   * @param records oldest first; null: an unreadable one.
   * @param leftOut how many more arrived; the filter cannot be applied to these.
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
        // Older records are dropped, too, so that there are no gaps but at the beginning.
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

  /**
   * All messages up to this number are drawn. @returns a message to send; null: none; false: there
   * never was such a number.
   */
  drawn(number: number): string | null | false {
    const { sent, underWay, isBehind } = this.#state;
    if (number > sent) return false;
    underWay.splice(0, Math.max(0, underWay.length - (sent - number)));
    return isBehind && underWay.length < LIVE_WINDOW_MESSAGES ? this.#message([], 0) : null;
  }

  /**
   * Sets filter and query.
   * @param extra fields that are on.
   * @returns faults; if there are any, nothing changes.
   */
  want(wants: Wants, extra: readonly ExtraField[] = []): readonly string[] {
    const read = readWants(wants, extra);
    if (!read.ok) return read.faults;
    this.#wanted = read.wanted;
    this.#state.filter = encodeUtf8(wants.filter);
    this.#state.query = encodeUtf8(wants.query);
    return [];
  }

  pause(): void {
    this.#state.isPaused = true;
  }

  /** @returns a message with the counts; null: there is no room for it now. */
  resume(): string | null {
    this.#state.isPaused = false;
    this.#state.isBehind = true;
    return this.#state.underWay.length < LIVE_WINDOW_MESSAGES ? this.#message([], 0) : null;
  }

  /** @returns the record as it is sent; null: unreadable. */
  #textOf(record: RecordLine | null): string | "unwanted" | null {
    if (record === null) return null;
    try {
      return this.#wanted?.fits(record) === false ? "unwanted" : recordJson(record);
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
