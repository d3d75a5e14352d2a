import type { Pieces } from "../../base/streams.ts";

/** An uploaded function script, read from its multipart form. */
export interface Upload {
  /** `metadata` as sent, with what only the platform reads. */
  metadata: { readonly [key: string]: unknown };
  /** Name of one of the modules. */
  mainModule: string;
  /** `logship` or `logpush`; false without either. */
  ships: boolean;
  /** None, if they are in {@link rest}. */
  modules: readonly Module[];
  rest?: FormRest;
}

/** What follows the metadata in a form that is too large to be held, from a line end on. */
export interface FormRest {
  boundary: string;
  bytes: number;
  pieces: Pieces;
  /** What is wrong with it, of what has been sent on; null: nothing yet. */
  fault(): string | null;
  /** Leaves what was not sent on to another reader. */
  leave(): void;
}

/** One file part: a module, named by its filename. */
export interface Module {
  name: string;
  /** As sent, lower case, without parameters: `application/javascript+module`. */
  type: string;
  bytes: Uint8Array;
}
