import type { RowOf } from "../../base/storage/row-of.ts";
import { Tables, verbatim } from "../../base/storage/sql.ts";
import { keyOf } from "../status/finding.ts";
import { IncidentEvents, type ReceiverAnswer } from "./incident-events.ts";
import { type Incident, isIncident, type OverIncident, SETTLE_CHECKS, type Step, type Tracked } from "./incidents.ts";
import type { Receivers } from "./receivers.ts";
import type { WATCH_STEPS } from "./watch-migrations.ts";

/** How long a past incident is kept, in ms: 30 days, like the history of objects… */
export const ENDED_MS = 30 * 86_400_000;
/** …and how many, so that a flapping one does not fill the storage. */
export const ENDED_MAX = 500;

/** How old the texts of a row may get, in ms: an object that begins has those until its check. */
const TEXT_EVERY_MS = 30 * 60_000;

type Row = RowOf<typeof WATCH_STEPS, "incident">;

/** As stored. Absent: an earlier release has written it. */
type Written = Tracked & { writtenMs?: number };

interface Told {
  row: Row;
  incident: Incident;
  told: number[];
}

/** A mute until this time, 9999-12-31T23:59:59.999Z, ends with its incident. */
export const UNTIL_OVER_MS = Date.UTC(10_000, 0) - 1;

/** Until when, and by whom; null: it is unknown. */
interface Mute {
  mutedUntilMs: number;
  mutedBy: string | null;
}

/**
 * An incident as listed. `overMs` null: open. `mutedUntilMs` absent: it is not muted. `told`
 * absent: an earlier release answers.
 */
export type PastIncident = Incident & { overMs: number | null; told?: ReceiverAnswer[] } & Partial<Mute>;

/**
 * The incidents in the storage of the watch: tracked ones, past ones, which were told to whom, and
 * which are muted.
 */
export class IncidentRows extends Tables {
  readonly events: IncidentEvents;
  readonly #receivers: Receivers;
  /** What is tracked, as the last check has it: its texts change with every check. */
  readonly #latest = new Map<string, Tracked>();

  constructor(sql: SqlStorage, receivers: Receivers) {
    super(sql);
    this.events = new IncidentEvents(sql);
    this.#receivers = receivers;
  }

  /** Forgets what is held in memory: a transaction has failed, and its rows are as before. */
  load(): void {
    this.#latest.clear();
  }

  /** Incidents that are not over, oldest first. */
  open(nowMs: number): PastIncident[] {
    const mutes = this.#mutes(nowMs);
    return this.tracked()
      .filter(isIncident)
      .map((each) => ({ ...each, overMs: null, told: this.events.toldOf(each.id), ...mutedOf(each, mutes) }));
  }

  tracked(): Tracked[] {
    return this.#rows("ended_ms IS NULL").map((row) => this.#trackedOf(row));
  }

  /** Those that are not over first, then the latest. */
  list(limit: number, nowMs: number): PastIncident[] {
    const mutes = this.#mutes(nowMs);
    return this.#rows("opened_ms IS NOT NULL")
      .map((row) => {
        const incident = this.#trackedOf(row) as Incident;
        const muted = row.over_ms === null ? mutedOf(incident, mutes) : {};
        return { ...incident, overMs: row.over_ms, told: this.events.toldOf(row.id), ...muted };
      })
      .sort((a, b) => Number(a.overMs !== null) - Number(b.overMs !== null) || b.openedMs - a.openedMs)
      .slice(0, limit);
  }

  /** Stores the result of a check and adds the webhook calls that follow. Call in a transaction. */
  keep({ tracked, over }: Step, nowMs: number): void {
    const gone = new Map(this.#rows("ended_ms IS NULL").map((row) => [row.id, row.state]));
    for (const each of tracked) {
      const state = gone.get(each.id);
      gone.delete(each.id);
      this.#latest.set(each.id, each);
      if (state !== undefined && !isStale(JSON.parse(state), each, nowMs)) continue;
      const written: Written = { ...each, writtenMs: nowMs };
      this.sql.run`
        INSERT INTO incident (id, state, opened_ms) VALUES (${each.id}, ${JSON.stringify(written)}, ${each.openedMs})
        ON CONFLICT (id) DO UPDATE SET state = excluded.state, opened_ms = excluded.opened_ms`;
    }
    for (const id of gone.keys()) this.#latest.delete(id);
    for (const each of over) {
      gone.delete(each.id);
      this.#end(each, nowMs);
    }
    // Suspected and not seen again: forgotten.
    for (const id of gone.keys()) this.sql.run`DELETE FROM incident WHERE id = ${id}`;
    this.tell(nowMs);
    this.#sweep(nowMs);
  }

  /**
   * Adds a call for each open incident and each receiver that was not told of it yet and wants it.
   * Call in a transaction.
   */
  tell(nowMs: number): void {
    if (!this.#receivers.wanted()) return;
    const mutes = this.#mutes(nowMs);
    const open = this.#rows("ended_ms IS NULL AND opened_ms IS NOT NULL").flatMap((row) => {
      const incident = this.#trackedOf(row) as Incident;
      return mutes.has(keyOf(incident.finding)) ? [] : [{ row, incident, told: toldOf(row) }];
    });
    for (const calls of this.#receivers.all()) {
      const untold = open.filter((each) => !isTold(each, calls.id) && calls.wants(each.incident, nowMs));
      for (const { row, incident, told } of untold) {
        // Without room, it is told later, if still open.
        if (!calls.hasRoom()) break;
        calls.add("incident.opened", incident, null, nowMs);
        told.push(calls.id, ...(incident.worse ? [calls.id + WORSE] : []));
        this.#tell(row, told);
      }
    }
  }

  /** After a change of receiver: the new one was told nothing yet. */
  untold(receiver: number): void {
    for (const row of this.#rows("TRUE")) {
      const told = toldOf(row);
      const others = told.filter((id) => Math.floor(id) !== receiver);
      if (others.length < told.length) this.#tell(row, others);
    }
  }

  #tell({ id }: Row, told: readonly number[]): void {
    this.sql.run`UPDATE incident SET told = ${JSON.stringify(told)} WHERE id = ${id}`;
  }

  /**
   * Tells no receiver of this problem until then, also where it ends and begins again. What is open
   * after that is told. Call in a transaction.
   * @param untilMs in ms since the epoch; null: it is told again.
   * @param by the name of who does so; null: unknown.
   * @returns whether there is such an incident that is not over.
   */
  mute(id: string, untilMs: number | null, by: string | null, nowMs: number): boolean {
    const row = this.#rows("ended_ms IS NULL AND opened_ms IS NOT NULL").find((each) => each.id === id);
    if (row === undefined) return false;
    const key = keyOf(this.#trackedOf(row).finding);
    if (untilMs === null) this.sql.run`DELETE FROM mute WHERE finding = ${key}`;
    else this.sql.replace("mute", { finding: key, untilMs, by });
    this.events.add(id, untilMs === null ? { type: "unmuted", by } : { type: "muted", by, untilMs }, nowMs);
    return true;
  }

  /** By the key of their finding. */
  #mutes(nowMs: number): ReadonlyMap<string, Mute> {
    const rows = this.sql.all<RowOf<typeof WATCH_STEPS, "mute">>`SELECT * FROM mute WHERE until_ms > ${nowMs}`;
    return new Map(rows.map(({ finding, until_ms, by }) => [finding, { mutedUntilMs: until_ms, mutedBy: by }]));
  }

  #end(each: OverIncident, nowMs: number): void {
    const { overMs, ...state } = each;
    const told = toldOf(this.sql.one<Row>`SELECT * FROM incident WHERE id = ${each.id}`);
    this.sql.run`DELETE FROM mute WHERE finding = ${keyOf(each.finding)} AND until_ms = ${UNTIL_OVER_MS}`;
    this.sql.run`
      UPDATE incident SET state = ${JSON.stringify(state)}, over_ms = ${overMs}, ended_ms = ${nowMs}
        WHERE id = ${each.id}`;
    // Muted ones too: a pager that was called is to know that it is over.
    for (const calls of this.#receivers.all().filter(({ id }) => told.includes(id)))
      if (calls.wanted()) calls.add("incident.over", each, { overMs }, nowMs);
  }

  #sweep(nowMs: number): void {
    this.sql.run`DELETE FROM mute WHERE until_ms <= ${nowMs}`;
    const old = this.sql.run`DELETE FROM incident WHERE ended_ms < ${nowMs - ENDED_MS}`;
    const more = this.sql.run`
      DELETE FROM incident WHERE id IN (SELECT id FROM incident WHERE ended_ms IS NOT NULL
        ORDER BY ended_ms DESC, id LIMIT -1 OFFSET ${ENDED_MAX})`;
    if (old + more > 0) this.events.sweep();
  }

  #trackedOf({ id, state }: Row): Tracked {
    const { writtenMs: _, ...tracked } = JSON.parse(state) as Written;
    return this.#latest.get(id) ?? tracked;
  }

  #rows(where: string): Row[] {
    return this.sql.all`SELECT * FROM incident WHERE ${verbatim(where)} ORDER BY opened_ms, id`;
  }
}

/** Whether a row is to be written anew. */
function isStale({ writtenMs = 0, ...row }: Written, now: Tracked, nowMs: number): boolean {
  if (standingOf(row) !== standingOf(now)) return true;
  return Math.abs(nowMs - writtenMs) >= TEXT_EVERY_MS && JSON.stringify(row.finding) !== JSON.stringify(now.finding);
}

/** What a row is written for at once: all but the texts, which say how many and since when. */
function standingOf({ finding: { severity }, well, ...rest }: Tracked): string {
  return JSON.stringify([severity, well && [well.sinceMs, Math.min(well.checks, SETTLE_CHECKS)], rest]);
}

function toldOf({ told }: Row): number[] {
  // Below zero: an earlier release told of it with another one.
  return (JSON.parse(told) as number[]).map(Math.abs);
}

/** Of what a receiver was told that it became worse, beside its id. */
const WORSE = 0.5;

function isTold({ incident, told }: Told, receiver: number): boolean {
  return told.includes(receiver) && (!incident.worse || told.includes(receiver + WORSE));
}

function mutedOf({ finding }: Incident, mutes: ReadonlyMap<string, Mute>): Partial<Mute> {
  return mutes.get(keyOf(finding)) ?? {};
}
