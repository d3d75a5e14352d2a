import { until } from "../../tools/until.ts";
import type { Minted } from "../support/oracle.ts";
import type { Ledgers } from "./ledger-watch.ts";
import type { IsolatedShipper } from "./shipper.ts";

/** Concurrent requests. */
const AT_ONCE = 4;

/** How long a repeated request may take to show in the ledgers before the next repeat, in ms. */
const SHOWN_WITHIN_MS = 15_000;

interface Request {
  readonly key: string;
  readonly events: readonly Minted[];
  /** The ledgers show its events. It is not sent again. */
  isKnown: boolean;
}

/**
 * Does what the docs tell callers: every request has an Idempotency-Key and is repeated unchanged
 * until its events have arrived. An acknowledgement is not enough here: the local queue loses what
 * it holds when it is killed. No other sender of events may run.
 */
export class PersistentClient {
  /** Wrong answers of the shipper, in words. */
  readonly faults: string[] = [];
  /** Requests sent, repeated ones included, and how many of them were acknowledged. */
  sent = 0;
  acknowledged = 0;
  readonly #shipper: IsolatedShipper;
  readonly #name: string;
  readonly #requests: Request[] = [];
  /** Events of all requests, each counted once. */
  events = 0;

  constructor(shipper: IsolatedShipper, name: string) {
    this.#shipper = shipper;
    this.#name = name;
  }

  /** Distinct requests; repeats are not counted. */
  get requests(): number {
    return this.#requests.length;
  }

  /**
   * Sends a new request for each list. Stops when the shipper is killed, and keeps the requests for
   * a repeat.
   */
  async post(lists: Iterable<readonly Minted[]>): Promise<void> {
    const requests = [...lists].map((events) => {
      const request = { key: `${this.#name}-${this.#requests.length}`, events, isKnown: false };
      this.#requests.push(request);
      this.events += events.length;
      return request;
    });
    await this.#send(requests);
  }

  /** Repeats every request whose arrival is not confirmed. */
  async repeat(): Promise<void> {
    await this.#send(this.#requests.filter(({ isKnown }) => !isKnown));
  }

  /** Repeats until all have arrived. @throws Error if they do not. */
  async insist(): Promise<void> {
    for (let tries = 1; ; tries++) {
      await this.repeat();
      try {
        await until({
          what: "every request to show in the ledgers",
          withinMs: SHOWN_WITHIN_MS,
          look: async () => ({
            unknown: this.#requests.filter(({ isKnown }) => !isKnown).length,
            fault: this.faults[0],
          }),
          enough: ({ unknown }) => unknown === 0,
        });
        return;
      } catch (error) {
        if (tries === 3) throw error;
      }
    }
  }

  /**
   * Reads the ledgers: every job has to receive every event, or count it as filtered. A count above
   * the number of events ever sent is a fault.
   */
  learn({ account, jobs }: Ledgers): void {
    // The ledgers were read earlier: if they count all events sent by now, all have arrived.
    const counts = [account.processed, ...jobs.map(({ received }) => received)];
    if (counts.some((count) => count > this.events)) {
      this.faults.push(`${this.events} events were sent, but the ledgers show ${counts.join(", ")}`);
    }
    if (counts.every((count) => count === this.events)) for (const request of this.#requests) request.isKnown = true;
  }

  async #send(requests: readonly Request[]): Promise<void> {
    const todo = requests.values();
    const work = async (): Promise<void> => {
      for (const request of todo) {
        if (!this.#shipper.isUp) return;
        this.sent += 1;
        await this.#sendOne(request);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }

  async #sendOne({ key, events }: Request): Promise<void> {
    const bodies = events.map(({ event }) => event);
    try {
      const accepted = await this.#shipper.unlessKilled((api) =>
        api.postEvents(bodies, { ndjson: true, idempotencyKey: key }),
      );
      if (accepted === undefined) return;
      this.acknowledged += 1;
      if (accepted !== events.length) this.faults.push(`${key}: ${accepted} of ${events.length} events were accepted`);
    } catch (error) {
      this.faults.push(`${key}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}
