import * as z from "zod";
import { ALL_FIELDS, EXTRA_FIELDS, FIELD_NAMES, ROW_FIELDS } from "../../formats/record/fields.ts";
import { JOB_FORMAT, type JobConfig, type JobsSnapshot, type UnreadableJob } from "./config.ts";
import { LIMIT_SETTINGS, SWITCH_SETTINGS } from "./fields.ts";
import { readSearches } from "./searches.ts";

/**
 * Job configurations from durable objects are validated before use: these may run an older version
 * of this code, or a newer one. What is missing or of another type gets no default: a job without
 * its filter would ship what it must not. Unknown properties are kept. A property that is added
 * later is optional here, and the code that uses it has its default: jobs are stored as they were
 * written, and compared as they are.
 */

/**
 * Versions count changes from 1, so this is far beyond any. Near it, numbers would lose their
 * lowest digits.
 */
const VERSION_MAX = 1e15;

const Version = z.int().min(0).max(VERSION_MAX);

/** As in {@link JobsSnapshot}. */
const State = z.string().regex(/^[0-9A-Za-z]{1,64}\.[0-9]{1,15}\.[0-9A-Za-z]{1,64}$/);

// A window that ends before it begins is empty, and no reason to refuse the whole snapshot.
const Window = z.looseObject({ fromMs: z.int().min(0), untilMs: z.int().min(0).nullable() });

const Job: z.ZodType<JobConfig> = z.looseObject({
  id: z.int().min(1),
  version: Version,
  modifiedVersion: Version,
  outputVersion: Version,
  destinationVersion: Version,
  mark: z.string(),
  windows: z.array(Window),
  filter: z.string().nullable(),
  sampleRate: z.number().gt(0).lte(1),
  output: z.looseObject({
    fieldNames: z.array(z.enum([ALL_FIELDS, ...FIELD_NAMES, ...EXTRA_FIELDS, ...ROW_FIELDS])).nullable(),
    // A type that a release does not know needs no floor: it cannot read the job.
    type: z.enum(["ndjson", "csv", "parquet"]),
    batchPrefix: z.string(),
    batchSuffix: z.string(),
    recordPrefix: z.string(),
    recordSuffix: z.string(),
    recordDelimiter: z.string(),
    fieldDelimiter: z.string(),
    recordTemplate: z.string(),
    escapeDollarBrace: z.boolean(),
    escapeFormulas: z.literal(true).exactOptional(),
    truncate: z.literal(false).exactOptional(),
    rows: z.literal("log").exactOptional(),
  }),
  limits: LIMIT_SETTINGS,
  destination: z.string(),
  ...SWITCH_SETTINGS,
  path: z.string(),
  deletedMs: z.int().min(0).nullable(),
  discard: z.boolean(),
  since: z.int().min(0).exactOptional(),
  rerunOf: z.int().min(1).exactOptional(),
  floor: z.int().min(1).max(JOB_FORMAT).exactOptional(),
});

const Identity = z.looseObject({ id: z.int().min(1) });
const Windows = z.looseObject({ windows: z.array(Window) });
const End = z.looseObject({ deletedMs: z.int().min(0).nullable(), discard: z.boolean() });

const Snapshot = z.looseObject({
  state: State,
  jobs: z.array(Identity),
  optOuts: z.array(z.looseObject({ scriptName: z.string(), windows: z.array(Window) })),
  shards: z.array(z.int().min(0).max(63)).min(1),
});

/**
 * The value itself, if all of it can be read; without the jobs that cannot be, which are named; or
 * null, if it is no snapshot.
 */
export function readSnapshot(value: unknown): JobsSnapshot | null {
  if (!Snapshot.safeParse(value).success) return null;
  const { searches, ...rest } = value as JobsSnapshot;
  const snapshot = searches === undefined ? (value as JobsSnapshot) : { ...rest, searches: readSearches(searches) };
  const unreadable = snapshot.jobs.filter((job) => readJobConfig(job) === null);
  if (unreadable.length === 0) return snapshot;
  const jobs = snapshot.jobs.filter((job) => !unreadable.includes(job));
  return { ...snapshot, jobs, unreadable: unreadable.map(knownOf) };
}

/**
 * What is known of a job that newer code may have written. Where its windows cannot be read, it may
 * have been enabled at any time.
 */
export function knownOf(job: JobConfig): UnreadableJob {
  const windows = Windows.safeParse(job).success ? job.windows : [{ fromMs: 0, untilMs: null }];
  const { deletedMs, discard } = End.safeParse(job).success ? job : { deletedMs: null, discard: false };
  return { id: job.id, windows, deletedMs, discard };
}

/** The same for one job. */
export function readJobConfig(value: unknown): JobConfig | null {
  return Job.safeParse(value).success ? (value as JobConfig) : null;
}

/** Whether it is a state of a control plane; "" is not. */
export function isState(value: unknown): value is JobsSnapshot["state"] {
  return State.safeParse(value).success;
}

/** Whether nothing has changed since a state. Never true without a known one. */
export function isUnchanged(answer: unknown, asked: string): boolean {
  if (asked === "" || typeof answer !== "object" || answer === null) return false;
  const { state, jobs } = answer as { state?: unknown; jobs?: unknown };
  return jobs === null && state === asked;
}
