import { log } from "../../base/logger.ts";
import type { WriteOutcome } from "../destinations/destination.ts";
import type { FailureCause } from "../destinations/failure.ts";
import type { Disposition } from "./disposition.ts";
import type { CountedAttempt } from "./health.ts";
import type { ObjectRow } from "./rows.ts";

/** How one attempt ended; docs/operations.md says what each means. */
export interface UploadEnd {
  /**
   * `superseded`: the job was moved or discarded meanwhile, or the object was no longer waiting.
   * Nothing changes, nothing is counted.
   */
  outcome: "delivered" | "partly" | "divided" | "key_taken" | "superseded" | Disposition["do"];
  verified?: boolean;
  /** Of an object that was taken partly: the records that were. */
  delivered?: number;
  /** What it failed on. */
  cause?: FailureCause;
  /** In words; of the store's own text, status and code alone. */
  why?: string;
}

export function endOf(outcome: UploadEnd["outcome"], of: WriteOutcome): UploadEnd {
  switch (of.kind) {
    case "delivered":
      return { outcome, verified: of.verified };
    case "key_taken":
      return { outcome, cause: "key_taken", why: "another object stands under the key" };
    case "failed":
      return { outcome, cause: of.error.cause, why: of.error.words };
    case "divide":
      return { outcome, ...(of.why !== null && { why: of.why }) };
    case "partly": {
      const why = of.error?.words ?? of.refused[0]?.words ?? of.unnamed?.words;
      return { outcome, ...(of.error !== null && { cause: of.error.cause }), ...(why !== undefined && { why }) };
    }
  }
}

/** What an attempt counts as in its hour; null: nothing. */
export function countedAs(
  { outcome, delivered = 0, cause }: UploadEnd,
  { records, bytes, raw_bytes }: Pick<ObjectRow, "records" | "bytes" | "raw_bytes">,
  ms: number,
): CountedAttempt | null {
  switch (outcome) {
    case "delivered":
      return { end: "ok", records, bytes, rawBytes: raw_bytes, ms };
    case "partly":
      if (delivered > 0) {
        const share = (of: number): number => Math.round((of * delivered) / records);
        return { end: "ok", records: delivered, bytes: share(bytes), rawBytes: share(raw_bytes), ms };
      }
      return cause === undefined ? null : { end: "retried", cause };
    case "key_taken":
    case "retry":
      return { end: "retried", cause: cause ?? "internal" };
    case "park":
    case "set_aside":
      return { end: "failed", cause: cause ?? "internal" };
    // Its objects are counted as they end.
    case "divided":
    case "superseded":
      return null;
  }
}

/** The log line of an attempt. @param ms how long it took. */
export function logUpload(
  { outcome, verified, cause, why }: UploadEnd,
  { number, key, bytes, records, attempts }: Pick<ObjectRow, "number" | "key" | "bytes" | "records" | "attempts">,
  job: number,
  ms: number,
): void {
  const level = outcome === "delivered" || outcome === "divided" || outcome === "superseded" ? "info" : "warn";
  log[level]("upload", {
    job,
    object: number,
    key,
    outcome,
    ...(verified !== undefined && { verified }),
    ...(cause !== undefined && { status: cause }),
    bytes,
    records,
    attempt: attempts + 1,
    ms,
    ...(why !== undefined && { why }),
  });
}
