import type { RowOf } from "../../base/storage/row-of.ts";
import { Tables } from "../../base/storage/sql.ts";
import type { CallType } from "./call-body.ts";
import { type Incident, isIncident, type Tracked } from "./incidents.ts";
import type { WATCH_STEPS } from "./watch-migrations.ts";

/** Events of one incident at most, beside what each receiver answered: a flapping one has many. */
export const EVENTS_MAX = 60;

/** How old a text gets, in ms, before one that differs from it in numbers alone is noted. */
const TEXT_EVERY_MS = 30 * 60_000;

/** What happened to an incident, in ms since the epoch. Its beginning and end are its own. */
export type IncidentEvent = { atMs: number } & (
  | { type: "said" | "worse"; summary: string }
  | { type: "gone" | "returned" }
  | { type: "muted"; by: string | null; untilMs: number }
  | { type: "unmuted"; by: string | null }
);

/** The latest answer of a receiver to a call about an incident. */
export interface ReceiverAnswer {
  atMs: number;
  call: CallType;
  receiver: { id: number; name: string; format: string };
  /** In words. */
  answer: string;
  taken: boolean;
  tries: number;
}

/** What is stored beside its time. */
type Details<E = IncidentEvent> = E extends unknown ? Omit<E, "atMs"> : never;

type Row = Pick<RowOf<typeof WATCH_STEPS, "incident_event">, "at_ms" | "detail">;

/** What happened to incidents while they are kept, in the storage of the watch. */
export class IncidentEvents extends Tables {
  /** In order. */
  of(incident: string): IncidentEvent[] {
    const rows = this.sql.all<Row>`
      SELECT at_ms, detail FROM incident_event WHERE incident = ${incident} AND about IS NULL ORDER BY at_ms, number`;
    return rows.map(({ at_ms, detail }) => ({ ...(JSON.parse(detail) as Details), atMs: at_ms }));
  }

  /** Which receivers were told, in order. */
  toldOf(incident: string): ReceiverAnswer[] {
    const rows = this.sql.all<Row>`
      SELECT at_ms, detail FROM incident_event WHERE incident = ${incident} AND about > '' ORDER BY at_ms, number`;
    return rows.map(({ at_ms, detail }) => ({ ...(JSON.parse(detail) as Omit<ReceiverAnswer, "atMs">), atMs: at_ms }));
  }

  /** What a check changes. Call in its transaction, before ended incidents are dropped. */
  note(before: readonly Tracked[], after: readonly Tracked[], nowMs: number): void {
    const known = new Map(before.map((each) => [each.id, each]));
    for (const each of after.filter(isIncident)) {
      const past = known.get(each.id);
      if (past === undefined || !isIncident(past)) this.#said(each, nowMs);
      else this.#changed(past, each, nowMs);
    }
  }

  #changed(past: Incident, now: Incident, nowMs: number): void {
    if (past.well === null && now.well !== null) this.add(now.id, { type: "gone" }, nowMs);
    if (past.well !== null && now.well === null && !now.unknown) this.add(now.id, { type: "returned" }, nowMs);
    const { summary } = now.finding;
    if (now.worse && !past.worse) this.add(now.id, { type: "worse", summary }, nowMs);
    else if (summary !== past.finding.summary) this.#said(now, nowMs);
  }

  /** Notes its text, unless the latest says the same, or did so a moment ago with other numbers. */
  #said({ id, finding: { summary } }: Incident, nowMs: number): void {
    const last = this.of(id).findLast((each) => each.type === "said" || each.type === "worse");
    if (last !== undefined && "summary" in last) {
      const isRecent = Math.abs(nowMs - last.atMs) < TEXT_EVERY_MS;
      if (last.summary === summary || (isRecent && wordsOf(last.summary) === wordsOf(summary))) return;
    }
    this.add(id, { type: "said", summary }, nowMs);
  }

  /** Call in a transaction. */
  add(incident: string, details: Details, nowMs: number): void {
    this.#insert(incident, null, details, nowMs);
    this.sql.run`
      DELETE FROM incident_event WHERE number IN (SELECT number FROM incident_event
        WHERE incident = ${incident} AND about IS NULL ORDER BY number DESC LIMIT -1 OFFSET ${EVENTS_MAX})`;
  }

  /** In place of the receiver's earlier answer to that call. Call in a transaction. */
  told(incident: string, { atMs, ...details }: ReceiverAnswer): void {
    this.#insert(incident, `${details.receiver.id} ${details.call}`, details, atMs);
  }

  /** An incident may be gone before its last call is made. */
  #insert(incident: string, about: string | null, details: object, nowMs: number): void {
    this.sql.run`
      INSERT OR REPLACE INTO incident_event (incident, about, at_ms, detail)
        SELECT id, ${about}, ${nowMs}, ${JSON.stringify(details)} FROM incident WHERE id = ${incident}`;
  }

  /** After incidents were dropped. Call in a transaction. */
  sweep(): void {
    this.sql.run`DELETE FROM incident_event WHERE incident NOT IN (SELECT id FROM incident)`;
  }
}

/** A text without its numbers. */
function wordsOf(summary: string): string {
  return summary.replace(/\d[\d.,:]*/g, "#");
}
