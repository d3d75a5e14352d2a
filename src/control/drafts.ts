import { DRAFT_MS, DRAFTS_MAX, DRAFTS_OF_OWNER_MAX } from "../limits.ts";

/** A job that is being created, as stored. The caller seals and opens its content. */
export type StoredDraft = { id: string; sealed: string; changedMs: number };

const COLUMNS = "id, sealed, changed_ms AS changedMs";

/**
 * Part of the control plane: jobs not created yet. Only the owner sees a draft; it lives for a week
 * after its last change.
 */
export class Drafts {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /**
   * Saves a draft, new or changed, and deletes expired ones. Beyond the maximum, of one owner or in
   * all, the least recently changed go.
   * @returns false: the id belongs to another owner, and nothing changed.
   */
  save(id: string, owner: string, sealed: string, nowMs: number): boolean {
    const { rowsWritten } = this.#sql.exec(
      `INSERT INTO draft (id, owner, sealed, changed_ms) VALUES (?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed, changed_ms = excluded.changed_ms WHERE owner = excluded.owner`,
      id,
      owner,
      sealed,
      nowMs,
    );
    if (rowsWritten === 0) return false;
    this.#sql.exec("DELETE FROM draft WHERE changed_ms <= ?", nowMs - DRAFT_MS);
    // The draft just saved stays, whatever the clock says.
    this.#sql.exec(
      "DELETE FROM draft WHERE id IN (SELECT id FROM draft WHERE owner = ? ORDER BY id = ? DESC, changed_ms DESC, id LIMIT -1 OFFSET ?)",
      owner,
      id,
      DRAFTS_OF_OWNER_MAX,
    );
    this.#sql.exec(
      "DELETE FROM draft WHERE id IN (SELECT id FROM draft ORDER BY id = ? DESC, changed_ms DESC, id LIMIT -1 OFFSET ?)",
      id,
      DRAFTS_MAX,
    );
    return true;
  }

  /** null: none, expired, or another owner's. */
  find(id: string, owner: string, nowMs: number): StoredDraft | null {
    const query = `SELECT ${COLUMNS} FROM draft WHERE id = ? AND owner = ? AND changed_ms > ?`;
    return this.#sql.exec<StoredDraft>(query, id, owner, nowMs - DRAFT_MS).toArray()[0] ?? null;
  }

  /** Drafts of one owner, last changed first. */
  list(owner: string, nowMs: number): StoredDraft[] {
    const query = `SELECT ${COLUMNS} FROM draft WHERE owner = ? AND changed_ms > ? ORDER BY changed_ms DESC, id`;
    return this.#sql.exec<StoredDraft>(query, owner, nowMs - DRAFT_MS).toArray();
  }

  /** Removes and returns a draft: of two calls, one gets it. null: as with {@link Drafts.find}. */
  take(id: string, owner: string, nowMs: number): StoredDraft | null {
    const draft = this.find(id, owner, nowMs);
    if (draft !== null) this.#sql.exec("DELETE FROM draft WHERE id = ?", id);
    return draft;
  }
}
