import { errorText, log } from "../../base/logger.ts";
import { within } from "../../base/platform.ts";
import type { Config } from "../../config.ts";
import { decrypt, destinationPurpose } from "../../formats/secrets/encrypted.ts";
import { termsOf } from "../../ship/destinations/kinds.ts";
import { maskDestination, parsePlace } from "../../ship/destinations/parse.ts";
import { ZEROES } from "../../ship/job/fields.ts";
import { datasetBelow } from "../../ship/job/job-schema.ts";
import { readJobConfig } from "../../ship/job/snapshot.ts";
import { jobStatus, type ShardsStatus, shardsStatus } from "../../ship/reader/job-status.ts";
import type { JobStatus } from "../../ship/reader/statuses.ts";
import { seesSecrets } from "../../state/access/roles.ts";
import type { StoredJob } from "../../state/control/plane.ts";
import type { Job } from "./docs/jobs.ts";
import { isoTime } from "./envelope.ts";
import { type AppContext, pathName } from "./route.ts";

/**
 * How long each part that is asked for a view may take, in ms: one silent log must not hold up a
 * list of jobs.
 */
const STATUS_MS = 3_000;

const LATE = Symbol("late");

export const SILENT = "the job's log does not answer";
export const UNCONFIRMED = "the job's log has not confirmed the job yet";
export const UNREADABLE =
  "a newer version of this service wrote the job, and this one cannot read it: its events wait; deploy the newer version again, or delete the job";
const SEALED =
  "delivery paused: neither SECRETS_KEY nor SECRETS_KEY_PREVIOUS opens the stored destination; set the key again, or send destination_conf again";

/** What an answer says of fields that were never sent; of the others it says nothing. */
const NOT_SENT = {
  ...{ name: null, filter: null, frequency: null, logpull_options: null },
  ...ZEROES,
};

/**
 * A job as the API shows it: what was sent, defaults for the rest (but no `output_options` and no
 * sub-keys that were never sent), and the state of its delivery. Secrets are masked for callers who
 * cannot change the job.
 * @param shards from {@link shardsOfLog}; one reading serves a whole list.
 */
export async function presentJob(
  c: AppContext,
  job: StoredJob,
  config: Config,
  shards: ShardsStatus | undefined,
): Promise<Job> {
  const conf = decrypt(job.config.destination, destinationPurpose(config.accountId), config.keys);
  const status = await logStatus(c.env, job.config.id, shards, true);
  const { spelled: _, ...sent } = job.body;
  return {
    id: job.config.id,
    ...NOT_SENT,
    ...sent,
    dataset: datasetBelow(pathName(c), job.body),
    enabled: sent.enabled ?? false,
    kind: "",
    destination_conf: conf === null ? "" : seesSecrets(c.var.caller) ? conf : maskDestination(conf),
    last_complete: isoTime(status?.lastCompleteMs ?? null),
    last_error: isoTime(status?.lastErrorMs ?? null),
    error_message:
      readJobConfig(job.config) === null
        ? UNREADABLE
        : conf === null
          ? SEALED
          : status === undefined
            ? SILENT
            : (status?.errorMessage ?? null),
    // Clients of the vendor's path compare what they read with what they know.
    ...(pathName(c) === "logship" && { guarantee: guaranteeOf(conf, config) }),
    time_created: isoTime(job.createdMs),
    time_modified: isoTime(job.modifiedMs),
  };
}

/** What a job's destination promises, in words; null: that cannot be read. */
function guaranteeOf(conf: string | null, { destinations }: Config): string | null {
  const place = conf === null ? null : parsePlace(conf, destinations);
  if (!place?.ok) return null;
  const { repeats } = termsOf(place.value);
  return repeats.once ? "once" : `at least once, id: ${repeats.id}`;
}

/** The same of a stored job. */
export function guaranteeOfJob({ config: { destination } }: StoredJob, config: Config): string | null {
  return guaranteeOf(decrypt(destination, destinationPurpose(config.accountId), config.keys), config);
}

/** @returns undefined if the log did not answer: then no job's part of it is known. */
export function shardsOfLog(env: Env, ids: readonly number[]): Promise<ShardsStatus | undefined> {
  return answerOf(shardsStatus(env, ids), "the log");
}

/**
 * The status of a job; null if no part of the log knows it.
 * @param before as of {@link shardsOfLog}: one reading serves a whole list.
 * @returns undefined if it did not answer.
 */
export async function logStatus(
  env: Env,
  id: number,
  before: ShardsStatus | undefined,
  claims = false,
): Promise<JobStatus | null | undefined> {
  if (before === undefined) return undefined;
  return answerOf(jobStatus(env, id, { before, claims }), `job ${id}`);
}

/** @returns undefined if it fails, or does not answer in time. */
export async function answerOf<T>(answer: Promise<T>, who: string): Promise<T | undefined> {
  try {
    const value = await within(STATUS_MS, answer, LATE);
    if (value !== LATE) return value;
    log.warn("no answer in time", { who });
  } catch (error) {
    log.warn("no answer", { who, error: errorText(error) });
  }
  return undefined;
}
