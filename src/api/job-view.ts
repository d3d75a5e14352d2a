import type { Config } from "../config.ts";
import { accountLedger } from "../control/ledger.ts";
import type { StoredJob } from "../control/plane.ts";
import { destinationPurpose, unseal } from "../control/secrets.ts";
import { chainStatus } from "../delivery/chain.ts";
import type { LogStatus } from "../delivery/types.ts";
import { outbox } from "../intake/outbox.ts";
import { within } from "../platform.ts";

/** How long a job's own log may take to say how it is, in ms; a list of jobs must not hang on one of them. */
const STATUS_MS = 3_000;

const SILENT = "the job's log does not answer at the moment";
const SEALED =
  "parked: neither SECRETS_KEY nor SECRETS_KEY_PREVIOUS opens the stored destination; set the key again, or send destination_conf again";

/**
 * A job as it is read: what its owner sent, the defaults of what was not sent (but no `output_options` and no sub-keys that were never there),
 * and how delivery goes.
 */
export async function presentJob(env: Env, job: StoredJob, config: Config): Promise<object> {
  const conf = unseal(job.config.destination, destinationPurpose(config.accountId), config.keys);
  const status = await logStatus(env, job.config.id);
  const { body } = job;
  return {
    id: job.config.id,
    dataset: body.dataset,
    name: body.name ?? null,
    enabled: body.enabled ?? false,
    kind: "",
    destination_conf: conf ?? "",
    ...(body.output_options !== undefined && { output_options: body.output_options }),
    filter: body.filter ?? null,
    frequency: body.frequency ?? null,
    logpull_options: body.logpull_options ?? null,
    max_upload_bytes: body.max_upload_bytes === undefined ? 0 : body.max_upload_bytes,
    max_upload_records: body.max_upload_records === undefined ? 0 : body.max_upload_records,
    max_upload_interval_seconds: body.max_upload_interval_seconds === undefined ? 0 : body.max_upload_interval_seconds,
    last_complete: time(status?.lastCompleteMs),
    last_error: status === undefined ? null : time(status?.lastErrorMs),
    error_message: conf === null ? SEALED : status === undefined ? SILENT : (status?.errorMessage ?? null),
    time_created: time(job.createdMs),
    time_modified: time(job.modifiedMs),
  };
}

/** @returns undefined if the log or the ledger did not answer. */
async function logStatus(env: Env, id: number): Promise<LogStatus | null | undefined> {
  const read = async (): Promise<LogStatus | null> => {
    const [status, unfinished, kept] = await Promise.all([
      chainStatus(env.LOG, id),
      accountLedger(env.ACCOUNT).oldestUnfinishedMs(),
      outbox(env.OUTBOX).status(),
    ]);
    if (status === null || status.lastCompleteMs === null) return status;
    // What has to come again, or has not even reached the queue, has not reached any log, and may yet be the job's.
    const oldest = Math.min(unfinished ?? Number.POSITIVE_INFINITY, kept.oldestTakenMs ?? Number.POSITIVE_INFINITY);
    return { ...status, lastCompleteMs: Math.min(status.lastCompleteMs, oldest) };
  };
  try {
    return await within(STATUS_MS, read(), undefined);
  } catch (error) {
    console.warn({ message: "a log did not say how it is", job: id, error: String(error) });
    return undefined;
  }
}

function time(ms: number | null | undefined): string | null {
  return ms == null ? null : new Date(ms).toISOString();
}
