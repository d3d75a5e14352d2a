import { AUDIT_MAX, AUDIT_MERGE_MS, AUDIT_MS, AUDIT_OF_ONE_MAX, AUDIT_REFUSED_MAX } from "../../base/limits.ts";
import { log } from "../../base/logger.ts";
import { Tables } from "../../base/storage/sql.ts";

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
 * The table of changes. No caller can flush out what it or others did: repeats are one entry, one
 * caller has so many entries of one kind, and where there are too many, those that are most alike
 * lose the oldest, which is logged. Changes of access are counted apart from all others.
 */
export class AuditBook extends Tables {
  /** Notes a change, and deletes notes that are too old or too many. */
  note(entry: AuditEntry, nowMs: number): void {
    const noted: AuditEntry & Repeats = { ...entry, ...this.#mergedRepeats(entry, nowMs) };
    const number = this.sql.only<number>`
      INSERT INTO audit (at_ms, entry) VALUES (${nowMs}, ${JSON.stringify(noted)}) RETURNING number`;
    this.#deleteMore(number, entry.outcome === "refused");
    // Numbers are in the order of times: the search ends at the first row that stays.
    this.sql.run`
      DELETE FROM audit WHERE number < (SELECT number FROM audit WHERE at_ms >= ${nowMs - AUDIT_MS}
      ORDER BY number LIMIT 1)`;
  }

  /** Changes, newest first. */
  page(offset: number, limit: number, nowMs: number): { entries: Audited[]; total: number } {
    const since = nowMs - AUDIT_MS;
    const total = this.sql.only<number>`SELECT count(*) FROM audit WHERE at_ms >= ${since}`;
    const entries = this.sql.all<Row>`
      SELECT number, at_ms, entry FROM audit WHERE at_ms >= ${since}
      ORDER BY number DESC LIMIT ${limit} OFFSET ${offset}`.map(({ number, at_ms, entry }) => {
      const { times = 1, sinceMs = at_ms, ...change } = JSON.parse(entry) as AuditEntry & Repeats;
      return { ...change, times, sinceMs, number, atMs: at_ms };
    });
    return { entries, total };
  }

  /** Deletes the entry that a change repeats, if there is one. @returns both counts. */
  #mergedRepeats({ actor, action, resource, outcome, body, times = 1 }: AuditEntry, nowMs: number): Repeats {
    const before = this.sql.first<Row>`
      SELECT number, at_ms, entry FROM audit
      WHERE of_access = (${action} GLOB 'token.*' OR ${action} GLOB 'member.*') AND actor = ${actorOf(actor)}
        AND action = ${action} AND resource IS ${resource} ORDER BY number DESC LIMIT 1`;
    if (before === null || Math.abs(nowMs - before.at_ms) > AUDIT_MERGE_MS) return {};
    const entry = JSON.parse(before.entry) as AuditEntry & Repeats;
    if (entry.outcome !== outcome || JSON.stringify(entry.body) !== JSON.stringify(body)) return {};
    this.sql.run`DELETE FROM audit WHERE number = ${before.number}`;
    return { times: (entry.times ?? 1) + times, sinceMs: entry.sinceMs ?? before.at_ms };
  }

  /** Deletes what is too much, now that an entry was added. Refusals displace only each other. */
  #deleteMore(added: number, isRefusal: boolean): void {
    const { of_access, actor, action } = this.sql.one<{ of_access: number; actor: string; action: string }>`
      SELECT of_access, actor, action FROM audit WHERE number = ${added}`;
    const ofOne = this.sql.only<number>`
      SELECT count(*) FROM audit WHERE of_access = ${of_access} AND actor = ${actor} AND action = ${action}`;
    if (ofOne > (isRefusal ? AUDIT_REFUSED_MAX : AUDIT_OF_ONE_MAX)) this.#deleteOne(of_access, actor, action);
    const all = this.sql.only<number>`SELECT count(*) FROM audit WHERE of_access = ${of_access}`;
    if (isRefusal || all <= AUDIT_MAX) return;
    const most = this.sql.one<{ actor: string; action: string }>`
      SELECT actor, action FROM audit WHERE of_access = ${of_access}
      GROUP BY actor, action ORDER BY count(*) DESC, min(number) LIMIT 1`;
    this.#deleteOne(of_access, most.actor, most.action);
  }

  /** The oldest of those that are most alike: of one resource, and of the same fields. */
  #deleteOne(ofAccess: number, actor: string, action: string): void {
    const { at_ms, entry } = this.sql.one<Row>`
      DELETE FROM audit WHERE number = (SELECT min(number) FROM audit
        WHERE of_access = ${ofAccess} AND actor = ${actor} AND action = ${action}
        GROUP BY resource, (SELECT group_concat(key) FROM json_each(entry, '$.body'))
        ORDER BY count(*) DESC, min(number) LIMIT 1) RETURNING *`;
    log.warn("an entry of the audit made room", { at: new Date(at_ms).toISOString(), entry });
  }
}

/** As the column `actor` is. */
function actorOf({ kind, id }: AuditEntry["actor"]): string {
  return `${kind} ${id}`;
}
