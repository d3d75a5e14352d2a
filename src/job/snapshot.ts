import * as z from "zod";
import { FIELD_NAMES } from "../record/fields.ts";
import type { JobConfig, JobsSnapshot } from "./config.ts";

/**
 * Job configurations from durable objects are validated before use: these may run an older version
 * of this code, or a newer one. What is missing or of another type gets no default: a job without
 * its filter would ship what it must not. Unknown properties are kept.
 */

/**
 * Versions count changes from 1, so this is far beyond any. Near it, numbers would lose their
 * lowest digits.
 */
const VERSION_MAX = 1e15;

const Version = z.int().min(0).max(VERSION_MAX);

/** As in {@link JobsSnapshot}. Older states have an empty mark, or none. */
const State = z.string().regex(/^[0-9A-Za-z]{1,64}\.[0-9]{1,15}(\.[0-9A-Za-z]{0,64})?$/);

// A window that ends before it begins is empty, and no reason to refuse the whole snapshot.
const Window = z.looseObject({ fromMs: z.int().min(0), untilMs: z.int().min(0).nullable() });

const Job: z.ZodType<JobConfig> = z.looseObject({
  id: z.int().min(1),
  version: Version,
  modifiedVersion: Version,
  outputVersion: Version,
  destinationVersion: Version,
  optOutVersion: Version,
  windows: z.array(Window),
  filter: z.string().nullable(),
  sampleRate: z.number().gt(0).lte(1),
  output: z.looseObject({
    fieldNames: z.array(z.enum(FIELD_NAMES)).nullable(),
    type: z.enum(["ndjson", "csv"]),
    batchPrefix: z.string(),
    batchSuffix: z.string(),
    recordPrefix: z.string(),
    recordSuffix: z.string(),
    recordDelimiter: z.string(),
    fieldDelimiter: z.string(),
    recordTemplate: z.string(),
    escapeDollarBrace: z.boolean(),
  }),
  limits: z.looseObject({ bytes: z.int().min(1), records: z.int().min(1), intervalMs: z.int().min(1) }),
  destination: z.string(),
  // Missing in older stored configurations.
  canary: z.boolean().exactOptional(),
  path: z.string(),
  deletedMs: z.int().min(0).nullable(),
  discard: z.boolean(),
});

const Snapshot: z.ZodType<JobsSnapshot> = z.looseObject({
  state: State,
  jobs: z.array(Job),
  optOuts: z.array(z.looseObject({ scriptName: z.string(), windows: z.array(Window) })),
  optOutVersion: Version,
});

/** The value itself, if it is a whole snapshot; else null. */
export function readSnapshot(value: unknown): JobsSnapshot | null {
  return Snapshot.safeParse(value).success ? (value as JobsSnapshot) : null;
}

/** The same for one job. */
export function readJobConfig(value: unknown): JobConfig | null {
  return Job.safeParse(value).success ? (value as JobConfig) : null;
}

/** Whether it is a state of a control plane; "" is not. */
export function isState(value: unknown): value is JobsSnapshot["state"] {
  return State.safeParse(value).success;
}

/** Whether it is a version of a job; 0 is before any. */
export function isVersion(value: unknown): value is number {
  return Version.safeParse(value).success;
}
