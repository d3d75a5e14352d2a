import type { DedupId } from "../../base/storage/dedup-index.ts";
import { clause, columns, Tables } from "../../base/storage/sql.ts";

/** A message that is kept from the jobs until a person decides. */
export interface HoldMessage {
  /** What the queue delivered. */
  message: ArrayBuffer;
  /**
   * Its parts, as its head says; none: its head cannot be read. Those that are known are not kept.
   */
  parts: (DedupId & { records: number })[];
  /** The id that it is remembered by where its head cannot be read: a hash of its bytes. */
  hash: DedupId;
  queue: string;
  why: string;
  /** Why its records cannot be read; absent: they can, or it was not tried. */
  unreadable?: string;
}

/** A message on hold, without its content. */
export interface HeldEntry {
  id: number;
  atMs: number;
  /** Time of intake of its oldest part; null: its head cannot be read. */
  takenInMs: number | null;
  queue: string;
  why: string;
  events: number;
  /** Its size. */
  bytes: number;
  /** Why its records could not be read when it was set aside; null: they could. */
  unreadable: string | null;
}

/** With its content. */
export interface HeldMessage extends HeldEntry {
  message: ArrayBuffer;
  /** Ids of its parts that are on hold; none: its head cannot be read. */
  parts: string[];
}

/** A part that is on hold, and what was in force when it was taken in. */
export interface HeldPart extends DedupId {
  records: number;
  /** Jobs that were enabled. */
  jobs: number[];
  /** Functions whose logging was off. */
  off: string[];
}

/** The JSON of held parts: most of a message have the same terms. */
interface HeldParts {
  terms: Pick<HeldPart, "jobs" | "off">[];
  parts: (DedupId & { records: number; term: number })[];
}

const ENTRY = clause`${columns("id", "atMs", "queue", "why", "events", "unreadable", "bytes")}, taken_ms AS takenInMs`;

/**
 * The messages of a shard that are on hold. They are in no job. To be changed only in a transaction
 * of the caller, which counts their events.
 */
export class OnHold extends Tables {
  /** Keeps a message. @param parts none: its head cannot be read, and it counts as one event. */
  add(
    { message, queue, why, unreadable }: Omit<HoldMessage, "parts" | "hash">,
    parts: readonly HeldPart[],
    nowMs: number,
  ): void {
    const id = this.sql.only<number>`SELECT next_hold FROM state`;
    const events = eventsOf(parts);
    this.sql.run`
      UPDATE state SET next_hold = next_hold + 1, hold_messages = hold_messages + 1, processed = processed
        + ${events}, set_aside = set_aside + ${events} WHERE id = 1`;
    this.sql.run`INSERT INTO on_hold (id, message) VALUES (${id}, ${message})`;
    this.sql.insert("hold_note", {
      ...{ id, atMs: nowMs, queue, why, events, unreadable: unreadable ?? null, bytes: message.byteLength },
      takenMs: parts.length === 0 ? null : Math.min(...parts.map(({ takenInMs }) => takenInMs)),
      parts: textOf(parts),
    });
  }

  count(): number {
    return this.sql.only`SELECT hold_messages FROM state`;
  }

  /** The oldest first. */
  list(offset: number, limit: number): HeldEntry[] {
    return this.sql.all`SELECT ${ENTRY} FROM hold_note ORDER BY id LIMIT ${limit} OFFSET ${offset}`;
  }

  /** null: it is not on hold (any more). */
  get(id: number): HeldMessage | null {
    const row = this.sql.first<HeldEntry & { parts: string; message: ArrayBuffer }>`
      SELECT ${ENTRY}, parts, message FROM hold_note JOIN on_hold USING (id) WHERE id = ${id}`;
    return row && { ...row, parts: partsOf(row.parts).map((part) => part.id) };
  }

  /** The parts of a message; null: it is not on hold (any more). */
  partsOf(id: number): HeldPart[] | null {
    const row = this.sql.first<{ parts: string }>`SELECT parts FROM hold_note WHERE id = ${id}`;
    return row && partsOf(row.parts);
  }

  /**
   * Deletes a message. @returns how many events it counts as; null: it is not on hold (any more).
   */
  remove(id: number): number | null {
    const row = this.sql.first<{ events: number }>`SELECT events FROM hold_note WHERE id = ${id}`;
    if (row === null) return null;
    this.sql.run`DELETE FROM on_hold WHERE id = ${id}`;
    this.sql.run`DELETE FROM hold_note WHERE id = ${id}`;
    this.sql.run`
      UPDATE state SET hold_messages = hold_messages - 1, set_aside = set_aside - ${row.events} WHERE id = 1`;
    return row.events;
  }

  /** When the oldest was set aside, in ms since the epoch; null: there is none. */
  oldestMs(): number | null {
    return this.sql.first<{ at_ms: number }>`SELECT at_ms FROM hold_note ORDER BY id LIMIT 1`?.at_ms ?? null;
  }

  /**
   * The earliest time of intake, in ms since the epoch; 0 if that of any is unknown; null: nothing
   * is on hold.
   */
  oldestTakenMs(): number | null {
    // NULL comes first.
    const row = this.sql.first<{ taken_ms: number | null }>`SELECT taken_ms FROM hold_note ORDER BY taken_ms LIMIT 1`;
    return row && (row.taken_ms ?? 0);
  }

  /** Jobs that a message may be for; null: any, as nothing is known of one without a head. */
  jobs(): ReadonlySet<number> | null {
    const jobs = new Set<number>();
    for (const { parts } of this.sql.each<{ parts: string }>`SELECT parts FROM hold_note`) {
      const held = JSON.parse(parts) as HeldParts;
      if (held.parts.length === 0) return null;
      for (const term of held.terms) for (const job of term.jobs) jobs.add(job);
    }
    return jobs;
  }
}

function eventsOf(parts: readonly HeldPart[]): number {
  return parts.length === 0 ? 1 : parts.reduce((sum, { records }) => sum + records, 0);
}

function textOf(parts: readonly HeldPart[]): string {
  const terms = new Map<string, number>();
  const held = parts.map(({ jobs, off, ...part }) => {
    const text = JSON.stringify({ jobs, off });
    const term = terms.get(text) ?? terms.size;
    terms.set(text, term);
    return { ...part, term };
  });
  return `{"terms":[${[...terms.keys()].join()}],"parts":${JSON.stringify(held)}}`;
}

function partsOf(text: string): HeldPart[] {
  const { terms, parts } = JSON.parse(text) as HeldParts;
  return parts.map(({ term, ...part }) => ({ ...part, ...(terms[term] as HeldParts["terms"][number]) }));
}
