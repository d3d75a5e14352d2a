import { RERUNS_REMEMBERED_MAX } from "../../base/limits.ts";
import { platform } from "../../base/platform.ts";
import { Sql } from "../../base/storage/sql.ts";
import { type RerunSpan, rerunOf } from "../../ship/job/change.ts";
import { type ControlState, configOf } from "./control-state.ts";

/** A rerun of a job. */
export interface Rerun extends RerunSpan {
  /** Of the job that carries it out, which is in no list of jobs. */
  id: number;
  job: number;
  askedMs: number;
  /** The other destination, its secrets masked; null: the job's own. */
  shown: string | null;
  /** Its status when it was found to have ended; null: it was not. */
  end: object | null;
  isCancelled: boolean;
}

/** What is asked for. */
export interface RerunAsk extends RerunSpan {
  job: number;
  /** Another destination, sealed as that of a job; null: the job's own. */
  target: { sealed: string; path: string; shown: string } | null;
  /** How many more may be under way, as far as the caller knows. */
  room: number;
}

/** What of a rerun is kept in place of a job's body. */
type RerunNote = RerunSpan & Pick<Rerun, "shown" | "end">;

export type RerunRefusal = { kind: "refused"; why: string } | { kind: "same"; id: number } | { kind: "gone" | "full" };

/**
 * Reruns among the rows of jobs: each is a job like the one that is named, which is deleted
 * already.
 */
export class RerunRows {
  readonly #sql: Sql;
  readonly #state: ControlState;

  constructor(sql: SqlStorage, state: ControlState) {
    this.#sql = new Sql(sql);
    this.#state = state;
  }

  /**
   * Only as a change. @param isSure as of {@link ControlState.nextId}.
   * @returns its id, or why it does not begin.
   */
  begin({ job: of, sinceMs, untilMs, target, room }: RerunAsk, isSure: boolean): number | RerunRefusal {
    const row = this.#state.live(of);
    if (row === null) return { kind: "gone" };
    const shown = target?.shown ?? null;
    const open = this.open(of);
    const isSame = (each: Rerun): boolean =>
      each.sinceMs === sinceMs && each.untilMs === untilMs && each.shown === shown;
    const same = open.find(isSame);
    if (same !== undefined) return { kind: "same", id: same.id };
    if (open.length >= room) return { kind: "full" };
    if (this.list().length >= RERUNS_REMEMBERED_MAX) {
      const why = `exceeded max reruns allowed: ${RERUNS_REMEMBERED_MAX} are remembered, those of 15 days`;
      return { kind: "refused", why };
    }
    const why = this.#state.memoryRefusal();
    if (why !== null) return { kind: "refused", why };
    const now = platform.now();
    const id = this.#state.nextId(!isSure, now);
    const to = target && { destination: target.sealed, path: target.path };
    const config = rerunOf(configOf(row), id, { sinceMs, untilMs }, to, this.#state.next(), now);
    const note: RerunNote = { sinceMs, untilMs, shown, end: null };
    const texts = { body: JSON.stringify(note), config: JSON.stringify(config) };
    this.#sql.insert("job", { id, ...texts, created_ms: now, modified_ms: now, deleted_ms: now });
    return id;
  }

  /** Of a job, or of all, the newest first. */
  list(of?: number): Rerun[] {
    const all = this.#state.rows().flatMap((row): Rerun[] => {
      const { id, rerunOf: job, discard: isCancelled } = configOf(row);
      if (job === undefined || (of !== undefined && of !== job)) return [];
      return [{ ...(JSON.parse(row.body) as RerunNote), id, job, askedMs: row.created_ms, isCancelled }];
    });
    return all.reverse();
  }

  /** Of a job: those that may still be under way. */
  open(of: number): Rerun[] {
    return this.list(of).filter(({ end, isCancelled }) => end === null && !isCancelled);
  }

  /** Notes how one was found to have ended. */
  ended(id: number, end: object): void {
    const row = this.#state.row(id);
    if (row === null || configOf(row).rerunOf === undefined) return;
    const note = JSON.parse(row.body) as RerunNote;
    const body = JSON.stringify({ ...note, end: note.end ?? end });
    this.#sql.update("job", id, { body });
  }
}
