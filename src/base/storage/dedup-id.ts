/** The id under which a part is remembered. */
export interface DedupId {
  /** 16 bytes as 32 hex digits. */
  id: string;
  takenInMs: number;
  /** Derived from an `Idempotency-Key`, and remembered by itself, whatever its time of intake. */
  keyed: boolean;
}
