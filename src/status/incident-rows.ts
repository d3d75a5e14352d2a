import { type Incident, isIncident, type OverIncident, type Step, type Tracked } from "./incidents.ts";
import { WEBHOOK_FAILING } from "./watch-findings.ts";
import type { WebhookCalls } from "./webhook-calls.ts";

/** How long an incident that is over is remembered, in ms: 30 days, as the history of objects… */
export const ENDED_MS = 30 * 86_400_000;
/** …and how many of them, so that one that comes and goes fills nothing. */
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

/** An incident as it is listed: `overMs` null: it goes on. */
export type PastIncident = Incident & { overMs: number | null };

/** Of the watch: what is followed, what was, and of what somebody was told. */
export class IncidentRows {
  readonly #sql: SqlStorage;
  readonly #calls: WebhookCalls;

  constructor(sql: SqlStorage, calls: WebhookCalls) {
    this.#sql = sql;
    this.#calls = calls;
  }

  /** What is followed now. */
  tracked(): Tracked[] {
    return this.#rows("ended_ms IS NULL").map(trackedOf);
  }

  /** Incidents, those that go on first, then the latest. */
  list(limit: number): PastIncident[] {
    return this.#rows("opened_ms IS NOT NULL")
      .map((row) => ({ ...(trackedOf(row) as Incident), overMs: row.over_ms }))
      .sort((a, b) => Number(a.overMs !== null) - Number(b.overMs !== null) || b.openedMs - a.openedMs)
      .slice(0, limit);
  }

  /** Keeps what a look made of it, and has told what is to be told. To be called in a transaction. */
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
    // Suspected, and not seen again: it was nothing.
    for (const id of states.keys()) this.#sql.exec("DELETE FROM incident WHERE id = ?", id);
    this.tell(nowMs);
    this.#sweep(nowMs);
  }

  /** Makes the calls that are missing: for each incident that goes on, of which nobody was told yet. To be called in a transaction. */
  tell(nowMs: number): void {
    if (!this.#calls.wanted()) return;
    for (const row of this.#rows("ended_ms IS NULL AND opened_ms IS NOT NULL AND told = 0")) {
      const incident = trackedOf(row);
      // To tell whoever cannot be told that he cannot is to no end.
      if (!isIncident(incident) || incident.finding.kind === WEBHOOK_FAILING) continue;
      // There is room when others are gone; one that is over by then is in the list all the same.
      if (!this.#calls.hasRoom()) return;
      this.#calls.add("incident.opened", incident, null, nowMs);
      this.#sql.exec("UPDATE incident SET told = 1 WHERE id = ?", row.id);
    }
  }

  /** Whoever is called from now on was told of nothing. */
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
