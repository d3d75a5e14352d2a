/**
 * A reader and its shard, without a queue and a control plane: configurations, fragments and
 * appends are the test's own.
 */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { vi } from "vitest";
import { concat } from "../../../src/base/bytes.ts";
import { readConfig } from "../../../src/config.ts";
import type { Fragment } from "../../../src/formats/object/encoder.ts";
import { FragmentBuilder } from "../../../src/formats/object/fragment.ts";
import { readTemplate } from "../../../src/formats/object/keys.ts";
import { batchTexts, NDJSON, type OutputFormat } from "../../../src/formats/output/format.ts";
import { destinationPurpose, encrypt } from "../../../src/formats/secrets/encrypted.ts";
import { ControlPlane } from "../../../src/index.ts";
import { type JobConfig, type JobsSnapshot, stampOf } from "../../../src/ship/job/config.ts";
import type { Append, PartHead } from "../../../src/ship/log/append-types.ts";
import { NO_HEALTH } from "../../../src/ship/log/function-health.ts";
import { traceLog } from "../../../src/ship/log/trace-log.ts";
import { Canary } from "../../../src/ship/reader/canary.ts";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import type { JobReader } from "../../../src/ship/reader/job-reader.ts";
import { Manifests } from "../../../src/ship/reader/manifests.ts";
import { Objects } from "../../../src/ship/reader/objects.ts";
import type { ObjectRow } from "../../../src/ship/reader/reader-rows.ts";
import { ReaderState } from "../../../src/ship/reader/reader-state.ts";
import { Uploads } from "../../../src/ship/reader/uploads.ts";
import { ACCOUNT } from "../../support/constants.ts";
import { readSingleMember } from "../../support/gzip-member.ts";
import { destinationConf } from "../../support/runtime/api.ts";
import { forgetting } from "../../support/runtime/forgetting.ts";
import { NOON } from "../../support/runtime/pipeline.ts";
import { id, job as plainJob } from "../consumer/scripted.ts";

export const DAY = Math.floor(NOON / 86_400_000);

/** Job 1, whose destination is a bucket of the scripted S3 endpoint. */
export function jobInto(bucket: string, fields: Partial<JobConfig> = {}): JobConfig {
  const config = readConfig(env);
  if (!config.ok) throw new Error(config.faults.join("; "));
  const destination = encrypt(destinationConf(bucket), destinationPurpose(ACCOUNT), config.config.keys);
  return plainJob(1, { destination, ...fields });
}

/** The default format but for what is named. */
export function format(fields: Partial<OutputFormat>): OutputFormat {
  return { ...NDJSON, ...fields };
}

/** Of what a bucket holds: an object, and not the probe of a log's first upload. */
export function isShipped({ key }: { key: string }): boolean {
  return !key.endsWith("/test.txt.gz");
}

/** Records as they are written, as the fragments of one consumer. */
export function fragmentsOf(output: OutputFormat, records: readonly string[]): Fragment[] {
  const builder = new FragmentBuilder(batchTexts(output).delimiter);
  for (const text of records) builder.add(text, DAY, NOON, NOON);
  return builder.finish();
}

/** Runs inside a reader of a job. */
export function inLog<T>(
  job: Pick<JobConfig, "id">,
  run: (log: JobReader, storage: DurableObjectStorage) => T | Promise<T>,
  node = 0,
): Promise<T> {
  return runInDurableObject(nodeAt(env.READERS, job.id, node), (log, { storage }) => run(log, storage));
}

/** The reader is full with what it reads next. */
export function fill(job: Pick<JobConfig, "id">, node = 0): Promise<void> {
  return inLog(job, (log) => void Object.assign(log, { segmentMaxBytes: 1 }), node);
}

const { join } = ControlPlane.prototype;
const jobs = new Map<number, JobConfig>();
let shards: number[] = [];
let changes = 0;
let parts = 0;

forgetting.add(() => {
  jobs.clear();
  shards = [];
});

export function shard(n = 0): ReturnType<typeof traceLog> {
  return traceLog(env.TRACE_LOG, n);
}

/** Forgets the jobs before: a shard tells each job that it knows of every change. */
export function forgetJobs(): void {
  jobs.clear();
}

/** All shards take a job, as it is now. Its readers do with what they read next. */
export async function change(job: JobConfig): Promise<void> {
  jobs.set(job.id, job);
  changes += 1;
  const snapshot: JobsSnapshot = { state: `test.${changes}.mark`, jobs: [...jobs.values()], optOuts: [], shards };
  // Shards that start ask what is in force.
  const answer = function (this: ControlPlane, n: number): JobsSnapshot {
    join.call(this, n, "");
    return snapshot;
  };
  vi.spyOn(ControlPlane.prototype, "join").mockImplementation(answer as never);
  for (const n of shards) await shard(n).configure(snapshot);
}

/** The same, and its readers take it. Nothing that they cut then is uploaded yet. */
export async function configure(job: JobConfig): Promise<void> {
  if (!shards.includes(0)) shards.push(0);
  await change(job);
  for (const n of shards) await read(job, n);
}

/**
 * The reader of a job reads all that its shard has. It begins no upload.
 * @throws if it does not.
 */
export async function read({ id: job }: Pick<JobConfig, "id">, n = 0): Promise<void> {
  const spies = [
    vi.spyOn(Uploads.prototype, "run").mockResolvedValue(),
    vi.spyOn(Canary.prototype, "begin").mockReturnValue(null),
    vi.spyOn(Manifests.prototype, "begin").mockReturnValue(null),
  ];
  await shard(n).drive([job]);
  for (const spy of spies) spy.mockRestore();
  const { unread } = (await shard(n).status([job])).jobs[job] ?? {};
  if (unread !== null) throw new Error(`job ${job} has not read: ${JSON.stringify(unread)}`);
}

/** A part of so many records. */
export function partOf(records: number, takenInMs = NOON): PartHead {
  parts += 1;
  const functions = [{ scriptName: "shop", records, lastEventMs: takenInMs, health: NO_HEALTH }];
  return { id: id(parts), takenInMs, keyed: false, bytes: 0, functions };
}

/** An append of just this. */
export function appendOf(fields: Partial<Append>): Append {
  return {
    ...{ v: 1, parts: [], records: [], prepared: [], queue: null },
    ...{ work: { batches: 0, entries: 0, offered: 0 }, state: "" },
    ...fields,
  };
}

/** Where, and when an append was taken in. */
interface Place {
  shard?: number;
  takenInMs?: number;
}

/** Appends fragments as what was prepared for a job, as one part of just these records. */
export async function prepared(
  { id: job }: Pick<JobConfig, "id">,
  fragments: Fragment[],
  place: Place = {},
): Promise<void> {
  const { shard: n = 0 } = place;
  const config = jobs.get(job);
  if (config === undefined) throw new Error(`job ${job} is not configured`);
  if (!shards.includes(n)) {
    shards.push(n);
    await change(config);
  }
  await appendPrepared(config, fragments, place);
}

/** The same for a job as its shard has it. */
export async function appendPrepared(
  config: JobConfig,
  fragments: Fragment[],
  { shard: n = 0, takenInMs = NOON }: Place = {},
): Promise<void> {
  const received = fragments.reduce((sum, { records }) => sum + records, 0);
  const part = partOf(received, takenInMs);
  const { hour, script } = readTemplate(config.path);
  const share = { id: config.id, stamp: stampOf(config), received, filtered: 0, sampledOut: 0 };
  const group = { output: config.output, template: { hour, script }, jobs: [share], parts: [part.id], fragments };
  await shard(n).append(appendOf({ parts: [part], prepared: [group] }));
}

/** The same, and the job's reader commits them. */
export async function append(job: Pick<JobConfig, "id">, fragments: Fragment[], place: Place = {}): Promise<void> {
  await prepared(job, fragments, place);
  await read(job, place.shard);
}

export interface CutObject {
  row: ObjectRow;
  bytes: Uint8Array<ArrayBuffer>;
}

/** The objects of a log as an upload reads them. Of those that are delivered the bytes are gone. */
export function cutObjects({ sql }: DurableObjectStorage): CutObject[] {
  const objects = new Objects(sql, new ReaderState(sql, ""));
  return objects.list(0, 1_000).map((row) => ({ row, bytes: concat([...objects.pieces(row)]) }));
}

/**
 * What an object holds. @throws if it is not one strict gzip member, with the constant header, of
 * valid UTF-8.
 */
export function textOfMember(bytes: Uint8Array): string {
  const read = readSingleMember(bytes);
  if (!read.ok) throw new Error(read.reason);
  if (read.header !== "1f8b08000000000000ff") throw new Error(`its header is ${read.header}`);
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(read.raw);
}

/**
 * The records of an object's text, in its order.
 * @param owed every record that may be in it, by the id that it begins with: `<id>`.
 * @throws if the text is anything else than prefix, record (delimiter record)*, suffix.
 */
export function recordsIn(text: string, output: OutputFormat, owed: ReadonlyMap<string, string>): string[] {
  const { prefix, delimiter, suffix } = batchTexts(output);
  const [before, between, after] = [prefix, delimiter, suffix].map((bytes) =>
    new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes),
  ) as [string, string, string];
  const records: string[] = [];
  const end = text.length - after.length;
  let at = 0;
  const take = (wanted: string, what: string): void => {
    if (!text.startsWith(wanted, at))
      throw new Error(`${what} is missing at ${at}: ${JSON.stringify(text.slice(at, at + 40))}`);
    at += wanted.length;
  };
  take(before, "the prefix");
  do {
    if (records.length > 0) take(between, "a delimiter");
    const id = /^<\d+>/.exec(text.slice(at, at + 20))?.[0] ?? "";
    const record = owed.get(id);
    if (record === undefined) throw new Error(`no record begins at ${at}: ${JSON.stringify(text.slice(at, at + 40))}`);
    take(record, `record ${id}`);
    records.push(record);
  } while (at < end);
  take(after, "the suffix");
  if (at !== text.length) throw new Error(`${text.length - at} characters follow the suffix`);
  return records;
}
