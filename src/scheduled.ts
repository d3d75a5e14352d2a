import type { Owed } from "./debts/debt-store.ts";
import { driveChain, retireChain } from "./delivery/chain.ts";
import type { JobReader } from "./delivery/job-reader.ts";
import type { UnreadableJob } from "./job/config.ts";
import { ID_MEMORY_MS } from "./limits.ts";
import { errorText, log } from "./log.ts";
import { answered, type Platform } from "./platform.ts";

/** How long the handler waits for uploads, in ms. The alarms take care of the rest. */
const WAIT_MS = 20_000;

/**
 * Deadline of one chore, the wait for uploads included, in ms. Chores are idempotent, so a slow one
 * may overlap with the next run.
 */
const CHORE_MS = 30_000;

/** Deadline of the debts, in ms: the logs wait for it. */
const DEBTS_MS = 10_000;

/** One piece of work of each run. */
export interface Chore {
  /** For the log. */
  what: string;
  run(): Promise<unknown>;
}

export interface ScheduledContext {
  /**
   * Every job, deleted ones included while their logs stand; null: they have never been read. It
   * has a deadline of its own.
   */
  jobs(): Promise<Pick<UnreadableJob, "id" | "deletedMs">[] | null>;
  /** Pays what is due. @returns what jobs are owed. */
  debts(): Promise<Owed>;
  logs: DurableObjectNamespace<JobReader>;
  /** Forgets a deleted job whose log is deleted. */
  forget(jobId: number): Promise<void>;
  /** Done in each run beside the logs: above all, what alarms should have done and did not. */
  chores: readonly Chore[];
  platform: Pick<Platform, "now">;
}

/**
 * A second clock beside the alarms: cuts and uploads all that waits, for every job, disabled and
 * draining ones included, and does the chores. All run side by side; one that fails or hangs delays
 * no other.
 * @throws if the jobs could not be read, so that the platform counts the run as failed. The alarms
 *   go on.
 */
export async function handleScheduled(context: ScheduledContext): Promise<void> {
  const { jobs, logs, forget, chores, platform } = context;
  const known = await jobs();
  const owed = await orUnknown(context.debts());
  const all: Chore[] = [
    ...(known ?? []).map((job) => ({
      what: `job ${job.id}`,
      async run() {
        const owedSinceMs = owed === null ? null : (owed.jobs.get(job.id)?.oldestTakenMs ?? Number.POSITIVE_INFINITY);
        await driveChain(logs, job.id, "scheduled", WAIT_MS, owedSinceMs);
        // Its ids tell what it has of that.
        if (owedSinceMs !== Number.POSITIVE_INFINITY) return;
        const old = job.deletedMs !== null && platform.now() - job.deletedMs > ID_MEMORY_MS;
        if (old && (await retireChain(logs, job.id, job.deletedMs ?? 0))) await forget(job.id);
      },
    })),
    ...chores,
  ];
  const results = await Promise.allSettled(all.map(async ({ what, run }) => answered(what, CHORE_MS, run())));
  results.forEach((result, i) => {
    if (result.status === "rejected")
      log.error("a scheduled chore failed", { chore: all[i]?.what, error: errorText(result.reason) });
  });
  if (known === null) throw new Error("the control plane does not answer, and no configuration is known yet");
}

/** null: the debts did not answer. The logs are driven all the same, and forget nothing. */
async function orUnknown(debts: Promise<Owed>): Promise<Owed | null> {
  try {
    return await answered("debts", DEBTS_MS, debts);
  } catch (error) {
    log.error("a scheduled chore failed", { chore: "debts", error: errorText(error) });
    return null;
  }
}
