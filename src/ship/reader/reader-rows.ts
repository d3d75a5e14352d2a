import type { RowOf } from "../../base/storage/row-of.ts";
import { readTemplate, type Template } from "../../formats/object/keys.ts";
import type { READER_STEPS } from "./reader-migrations.ts";

/** Why a batch became an object. */
export type CutReason = "bytes" | "records" | "interval" | "scheduled" | "manual" | "config" | "deleted" | "replay";

/** `waiting`: cut and not delivered; the others are ends. */
export type ObjectState = "waiting" | "delivered" | "set_aside" | "discarded";

export type ReaderRow = RowOf<typeof READER_STEPS, "reader">;
export type BatchRow = RowOf<typeof READER_STEPS, "batch">;
export type ChunkRow = RowOf<typeof READER_STEPS, "chunk">;
export type ObjectRow = RowOf<typeof READER_STEPS, "object"> & { reason: CutReason; state: ObjectState };

/**
 * A bit of `unconditional` of a reader, whose bits below it are what requests to the store leave
 * out, as its kind has found out: no object was delivered since one was set aside. The name is from
 * when it was one bit.
 */
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
