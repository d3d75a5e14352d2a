/** Compares everything that the shop ships from some moment on with what it should ship. */
import type { ApiClient } from "../../tools/client/api-client.ts";
import { accountBalance, jobBalance, type TraceLog } from "../../tools/client/api-results.ts";
import { until } from "../../tools/until.ts";
import { recordsBelow } from "../e2e/read-records.ts";
import { jobInto } from "../e2e/shipper.ts";
import { type Json, withoutTimes } from "../support/expected-records.ts";
import { fetched } from "./shop-records.ts";
import type { World } from "./world.ts";

/**
 * In ms. A web socket's two requests are recorded when its durable object has been idle for 10 s;
 * then `tail()` gathers for 2 s, and the queue for 1 s.
 */
const RECEIVED_WITHIN_MS = 45_000;
const DELIVERED_WITHIN_MS = 30_000;
const QUIET_MS = 15_000;

/** A job for one test file, which ships everything of the shop. */
export class Watch {
  readonly #world: World;
  readonly #folder: string;
  readonly #job: number;
  readonly #fromMs = Date.now();
  readonly #before: TraceLog;
  readonly #expected: Json[] = [];

  private constructor(world: World, folder: string, job: number, before: TraceLog) {
    this.#world = world;
    this.#folder = folder;
    this.#job = job;
    this.#before = before;
  }

  /** @param folder in the bucket; no other test uses it. */
  static async begin(world: World, folder: string): Promise<Watch> {
    const before = await world.api.accountLedger();
    const { id } = await world.api.createJob(jobInto(folder));
    return new Watch(world, folder, id, before);
  }

  /** Expects these records, each as often as it is given. */
  expect(...records: readonly Json[]): void {
    this.#expected.push(...records);
  }

  /** Waits until as many events were received as are expected by now. @throws Error on timeout. */
  async arrived(): Promise<void> {
    await until({
      what: `the ledger to show ${this.#expected.length} received`,
      withinMs: RECEIVED_WITHIN_MS,
      look: () => this.#world.api.jobLedger(this.#job),
      enough: ({ received }) => received >= this.#expected.length,
    });
  }

  /**
   * Ends the watch, whatever has arrived.
   * @returns what is wrong with the bucket or the ledgers, in words.
   */
  async end(): Promise<string[]> {
    const { api, shop } = this.#world;
    // A late arrival is not a fault in itself: if it never arrives, it is reported as missing.
    const wait = (): Promise<void> => this.arrived().catch(() => {});
    await wait();
    // One more request: unexpected events arrive before it.
    const last = `${shop}/nowhere?last-of=${this.#folder}`;
    await (await fetch(last)).arrayBuffer();
    this.expect(fetched(last, 404));
    await wait();
    let faults = await this.#faults();
    if (faults.length > 0) {
      // Something unexpected arrived, or nothing did. Wait for the rest, so that all of it is
      // reported here and none of it reaches the next watch.
      await this.#quiet();
      faults = await this.#faults();
    }
    await api.deleteJob(this.#job);
    return faults;
  }

  /** What is wrong, once all received events are delivered. */
  async #faults(): Promise<string[]> {
    const { api, bucket } = this.#world;
    await api.flush(this.#job);
    await until({
      what: "the ledger to show nothing pending",
      withinMs: DELIVERED_WITHIN_MS,
      look: () => api.jobLedger(this.#job),
      enough: ({ pending }) => pending === 0,
    });
    const read = await recordsBelow(bucket, this.#folder);
    const untilMs = Date.now();
    const arrived = read.map((record) => withoutPlaces(withoutTimes(record, this.#fromMs, untilMs)));
    return [...recordFaults(this.#expected, arrived), ...(await this.#ledgerFaults(api))];
  }

  /** Waits until nothing was received for longer than any record takes. */
  async #quiet(): Promise<void> {
    let last = { received: -1, sinceMs: Date.now() };
    await until({
      what: "nothing more to be received",
      withinMs: RECEIVED_WITHIN_MS,
      look: async () => {
        const { received } = await this.#world.api.jobLedger(this.#job);
        if (received !== last.received) last = { received, sinceMs: Date.now() };
        return last;
      },
      enough: ({ sinceMs }) => Date.now() - sinceMs > QUIET_MS,
    });
  }

  async #ledgerFaults(api: ApiClient): Promise<string[]> {
    const wanted = this.#expected.length;
    const [job, account] = [await api.jobLedger(this.#job), await api.accountLedger()];
    const [ofJob, ofAccount] = [jobBalance(job), accountBalance(account)];
    const since = (count: "processed" | "routed" | "not_enabled"): number => account[count] - this.#before[count];
    const counts: [what: string, is: number, should: number][] = [
      ["delivered by the job", job.delivered, wanted],
      ["accounted for by the job", ofJob.accountedFor, ofJob.received],
      ["processed", since("processed"), wanted],
      ["routed", since("routed"), wanted],
      ["dropped, as logging is off,", since("not_enabled"), 0],
      ["accounted for by the account", ofAccount.accountedFor, ofAccount.processed],
    ];
    return counts.flatMap(([what, is, should]) => (is === should ? [] : [`${what} were ${is}, should be ${should}`]));
  }
}

/** What is missing, and what is surplus: empty if both hold the same records in any order. */
function recordFaults(expected: readonly unknown[], arrived: readonly unknown[]): string[] {
  // As text: the order of fields is part of a record.
  const surplus = arrived.map((record) => JSON.stringify(record));
  const missing = expected.flatMap((record) => {
    const text = JSON.stringify(record);
    const at = surplus.indexOf(text);
    if (at >= 0) surplus.splice(at, 1);
    return at < 0 ? [`did not arrive: ${text}`] : [];
  });
  return [...missing, ...surplus.map((text) => `arrived, and nobody caused it: ${text}`)];
}

/**
 * Replaces the lines of a stack by one, `\n at …`, and the arguments in the URL of a server
 * function by `…`.
 */
function withoutPlaces(record: unknown): unknown {
  return JSON.parse(JSON.stringify(record), (key, value) => {
    if (typeof value !== "string") return value;
    if (key === "URL") return value.replace(/(\/_serverFn\/REDACTED\?payload=)[^&]+/, "$1…");
    // As plain text, and within JSON.
    return value.replace(/(?:\n {4}at [^\n]+)+/g, "\n    at …").replace(/(?:\\n {4}at [^\\"]+)+/g, "\\n    at …");
  });
}
