import { readTemplate, type Template } from "../../formats/object/keys.ts";
import type { CutReason, ObjectState } from "./statuses.ts";

/** The rows of a reader's tables, as schema.ts declares them. */

export type ReaderRow = {
  /** As of nodes.ts. */
  node: number;
  job: string;
  cursor: number;
  format: string;
  sealed_ms: number | null;
  next_batch: number;
  next_object: number;
  received: number;
  filtered: number;
  sampled_out: number;
  delivered: number;
  set_aside: number;
  discarded: number;
  delivered_raw: number;
  delivered_bytes: number;
  last_complete_ms: number | null;
  /** Objects that the job's own destination has taken, in whole or in part. */
  passes: number;
  failures: number;
  resume_ms: number;
  relieved_ms: number;
  last_error_ms: number | null;
  error_message: string | null;
  /**
   * What is known of the store: what requests to it leave out, a sum of bits below 256 (its kind
   * knows them), and {@link SET_ASIDE_LAST}. The name is from when it was one bit.
   */
  unconditional: number;
  swept_ms: number;
  last_received_ms: number | null;
  failing_since_ms: number | null;
  parked: number;
  replayed_objects: number;
  replayed_records: number;
  replayed_bytes: number;
  aside_objects: number;
  resent_in_doubt: number;
  /** Objects that were delivered. */
  deliveries: number;
  /** What manifests list: deliveries up to this one, of all days but this one and the next. */
  listed: number;
  listed_open_day: number;
  /** JSON of HealthHour: what is not in its row of `health_hour` yet; null: nothing. */
  health: string | null;
};

/** A bit of {@link ReaderRow.unconditional}: no object was delivered since one was set aside. */
export const SET_ASIDE_LAST = 256;

/** Whether an object may be at its destination though it waits. */
export const DOUBT = {
  /** It is not. */
  none: 0,
  /** An attempt ended without an answer: it may be. */
  unanswered: 1,
  /** It was set aside, and is sent again. */
  resent: 2,
  /**
   * Some of its lines are, and it is unknown which: it has more lines than `records`, which counts
   * the others.
   */
  partly: 3,
} as const;

/** Lanes of objects that wait: a column of their table. */
export const FAR = { near: 0, far: 1, elsewhere: 2 } as const;

export type BatchRow = {
  day: number;
  /** As of a fragment; "": none. */
  part: string;
  id: number;
  records: number;
  raw_bytes: number;
  small_bytes: number;
  next_chunk: number;
  first_event_ms: number;
  last_event_ms: number;
  oldest_taken_ms: number;
  opened_ms: number;
};

export type ChunkRow = {
  id: number;
  deflated: number;
  raw_bytes: number;
  crc: number;
  body: ArrayBuffer;
  /** As of a fragment; null: unknown. */
  words: ArrayBuffer | null;
  identities: ArrayBuffer | null;
};

export type ObjectRow = {
  number: number;
  batch: number;
  day: number;
  /** As of its batch. */
  part: string;
  name: string;
  key: string;
  content_type: string;
  head: ArrayBuffer;
  tail: ArrayBuffer;
  bytes: number;
  raw_bytes: number;
  records: number;
  sha256: string;
  md5: string;
  first_event_ms: number;
  last_event_ms: number;
  oldest_taken_ms: number;
  reason: CutReason;
  cut_ms: number;
  state: ObjectState;
  attempts: number;
  next_attempt_ms: number;
  /** One of {@link DOUBT}. */
  doubtful: number;
  verified: number | null;
  error: string | null;
  /** Since when it fails; null: it does not. */
  failing_ms: number | null;
  /** Of {@link ReaderRow.passes}, when it failed last. */
  passes: number;
  /** What its destination said when it was set aside: a stranger's text; null: nothing. */
  answer: string | null;
  uploaded_ms: number | null;
  replay: string | null;
  replay_of: number | null;
  /**
   * Of a copy that a replay wrote: bucket and endpoint, if that is not its job's destination. Of
   * any other: the masked destination that it was sent to instead of its job's.
   */
  elsewhere: string | null;
  aside_ms: number | null;
  /** Its lane: 0 near, 1 far, 2 elsewhere. */
  far: number;
  /** JSON of Target: where it goes instead of its job's destination; null: nowhere else. */
  target: string | null;
  /** JSON of Origin, of an object that another one was divided into. */
  origin: string | null;
  /** Of {@link ReaderRow.deliveries}; null: it is not delivered. */
  delivery: number | null;
  /** Version of the job's destination that it was delivered to; null: it is not delivered. */
  place: number | null;
};

/**
 * Chunks of one batch have ids from `batch * CHUNKS_PER_BATCH`; more than the records a batch may
 * hold.
 */
const CHUNKS_PER_BATCH = 2 ** 20;

/** Id of the n-th chunk of a batch. @throws if a batch had more chunks than may be. */
export function chunkId(batch: number, n: number): number {
  if (n >= CHUNKS_PER_BATCH) throw new Error("a batch has too many chunks");
  return batch * CHUNKS_PER_BATCH + n;
}

/** The ids of all chunks of a batch: from the first, up to but not including the second. */
export function chunkRange(batch: number): [number, number] {
  return [batch * CHUNKS_PER_BATCH, (batch + 1) * CHUNKS_PER_BATCH];
}

/**
 * Where one object goes instead of its job's destination: it was set aside, and a user sends it
 * there. What becomes of the job (parked, another destination) does not concern it, and its
 * failures do not concern the job: it is sent in a lane of its own, a few times, then set aside
 * again.
 */
export interface Target {
  /** The `destination_conf`. */
  sealed: string;
  /** Its path, as in JobConfig. */
  path: string;
  /** What it is called beside the reason of a failure. */
  host: string;
  /** What is known of it: as `leaveOut` of a WriteOutcome. */
  leaveOut: number;
}

/** Attempts at another destination; with their delays, some ten minutes. */
export const ELSEWHERE_TRIES = 8;

export function targetOf({ target }: Pick<ObjectRow, "target">): Target | null {
  return target === null ? null : (JSON.parse(target) as Target);
}

/** What the key of an object is made of that goes elsewhere; undefined: it does not. */
export function templateElsewhere(object: Pick<ObjectRow, "target">): Template | undefined {
  const target = targetOf(object);
  return target === null ? undefined : readTemplate(target.path);
}
