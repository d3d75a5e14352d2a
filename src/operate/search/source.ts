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

/** A job whose objects are searched; of several, those that have most are first: breadth.ts. */
export interface SearchedJob {
  id: number;
  /** Where they are. */
  store: Pick<OpenDestination, "read">;
  /** The folder below which they are. */
  root: string;
  createdMs: number;
}

/** Is told which records the lines are, as `Identities.read` takes it; null: it is not known. */
export type TakeIdentities = (identities: Uint8Array | null) => void;

/** What is needed of an object. */
export interface Needs {
  /** Records may lack what is not among these; null: all are there. */
  fields: ReadonlySet<string> | null;
  /** Of what waits in its reader; absent: it does not matter which records they are. */
  identities?: TakeIdentities;
}

/** One that a search may read. */
export interface Source extends Known {
  /** As stored, and before compression. */
  bytes: number;
  rawBytes: number;
  records: number;
  /** It is read for a part of its time alone: what it is a part of. */
  whole?: Source;
  /** It waits in its reader, and may be cut and delivered while it is read. */
  isHeld: boolean;
  /**
   * Its lines, decoded. @param read is told what comes from where it is stored, in bytes.
   * @throws ReadFault, also from the generator.
   */
  open(read: (bytes: number) => void, needs: Needs): Promise<Pieces>;
}

/** It does not change when an object is cut, delivered or numbered anew. */
export function keyOf({ job, node, batch }: Known): string {
  return [job, node, batch].join();
}
