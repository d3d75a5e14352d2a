import type { Job, Window } from "./config.ts";
import type { Made, Off, Part, Rec } from "./parts.ts";

/** What a handler prepared for jobs of equal rules that are all offered the same parts. */
export interface Group {
  jobs: { id: number; stamp: string }[];
  parts: string[];
  made: Made;
  format: number;
  mod: number;
}

/** A group as it is stored: it states its format. */
export type Prepared = Made & { format: number };

/** The share of one job in a block; `group` null: open. */
export interface Entry {
  job: number;
  group: Prepared | null;
  parts: string[];
  received: number;
}

/** What one append added to a shard. */
export interface Block {
  n: number;
  atMs: number;
  entries: Entry[];
  /**
   * Parts that were new with it: none of a further copy. `records` may hold further ones: messages
   * are stored whole.
   */
  fresh: string[];
  records: Part[];
  off: Off;
}

/** Kept blocks up to a position have virtual entries of a job, by the windows that it had. */
export interface Past {
  upTo: number;
  windows: Window[];
}

export interface Item {
  n: number;
  group: Prepared | null;
  parts: Part[];
  off: Off;
  received: number;
}

/** The answer of `read`. */
export interface Page {
  end: number;
  isAll: boolean;
  job: { job: Job; stamp: string } | null;
  items: Item[];
}

/** Records of one format and day that a reader gathers for one object. */
export interface Batch {
  format: number;
  records: Rec[];
  oldest: number;
}

export interface Upload extends Batch {
  number: number;
  key: string;
  state: "waiting" | "delivered" | "discarded";
}
