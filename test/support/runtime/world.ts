/**
 * The whole service with a queue, clocks and stores that a test breaks at will. Events go in
 * through the deployed handlers, and everything that comes out is audited. It also counts what each
 * job owes, the injected faults and the objects read.
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
import { type JobReader, Packer, Shipper } from "../../../src/index.ts";
import type { AccountCounts } from "../../../src/ship/log/account-status.ts";
import { invocations, problemsOf } from "../../../src/ship/log/function-health.ts";
import { LogShards, shardsOf } from "../../../src/ship/log/log-shards.ts";
import { traceLog } from "../../../src/ship/log/trace-log.ts";
import { eachNode, nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import { jobStatus, shardsStatus } from "../../../src/ship/reader/job-status.ts";
import { controlPlane } from "../../../src/state/control/plane.ts";
import { createWorker } from "../../../src/worker.ts";
import { ACCOUNT, ADMIN_TOKEN } from "../constants.ts";
import { accountLedgerFaults, type Count, type Sums, sumFaults } from "../ledger-audit.ts";
import { hasFailed, type Minted, type MintOptions, Oracle } from "../oracle.ts";
import { setClock } from "./pipeline.ts";
import { SimulatedQueue } from "./queue.ts";
import { type Audited, alive, type JobOptions, type WorldJob, WorldJobs } from "./world-jobs.ts";

/** In hours of the test's clock. What has not settled by then never will. */
const SETTLE_MAX_HOURS = 72;

/** The share of failures from which the watch says so is above one in so many. */
const FAILS_EVERY = 25;

/** Saved searches that are counted: for everything, and for failures. */
const SEARCHES = ["", "status:5xx OR -outcome:ok"] as const;

/** A reader that has not read by then hangs, in ms of real time. */
const HANGS_MS = 2_000;

export interface Summary {
  /** Acknowledged events. */
  events: number;
  /** Injected faults. */
  faults: number;
  /** Objects that were read back and audited. */
  objects: number;
  /** The kind of the destination that it is about: the first receiver, or else the first store. */
  kind: string;
  /** Records that a receiver has again, each accounted for. */
  doubled: number;
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
  /** The handlers of the current isolate. */
  isolate = createWorker();
  #faults = 0;
  /** Their ids and stamps. */
  #searches: readonly string[] = [];
  readonly #accepted = new Map<string, Minted>();
  readonly #unsure = new Map<string, Minted>();
  /** Events since the queue was last known to be empty, and the log to be read. */
  readonly #inFlight = new Map<string, Minted>();
  /**
   * What the account's ledger has besides the counts of the events: what a test sets aside or loses
   * on purpose.
   */
  readonly accountLeftOut: { set_aside?: Count; processed?: Count; routed?: Count } = {};

  /** When events were last taken in, by a clock that may have been ahead. */
  #latestMs = 0;

  constructor(startMs: number) {
    this.clock = setClock(startMs);
    this.oracle = new Oracle({ at: startMs, failsEvery: FAILS_EVERY });
    this.queue = new SimulatedQueue(() => this.clock.nowMs());
    this.env = { ...env, EVENTS: this.queue as unknown as Queue };
    this.jobs = new WorldJobs(this.oracle);
    this.#connectSenders();
  }

  /** Before anything comes: {@link SEARCHES} are saved, with an alert, so that they are counted. */
  async begin(): Promise<void> {
    const alert = { measure: { op: "count" }, threshold: 1e9, when: "at_least", overMs: 60_000, forMs: 0 } as const;
    for (const query of SEARCHES) {
      const draft = { name: "counted", query, alert: { ...alert, severity: "warning" } as const };
      await controlPlane(env.CONTROL).putSearch(null, draft, { owner: "world", ownerName: "world" });
    }
    this.#searches = await this.#stamps();
  }

  async #stamps(): Promise<string[]> {
    const saved: { id: number; stamp: string }[] = await alive(() => controlPlane(env.CONTROL).savedSearches());
    return saved.map(({ id, stamp }) => `${id} ${stamp}`);
  }

  /** Counts injected faults. */
  injected(count = 1): void {
    this.#faults += count;
  }

  mint(count: number, options: MintOptions = {}): Minted[] {
    return this.oracle.mint(count, { at: this.clock.nowMs(), ...options });
  }

  createJob(options: JobOptions = {}): Promise<WorldJob> {
    return this.jobs.create(options);
  }

  /**
   * A new isolate of the worker: no configuration is loaded, and its buffer is empty. What the
   * earlier isolate has gathered stays there.
   */
  coldIsolate(): void {
    this.isolate = createWorker();
  }

  /**
   * Posts events over HTTP. Acknowledged events are owed; the others may or may not have been
   * taken.
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

  /** Posts events, this many per request. @throws unless every request is acknowledged. */
  async take(events: readonly Minted[], perRequest = events.length, options: PostOptions = {}): Promise<void> {
    for (let from = 0; from < events.length; from += perRequest) {
      const status = await this.post(events.slice(from, from + perRequest), options);
      if (status !== 202) throw new Error(`events were answered ${status}`);
    }
  }

  /**
   * Passes trace items to `tail()`, as one invocation of another function. What the queue or the
   * log has taken is owed.
   */
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

  /** These were taken in some other way, and are owed. */
  owe(events: readonly Minted[]): void {
    this.#taken(events, true);
  }

  /** The account keeps and counts the messages of these: no job gets them. */
  setAside(events: readonly Minted[]): void {
    const before = typeof this.accountLeftOut.set_aside === "number" ? this.accountLeftOut.set_aside : 0;
    this.accountLeftOut.set_aside = before + events.length;
    this.jobs.withdraw(events);
  }

  /** Delivers all due messages of the queue. */
  async deliverDue(): Promise<void> {
    await this.queue.deliverDue(this.isolate.queue, this.env);
    await this.readersRest();
  }

  /**
   * Waits until no reader reads any more: one that the clock overtakes leaves its batch open. One
   * that hangs is not waited for.
   */
  async readersRest(): Promise<void> {
    const rest = (await this.shards()).map((shard) => alive(async () => traceLog(env.TRACE_LOG, shard).drive([])));
    await Promise.race([Promise.allSettled(rest), scheduler.wait(HANGS_MS)]);
  }

  /** Has readers read what is in the log, due or not. */
  async read(): Promise<void> {
    for (const shard of await this.shards()) await alive(async () => traceLog(env.TRACE_LOG, shard).drive());
  }

  /**
   * Runs every alarm that is set, due or not: alarms must tolerate an early run. One whose object
   * dies is run again.
   * @returns the records that the logs then hold, in words.
   */
  async runAlarms(): Promise<string[]> {
    await this.#alarm(() => controlPlane(env.CONTROL));
    for (const shard of await this.shards()) await this.#alarm(() => traceLog(env.TRACE_LOG, shard));
    return this.#pending((jobId, node) => this.#alarm(() => nodeAt(env.READERS, jobId, node)));
  }

  /**
   * The platform runs an alarm again if its handler throws or its object dies.
   * @param object a new stub each time: a stub of a dead object no longer works.
   */
  async #alarm(object: () => DurableObjectStub): Promise<void> {
    try {
      await runDurableObjectAlarm(object());
    } catch {
      await runInDurableObject(object(), async (_object, { storage }) => {
        if ((await storage.getAlarm()) === null) await storage.setAlarm(this.clock.nowMs());
      });
    }
  }

  async runCron(): Promise<void> {
    const ctx = createExecutionContext();
    await this.isolate.scheduled(createScheduledController({ cron: "*/5 * * * *" }), this.env);
    await waitOnExecutionContext(ctx);
  }

  /** The nodes of a job's log, in order. */
  async nodes(jobId: number): Promise<number[]> {
    const nodes: number[] = [];
    await this.#walk(jobId, async (node) => {
      nodes.push(node);
    });
    return nodes.sort((a, b) => a - b);
  }

  async segments(jobId: number): Promise<DurableObjectStub<JobReader>[]> {
    return (await this.nodes(jobId)).map((node) => nodeAt(env.READERS, jobId, node));
  }

  /** The shards of the log that there are. */
  async shards(): Promise<number[]> {
    return (await alive(() => shardsOf(env))) ?? [0];
  }

  /**
   * Walks the nodes of a job.
   * @param visit is called with each, before it is asked whether there is another.
   */
  async #walk(jobId: number, visit: (node: number) => Promise<void>): Promise<void> {
    await eachNode(
      env,
      jobId,
      async (_reader, node) => {
        await visit(node);
        return alive(async () => nodeAt(env.READERS, jobId, node).following());
      },
      await this.shards(),
    );
  }

  /** Walks the nodes of every job. @returns what of their records waits, in words. */
  async #pending(visit: (jobId: number, node: number) => Promise<void> = async () => {}): Promise<string[]> {
    const words: string[] = [];
    for (const { id } of [...this.jobs.all, ...this.jobs.reruns]) {
      await this.#walk(id, (node) => visit(id, node));
      const records = (await alive(() => jobStatus(env, id)))?.counts.pending ?? 0;
      if (records > 0) words.push(`${records} records of job ${id}`);
    }
    // After a restore, a shard may have received less than was read.
    for (const [shard, { jobs }] of await alive(() =>
      shardsStatus(
        env,
        [...this.jobs.all, ...this.jobs.reruns].map(({ id }) => id),
      ),
    ))
      if (Object.values(jobs).some(({ unread }) => unread !== null)) words.push(`blocks of log ${shard}`);
    return words;
  }

  /**
   * Lets time pass with only what the platform does by itself: the queue delivers, alarms fire, the
   * cron ticks.
   * @throws if something is still pending after days.
   */
  async settle(): Promise<void> {
    const untilMs = this.clock.nowMs() + SETTLE_MAX_HOURS * 3_600_000;
    let waiting: string[] = [];
    for (let turn = 0; this.clock.nowMs() < untilMs; turn++) {
      // Minutes at first; then up to the next due time, as a message may be delayed for hours.
      const nextMs = this.queue.nextDueMs() - this.clock.nowMs();
      this.clock.advance(turn < 20 ? 60_000 : Math.max(60_000, Number.isFinite(nextMs) ? nextMs : 300_000));
      await this.deliverDue();
      let pending = await this.runAlarms();
      if (turn % 5 === 4) {
        await this.runCron();
        pending = await this.#pending();
      }
      // Calls within the runtime take precedence over its network: this lets uploads proceed that
      // nothing awaits.
      await scheduler.wait(1);
      waiting = [...(await this.#onTheWay()), ...pending];
      if (waiting.length === 0) return;
    }
    throw new Error(`not settled after ${SETTLE_MAX_HOURS} hours: ${waiting.join(", ")}`);
  }

  /**
   * Compares everything that was shipped with what is owed and with the ledgers.
   * @throws Error naming every fault.
   */
  async audit(): Promise<Audited> {
    let [objects, doubled] = [0, 0];
    for (const job of this.jobs.all) {
      const audited = await this.jobs.audit(job);
      objects += audited.objects;
      doubled += audited.doubled;
    }
    const counts = await this.accountCounts();
    const faults = accountLedgerFaults(counts, {
      ...this.jobs.accountExpectation(this.#accepted, this.#unsure),
      ...this.accountLeftOut,
    });
    faults.push(...sumFaults(counts, await this.#sums(counts), this.#failed(counts)));
    if (this.queue.expired.length > 0) faults.push(`the queue deleted ${this.queue.expired.length} messages`);
    if (faults.length > 0) throw new Error(`account: ${faults.join("; ")}`);
    return { objects, doubled };
  }

  /** Every hour and slot of every function, every problem, and what searches have counted. */
  async #sums({ routed, not_routed }: AccountCounts): Promise<Sums> {
    const log = new LogShards(env);
    const names = (await alive(() => log.functions())).flatMap(({ scriptName }) => scriptName ?? []);
    const hours = await alive(() =>
      Promise.all(names.map((name) => log.functionHours(name, 0, Number.MAX_SAFE_INTEGER))),
    );
    const health = hours.flat().map((hour) => hour.health);
    const { problems, others } = await alive(() => log.problems());
    // A control plane that was restored begins anew.
    const isSame = (await this.#stamps()).join() === this.#searches.join();
    const found =
      this.#searches.length > 0 && isSame ? (await alive(() => log.each((one) => one.searchCounts()))).flat() : null;
    const [all = 0, failed = 0] = this.#searches.map((key) =>
      sumOf(
        (found ?? []).filter(({ id, stamp }) => `${id} ${stamp}` === key),
        ({ total }) => total,
      ),
    );
    const inProblems = sumOf(problems, ({ count }) => count) + others;
    // Hours to come, as before a clock was set back by a day, are not shown.
    const isAhead = this.#latestMs > this.clock.nowMs();
    return {
      invocations: isAhead ? routed + not_routed : sumOf(health, invocations),
      errors: isAhead ? inProblems : sumOf(health.flatMap(problemsOf), ([, count]) => count),
      problems: inProblems,
      searches: found === null ? null : { all, failed },
    };
  }

  /** Records with an error that the log has counted. */
  #failed(counts: AccountCounts): Count {
    const accepted = [...this.#accepted.values()].filter(hasFailed);
    const doubtful = [...this.#unsure.values()].filter((event) => hasFailed(event) && !this.#accepted.has(event.id));
    const { certain, possible } = this.jobs.enabledOf(accepted);
    // What was set aside, or is lost on purpose, may be any of them.
    const uncounted = Math.max(0, this.#accepted.size - counts.routed - counts.not_routed - counts.not_enabled);
    return { atLeast: Math.max(0, certain - uncounted), atMost: possible + doubtful.length };
  }

  /**
   * The end of every test: the faults stop, everything pending settles and is audited, and then a
   * new event must reach every enabled job.
   * @throws if anything is wrong.
   */
  async finish(): Promise<Summary> {
    await this.mend();
    // If nothing is pending, the audit at the end covers this one.
    const waiting = [...(await this.#onTheWay()), ...(await this.#pending())];
    if (waiting.length > 0) {
      await this.settle();
      await this.audit();
    }
    if (this.jobs.all.every(({ enabled }) => !enabled)) await this.createJob();
    await this.take(this.mint(1, { padding: 10 }));
    await this.settle();
    const { objects, doubled } = await this.audit();
    return { events: this.#accepted.size, faults: this.#faults, objects, kind: this.jobs.kind(), doubled };
  }

  /** Ends every fault. */
  async mend(): Promise<void> {
    const nowMs = this.clock.nowMs();
    vi.useRealTimers();
    vi.restoreAllMocks();
    Object.assign(this.clock, setClock(nowMs));
    this.#connectSenders();
    this.queue.sendFault = () => null;
    for (const { buckets } of this.jobs.all) {
      for (const { control } of buckets) {
        await control.script([]);
        await control.release();
      }
    }
  }

  /** Events that may not have reached the jobs yet, by id. */
  async inFlight(): Promise<ReadonlyMap<string, Minted>> {
    if ((await this.#onTheWay()).length === 0 && !(await this.jobs.mayHaveUnread())) this.#inFlight.clear();
    return this.#inFlight;
  }

  /** @throws if any ledger does not balance now. */
  async checkBalances(): Promise<void> {
    const faults = accountLedgerFaults(await this.accountCounts(), {});
    for (const job of this.jobs.all) faults.push(...(await this.jobs.imbalance(job)));
    if (faults.length > 0) throw new Error(`ledgers: ${faults.join("; ")}`);
  }

  async accountCounts(): Promise<AccountCounts> {
    return (await alive(() => new LogShards(env).status())).counts;
  }

  /**
   * The packer sends to the queue of its own environment, which is the real one: this gives it the
   * test's.
   */
  #connectSenders(): void {
    const { pack } = Packer.prototype;
    const { queue } = this;
    vi.spyOn(Packer.prototype, "pack").mockImplementation(function (this: Packer, part) {
      const bindings = { ...(this as unknown as { env: Env }).env, EVENTS: queue };
      Object.defineProperty(this, "env", { value: bindings, configurable: true });
      return pack.call(this, part);
    });
  }

  #taken(events: readonly Minted[], acknowledged: boolean): void {
    this.#latestMs = Math.max(this.#latestMs, this.clock.nowMs());
    for (const event of events) this.#inFlight.set(event.id, event);
    for (const event of events) (acknowledged ? this.#accepted : this.#unsure).set(event.id, event);
    this.jobs.taken(events, acknowledged);
  }

  async #intakeLost(): Promise<number> {
    const { intakeLost, intakeUnfit } = await alive(() => new LogShards(env).status());
    return intakeLost + intakeUnfit;
  }

  /** What no log has yet, in words. */
  async #onTheWay(): Promise<string[]> {
    return this.queue.held.length > 0 ? [`${this.queue.held.length} messages in the queue`] : [];
  }
}

function sumOf<T>(all: readonly T[], of: (one: T) => number): number {
  return all.reduce((sum, one) => sum + of(one), 0);
}
