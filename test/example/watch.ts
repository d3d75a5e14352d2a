/** Everything that the shop ships from some moment on, held against everything that it should have. */
import { type AccountLedger, type ApiClient, accountBalance, jobBalance } from "../../tools/api-client.ts";
import { until } from "../../tools/until.ts";
import { recordsBelow } from "../e2e/read-records.ts";
import { jobInto } from "../e2e/shipper.ts";
import { type Json, withoutTimes } from "../support/expected-records.ts";
import { recordFaults } from "./record-faults.ts";
import { fetched } from "./shop-records.ts";
import { withoutPlaces } from "./texts.ts";
import type { World } from "./world.ts";

/** A web socket's two requests are recorded when its durable object has been idle for ten seconds; then `tail()` gathers for two, and the queue for one. In ms. */
const RECEIVED_WITHIN_MS = 45_000;
const DELIVERED_WITHIN_MS = 30_000;

/** A job of its own for one test file, which ships all that the shop does. */
export class Watch {
  readonly #world: World;
  readonly #folder: string;
  readonly #job: number;
  readonly #fromMs = Date.now();
  readonly #processedBefore: number;
  readonly #expected: Json[] = [];

  private constructor(world: World, folder: string, job: number, processedBefore: number) {
    this.#world = world;
    this.#folder = folder;
    this.#job = job;
    this.#processedBefore = processedBefore;
  }

  /** @param folder of the bucket, of its own. */
  static async begin(world: World, folder: string): Promise<Watch> {
    const { processed } = await world.api.accountLedger();
    const { id } = await world.api.createJob(jobInto(folder));
    return new Watch(world, folder, id, processed);
  }

  /** These are to be shipped, each as often as it is named. */
  expect(...records: readonly Json[]): void {
    this.#expected.push(...records);
  }

  /** Waits until as many were received as are expected by now. @throws Error if that takes too long. */
  async arrived(): Promise<void> {
    await until({
      what: `the ledger to show ${this.#expected.length} received`,
      withinMs: RECEIVED_WITHIN_MS,
      look: () => this.#world.api.jobLedger(this.#job),
      enough: ({ received }) => received >= this.#expected.length,
    });
  }

  /**
   * Ends it, whatever has arrived.
   * @returns what is wrong with what is in the bucket, or with what the ledgers say of it, in words.
   */
  async end(): Promise<string[]> {
    const { api, bucket, shop } = this.#world;
    const faults: string[] = [];
    const wait = async (waiting: Promise<unknown>): Promise<void> => {
      await waiting.catch((error: Error) => faults.push(error.message));
    };
    await wait(this.arrived());
    // One more: what arrives unexpectedly does so before this one.
    const last = `${shop}/nowhere?last-of=${this.#folder}`;
    await (await fetch(last)).arrayBuffer();
    this.expect(fetched(last, 404));
    await wait(this.arrived());
    await api.flush(this.#job);
    await wait(
      until({
        what: "the ledger to show nothing pending",
        withinMs: DELIVERED_WITHIN_MS,
        look: () => api.jobLedger(this.#job),
        enough: ({ pending }) => pending === 0,
      }),
    );
    const read = await recordsBelow(bucket, this.#folder);
    const untilMs = Date.now();
    const arrived = read.map((record) => withoutPlaces(withoutTimes(record, this.#fromMs, untilMs)));
    faults.push(...recordFaults(this.#expected, arrived), ...(await this.#ledgerFaults(api)));
    await api.deleteJob(this.#job);
    return faults;
  }

  async #ledgerFaults(api: ApiClient): Promise<string[]> {
    const wanted = this.#expected.length;
    const [job, account] = [await api.jobLedger(this.#job), await api.accountLedger()];
    const ofJob = jobBalance(job);
    const processed = account.processed - this.#processedBefore;
    return [
      ...(ofJob.received === ofJob.accountedFor ? [] : [`the job's ledger does not balance: ${JSON.stringify(job)}`]),
      ...(job.delivered === wanted ? [] : [`the job's ledger shows ${job.delivered} delivered, not ${wanted}`]),
      ...balanceFaults(account),
      ...(processed === wanted ? [] : [`the account's ledger shows ${processed} processed, not ${wanted}`]),
    ];
  }
}

function balanceFaults(account: AccountLedger): string[] {
  const { processed, accountedFor } = accountBalance(account);
  return processed === accountedFor ? [] : [`the account's ledger does not balance: ${JSON.stringify(account)}`];
}
