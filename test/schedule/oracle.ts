import { readSingleMember } from "../support/gzip-member.ts";
import type { Book, Job, Sent } from "./book.ts";
import type { World } from "./world.ts";

/** The service has broken a promise. */
export class Fault extends Error {}

const decoder = new TextDecoder();

/**
 * How often a job has each event, by id, and in which buckets.
 * @param rerun instead: what a rerun has.
 */
export function stored(world: World, job: Job, rerun?: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const name of job.buckets)
    for (const { key, bytes } of world.stores.buckets.get(name)?.list() ?? []) {
      if (!/^logs\/2/.test(key) || /\.canary|_logship/.test(key)) continue;
      const [, of] = /_(r\d+)\./.exec(key) ?? [];
      if (of !== rerun) continue;
      const member = readSingleMember(bytes);
      if (!member.ok) throw new Fault(`${job.name}: ${key} is no gzip member: ${member.reason}`);
      for (const line of decoder.decode(member.raw).trim().split("\n")) {
        const id = (JSON.parse(line) as { Logs: { Message: string[] }[] }).Logs[0]?.Message[0] ?? "";
        found.set(id, [...(found.get(id) ?? []), name]);
      }
    }
  return found;
}

/** Once at most, at any time. */
export function checkDoubles(world: World, book: Book, job: Job): Map<string, string[]> {
  const found = stored(world, job);
  for (const [id, buckets] of found) {
    // An upload to the former destination may have succeeded without an answer.
    const isTwice = new Set(buckets).size < buckets.length;
    if (isTwice && !book.lost.has(id) && !job.lost.has(id))
      throw new Fault(`${job.name} has ${id} ${buckets.length} times: ${buckets}`);
  }
  return found;
}

/** Clocks differ by less than this, in ms. */
const SKEW_MS = 300;

/** Nothing that was taken in before this time waits any more, and it never goes back. */
export function checkComplete(world: World, book: Book, job: Job, completeMs: number): void {
  if (completeMs < job.completeMs && book.restores === 0)
    throw new Fault(`${job.name} is complete up to ${completeMs}, and was up to ${job.completeMs}`);
  job.completeMs = completeMs;
  const found = stored(world, job);
  for (const sent of book.sent.values()) {
    // What `tail()` has brought may be counted as lost.
    if (sent.isTraced || found.has(sent.id) || sent.copies.some(({ toMs }) => toMs + SKEW_MS >= completeMs)) continue;
    if (book.verdict(job, sent) === "must")
      throw new Fault(
        `${job.name} says that it is complete up to ${new Date(completeMs).toISOString()}, and lacks ${sent.id}`,
      );
  }
}

/** Each rerun has what was kept of its time, once, and nothing else. */
function checkReruns(world: World, book: Book, job: Job): void {
  for (const rerun of job.reruns) {
    const found = stored(world, job, rerun.name);
    for (const [id, { length }] of found)
      if (length > 1 && book.restores === 0) throw new Fault(`${rerun.name} of ${job.name} has ${id} ${length} times`);
    for (const sent of book.sent.values()) {
      const verdict = book.verdictOfRerun(job, rerun, sent);
      if (verdict === "not" && found.has(sent.id))
        throw new Fault(
          `${rerun.name} of ${job.name} has ${sent.id}, which it must not: ${JSON.stringify({ rerun, sent })}`,
        );
      if (verdict === "must" && !sent.isTraced && !found.has(sent.id))
        throw new Fault(`${rerun.name} of ${job.name} lacks ${sent.id}: ${JSON.stringify({ rerun, sent, job })}`);
    }
  }
}

export interface Ledger {
  received: number;
  filtered: number;
  sampled_out: number;
  delivered: number;
  pending: number;
  set_aside: number;
  discarded: number;
  unread: { records: number };
}

export interface AccountLedger {
  processed: number;
  routed: number;
  not_enabled: number;
  not_routed: number;
  set_aside: number;
  discarded: number;
  intake_lost: number;
}

export function checkLedger(name: string, ledger: Ledger): void {
  const { received, filtered, sampled_out, delivered, pending, set_aside, discarded } = ledger;
  if (received !== filtered + sampled_out + delivered + pending + set_aside + discarded)
    throw new Fault(`${name}: its ledger does not add up: ${JSON.stringify(ledger)}`);
}

export function checkAccount(ledger: AccountLedger): void {
  const { processed, routed, not_enabled, not_routed, set_aside, discarded } = ledger;
  if (processed !== routed + not_enabled + not_routed + set_aside + discarded)
    throw new Fault(`the account's ledger does not add up: ${JSON.stringify(ledger)}`);
}

/** At rest: each job has each event that it must have, and none that it must not. */
export function checkEnd(world: World, book: Book, account: AccountLedger, ledgers: ReadonlyMap<Job, Ledger>): void {
  checkAccount(account);
  const all = [...book.sent.values()];
  const sure = all.filter(({ copies, isTraced }) => !isTraced && copies.some(({ isAcked }) => isAcked)).length;
  if (book.restores === 0 && (account.processed < sure || account.processed > all.length))
    throw new Fault(`processed ${account.processed}: ${sure} were acknowledged, ${all.length} were sent`);
  for (const job of book.jobs) {
    const found = checkDoubles(world, book, job);
    const lost: Sent[] = [];
    for (const sent of all) {
      const verdict = book.verdict(job, sent);
      const has = found.has(sent.id);
      if (verdict === "not" && has)
        throw new Fault(`${job.name} has ${sent.id}, which it must not: ${JSON.stringify({ job, sent })}`);
      if (verdict !== "must" || has) continue;
      if (!sent.isTraced) throw new Fault(`${job.name} lacks ${sent.id}: ${JSON.stringify({ job, sent })}`);
      lost.push(sent);
    }
    // An isolate counts with its next loss what it could not count.
    if (lost.length > account.intake_lost + world.scheduler.uncounted)
      throw new Fault(`${job.name} lacks ${lost.length} traced events: ${JSON.stringify({ job, lost })}`);
    checkReruns(world, book, job);
    const ledger = ledgers.get(job);
    if (ledger === undefined) continue;
    checkLedger(job.name, ledger);
    const delivered = [...found.values()].reduce((sum, buckets) => sum + buckets.length, 0);
    const isExact = job.buckets.length === 1 && !job.isDiscarded;
    if (job.isRestored) continue;
    if (isExact ? ledger.delivered !== delivered : ledger.delivered > delivered)
      throw new Fault(`${job.name}: ${delivered} stored, ${ledger.delivered} counted as delivered`);
  }
}
