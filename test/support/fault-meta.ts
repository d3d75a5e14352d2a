/** The counts of one fault's test, for the report of all of them. */
export interface FaultMeta {
  /** The fault's name in docs/faults.md. */
  row: string;
  /** Acknowledged events. */
  events: number;
  /** Injected faults. */
  faults: number;
  /** Objects that were read back and audited. */
  objects: number;
  /** The kind of destination that it is about; absent: several, or none. */
  kind?: string;
  /** Records that a receiver has again, each accounted for; absent: none. */
  doubled?: number;
}

declare module "vitest" {
  interface TaskMeta {
    fault?: FaultMeta;
  }
}
