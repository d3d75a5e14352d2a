import type { RowOf } from "../../base/storage/row-of.ts";
import { fillOf, keyBelow } from "../../formats/object/keys.ts";
import type { Amount, ReplaySource } from "../../ship/reader/replayed.ts";
import type { REPLAY_STEPS } from "./replay-migrations.ts";
import type { ReplayState, ReplayStatus } from "./replay-status.ts";

/** The rows of replays, and how they are shown. */

export type ReplayRow = RowOf<typeof REPLAY_STEPS, "replay"> & { state: ReplayState };

type Counted = "planned" | "done" | "missing" | "damaged" | "failed";

/** An object that is to be shipped again. */
export interface Piece extends ReplaySource {
  attempts: number;
  doubtful: boolean;
  /** Of a copy for a receiver: the records that it has been through. */
  sent: number;
  /** Of these, how many it refused, and why the first one. */
  refused: number;
  refusedWords: string;
}

/** The key of an object's copy. */
export function keyOf(
  { path }: Pick<ReplayRow, "path">,
  { day, part = "", firstEventMs, name }: Pick<Piece, "day" | "part" | "firstEventMs" | "name">,
): string {
  return keyBelow(path, fillOf(day, firstEventMs, part), name);
}

export function viewOf(row: ReplayRow): ReplayStatus {
  const amount = (of: Counted): Amount => ({
    objects: row[`${of}_objects`],
    records: row[`${of}_records`],
    bytes: row[`${of}_bytes`],
  });
  return {
    id: row.id,
    kind: "replay",
    job: row.job,
    sinceMs: row.since_ms,
    untilMs: row.until_ms,
    destination: row.shown,
    state: row.state,
    planned: amount("planned"),
    done: amount("done"),
    missing: amount("missing"),
    damaged: amount("damaged"),
    failed: amount("failed"),
    filtered: 0,
    sampledOut: 0,
    error: row.error,
    resumeMs: row.state === "waiting" ? row.resume_ms : null,
    askedMs: row.asked_ms,
    endedMs: row.ended_ms,
  };
}

/** What has not ended: of a replay that is over, what it did not reach. */
export function left({ planned, done, missing, damaged, failed, filtered, sampledOut }: ReplayStatus): Amount {
  const rest = (name: keyof Amount): number =>
    planned[name] - done[name] - missing[name] - damaged[name] - failed[name];
  return { objects: rest("objects"), records: rest("records") - filtered - sampledOut, bytes: rest("bytes") };
}
