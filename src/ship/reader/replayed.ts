import { clause, columns } from "../../base/storage/sql.ts";
import { NUMBERS_PER_NODE } from "../log/nodes.ts";
import { ReaderPart } from "./reader-part.ts";

/** What a replay is to ship again: delivered objects with events in it. */
export interface ReplaySpan {
  /** Event time, in ms since the epoch. */
  sinceMs: number;
  /** Exclusive. */
  untilMs: number;
  /** When it was asked for, in ms: what was delivered later is not part of it. */
  askedMs: number;
}

export interface Amount {
  objects: number;
  records: number;
  /** Compressed. */
  bytes: number;
}

export interface Replayable extends Amount {
  /** Of the first object, and of the last, if these are two. */
  keys: string[];
}

/** An object to be shipped again, as it was delivered, and the name of its copy. */
export interface ReplaySource {
  number: number;
  key: string;
  /** Since the epoch. */
  day: number;
  /** Of that day; "": none. */
  part: string;
  name: string;
  bytes: number;
  rawBytes: number;
  records: number;
  sha256: string;
  md5: string;
  contentType: string;
  firstEventMs: number;
  lastEventMs: number;
}

export interface ReplayPage {
  sources: ReplaySource[];
  /** From where the next page is to be asked for; null: there is none. */
  next: number | null;
}

/** A copy that is written. */
export interface ReplayedObject extends ReplaySource {
  replay: string;
  /** The number of the object that it is a copy of. */
  number: number;
  /** Its own. */
  key: string;
  attempts: number;
  verified: boolean;
  /** Bucket and endpoint, where that is not the job's own destination; null: it is. */
  elsewhere: string | null;
  /** Version of the job's destination that the replay began with. */
  place: number;
}

/**
 * An event's range is closed at both ends; a span is open at its end. Copies are not copied again,
 * and what was sent elsewhere is not at the job's destination.
 */
const isMeant = ({ sinceMs, untilMs, askedMs }: ReplaySpan) =>
  clause`state = 'delivered' AND replay IS NULL AND elsewhere IS NULL
    AND last_event_ms >= ${sinceMs} AND first_event_ms < ${untilMs} AND uploaded_ms <= ${askedMs}`;

/**
 * The part of a reader that replays read and write. Every method that changes anything belongs into
 * a transaction of its caller.
 */
export class Replayed extends ReaderPart {
  /** How much there is. It scans every object that the reader knows. */
  measure(span: ReplaySpan): Replayable {
    const row = this.state.row();
    if (row === null) return { objects: 0, records: 0, bytes: 0, keys: [] };
    const { first, last, ...sum } = this.sql.one<Omit<Replayable, "keys"> & { first: number; last: number }>`
      SELECT count(*) AS objects, coalesce(sum(records), 0) AS records, coalesce(sum(bytes), 0) AS bytes,
        min(number) AS first, max(number) AS last FROM object WHERE ${isMeant(span)}`;
    const keys = this.sql.all<{ key: string }>`
      SELECT key FROM object WHERE number IN (${first}, ${last}) ORDER BY number`.map(({ key }) => key);
    return { ...sum, keys };
  }

  /**
   * Objects with a number above `after`, in order, each with a name for its copy. A page that is
   * asked for again gives other names: those of the first time are never used.
   */
  page(span: ReplaySpan, after: number, limit: number): ReplayPage {
    const row = this.state.row();
    if (row === null) return { sources: [], next: null };
    const source = columns(
      ...["number", "key", "day", "part", "bytes", "rawBytes", "records", "sha256", "md5", "contentType"],
      ...["firstEventMs", "lastEventMs"],
    );
    const found = this.sql.all<Omit<ReplaySource, "name">>`
      SELECT ${source} FROM object WHERE number > ${after} AND ${isMeant(span)} ORDER BY number LIMIT ${limit}`;
    const names = this.state.names(found);
    const sources = found.map((source, i) => ({ ...source, name: names[i] ?? "" }));
    const following = row.sealed_ms === null ? null : (row.node + 1) * NUMBERS_PER_NODE;
    return { sources, next: found.length < limit ? following : (found.at(-1)?.number ?? following) };
  }

  /**
   * Lists and counts a copy, if it is not listed yet. It gets its number now, so that a client that
   * reads the list by number does not miss it.
   */
  note(object: ReplayedObject, nowMs: number): "counted" | "known" | "gone" {
    if (!this.state.hasJob()) return "gone";
    const known = this.sql.all`
      SELECT 1 FROM object WHERE replay = ${object.replay} AND replay_of = ${object.number}`;
    if (known.length > 0) return "known";
    const { day, part, name, key, bytes, rawBytes, records, sha256, md5, contentType, firstEventMs, lastEventMs } =
      object;
    const number = this.state.countReplayed(records, bytes);
    const { deliveries } = this.state.requireRow();
    this.sql.insert("object", {
      ...{ number, batch: 0, day, part, name, key, head: new ArrayBuffer(), tail: new ArrayBuffer(), bytes, rawBytes },
      ...{ records, sha256, md5, contentType, reason: "replay", firstEventMs, lastEventMs, oldestTakenMs: nowMs },
      ...{ cutMs: nowMs, uploadedMs: nowMs, state: "delivered", attempts: object.attempts },
      ...{ verified: object.verified ? 1 : 0, replay: object.replay, replayOf: object.number },
      elsewhere: object.elsewhere,
      ...{ delivery: deliveries, place: object.place },
    });
    return "counted";
  }
}
