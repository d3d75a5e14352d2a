import { Book, type Job } from "./book.ts";
import { Client } from "./client.ts";
import { type AccountLedger, checkDoubles, checkEnd, checkLedger, Fault, type Ledger } from "./oracle.ts";
import { Restores } from "./restores.ts";
import type { Life } from "./scheduler.ts";
import { World } from "./world.ts";

/** What a run may do, and how likely it is that it does. */
const ODDS = {
  /** Objects and isolates die. */
  deaths: 0.7,
  /** Calls and their answers are lost. */
  losses: 0.5,
  /** The store fails. */
  stores: 0.4,
  /** The queue refuses, forgets, delivers twice. */
  queue: 0.4,
  /** Jobs change. */
  changes: 0.5,
  /** Logging of functions is switched. */
  switches: 0.25,
  /** Requests with keys. */
  keyed: 0.5,
  /** Objects do not answer for minutes. */
  outages: 0.3,
  /** Few attempts make a dead letter, which is put on hold. */
  dead: 0.2,
  /** Many shards, and LOG_SHARDS changes. */
  shards: 0.4,
  /** Readers are full soon, and seal. */
  segments: 0.25,
  /** Objects are restored to an earlier time. */
  restores: 0.15,
  /** It is asked up to when jobs are complete. */
  claims: 0.5,
  /** Jobs start in the past, and are run again. */
  past: 0.5,
  /** Little is kept, for a while nothing, and pasts are given up. */
  squeezed: 0.2,
  /** The cron ticks at rest, too. */
  cron: 0.5,
};
type Odd = keyof typeof ODDS;
export const FORCES = Object.keys(ODDS) as Odd[];

export interface Options {
  /** The run does these, and nothing else. */
  force?: readonly string[] | undefined;
  /** Prints each line that has this word; "": all. */
  trace?: string | undefined;
}

export interface Sums {
  events: number;
  objects: number;
  steps: number;
  deaths: number;
}

/** How long everything may take to come to rest. */
const REST_MAX_MS = 24 * 3_600_000;

/** Far longer than anything waits, if something was restored. */
const RESTORED_ROUNDS = 12;

const MINUTE_MS = 60_000;

/** Within this, every call has an answer at rest, in ms. */
const ANSWER_MAX_MS = 10 * MINUTE_MS;

/** One run: some minutes under faults, then rest, then the oracle. All follows from the seed. */
export async function run(seed: number, options: Options = {}): Promise<Sums> {
  const world = new World(seed, 3);
  world.scheduler.trace = options.trace;
  try {
    return await new Run(world, options).all();
  } finally {
    world.end();
  }
}

class Run {
  readonly #world: World;
  readonly #book = new Book();
  readonly #client: Client;
  readonly #restores: Restores;
  readonly #does: Record<Odd, boolean>;
  #deaths = 0;
  /** What a task has thrown. */
  #failure: unknown = null;
  #tasks = 0;

  constructor(world: World, { force }: Options) {
    this.#world = world;
    this.#client = new Client(world, this.#book);
    this.#restores = new Restores(world, this.#book);
    const { random } = world.scheduler;
    const does = FORCES.map((name) => [name, force?.includes(name) ?? random.chance(ODDS[name])]);
    this.#does = Object.fromEntries(does);
  }

  async all(): Promise<Sums> {
    const { scheduler, stores, objects, queue } = this.#world;
    const { random } = scheduler;
    const does = this.#does;
    if (does.losses) objects.lossOdds = random.pick([0.01, 0.05, 0.15]);
    if (does.stores) Object.assign(stores.trouble, { lost: 0.05, failing: 0.1, refusing: random.pick([0, 0.05]) });
    if (does.queue) Object.assign(queue, { refusalOdds: 0.1, lostOdds: 0.05, forgetfulness: 0.1 });
    if (does.dead) queue.maxRetries = 2;
    this.#book.isKept = !does.squeezed;
    objects.prepare = (kind, target) => {
      if (does.segments && kind === "READERS")
        Object.assign(target, { segmentMaxBytes: 90_000 + random.below(20_000) });
      if (does.squeezed && kind === "TRACE_LOG")
        Object.assign(target, { keptMaxBytes: random.below(20_000), pastMaxBytes: random.below(60_000) });
    };
    if (does.shards) this.#world.deploy({ LOG_SHARDS: "4" });
    if (does.deaths) scheduler.afterEach = this.#mayKill(random.pick([0.003, 0.01, 0.03]));
    this.#task(() => this.#client.createJob());
    await scheduler.run(scheduler.nowMs + 2_000);
    const turns = 30 + random.below(60);
    for (let i = 0; i < turns; i++) {
      this.#turn(i);
      await scheduler.run(scheduler.nowMs + random.below(random.chance(0.1) ? 60_000 : 6_000));
      this.#rethrow();
      if (i % 8 === 0) for (const job of this.#book.jobs) checkDoubles(this.#world, this.#book, job);
    }
    const ledgers = await this.#rest();
    checkEnd(this.#world, this.#book, await this.#account(), ledgers);
    const buckets = [...stores.buckets.values()];
    const puts = buckets.reduce((sum, { puts: all }) => sum + all.length, 0);
    return { events: this.#book.sent.size, objects: puts, steps: scheduler.count, deaths: this.#deaths };
  }

  /** After any event, what it was for may die, or something else. */
  #mayKill(odds: number): (life: Life | null) => void {
    const { scheduler, objects } = this.#world;
    const { random } = scheduler;
    return (life) => {
      if (!scheduler.hasFaults || !random.chance(odds)) return;
      this.#deaths += 1;
      const things = [...objects.things.values()];
      const own = random.chance(0.7)
        ? things.find(({ instance }) => instance !== null && instance === life)
        : undefined;
      if (own !== undefined) own.kill();
      else if (random.chance(0.2)) this.#world.killIsolate();
      else if (things.length > 0) random.pick(things).kill();
    };
  }

  #task(task: () => Promise<unknown>): void {
    this.#tasks += 1;
    task()
      .catch((error: unknown) => {
        this.#failure ??= error;
      })
      .finally(() => {
        this.#tasks -= 1;
      });
  }
  #rethrow(): void {
    if (this.#failure !== null) throw this.#failure;
  }

  /** Something is done, or goes wrong. */
  #turn(i: number): void {
    const { scheduler, objects, queue, stores } = this.#world;
    const { random } = scheduler;
    const does = this.#does;
    const client = this.#client;
    const dice = random.next();
    if (dice < 0.25) {
      const key = does.keyed && random.chance(0.5) ? `key ${i}` : null;
      this.#task(() => client.post(client.mint(1 + random.below(4), false), key));
    } else if (dice < 0.5) this.#task(() => client.tail(client.mint(1 + random.below(3), true)));
    else if (dice < 0.56 && this.#book.jobs.length < 4) this.#task(() => client.createJob(does.past));
    else if (dice < 0.62) this.#task(() => this.#world.cron());
    else if (dice < 0.7 && does.changes) this.#task(() => client.changeJob());
    else if (dice < 0.72 && does.changes) this.#task(() => client.deleteJob(random.chance(0.4)));
    else if (dice < 0.76 && does.switches) this.#task(() => client.switchLogging());
    else if (dice < 0.78 && does.dead) this.#task(() => client.resend());
    else if (dice < 0.82 && does.past) this.#task(() => client.rerun());
    if (does.claims && random.chance(0.15)) this.#task(() => client.askComplete());
    if (does.restores && random.chance(0.1)) this.#restores.saveOrRestore();
    if (does.outages && random.chance(0.04)) {
      const thing = random.pick([...objects.things.values()]);
      thing.downUntilMs = scheduler.nowMs + random.below(600_000);
    }
    if (does.stores && random.chance(0.05) && stores.buckets.size > 0)
      stores.closedUntilMs.set(random.pick([...stores.buckets.keys()]), scheduler.nowMs + random.below(300_000));
    if (does.queue && random.chance(0.02)) queue.pausedUntilMs = scheduler.nowMs + random.below(300_000);
    if (random.chance(0.02)) this.#world.deploy(does.shards ? { LOG_SHARDS: random.pick(["1", "2", "4", "8"]) } : {});
    if (does.squeezed && random.chance(0.05)) this.#world.deploy({ LOG_KEEP_HOURS: random.pick(["0", "24"]) });
  }

  /** No more faults: everything comes to rest. @returns the ledgers of jobs that are there. */
  async #rest(): Promise<Map<Job, Ledger>> {
    const { scheduler, objects, queue, stores } = this.#world;
    scheduler.hasFaults = false;
    queue.pausedUntilMs = 0;
    stores.closedUntilMs.clear();
    objects.prepare = () => {};
    for (const thing of objects.things.values()) thing.downUntilMs = 0;
    this.#world.deploy();
    const untilMs = scheduler.nowMs + REST_MAX_MS;
    let waits: string | Map<Job, Ledger> = "nothing was asked";
    for (let round = 0; scheduler.nowMs < untilMs; round++) {
      await scheduler.run(scheduler.nowMs + (round < 10 ? 2 * MINUTE_MS : 20 * MINUTE_MS));
      this.#rethrow();
      if (this.#does.cron) await this.#ask(() => this.#world.cron());
      waits = await this.#ask(() => this.#waits());
      // Of jobs that were restored no ledger says whether anything waits.
      const isSure = this.#book.restores === 0 || round >= RESTORED_ROUNDS;
      if (typeof waits !== "string" && isSure) return waits;
    }
    throw new Fault(`it does not come to rest: ${waits}`);
  }

  /** Lets a call end. */
  async #ask<T>(call: () => Promise<T>): Promise<T> {
    const { scheduler } = this.#world;
    let answer: { value: T } | null = null;
    this.#task(async () => {
      answer = { value: await call() };
    });
    await scheduler.run(scheduler.nowMs + ANSWER_MAX_MS, () => answer !== null || this.#failure !== null);
    this.#rethrow();
    if (answer === null) throw new Fault("a call has no answer for ten minutes");
    return (answer as { value: T }).value;
  }

  /** What waits, in words, or the ledgers of all jobs. */
  async #waits(): Promise<string | Map<Job, Ledger>> {
    const { queue } = this.#world;
    if (this.#tasks > 1) return `${this.#tasks - 1} tasks`;
    if (queue.expired > 0) throw new Fault("the queue has deleted messages");
    if (queue.held.length > 0) return `${queue.held.length} messages in the queue`;
    const aside = await this.#client.resend();
    if (aside !== 0) return `${aside} set aside`;
    const ledgers = new Map<Job, Ledger>();
    for (const job of this.#book.jobs) {
      if (job.id === null || job.isDeleted || job.isRestored) continue;
      const answer = await this.#world.request("GET", `/logship/jobs/${job.id}/ledger`);
      if (answer?.status !== 200) return `the ledger of ${job.name}: ${JSON.stringify(answer)}`;
      const ledger = answer.body.result as Ledger;
      checkLedger(job.name, ledger);
      if (ledger.pending > 0 || ledger.unread.records > 0) return `${job.name}: ${JSON.stringify(ledger)}`;
      ledgers.set(job, ledger);
      if (job.reruns.length === 0) continue;
      const replays = await this.#world.request("GET", `/logship/jobs/${job.id}/replay`);
      const states = (replays?.body.result ?? []) as { id: string; state: string; failed: { records: number } }[];
      const open = states.filter(({ state }) => state === "running" || state === "waiting");
      if (replays?.status !== 200 || open.length > 0) return `${job.name}: ${JSON.stringify(states)}`;
    }
    const account = await this.#world.request("GET", "/logship/ledger");
    const { draining = [] } = (account?.body.result ?? {}) as { draining?: { id: number; pending: number | null }[] };
    const isRestored = (id: number): boolean => this.#book.jobs.some((job) => job.isRestored && job.id === id);
    const left = draining.filter(({ id }) => !isRestored(id));
    if (account?.status !== 200 || left.length > 0) return `draining: ${JSON.stringify(account)}`;
    return ledgers;
  }

  async #account(): Promise<AccountLedger> {
    const answer = await this.#ask(() => this.#world.request("GET", "/logship/ledger"));
    return answer?.body.result as AccountLedger;
  }
}
