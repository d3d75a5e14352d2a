/** Answers of the shipper's API, as far as the demo and the tests read them. */
import * as z from "zod";

export const COUNT = z.number().int().nonnegative();

export const JobLedger = z.object({
  received: COUNT,
  filtered: COUNT,
  sampled_out: COUNT,
  delivered: COUNT,
  pending: COUNT,
  set_aside: COUNT,
  discarded: COUNT,
  pending_objects: COUNT,
  /** Code from before receivers does not have it. */
  resent_in_doubt: COUNT.default(0),
  replayed: z.object({ objects: COUNT, records: COUNT, bytes: COUNT }),
});
export type JobLedger = z.infer<typeof JobLedger>;

export const TraceLog = z.object({
  processed: COUNT,
  routed: COUNT,
  not_enabled: COUNT,
  not_routed: COUNT,
  set_aside: COUNT,
  discarded: COUNT,
});
export type TraceLog = z.infer<typeof TraceLog>;

export const Job = z.object({
  id: z.number().int().positive(),
  destination_conf: z.string(),
  error_message: z.string().nullable(),
});
export type Job = z.infer<typeof Job>;

export const Canary = z.object({
  enabled: z.boolean(),
  state: z.string().nullable(),
  last_ok: z.string().nullable(),
  key: z.string().nullable(),
  why: z.string().nullable(),
});
export type Canary = z.infer<typeof Canary>;

export const ObjectEntry = z.object({
  number: COUNT,
  key: z.string(),
  state: z.string(),
  records: COUNT,
  bytes: COUNT,
  reason: z.string(),
});
export type ObjectEntry = z.infer<typeof ObjectEntry>;

export const KnownFunction = z.object({
  /** Its name. */
  id: z.string(),
  logging: z.enum(["on", "off", "unset"]),
  dropped: z.object({ logging_off: COUNT, no_job: COUNT }),
});
export type KnownFunction = z.infer<typeof KnownFunction>;

const Amount = z.object({ objects: COUNT, records: COUNT, bytes: COUNT });

export const Replay = z.object({
  id: z.string(),
  state: z.string(),
  planned: Amount,
  done: Amount,
  missing: Amount,
  damaged: Amount,
  failed: Amount,
  left: Amount,
  error_message: z.string().nullable(),
});
export type Replay = z.infer<typeof Replay>;

/** Both sides of the ledger's equation: equal at every moment. docs/delivery.md */
export function jobBalance(ledger: JobLedger): { received: number; accountedFor: number } {
  const { filtered, sampled_out, delivered, pending, set_aside, discarded } = ledger;
  return {
    received: ledger.received,
    accountedFor: filtered + sampled_out + delivered + pending + set_aside + discarded,
  };
}

export function accountBalance(ledger: TraceLog): { processed: number; accountedFor: number } {
  return {
    processed: ledger.processed,
    accountedFor: ledger.routed + ledger.not_enabled + ledger.not_routed + ledger.set_aside + ledger.discarded,
  };
}
