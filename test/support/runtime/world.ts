/**
 * The whole service around a queue, clocks and stores that a test breaks at will: events go in at the front, through the handlers as they are deployed, and
 * whatever comes out is audited. It keeps the books: who owes what to whom, how many faults were injected, and how many objects were read.
 */
import {
  createExecutionContext,
  createScheduledController,
  runDurableObjectAlarm,
  runInDurableObject,
  waitOnExecutionContext,
} from "cloudflare:test";
import { env } from "cloudflare:workers";
import { vi } from "vitest";
import { type AccountCounts, accountLedger } from "../../../src/account/ledger.ts";
import { controlPlane } from "../../../src/control/plane.ts";
import { segmentOf } from "../../../src/delivery/chain.ts";
import type { LogStatus } from "../../../src/delivery/types.ts";
import worker, { type DeliveryLog, Outbox, Shipper } from "../../../src/index.ts";
import { outbox } from "../../../src/intake/outbox.ts";
import { createWorker } from "../../../src/worker.ts";
import { ACCOUNT, ADMIN_TOKEN } from "../constants.ts";
import { accountLedgerFaults, type Count } from "../ledger-audit.ts";
import { type Minted, type MintOptions, Oracle } from "../oracle.ts";
import { setClock } from "./pipeline.ts";
import { SimulatedQueue } from "./queue.ts";
import { alive, type JobOptions, type WorldJob, WorldJobs } from "./world-jobs.ts";

/** Hours of the test's clock after which what does not settle never will. */
const SETTLE_MAX_HOURS = 72;

export interface Summary {
  /** Events that were acknowledged. */
  events: number;
  /** Faults that took place. */
  faults: number;
  /** Objects that were read back and audited. */
  objects: number;
}

export interface PostOptions {
  /** An `Idempotency-Key`. */
  readonly key?: string;
  readonly ndjson?: boolean;
  /** Instead of the admin's. */
  readonly token?: string;
}

export class World {
  readonly clock: ReturnType<typeof setClock>;
  readonly oracle: Oracle;
  readonly queue: SimulatedQueue;
  readonly jobs: WorldJobs;
  /** Bindings as the handlers see them. */
  readonly env: Env;
  /** The handlers of the isolate in use. */
  isolate = worker;
  #faults = 0;
  readonly #accepted = new Map<string, Minted>();
  readonly #unsure = new Map<string, Minted>();
  /** What came in since the queue was last known to be empty. */
  readonly #inFlight = new Map<string, Minted>();
  /** Of the account's ledger, beside what follows from the events: what a test sets aside, or loses, on purpose. */
  readonly accountLeftOut: { set_aside?: Count; processed?: Count; routed?: Count } = {};

  constructor(startMs: number) {
    this.clock = setClock(startMs);
    this.oracle = new Oracle({ at: startMs });
    this.queue = new SimulatedQueue(() => this.clock.nowMs());
    this.env = { ...env, EVENTS: this.queue as unknown as Queue };
    this.jobs = new WorldJobs(this.oracle);
    this.#connectOutbox();
  }

  /** A fault took place. */
  injected(count = 1): void {
    this.#faults += count;
  }

  mint(count: number, options: MintOptions = {}): Minted[] {
    return this.oracle.mint(count, { at: this.clock.nowMs(), ...options });
  }

  createJob(options: JobOptions = {}): Promise<WorldJob> {
    return this.jobs.create(options);
  }

  /** A new isolate of the worker: no configuration read yet, nothing gathered. What the earlier one had gathered is its own. */
  coldIsolate(): void {
    this.isolate = createWorker();
  }

  /**
   * Posts events over HTTP. What is acknowledged is owed from then on; of what is not, nobody knows.
   * @returns the status; null: no answer.
   */
  async post(
    events: readonly Minted[],
    { key, ndjson = false, token = ADMIN_TOKEN }: PostOptions = {},
  ): Promise<number | null> {
    const lines = events.map(({ event }) => JSON.stringify(event));
    const url = `http://logship.test/client/v4/accounts/${ACCOUNT}/logship/datasets/functions_trace_events/events`;
    const request = new Request(url, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": ndjson ? "application/x-ndjson" : "application/json",
        ...(key !== undefined && { "idempotency-key": key }),
      },
      body: ndjson ? lines.join("\n") : `[${lines.join()}]`,
    });
    let status: number | null = null;
    try {
      const ctx = createExecutionContext();
      status = (await this.isolate.fetch(request, this.env, ctx)).status;
      await waitOnExecutionContext(ctx);
    } catch {
      // No answer came.
    }
    this.#taken(events, status === 202);
    return status;
  }

  /** Posts events, each request with so many. @throws unless every one of them is acknowledged. */
  async take(events: readonly Minted[], perRequest = events.length, options: PostOptions = {}): Promise<void> {
    for (let from = 0; from < events.length; from += perRequest) {
      const status = await this.post(events.slice(from, from + perRequest), options);
      if (status !== 202) throw new Error(`events were answered ${status}`);
    }
  }

  /** Hands trace items to `tail()`, as one invocation of another function. What the queue or the outbox has taken is owed. */
  async tail(events: readonly Minted[]): Promise<void> {
    const lostBefore = await this.#intakeLost();
    const ctx = createExecutionContext();
    await this.isolate.tail(events.map(({ event }) => event) as unknown as TraceItem[], this.env, ctx);
    await waitOnExecutionContext(ctx);
    this.#taken(events, (await this.#intakeLost()) === lostBefore);
  }

  /** Sends events over RPC. @returns whether they were acknowledged. */
  async ship(events: readonly Minted[], idempotencyKey?: string): Promise<boolean> {
    const entrypoint = new Shipper(createExecutionContext() as ExecutionContext<unknown>, this.env);
    let acknowledged = true;
    try {
      await entrypoint.ship(
        events.map(({ event }) => event),
        idempotencyKey === undefined ? {} : { idempotencyKey },
      );
    } catch {
      acknowledged = false;
    }
    this.#taken(events, acknowledged);
    return acknowledged;
  }

  /** These came in by a way of the test's own, and are owed. */
  owe(events: readonly Minted[]): void {
    this.#taken(events, true);
  }

  /** The account keeps the messages of these, and counts them: they come to no job. */
  setAside(events: readonly Minted[]): void {
    const before = typeof this.accountLeftOut.set_aside === "number" ? this.accountLeftOut.set_aside : 0;
    this.accountLeftOut.set_aside = before + events.length;
    this.jobs.withdraw(events);
  }

  /** Has the queue deliver all that is due. */
  async deliverDue(): Promise<void> {
    await this.queue.deliverDue(this.isolate.queue, this.env);
  }

  /** Runs every alarm that is set, whether it is due or not: none of them minds. One that dies is due again. */
  async runAlarms(): Promise<void> {
    // Stubs of what died are of no use any more.
    const objects: (() => DurableObjectStub)[] = [() => outbox(this.env.OUTBOX), () => controlPlane(env.CONTROL)];
    for (const { id } of this.jobs.all) {
      for (const n of (await this.segments(id)).keys()) objects.push(() => segmentOf(env.LOG, id, n));
    }
    for (const object of objects) await runDurableObjectAlarm(object()).catch(() => this.#alarmAgain(object()));
  }

  /** The platform runs an alarm again whose handler throws, or dies with its object. */
  async #alarmAgain(stub: DurableObjectStub): Promise<void> {
    await runInDurableObject(stub, async (_object, { storage }) => {
      if ((await storage.getAlarm()) === null) await storage.setAlarm(this.clock.nowMs());
    });
  }

  async runCron(): Promise<void> {
    const ctx = createExecutionContext();
    await this.isolate.scheduled(createScheduledController({ cron: "*/5 * * * *" }), this.env);
    await waitOnExecutionContext(ctx);
  }

  async segments(jobId: number): Promise<DurableObjectStub<DeliveryLog>[]> {
    return (await this.#statuses(jobId)).map((_status, n) => segmentOf(env.LOG, jobId, n));
  }

  /** What each segment of a job's log says, the last one last; null: that one holds nothing yet. */
  async #statuses(jobId: number): Promise<(LogStatus | null)[]> {
    const statuses: (LogStatus | null)[] = [];
    do {
      statuses.push(await alive(async () => segmentOf(env.LOG, jobId, statuses.length).status()));
    } while (statuses.at(-1)?.sealed);
    return statuses;
  }

  /**
   * Lets time pass, with nothing but what the platform does by itself: the queue delivers, alarms fire, the cron ticks.
   * @throws if something still waits after days.
   */
  async settle(): Promise<void> {
    const untilMs = this.clock.nowMs() + SETTLE_MAX_HOURS * 3_600_000;
    for (let turn = 0; this.clock.nowMs() < untilMs; turn++) {
      // Minutes at first; then to where a message comes back that was put off for hours.
      const nextMs = this.queue.nextDueMs() - this.clock.nowMs();
      this.clock.advance(turn < 20 ? 60_000 : Math.max(60_000, Number.isFinite(nextMs) ? nextMs : 300_000));
      await this.deliverDue();
      await this.runAlarms();
      if (turn % 5 === 4) await this.runCron();
      // Calls within the runtime go ahead of the network: uploads that nothing waits for get a turn here.
      await scheduler.wait(1);
      if ((await this.#waiting()) === "") return;
    }
    throw new Error(`not settled after ${SETTLE_MAX_HOURS} hours: ${await this.#waiting()}`);
  }

  /** Compares everything that was shipped with what is owed, and with what the ledgers say. @throws naming every fault. */
  async audit(): Promise<{ objects: number }> {
    let objects = 0;
    for (const job of this.jobs.all) objects += await this.jobs.audit(job);
    const counts = await this.accountCounts();
    const faults = accountLedgerFaults(counts, {
      ...this.jobs.accountExpectation(this.#accepted, this.#unsure),
      ...this.accountLeftOut,
    });
    if (this.queue.expired.length > 0) faults.push(`the queue deleted ${this.queue.expired.length} messages`);
    if (faults.length > 0) throw new Error(`account: ${faults.join("; ")}`);
    return { objects };
  }

  /**
   * The end of every test: the faults stop, all that waits settles and is audited; and then a fresh event must still flow to every job that is enabled.
   * @throws if anything is wrong.
   */
  async finish(): Promise<Summary> {
    await this.mend();
    // Where nothing waits any more, the audit at the end says all that one here would.
    if ((await this.#waiting()) !== "") {
      await this.settle();
      await this.audit();
    }
    if (this.jobs.all.every(({ enabled }) => !enabled)) await this.createJob();
    await this.take(this.mint(1, { padding: 10 }));
    await this.settle();
    const { objects } = await this.audit();
    return { events: this.#accepted.size, faults: this.#faults, objects };
  }

  /** Ends every fault. */
  async mend(): Promise<void> {
    const nowMs = this.clock.nowMs();
    vi.useRealTimers();
    vi.restoreAllMocks();
    Object.assign(this.clock, setClock(nowMs));
    this.#connectOutbox();
    this.queue.sendFault = () => null;
    for (const { buckets } of this.jobs.all) {
      for (const { control } of buckets) {
        await control.script([]);
        await control.release();
      }
    }
  }

  /** Events that may be on their way to the jobs, by id. */
  async inFlight(): Promise<ReadonlyMap<string, Minted>> {
    const kept = (await outbox(this.env.OUTBOX).status()).messages;
    if (this.queue.held.length === 0 && kept === 0) this.#inFlight.clear();
    return this.#inFlight;
  }

  /** @throws if any ledger does not add up at this moment. */
  async checkBalances(): Promise<void> {
    const faults = accountLedgerFaults(await this.accountCounts(), {});
    for (const job of this.jobs.all) faults.push(...(await this.jobs.imbalance(job)));
    if (faults.length > 0) throw new Error(`ledgers: ${faults.join("; ")}`);
  }

  async accountCounts(): Promise<AccountCounts> {
    return (await accountLedger(env.ACCOUNT).status()).counts;
  }

  /** The outbox sends to the queue of its own environment, which is the real one. */
  #connectOutbox(): void {
    const alarm = Outbox.prototype.alarm;
    const { queue } = this;
    vi.spyOn(Outbox.prototype, "alarm").mockImplementation(function (this: Outbox) {
      const bindings = { ...(this as unknown as { env: Env }).env, EVENTS: queue };
      Object.defineProperty(this, "env", { value: bindings, configurable: true });
      return alarm.call(this);
    });
  }

  #taken(events: readonly Minted[], acknowledged: boolean): void {
    for (const event of events) this.#inFlight.set(event.id, event);
    for (const event of events) (acknowledged ? this.#accepted : this.#unsure).set(event.id, event);
    this.jobs.taken(events, acknowledged);
  }

  async #intakeLost(): Promise<number> {
    return (await accountLedger(env.ACCOUNT).status()).intakeLost;
  }

  /** What waits, in words. */
  async #waiting(): Promise<string> {
    const waiting: string[] = [];
    if (this.queue.held.length > 0) waiting.push(`${this.queue.held.length} messages in the queue`);
    const { messages } = await outbox(this.env.OUTBOX).status();
    if (messages > 0) waiting.push(`${messages} messages in the outbox`);
    for (const { id } of this.jobs.all) {
      for (const status of await this.#statuses(id)) {
        if (status !== null && status.counts.pending > 0) waiting.push(`${status.counts.pending} records of job ${id}`);
      }
    }
    return waiting.join(", ");
  }
}
