/** What a test of a fault counted, for the report of all of them. */
export interface FaultMeta {
  /** The fault, as docs/faults.md names it. */
  row: string;
  /** Events that were acknowledged. */
  events: number;
  /** Faults that took place. */
  faults: number;
  /** Objects that were read back and audited. */
  objects: number;
}

declare module "vitest" {
  interface TaskMeta {
    fault?: FaultMeta;
  }
}
