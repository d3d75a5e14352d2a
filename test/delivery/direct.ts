/**
 * A job's log spoken to as its consumer and its control plane do, without either: configurations,
 * fragments and appends are the test's own.
 */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { concat, utf8Length } from "../../src/bytes.ts";
import { readConfig } from "../../src/config.ts";
import { nodeAt } from "../../src/delivery/job-nodes.ts";
import type { JobReader } from "../../src/delivery/job-reader.ts";
import { LogState } from "../../src/delivery/log-state.ts";
import { Objects } from "../../src/delivery/objects.ts";
import type { ObjectRow } from "../../src/delivery/rows.ts";
import type { JobConfig } from "../../src/job/config.ts";
import { destinationPurpose, seal } from "../../src/job/secrets.ts";
import type { Fragment } from "../../src/object/encoder.ts";
import { FragmentBuilder } from "../../src/object/fragment.ts";
import { batchTexts, NDJSON, type OutputFormat } from "../../src/output/format.ts";
import { job as plainJob } from "../pipeline/scripted.ts";
import { ACCOUNT } from "../support/constants.ts";
import { readSingleMember } from "../support/gzip-member.ts";
import { destinationConf } from "../support/runtime/api.ts";
import { NOON } from "../support/runtime/pipeline.ts";

export const DAY = Math.floor(NOON / 86_400_000);

/** Job 1, whose destination is a bucket of the scripted S3 endpoint. */
export function jobInto(bucket: string, fields: Partial<JobConfig> = {}): JobConfig {
  const config = readConfig(env);
  if (!config.ok) throw new Error(config.faults.join("; "));
  const destination = seal(destinationConf(bucket), destinationPurpose(ACCOUNT), config.config.keys);
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
  for (const text of records) builder.add(text, utf8Length(text), DAY, NOON, NOON);
  return builder.finish();
}

/** Runs inside a job's log. */
export function inLog<T>(
  job: Pick<JobConfig, "id">,
  run: (log: JobReader, storage: DurableObjectStorage) => T | Promise<T>,
): Promise<T> {
  return runInDurableObject(nodeAt(env.READERS, job.id, 0), (log, { storage }) => run(log, storage));
}

let messages = 0;

/**
 * Commits fragments as one message of just these records. @throws if the log does not take them.
 */
export function append(log: JobReader, version: number, fragments: Fragment[]): void {
  messages += 1;
  const id = messages.toString(16).padStart(32, "0");
  const received = fragments.reduce((sum, { records }) => sum + records, 0);
  const message = { id, takenInMs: NOON, keyed: false, received, filtered: 0, sampledOut: 0 };
  const result = log.append({ version, messages: [message], fragments, queueDoneMs: 0 });
  if (result.kind !== "taken") throw new Error(`the log says ${result.kind}`);
}

export interface CutObject {
  row: ObjectRow;
  bytes: Uint8Array<ArrayBuffer>;
}

/** The objects of a log as an upload reads them. Of those that are delivered the bytes are gone. */
export function cutObjects({ sql }: DurableObjectStorage): CutObject[] {
  const objects = new Objects(sql, new LogState(sql, ""));
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
