import { AUDIT_MAX, AUDIT_MERGE_MS, AUDIT_MS, AUDIT_OF_ONE_MAX, AUDIT_REFUSED_MAX } from "../../base/limits.ts";
import { first, only, select } from "../../base/storage/sql.ts";

/** One change made over the API. */
export interface AuditEntry {
  actor: { kind: string; id: string; name: string };
  action: string;
  /** Id of what was changed; null: unknown, or none. */
  resource: string | null;
  /**
   * `unconfirmed`: the request failed, but the change may have been made. `refused`: of unknown
   * credentials; the resource is where they came from.
   */
  outcome: "done" | "unconfirmed" | "refused";
  /** The body, without secrets; null: none. */
  body: unknown;
  requestId: string | null;
  /** How often it was done; default once. */
  times?: number;
}

/** How often a change was made in the same way; absent: once. */
interface Repeats {
  times?: number;
  /** The first time, since the epoch. */
  sinceMs?: number;
}

export interface Audited extends Omit<AuditEntry, "times">, Required<Repeats> {
  number: number;
  /** The latest time, since the epoch. */
  atMs: number;
}

type Row = {
  number: number;
  at_ms: number;
  entry: string;
};

/**
 * The table of changes. No caller can flush out what others did: repeats are one entry, one caller
 * has so many entries of one kind, and where there are too many in all, the kind with the most
 * entries loses its oldest. Changes of access are counted apart from all others.
 */
export class AuditBook {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Notes a change, and deletes notes that are too old or too many. */
  note(entry: AuditEntry, nowMs: number): void {
    const noted: AuditEntry & Repeats = { ...entry, ...this.#mergedRepeats(entry, nowMs) };
    const query = "INSERT INTO audit (at_ms, entry) VALUES (?, ?) RETURNING number";
    const number = only<number>(this.#sql, query, nowMs, JSON.stringify(noted));
    this.#deleteMore(number, entry.outcome === "refused");
    // Numbers are in the order of times: the search ends at the first row that stays.
    this.#sql.exec(
      "DELETE FROM audit WHERE number < (SELECT number FROM audit WHERE at_ms >= ? ORDER BY number LIMIT 1)",
      nowMs - AUDIT_MS,
    );
  }

  /** Changes, newest first. */
  page(offset: number, limit: number, nowMs: number): { entries: Audited[]; total: number } {
    const since = nowMs - AUDIT_MS;
    const total = only<number>(this.#sql, "SELECT count(*) FROM audit WHERE at_ms >= ?", since);
    const entries = select<Row>(
      this.#sql,
      "SELECT number, at_ms, entry FROM audit WHERE at_ms >= ? ORDER BY number DESC LIMIT ? OFFSET ?",
      [since, limit, offset],
    ).map(({ number, at_ms, entry }) => {
      const { times = 1, sinceMs = at_ms, ...change } = JSON.parse(entry) as AuditEntry & Repeats;
      return { ...change, times, sinceMs, number, atMs: at_ms };
    });
    return { entries, total };
  }

  /** Deletes the entry that a change repeats, if there is one. @returns both counts. */
  #mergedRepeats({ actor, action, resource, outcome, body, times = 1 }: AuditEntry, nowMs: number): Repeats {
    const before = first<Row>(
      this.#sql,
      "SELECT number, at_ms, entry FROM audit WHERE of_access = (?2 GLOB 'token.*' OR ?2 GLOB 'member.*') AND actor = ?1 AND action = ?2 AND resource IS ?3 ORDER BY number DESC LIMIT 1",
      ...[actorOf(actor), action, resource],
    );
    if (before === null || Math.abs(nowMs - before.at_ms) > AUDIT_MERGE_MS) return {};
    const entry = JSON.parse(before.entry) as AuditEntry & Repeats;
    if (entry.outcome !== outcome || JSON.stringify(entry.body) !== JSON.stringify(body)) return {};
    this.#sql.exec("DELETE FROM audit WHERE number = ?", before.number);
    return { times: (entry.times ?? 1) + times, sinceMs: entry.sinceMs ?? before.at_ms };
  }

  /** Deletes what is too much, now that an entry was added. Refusals displace only each other. */
  #deleteMore(added: number, isRefusal: boolean): void {
    const { of_access, actor, action } = this.#sql
      .exec("SELECT of_access, actor, action FROM audit WHERE number = ?", added)
      .one();
    this.#sql.exec(
      "DELETE FROM audit WHERE number IN (SELECT number FROM audit WHERE of_access = ? AND actor = ? AND action = ? ORDER BY number DESC LIMIT -1 OFFSET ?)",
      ...[of_access ?? null, actor ?? null, action ?? null, isRefusal ? AUDIT_REFUSED_MAX : AUDIT_OF_ONE_MAX],
    );
    if (isRefusal) return;
    const n = only<number>(this.#sql, "SELECT count(*) FROM audit WHERE of_access = ?", of_access ?? null);
    if (n <= AUDIT_MAX) return;
    this.#sql.exec(
      "DELETE FROM audit WHERE number = (SELECT min(number) FROM audit WHERE of_access = ? GROUP BY actor, action ORDER BY count(*) DESC, min(number) LIMIT 1)",
      of_access ?? null,
    );
  }
}

/** As the column `actor` is. */
function actorOf({ kind, id }: AuditEntry["actor"]): string {
  return `${kind} ${id}`;
}
