import type { Following } from "../log/nodes.ts";
import type { entryOf } from "./object-entry.ts";
import type { Amount } from "./replayed.ts";
import type { UnmadeSums } from "./unmade.ts";

/**
 * The counts of one job; `pending` is counted from the rows, so that an error in the others shows.
 */
export interface DeliveryCounts {
  received: number;
  filtered: number;
  sampled_out: number;
  delivered: number;
  pending: number;
  set_aside: number;
  discarded: number;
}

/** Of one reader. */
export interface ReaderStatus extends Following {
  counts: DeliveryCounts;
  /** Objects cut and not yet delivered. */
  pendingObjects: number;
  deliveredObjects: number;
  oldestPendingTakenMs: number | null;
  /** The same of all that waits, is set aside, or could not be made. */
  oldestHeldTakenMs: number | null;
  deliveredRawBytes: number;
  deliveredBytes: number;
  /**
   * Of the first node, of the whole job: everything taken in before is delivered, filtered out or
   * discarded. It never goes back.
   */
  lastCompleteMs: number | null;
  lastErrorMs: number | null;
  errorMessage: string | null;
  /** When records last came, in ms. */
  lastReceivedMs: number | null;
  /** Since when uploads fail, in ms; null: they do not. */
  failingSinceMs: number | null;
  /** They fail on something that only a person can change; parking.ts. */
  parked: boolean;
  /** After a failure, when it is tried again, in ms; 0, absent: nothing keeps it. */
  resumeMs?: number;
  /** What it holds on disk, in bytes. */
  storedBytes: number;
  /**
   * Objects that the store refuses themselves, with their records; and when the first of them was
   * set aside, in ms.
   */
  setAside: { objects: number; records: number; oldestMs: number | null };
  /** Entries of the log that could not be made. */
  unmade: UnmadeSums;
  /** null: the job has no canary. */
  canary: CanaryStatus | null;
  /** Delivered in the last 24 hours, as stored. */
  lastDay: { objects: number; bytes: number };
  /** Scripts with objects of their own in the last minutes; absent: the path tells none apart. */
  scripts?: number;
  /** Of the first node; null: the job has no manifests. */
  manifests: ManifestStatus | null;
  /** What was shipped again; not part of the other counts. */
  replayed: Amount;
  /**
   * Records that were sent again after an answer was lost, where the destination cannot tell a
   * repeat.
   */
  resentInDoubt: number;
}

/** Of all readers of a job together, with what they have not read yet. */
export interface JobStatus extends ReaderStatus {
  /**
   * In `received` and `pending` of the counts; the time of intake of the oldest, and since when it
   * is in the log, in ms.
   */
  unread: { records: number; bytes: number; oldestMs: number | null; sinceMs: number | null };
  /** It has not read all of the time before it was. */
  hasPast: boolean;
  /** What it does not get of that time: between two times of intake, in ms; null: nothing. */
  lost: [fromMs: number, untilMs: number] | null;
  /** Segments of the longest chain. */
  segments: number;
  /** What the fullest of those readers holds on disk that read, in bytes. */
  openBytes: number;
}

/** The state of a job's newest canary. */
export interface CanaryStatus {
  /**
   * `waiting`: none has been read back yet, and none is overdue. `failed`: it could not be written.
   */
  state: "ok" | "waiting" | "failed" | "missing" | "damaged" | "unreadable";
  /** When this state began, in ms. */
  sinceMs: number;
  /** When the last one was read back as it was written, in ms. */
  lastOkMs: number | null;
  /** What is wrong, in words: status and code of the store. */
  why: string | null;
}

/** How many manifests days have, since the epoch. */
export interface ManifestDays {
  /** What was delivered so much earlier that its objects had left the list is in none. */
  begunDay: number;
  found: { day: number; number: number }[];
}

/** The state of a job's manifests. */
export interface ManifestStatus {
  /** Of the newest one; null: there is none yet. */
  lastName: string | null;
  lastSha256: string | null;
  lastMs: number | null;
  /** In its chain. */
  position: number;
  /** Another one is signed, and not written yet. */
  isWaiting: boolean;
  /** In ms; null: it does not fail. */
  failingSinceMs: number | null;
  /** What it fails on, in words: status and code of the store. */
  why: string | null;
}

/** One line of a job's list of objects. */
export type ObjectEntry = ReturnType<typeof entryOf>;

/** An object that its store refuses itself, or that a user is about to take out of its turn. */
export interface AsideObject extends ObjectEntry {
  job: number;
  asideMs: number;
  /** What its destination said: text of a stranger; null: nothing is kept of it. */
  answer: string | null;
  /** Its job was deleted with all that it had. */
  isDiscarded: boolean;
}
