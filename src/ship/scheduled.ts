import { DEDUP_MS } from "../base/limits.ts";
import { errorText, log } from "../base/logger.ts";
import { answered, type Platform } from "../base/platform.ts";
import type { UnreadableJob } from "./job/config.ts";
import { driveNodes, retireNodes } from "./reader/all-readers.ts";
import type { ReaderBindings } from "./reader/job-nodes.ts";

/** How long the handler waits for uploads, in ms. The alarms take care of the rest. */
const WAIT_MS = 20_000;

/**
 * Deadline of one chore, the wait for uploads included, in ms. Chores are idempotent, so a slow one
 * may overlap with the next run.
 */
const CHORE_MS = 30_000;

/** Deadline of the log, in ms: the readers' own uploads wait for it. */
const LOG_MS = 10_000;

/** One piece of work of each run. */
export interface Chore {
  /** For the log. */
  what: string;
  run(): Promise<unknown>;
}

export interface ScheduledContext {
  /**
   * Every job, deleted ones included while their readers stand, and the shards of the log; null:
   * they have never been read. It has a deadline of its own.
   */
  jobs(): Promise<{ jobs: Pick<UnreadableJob, "id" | "deletedMs">[]; shards: readonly number[] } | null>;
  /** Has readers read what is unread. */
  driveLog(): Promise<void>;
  /** Whether a job that was deleted long ago has nothing anywhere, and can be forgotten. */
  isOver(jobId: number, deletedMs: number): Promise<boolean>;
  env: ReaderBindings;
  /** Forgets a deleted job whose readers are deleted. */
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
  const { jobs, env, forget, chores, platform } = context;
  const known = await jobs();
  await driveLog(context);
  const all: Chore[] = [
    ...(known?.jobs ?? []).map((job) => ({
      what: `job ${job.id}`,
      async run() {
        await driveNodes(env, job.id, "scheduled", WAIT_MS, known?.shards);
        const { deletedMs } = job;
        if (deletedMs === null || platform.now() - deletedMs <= DEDUP_MS) return;
        if (!(await context.isOver(job.id, deletedMs))) return;
        if (await retireNodes(env, job.id, deletedMs)) await forget(job.id);
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

/** If the log does not answer, the readers deliver what they have. */
async function driveLog(context: Pick<ScheduledContext, "driveLog">): Promise<void> {
  try {
    await answered("the log", LOG_MS, context.driveLog());
  } catch (error) {
    log.error("a scheduled chore failed", { chore: "the log", error: errorText(error) });
  }
}
