import { seesSecrets } from "../access/roles.ts";
import { accountLedger } from "../account/ledger.ts";
import type { Config } from "../config.ts";
import type { StoredJob } from "../control/plane.ts";
import { chainStatus } from "../delivery/chain.ts";
import type { LogStatus } from "../delivery/types.ts";
import { maskDestination } from "../destinations/parse.ts";
import { outbox } from "../intake/outbox.ts";
import { destinationPurpose, unseal } from "../job/secrets.ts";
import { errorText, log } from "../log.ts";
import { within } from "../platform.ts";
import type { AppContext } from "./route.ts";

/** How long a job's own log, or what else is asked for a view, may take to say how it is, in ms; a list of jobs must not hang on one of them. */
const STATUS_MS = 3_000;

const LATE = Symbol("late");

export const SILENT = "the job's log does not answer at the moment";
const SEALED =
  "parked: neither SECRETS_KEY nor SECRETS_KEY_PREVIOUS opens the stored destination; set the key again, or send destination_conf again";

/**
 * A job as it is read: what its owner sent, the defaults of what was not sent (but no `output_options` and no sub-keys that were never there),
 * and how delivery goes. Whoever cannot change it does not see its secrets.
 * @param notAfterMs what {@link oldestOutside} said; one reading of it serves a whole list.
 */
export async function presentJob(
  c: AppContext,
  job: StoredJob,
  config: Config,
  notAfterMs: number | undefined,
): Promise<object> {
  const conf = unseal(job.config.destination, destinationPurpose(config.accountId), config.keys);
  const status = await logStatus(c.env, job.config.id, notAfterMs);
  const { body } = job;
  return {
    id: job.config.id,
    dataset: body.dataset,
    name: body.name ?? null,
    enabled: body.enabled ?? false,
    kind: "",
    destination_conf: conf === null ? "" : seesSecrets(c.var.caller) ? conf : maskDestination(conf),
    ...(body.output_options !== undefined && { output_options: body.output_options }),
    filter: body.filter ?? null,
    frequency: body.frequency ?? null,
    logpull_options: body.logpull_options ?? null,
    max_upload_bytes: body.max_upload_bytes === undefined ? 0 : body.max_upload_bytes,
    max_upload_records: body.max_upload_records === undefined ? 0 : body.max_upload_records,
    max_upload_interval_seconds: body.max_upload_interval_seconds === undefined ? 0 : body.max_upload_interval_seconds,
    ...(body.canary !== undefined && { canary: body.canary }),
    last_complete: time(status?.lastCompleteMs),
    last_error: status === undefined ? null : time(status?.lastErrorMs),
    error_message: conf === null ? SEALED : status === undefined ? SILENT : (status?.errorMessage ?? null),
    time_created: time(job.createdMs),
    time_modified: time(job.modifiedMs),
  };
}

/**
 * Time of intake, in ms since the epoch, of the oldest event that has reached no log: it has to come again, or has not even reached the queue, and
 * may yet be any job's. Infinity: there is none.
 * @returns undefined if the ledger or the outbox did not answer.
 */
export async function oldestOutside(env: Env): Promise<number | undefined> {
  const read = async (): Promise<number> => {
    const [unfinished, kept] = await Promise.all([
      accountLedger(env.ACCOUNT).oldestUnfinishedMs(),
      outbox(env.OUTBOX).status(),
    ]);
    return Math.min(unfinished ?? Number.POSITIVE_INFINITY, kept.oldestTakenMs ?? Number.POSITIVE_INFINITY);
  };
  return answerOf(read(), "ledger or outbox");
}

/**
 * How a job's log is; null if it has never been configured.
 * @param notAfterMs as in {@link chainStatus}.
 * @returns undefined if it did not answer.
 */
export async function logStatus(
  env: Env,
  id: number,
  notAfterMs: number | undefined,
): Promise<LogStatus | null | undefined> {
  return answerOf(chainStatus(env.LOG, id, notAfterMs), `the log of job ${id}`);
}

/** @returns undefined if there is no answer in time, or none at all. */
async function answerOf<T>(answer: Promise<T>, who: string): Promise<T | undefined> {
  try {
    const value = await within(STATUS_MS, answer, LATE);
    if (value !== LATE) return value;
    log.warn("no answer in time", { who });
  } catch (error) {
    log.warn("no answer", { who, error: errorText(error) });
  }
  return undefined;
}

function time(ms: number | null | undefined): string | null {
  return ms == null ? null : new Date(ms).toISOString();
}
