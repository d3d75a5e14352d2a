import { Tables } from "../../base/storage/sql.ts";

/** What an owner decided about a problem; without it, the problem is open. */
export interface ProblemState {
  /** Of the problem. */
  id: string;
  state: "resolved" | "ignored";
  /** When, in ms since the epoch, and who: `admin`, or the name of a token or member. */
  atMs: number;
  by: string;
  /** Until when it is ignored, in ms; null: until it is opened again. */
  untilMs: number | null;
}

/** States that are kept, the latest: as many as there are problems. */
const STATES_MAX = 1_000;

/** The decisions about problems, in the storage of the watch. */
export class ProblemStates extends Tables {
  all(): ProblemState[] {
    return this.sql.all`SELECT id, state, at_ms AS atMs, by, until_ms AS untilMs FROM problem_state`;
  }

  /** @param state null: it is open again. */
  put(id: string, state: Omit<ProblemState, "id"> | null): void {
    this.sql.run`DELETE FROM problem_state WHERE id = ${id}`;
    if (state === null) return;
    this.sql.insert("problem_state", { id, ...state });
    this.sql.run`
      DELETE FROM problem_state WHERE id IN (
        SELECT id FROM problem_state ORDER BY at_ms DESC, id LIMIT -1 OFFSET ${STATES_MAX})`;
  }
}
