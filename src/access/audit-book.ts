import { AUDIT_MAX, AUDIT_MS } from "../limits.ts";

/** One change made over the API. */
export interface AuditEntry {
  actor: { kind: string; id: string; name: string };
  action: string;
  /** Id of what was changed; null: unknown, or none. */
  resource: string | null;
  /** `unconfirmed`: the request failed, but the change may have been made. */
  outcome: "done" | "unconfirmed";
  /** The body, without secrets; null: none. */
  body: unknown;
  requestId: string | null;
}

export interface Audited extends AuditEntry {
  number: number;
  atMs: number;
}

/** The table of changes. */
export class AuditBook {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Notes a change, and deletes notes that are too old or too many. */
  note(entry: AuditEntry, nowMs: number): void {
    this.#sql.exec("INSERT INTO audit (at_ms, entry) VALUES (?, ?)", nowMs, JSON.stringify(entry));
    this.#sql.exec("DELETE FROM audit WHERE number <= (SELECT max(number) FROM audit) - ?", AUDIT_MAX);
    // Numbers are in the order of times: the search ends at the first row that stays.
    this.#sql.exec(
      "DELETE FROM audit WHERE number < (SELECT number FROM audit WHERE at_ms >= ? ORDER BY number LIMIT 1)",
      nowMs - AUDIT_MS,
    );
  }

  /** Changes, newest first. */
  page(offset: number, limit: number, nowMs: number): { entries: Audited[]; total: number } {
    const since = nowMs - AUDIT_MS;
    const { total } = this.#sql
      .exec<{ total: number }>("SELECT count(*) AS total FROM audit WHERE at_ms >= ?", since)
      .one();
    const entries = this.#sql
      .exec<{ number: number; at_ms: number; entry: string }>(
        "SELECT * FROM audit WHERE at_ms >= ? ORDER BY number DESC LIMIT ? OFFSET ?",
        since,
        limit,
        offset,
      )
      .toArray()
      .map(({ number, at_ms, entry }) => ({ ...(JSON.parse(entry) as AuditEntry), number, atMs: at_ms }));
    return { entries, total };
  }
}
