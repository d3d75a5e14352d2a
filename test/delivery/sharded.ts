/**
 * A log that grows shards, spoken to as consumers do: messages whose hashes are chosen, and
 * consumers that know more or less of the log.
 */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { vi } from "vitest";
import { appendToChain } from "../../src/delivery/append-to-chain.ts";
import { configureChain } from "../../src/delivery/job.ts";
import { eachNode, nodeAt } from "../../src/delivery/job-nodes.ts";
import { JobReader } from "../../src/delivery/job-reader.ts";
import { FIRST, KnownLog } from "../../src/delivery/known-logs.ts";
import type { JobConfig } from "../../src/job/config.ts";
import type { Append } from "../../src/object/append.ts";
import { NDJSON } from "../../src/output/format.ts";
import type { TakenId } from "../../src/storage/id-memory.ts";
import type { Split } from "../../src/storage/splits.ts";
import { freshBucket, NOON } from "../support/runtime/pipeline.ts";
import type { BucketControl } from "../support/s3-control.ts";
import { fragmentsOf, jobInto } from "./direct.ts";

export const MINUTE_MS = 60_000;

/** @param hash what decides the shard: 0–255. */
export function message(n: number, hash: number, takenInMs = NOON, keyed = false): TakenId {
  const id = `00${hash.toString(16).padStart(2, "0")}${n.toString(16).padStart(28, "0")}`;
  return { id, takenInMs, keyed };
}

/** Makes appends of these messages: of each one record, which is its id. */
export function builder(job: JobConfig, messages: readonly TakenId[]): (without: ReadonlySet<string>) => Append {
  return (without) => {
    const own = messages.filter(({ id }) => !without.has(id));
    return {
      version: job.version,
      messages: own.map((each) => ({ ...each, received: 1, filtered: 0, sampledOut: 0 })),
      fragments:
        own.length === 0
          ? []
          : fragmentsOf(
              NDJSON,
              own.map(({ id }) => `${id}\n`),
            ).map((fragment) => ({ ...fragment, oldestTakenMs: Math.min(...own.map((each) => each.takenInMs)) })),
      queueDoneMs: 0,
    };
  };
}

export class ShardedLog {
  job: JobConfig;
  /** Its store, to be scripted. */
  readonly control: BucketControl;

  constructor(fields: Partial<JobConfig> = {}) {
    const { name, control } = freshBucket();
    this.control = control;
    this.job = jobInto(name, fields);
  }

  static async create(fields?: Partial<JobConfig>): Promise<ShardedLog> {
    const log = new ShardedLog(fields);
    await configureChain(env.READERS, log.job);
    return log;
  }

  /** A consumer offers messages. @param known what it knows; by default nothing. */
  offer(
    messages: readonly TakenId[],
    { known = new KnownLog(), isSuspect = false, job = this.job } = {},
  ): ReturnType<typeof appendToChain> {
    const candidates = messages.map((each) => ({ ...each, isSuspect }));
    return appendToChain(env.READERS, job, builder(job, messages), candidates, known);
  }

  /** Brings a change of the job to all of its log. */
  async change(fields: Partial<JobConfig>): Promise<void> {
    this.job = { ...this.job, version: this.job.version + 1, ...fields };
    await configureChain(env.READERS, this.job);
  }

  run<T>(node: number, run: (log: JobReader, storage: DurableObjectStorage) => T | Promise<T>): Promise<T> {
    return runInDurableObject(nodeAt(env.READERS, this.job.id, node), (log, { storage }) => run(log, storage));
  }

  split(node = 0): Promise<void> {
    return this.run(node, (log) => log.splitting.split());
  }

  /** The next append finds the node full. */
  fill(node: number): Promise<void> {
    return this.run(node, (log) => {
      log.segmentMaxBytes = 1;
    });
  }

  async nodes(): Promise<number[]> {
    return (await eachNode(env, this.job.id, (log) => log.holds([]))).map(({ node }) => node);
  }

  /** How many nodes hold each of these messages. */
  async copies(messages: readonly TakenId[]): Promise<number[]> {
    const answers = await eachNode(env, this.job.id, (log) => log.holds(messages));
    return messages.map(({ id }) => answers.filter(({ answer }) => answer.ids.includes(id)).length);
  }

  splitsOf(node: number): Promise<Split[]> {
    return this.run(node, (log) => [...(log.holds([]).splits ?? [])]);
  }

  /** When the last split of a node takes effect, in ms. */
  async beyond(node = 0): Promise<number> {
    return (await this.splitsOf(node)).at(-1)?.fromMs ?? Number.NaN;
  }

  /** How many messages each node has received, by node. */
  async received(): Promise<Record<number, number>> {
    const statuses = await eachNode(env, this.job.id, async (log) => log.status());
    return Object.fromEntries(statuses.map(({ node, answer }) => [node, answer.counts.received]));
  }

  versions(): Promise<number[]> {
    return eachNode(env, this.job.id, async (log, node) =>
      log.configure({ ...this.job, version: 0 }, node, FIRST),
    ).then((answers) => answers.map(({ answer }) => answer.version));
  }
}

/** Counts the calls of logs from now on, by method and node. */
export function countCalls(methods: readonly ("append" | "holds" | "configure")[]): { read(): string[] } {
  const calls: string[] = [];
  for (const method of methods) {
    const original = JobReader.prototype[method] as (...args: unknown[]) => never;
    vi.spyOn(JobReader.prototype, method).mockImplementation(function (this: JobReader, ...args: unknown[]) {
      const { ctx } = this as unknown as { ctx: DurableObjectState };
      calls.push(`${method} ${ctx.id.name?.split(" ").at(-1)}`);
      return original.apply(this, args);
    });
  }
  return { read: () => calls.splice(0) };
}
