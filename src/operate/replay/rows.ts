import { fillOf, keyBelow } from "../../formats/object/keys.ts";
import type { ReplaySource } from "../../ship/reader/replayed.ts";
import type { Amount, ReplayState, ReplayStatus } from "./replay-status.ts";

/** The rows of replays, as schema.ts declares them, and how they are shown. */

export type ReplayRow = {
  seq: number;
  id: string;
  job: number;
  since_ms: number;
  until_ms: number;
  asked_ms: number;
  state: ReplayState;
  ended_ms: number | null;
  source: string | null;
  target: string | null;
  shown: string | null;
  elsewhere: string | null;
  path: string;
  place: number;
  plan_next: number | null;
  cursor: number;
  claimed: number;
  failures: number;
  failing_since_ms: number | null;
  resume_ms: number;
  error: string | null;
  modified: number;
  /** What requests to the target leave out: bits that its kind knows. */
  unconditional: number;
} & Record<`${Counted}_${keyof Amount}`, number>;

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
