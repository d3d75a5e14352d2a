import { type Incident, isIncident, type OverIncident, type Step, type Tracked } from "./incidents.ts";
import { WEBHOOK_FAILING } from "./watch-findings.ts";
import type { WebhookCalls } from "./webhook-calls.ts";

/** How long a past incident is kept, in ms: 30 days, like the history of objects… */
export const ENDED_MS = 30 * 86_400_000;
/** …and how many, so that a flapping one does not fill the storage. */
export const ENDED_MAX = 500;

interface Row {
  [column: string]: SqlStorageValue;
  id: string;
  state: string;
  opened_ms: number | null;
  over_ms: number | null;
  ended_ms: number | null;
  told: number;
}

/** An incident as listed. `overMs` null: open. */
export type PastIncident = Incident & { overMs: number | null };

/**
 * The incidents in the storage of the watch: tracked ones, past ones, and which were told to the
 * webhook.
 */
export class IncidentRows {
  readonly #sql: SqlStorage;
  readonly #calls: WebhookCalls;

  constructor(sql: SqlStorage, calls: WebhookCalls) {
    this.#sql = sql;
    this.#calls = calls;
  }

  /** Incidents that are not over, oldest first. */
  open(): PastIncident[] {
    return this.tracked()
      .filter(isIncident)
      .map((each) => ({ ...each, overMs: null }));
  }

  tracked(): Tracked[] {
    return this.#rows("ended_ms IS NULL").map(trackedOf);
  }

  /** Those that are not over first, then the latest. */
  list(limit: number): PastIncident[] {
    return this.#rows("opened_ms IS NOT NULL")
      .map((row) => ({ ...(trackedOf(row) as Incident), overMs: row.over_ms }))
      .sort((a, b) => Number(a.overMs !== null) - Number(b.overMs !== null) || b.openedMs - a.openedMs)
      .slice(0, limit);
  }

  /** Stores the result of a look and adds the webhook calls that follow. Call in a transaction. */
  keep(before: readonly Tracked[], { tracked, over }: Step, nowMs: number): void {
    const states = new Map(before.map((each) => [each.id, JSON.stringify(each)]));
    for (const each of tracked) {
      const state = JSON.stringify(each);
      const known = states.get(each.id);
      states.delete(each.id);
      if (known === state) continue;
      this.#sql.exec(
        `INSERT INTO incident (id, state, opened_ms) VALUES (?1, ?2, ?3)
         ON CONFLICT (id) DO UPDATE SET state = ?2, opened_ms = ?3`,
        each.id,
        state,
        each.openedMs,
      );
    }
    for (const each of over) {
      states.delete(each.id);
      this.#end(each, nowMs);
    }
    // Suspected and not seen again: forgotten.
    for (const id of states.keys()) this.#sql.exec("DELETE FROM incident WHERE id = ?", id);
    this.tell(nowMs);
    this.#sweep(nowMs);
  }

  /** Adds a call for each open incident that was not told yet. Call in a transaction. */
  tell(nowMs: number): void {
    if (!this.#calls.wanted()) return;
    for (const row of this.#rows("ended_ms IS NULL AND opened_ms IS NOT NULL AND told = 0")) {
      const incident = trackedOf(row);
      // A call about the failing webhook would go to the failing webhook.
      if (!isIncident(incident) || incident.finding.kind === WEBHOOK_FAILING) continue;
      // The rest is told when there is room again, if still open.
      if (!this.#calls.hasRoom()) return;
      this.#calls.add("incident.opened", incident, null, nowMs);
      this.#sql.exec("UPDATE incident SET told = 1 WHERE id = ?", row.id);
    }
  }

  /** After a change of receiver: the new one was told nothing yet. */
  untold(): void {
    this.#sql.exec("UPDATE incident SET told = 0 WHERE told = 1");
  }

  #end(each: OverIncident, nowMs: number): void {
    const { overMs, ...state } = each;
    const { told } = this.#sql.exec<{ told: number }>("SELECT told FROM incident WHERE id = ?", each.id).one();
    this.#sql.exec(
      "UPDATE incident SET state = ?, over_ms = ?, ended_ms = ? WHERE id = ?",
      JSON.stringify(state),
      overMs,
      nowMs,
      each.id,
    );
    if (told === 1 && this.#calls.wanted()) this.#calls.add("incident.over", each, { overMs }, nowMs);
  }

  #sweep(nowMs: number): void {
    this.#sql.exec("DELETE FROM incident WHERE ended_ms < ?", nowMs - ENDED_MS);
    this.#sql.exec(
      "DELETE FROM incident WHERE id IN (SELECT id FROM incident WHERE ended_ms IS NOT NULL ORDER BY ended_ms DESC, id LIMIT -1 OFFSET ?)",
      ENDED_MAX,
    );
  }

  #rows(where: string): Row[] {
    return this.#sql.exec<Row>(`SELECT * FROM incident WHERE ${where} ORDER BY opened_ms, id`).toArray();
  }
}

function trackedOf({ state }: Row): Tracked {
  return JSON.parse(state) as Tracked;
}
