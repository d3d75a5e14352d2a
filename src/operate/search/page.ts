import type { Platform } from "../../base/platform.ts";
import type { CompiledQuery } from "../../formats/query/compile-query.ts";
import type { RecordId } from "../../formats/sketch/identities.ts";
import type { SearchSpan } from "../../ship/reader/searchable.ts";
import type { Cursor } from "./cursor.ts";
import type { Identify } from "./identify.ts";
import type { LookUp } from "./look-up.ts";
import type { NotSearched } from "./not-searched.ts";
import type { Match } from "./scan.ts";
import type { Known, Source } from "./source.ts";

/** What there is to search. */
export interface Sources {
  list: readonly Source[];
  /** What is named as not searched, and needs not be listed again. */
  unsearchable?: readonly Known[];
  /** Absent: nothing is known of what they hold. */
  lookUp?: LookUp;
  /** Absent: nothing is known of which records they have. */
  identify?: Identify;
  /** Jobs, the broadest first; absent: by number. */
  order?: readonly number[];
  /** Jobs of which not all could be listed. */
  silent?: readonly number[];
  /** The time for which they are listed, in ms since the epoch; absent: any. */
  span?: { sinceMs: number; untilMs: number };
  /** Of manifests, that were read to list them. */
  indexBytes?: number;
  /**
   * Beyond this time, in ms since the epoch, not all are listed: newest first, those whose last
   * event is not later; oldest first, those whose first is not earlier. null: all are.
   */
  listedToMs: number | null;
}

export interface WalkBounds {
  /** After so much, in bytes before compression, or so long, no other object is begun. */
  rawBytes: number;
  ms: number;
  /** Objects that are read side by side. */
  atOnce: number;
  /** Objects whose sketches are asked at once, when the search reaches them; for tests. */
  lookAhead?: number;
}

/** So far. */
export interface Progress {
  /** Objects with records of that time, and of these: */
  objects: number;
  read: number;
  /** Not read, as their sketch says that they hold no match, or as they are copies. */
  skipped: number;
  /** Of these, those whose records are all in objects of another job. */
  copies: number;
  /** Of sketches, and of manifests, that were read. */
  sketchBytes: number;
  /** As stored. */
  bytesRead: number;
  records: number;
  /** Every match on this side of it was told, in ms since the epoch; null: none yet. */
  reachedMs: number | null;
}

/** How a page ended. */
export interface WalkEnd {
  progress: Progress;
  /** null: there is nothing more. */
  cursor: Cursor | null;
  notSearched: NotSearched[];
}

export interface WalkAsked {
  query: CompiledQuery;
  order: SearchSpan["order"];
  /** Of the page before; null: this is the first. */
  cursor: Cursor | null;
  bounds: WalkBounds;
  /** Fields of records that are looked at; null, or absent: any. */
  fields?: ReadonlySet<string> | null;
  /** The client is gone: nothing more is read. */
  signal: AbortSignal;
  platform: Pick<Platform, "now">;
}

/** What becomes of the matches of an object. */
export interface Reading {
  /** @param record which one it is; "": it is not known. */
  found(match: Match, record: RecordId | ""): void;
  /** The object was read to its end. */
  keep(): void;
  /** It turned out to be none: its matches are not. It may be read anew. */
  drop(): void;
}
