import { DurableObject } from "cloudflare:workers";
import { controlPlane } from "../control/plane.ts";
import { appendToChain } from "../delivery/append-to-chain.ts";
import { KnownLogs } from "../delivery/known-logs.ts";
import { DEBTS_SHARD_MAX_BYTES, KEEP_MAX_BYTES } from "../limits.ts";
import { errorText, log } from "../log.ts";
import { JobsCache } from "../pipeline/jobs-cache.ts";
import { answered, platform } from "../platform.ts";
import { shardOf } from "../queue/blob-store.ts";
import type { Debt } from "../queue/debt.ts";
import { Alarm, LOST_AFTER_MS } from "../storage/alarm.ts";
import { migrate } from "../storage/migrate.ts";
import { DebtRows, type OwedToJob } from "./debt-rows.ts";
import { payJob } from "./pay.ts";
import { DEBT_STEPS } from "./schema.ts";

/** How long one alarm pays, in ms. */
const PAY_MS = 60_000;

/** Deadline of one append, in ms. One that comes after all changes nothing when it is repeated. */
const APPEND_MS = 10_000;

/** How long an alarm that could not begin waits for the next one, in ms. */
const LOOK_AGAIN_MS = 15_000;

/** Deadline of a question to one shard, in ms. */
const ASK_MS = 5_000;

/**
 * What jobs could not take waits here until they can, so that the message is acknowledged and no
 * other job waits. One of sixteen shards, by the first digit of the message's id. docs/delivery.md
 */
export class DebtStore extends DurableObject<Env> {
  readonly #rows: DebtRows;
  readonly #alarm: Alarm;
  readonly #jobs = new JobsCache();
  readonly #logs = new KnownLogs();
  /** In this instance. */
  #paying = false;
  /** Overridden by tests. */
  maxBytes = DEBTS_SHARD_MAX_BYTES;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#rows = new DebtRows(ctx.storage.sql);
    this.#alarm = new Alarm(ctx.storage);
    ctx.blockConcurrencyWhile(async () => {
      migrate(ctx.storage, DEBT_STEPS);
      await this.#alarm.load();
    });
  }

  /**
   * Keeps what jobs owe. Idempotent by the message's id.
   * @throws if it is full: then the message has to stay in the queue.
   */
  owe(debts: readonly Debt[]): void {
    if (this.ctx.storage.sql.databaseSize >= this.maxBytes) throw new Error("the debts are full");
    const now = platform.now();
    this.#alarm.transaction(() => {
      for (const debt of debts) this.#rows.add(debt);
      this.#alarm.set(Math.max(this.#rows.nextMs(), now + LOOK_AGAIN_MS), now);
    });
  }

  owed(): OwedInShard {
    return { jobs: this.#rows.owed(), storedBytes: this.ctx.storage.sql.databaseSize };
  }

  /** Pays what is due. It must not throw: the platform drops an alarm after six failed tries. */
  override async alarm(): Promise<void> {
    this.#alarm.cleared();
    try {
      await this.#pay();
    } catch (error) {
      log.error("debts could not be paid", { durable_object: "DebtStore", error: errorText(error) });
    }
    this.#arm();
  }

  /** For a second, independent clock: sets the alarm if it is not set, or lost. */
  async drive(): Promise<void> {
    const now = platform.now();
    const alarmMs = await this.ctx.storage.getAlarm();
    const isLost = alarmMs === null || alarmMs < now - LOST_AFTER_MS;
    if (!isLost || this.#paying) return;
    this.#alarm.cleared();
    this.#alarm.transaction(() => this.#alarm.set(this.#rows.nextMs(), now));
  }

  async #pay(): Promise<void> {
    if (this.#paying) return;
    this.#paying = true;
    try {
      const untilMs = platform.now() + PAY_MS;
      const jobs = await this.#jobs.refresh(controlPlane(this.env.CONTROL));
      if (jobs === null) throw new Error("no configuration is known");
      for (const job of this.#rows.due(platform.now())) {
        if (platform.now() > untilMs) return;
        const change = (run: () => void): void => void this.#alarm.transaction(run);
        try {
          await payJob(job, jobs, this.#rows, {
            append: (config, build, messages) =>
              answered(
                `the log of job ${job}`,
                APPEND_MS,
                appendToChain(this.env.READERS, config, build, messages, this.#logs.of(job)),
              ),
            platform,
            isOver: () => platform.now() > untilMs,
            commit: change,
          });
        } catch (error) {
          log.warn("a job cannot be paid yet", { job, error: errorText(error) });
          change(() => this.#rows.failed(job, platform.now()));
        }
      }
    } finally {
      this.#paying = false;
    }
  }

  #arm(): void {
    const now = platform.now();
    const next = this.#rows.nextMs();
    this.#alarm.set(next <= now ? now + LOOK_AGAIN_MS : next, now);
  }
}

/** What each job is owed, and the size of the shard in bytes. */
interface OwedInShard {
  jobs: (OwedToJob & { job: number })[];
  storedBytes: number;
}

/** First digits of ids: a shard each. */
const SHARDS = [..."0123456789abcdef"];

/** All debts of the account. */
export interface Owed {
  /** By job id. */
  jobs: ReadonlyMap<number, OwedToJob>;
  /** Of the largest shard. */
  storedBytes: number;
}

type Stores = DurableObjectNamespace<DebtStore>;

const shard = (stores: Stores, digit: string): DurableObjectStub<DebtStore> => stores.getByName(`debts ${digit}`);

/** Keeps what jobs owe, each message in its shard. @throws if a shard did not keep its part. */
export async function owe(stores: Stores, debts: readonly Debt[]): Promise<void> {
  const parts = [...Map.groupBy(debts, ({ taken }) => shardOf(taken.id))];
  await Promise.all(
    parts.map(async ([digit, part]) => {
      for (const call of callsOf(part)) await shard(stores, digit).owe(call);
    }),
  );
}

/** Splits debts into calls within the size of one. */
function callsOf(debts: readonly Debt[]): Debt[][] {
  const calls: Debt[][] = [];
  let bytes = 0;
  for (const debt of debts) {
    const size = debt.body.byteLength + (debt.blob?.byteLength ?? 0);
    const last = calls.at(-1);
    if (last === undefined || bytes + size > KEEP_MAX_BYTES) {
      calls.push([debt]);
      bytes = size;
    } else {
      last.push(debt);
      bytes += size;
    }
  }
  return calls;
}

/** What all jobs are owed. @throws if a shard does not answer. */
export async function owedToAll(stores: Stores): Promise<Owed> {
  const ask = async (digit: string): Promise<OwedInShard> => shard(stores, digit).owed();
  const answers = await Promise.all(SHARDS.map((digit) => answered(`the debts ${digit}`, ASK_MS, ask(digit))));
  const jobs = new Map<number, OwedToJob>();
  for (const { job, ...owed } of answers.flatMap((answer) => answer.jobs)) {
    const sum = jobs.get(job) ?? { messages: 0, records: 0, oldestTakenMs: Number.POSITIVE_INFINITY };
    jobs.set(job, {
      messages: sum.messages + owed.messages,
      records: sum.records + owed.records,
      oldestTakenMs: Math.min(sum.oldestTakenMs, owed.oldestTakenMs),
    });
  }
  return { jobs, storedBytes: Math.max(...answers.map(({ storedBytes }) => storedBytes)) };
}

const NONE: Owed = { jobs: new Map(), storedBytes: 0 };

/** As {@link owedToAll}, if any debt was noted since the last time that there was none. */
export async function owedIfAny(stores: Stores, ledger: { owedNoted(): Promise<number | null> }): Promise<Owed> {
  return (await ledger.owedNoted()) === null ? NONE : owedToAll(stores);
}

/**
 * Does in each shard what its alarm should have done, and notes when there are no debts any more.
 * @returns what is owed afterwards.
 */
export async function driveDebts(
  stores: Stores,
  ledger: { owedNoted(): Promise<number | null>; nothingOwed(notedMs: number): Promise<void> },
): Promise<Owed> {
  const notedMs = await ledger.owedNoted();
  if (notedMs === null) return NONE;
  await Promise.all(SHARDS.map((digit) => shard(stores, digit).drive()));
  const owed = await owedToAll(stores);
  if (owed.jobs.size === 0) await ledger.nothingOwed(notedMs);
  return owed;
}
