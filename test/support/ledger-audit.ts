/** Compares what the ledgers say with what was found in the buckets, and with what was sent. Pure; never asks the code under test. */
import type { Report } from "./audit.ts";

/** A job's ledger, as `GET /jobs/{id}/ledger` gives it. */
export interface JobCounts {
  readonly received: number;
  readonly filtered: number;
  readonly sampled_out: number;
  readonly delivered: number;
  readonly pending: number;
  readonly set_aside: number;
  readonly discarded: number;
}

/** The account's, as `GET /ledger` gives it. */
export interface AccountCounts {
  readonly processed: number;
  readonly routed: number;
  readonly not_enabled: number;
  readonly not_routed: number;
  readonly set_aside: number;
  readonly discarded: number;
}

/** An object of a job, as `GET /jobs/{id}/objects` lists it. */
export interface ListedObject {
  readonly key: string;
  readonly state: string;
  readonly records: number;
  readonly bytes: number;
}

/** A count that has to be met, or its bounds, where chance or a race decides. */
export type Count = number | { readonly atLeast: number; readonly atMost: number };

/** What has become of a job's records, beside those in its objects; 0 by default. */
export interface LeftOut {
  readonly filtered?: Count;
  readonly sampled_out?: Count;
  readonly pending?: Count;
  readonly set_aside?: Count;
  readonly discarded?: Count;
}

const LEFT_OUT = ["filtered", "sampled_out", "pending", "set_aside", "discarded"] as const;

/**
 * @param report the audit of all that the job has shipped.
 * @returns what is wrong, in words.
 */
export function jobLedgerFaults(counts: JobCounts, report: Pick<Report, "records">, leftOut: LeftOut = {}): string[] {
  const { received, filtered, sampled_out, delivered, pending, set_aside, discarded } = counts;
  const sum = filtered + sampled_out + delivered + pending + set_aside + discarded;
  const faults: string[] = [];
  if (received !== sum) faults.push(`received is ${received}, but what became of them adds up to ${sum}`);
  if (delivered !== report.records) faults.push(`delivered is ${delivered}, but the objects hold ${report.records}`);
  for (const name of LEFT_OUT) faults.push(...countFaults(name, counts[name], leftOut[name] ?? 0));
  return faults;
}

/** @returns what is wrong, in words. */
export function accountLedgerFaults(
  counts: AccountCounts,
  expected: { readonly [name in keyof AccountCounts]?: Count },
): string[] {
  const { processed, routed, not_enabled, not_routed, set_aside, discarded } = counts;
  const sum = routed + not_enabled + not_routed + set_aside + discarded;
  const faults: string[] = [];
  if (processed !== sum) faults.push(`processed is ${processed}, but what became of them adds up to ${sum}`);
  for (const [name, count] of Object.entries(expected)) {
    faults.push(...countFaults(name, counts[name as keyof AccountCounts], count));
  }
  return faults;
}

/** Every object that counts as delivered is there, with as many bytes as the list says, and none is there that does not. */
export function objectListFaults(
  listed: readonly ListedObject[],
  shipped: Iterable<{ readonly key: string; readonly bytes: Uint8Array }>,
): string[] {
  const faults: string[] = [];
  const there = new Map<string, number>();
  for (const { key, bytes } of shipped) if (key.endsWith(".log.gz")) there.set(key, bytes.length);
  for (const { key, state, bytes } of listed) {
    const found = there.get(key);
    if (state !== "delivered") continue;
    if (found === undefined) faults.push(`${key} counts as delivered, but is not there`);
    else if (found !== bytes) faults.push(`${key} has ${found} bytes, but the list says ${bytes}`);
    there.delete(key);
  }
  for (const key of there.keys()) faults.push(`${key} is there, but does not count as delivered`);
  return faults;
}

function countFaults(name: string, count: number, expected: Count): string[] {
  if (typeof expected === "number") return count === expected ? [] : [`${name} is ${count}, not ${expected}`];
  const { atLeast, atMost } = expected;
  return count >= atLeast && count <= atMost ? [] : [`${name} is ${count}, not from ${atLeast} to ${atMost}`];
}
