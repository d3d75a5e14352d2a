import type { Pieces } from "../../base/streams.ts";
import type { OpenDestination } from "../../ship/destinations/destination.ts";

/** An object, or what will become one. */
export interface Known {
  job: number;
  node: number;
  batch: number;
  /** null: it is not cut yet. */
  number: number | null;
  firstMs: number;
  lastMs: number;
}

/** A job whose objects are searched. */
export interface SearchedJob {
  id: number;
  /** Where they are. */
  store: Pick<OpenDestination, "read">;
  /** The folder below which they are. */
  root: string;
  createdMs: number;
}

/** One that a search may read. */
export interface Source extends Known {
  /** As stored, and before compression. */
  bytes: number;
  rawBytes: number;
  records: number;
  /** It waits in its reader, and may be cut and delivered while it is read. */
  isHeld: boolean;
  /**
   * Its lines, decoded. `read` is told what comes from where it is stored, in bytes. Records may
   * lack what is not among `fields`; null: all are there. @throws ReadFault, also from the
   * generator.
   */
  open(read: (bytes: number) => void, fields: ReadonlySet<string> | null): Promise<Pieces>;
}

/** It does not change when an object is cut, delivered or numbered anew. */
export function keyOf({ job, node, batch }: Known): string {
  return [job, node, batch].join();
}
