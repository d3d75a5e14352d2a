import type { TakenId } from "../storage/id-memory.ts";

/** A message, and the jobs that could not take it. */
export interface Debt {
  readonly taken: TakenId;
  /** As the queue delivered it. */
  readonly body: ArrayBuffer;
  /** Its records, if the body refers to them; null: they are in the body. */
  readonly blob: ArrayBuffer | null;
  /** Functions whose logging was off at its intake. */
  readonly off: readonly string[];
  readonly jobs: readonly { readonly id: number; readonly records: number }[];
}
