import { accountBalance, type JobLedger, jobBalance, type TraceLog } from "../../tools/client/api-results.ts";
import { pause } from "../../tools/until.ts";
import type { IsolatedShipper } from "./shipper.ts";

/** Between two polls, in ms. */
const LOOK_AGAIN_MS = 100;

/** The ledgers of one poll. They are read one after the other: no request reads all of them. */
export interface Ledgers {
  readonly account: TraceLog;
  readonly jobs: readonly JobLedger[];
}

/**
 * Polls the ledgers of an account and its jobs during a test, across crashes. Each must balance,
 * and no count but a pending one may decrease.
 */
export class LedgerWatch {
  /** Polls so far; each read every ledger. */
  polls = 0;
  /** What was wrong, in words. */
  readonly faults: string[] = [];
  #isOver = false;
  readonly #before = new Map<string, number>();
  readonly #watching: Promise<void>;

  /** @param seen is called after every poll. */
  constructor(shipper: IsolatedShipper, jobs: readonly number[], seen: (ledgers: Ledgers) => void = () => {}) {
    this.#watching = this.#watch(shipper, jobs, seen);
    // Reported by stop().
    this.#watching.catch(() => {});
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#watching;
  }

  async #watch(shipper: IsolatedShipper, ids: readonly number[], seen: (ledgers: Ledgers) => void): Promise<void> {
    while (!this.#isOver) {
      const ledgers = await shipper.unlessKilled(async (api): Promise<Ledgers> => {
        const jobs: JobLedger[] = [];
        for (const id of ids) jobs.push(await api.jobLedger(id));
        return { jobs, account: await api.accountLedger() };
      });
      if (ledgers !== undefined) {
        this.polls += 1;
        ids.forEach((id, i) => {
          const counts = ledgers.jobs[i];
          if (counts === undefined) return;
          const { received, accountedFor } = jobBalance(counts);
          this.#check(`job ${id}`, counts, received === accountedFor);
        });
        const { processed, accountedFor } = accountBalance(ledgers.account);
        this.#check("account", ledgers.account, processed === accountedFor);
        seen(ledgers);
      }
      await pause(LOOK_AGAIN_MS);
    }
  }

  #check(whose: string, counts: TraceLog | JobLedger, balances: boolean): void {
    if (!balances) this.faults.push(`${whose} does not balance: ${JSON.stringify(counts)}`);
    const { replayed: { objects: replayed } = { objects: 0 }, ...others } = { replayed: undefined, ...counts };
    for (const [name, count] of Object.entries({ ...others, replayed })) {
      // Pending counts rise and fall. All other counts never decrease, whatever crashes.
      if (name.startsWith("pending")) continue;
      const before = this.#before.get(`${whose} ${name}`) ?? 0;
      if (count < before) this.faults.push(`${name} of ${whose} went back from ${before} to ${count}`);
      this.#before.set(`${whose} ${name}`, count);
    }
  }
}
