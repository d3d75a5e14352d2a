/**
 * Compares the ledgers with the objects in the buckets and with the events sent. Pure: no code
 * under test.
 */
import type { Report } from "./audit.ts";

/** A job's ledger, as in `GET /jobs/{id}/ledger`. */
export interface JobCounts {
  readonly received: number;
  readonly filtered: number;
  readonly sampled_out: number;
  readonly delivered: number;
  readonly pending: number;
  readonly set_aside: number;
  readonly discarded: number;
}

/** The account's ledger, as in `GET /ledger`. */
export interface AccountCounts {
  readonly processed: number;
  readonly routed: number;
  readonly not_enabled: number;
  readonly not_routed: number;
  readonly set_aside: number;
  readonly discarded: number;
}

/** An object of a job, as in `GET /jobs/{id}/objects`. */
export interface ListedObject {
  readonly key: string;
  readonly state: string;
  readonly records: number;
  readonly bytes: number;
}

/** An exact count, or bounds where chance or a race decides. */
export type Count = number | { readonly atLeast: number; readonly atMost: number };

/** What became of a job's records that are not in its objects; each 0 by default. */
export interface LeftOut {
  readonly filtered?: Count;
  readonly sampled_out?: Count;
  readonly pending?: Count;
  readonly set_aside?: Count;
  readonly discarded?: Count;
}

/** What the log has counted beside its ledgers, over all shards. */
export interface Sums {
  /** Invocations in the health of all functions, and errors in it. */
  readonly invocations: number;
  readonly errors: number;
  /** Of all problems, and those in none. */
  readonly problems: number;
  /** Of saved searches; null: there are none. */
  readonly searches: { readonly all: number; readonly failed: number } | null;
}

const LEFT_OUT = ["filtered", "sampled_out", "pending", "set_aside", "discarded"] as const;

/** @param report the audit of all objects of the job. @returns what is wrong, in words. */
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

/**
 * Checks that the counts of health, problems and searches are those of the account's ledger.
 * @param failed records with an error that were counted.
 */
export function sumFaults(
  { routed, not_routed }: Pick<AccountCounts, "routed" | "not_routed">,
  { invocations, errors, problems, searches }: Sums,
  failed: Count,
): string[] {
  const counted = routed + not_routed;
  return [
    ...countFaults("the sum of health", invocations, counted),
    ...countFaults("the sum of problems", problems, failed),
    ...countFaults("the sum of errors in health", errors, problems),
    ...(searches === null ? [] : countFaults("the search for everything", searches.all, counted)),
    ...(searches === null ? [] : countFaults("the search for failures", searches.failed, problems)),
  ];
}

/**
 * Checks that the objects that count as delivered and the objects in the store are the same ones,
 * with the listed sizes.
 */
export function objectListFaults(
  listed: readonly ListedObject[],
  shipped: Iterable<{ readonly key: string; readonly bytes: Uint8Array }>,
): string[] {
  const faults: string[] = [];
  const there = new Map<string, number>();
  for (const { key, bytes } of shipped) if (/\.(log\.gz|parquet)$/.test(key)) there.set(key, bytes.length);
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
