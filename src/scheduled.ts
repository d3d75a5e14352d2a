import { driveChain, segmentOf } from "./delivery/chain.ts";
import type { DeliveryLog } from "./delivery/delivery-log.ts";
import type { LogStatus } from "./delivery/types.ts";
import type { JobConfig } from "./job/config.ts";
import { ID_MEMORY_MS } from "./limits.ts";
import { errorText, log } from "./log.ts";
import { answered, type Platform } from "./platform.ts";

/** How long the handler waits for uploads, in ms; what is left goes on by the alarms. */
const WAIT_MS = 20_000;

/**
 * How long it waits for one chore, the wait for uploads included, in ms. A chore that takes longer may go on where it is done: to drive, to forget,
 * to sweep twice is as good as once.
 */
const CHORE_MS = 30_000;

export interface ScheduledContext {
  /** Every job, deleted ones included while their logs stand; null: they have never been read. It answers within a bounded time. */
  jobs(): Promise<JobConfig[] | null>;
  logs: DurableObjectNamespace<DeliveryLog>;
  /** Forgets a deleted job whose log has gone. */
  forget(jobId: number): Promise<void>;
  sweepLedger(): Promise<void>;
  /** Has the control plane bring what was not confirmed, if its alarm should have, and did not. */
  driveControl(): Promise<void>;
  /** Has the outbox sent what its alarm should have, and did not. */
  driveOutbox(): Promise<void>;
  /** Has looked whether functions are still attached at the platform. */
  checkAttachments(): Promise<void>;
  /** Has replays go on whose alarm should have fired, and did not. */
  driveReplays(): Promise<void>;
  /** Looks at everything, and tells what is wrong. */
  watch(): Promise<void>;
  platform: Pick<Platform, "now">;
}

/**
 * The second clock beside the alarms: cuts and uploads all that waits, for every job, disabled and draining ones included. Each log is driven on
 * its own; one that fails, or hangs, delays no other, and nothing hangs for long.
 * @throws if the jobs could not be read, so that the platform counts the run as failed; the alarms go on.
 */
export async function handleScheduled(context: ScheduledContext): Promise<void> {
  const {
    jobs,
    logs,
    forget,
    sweepLedger,
    driveControl,
    driveOutbox,
    driveReplays,
    checkAttachments,
    watch,
    platform,
  } = context;
  const all = await jobs();
  const chores = [
    ...(all ?? []).map((job) => ({
      what: `job ${job.id}`,
      async run(): Promise<void> {
        await driveChain(logs, job.id, "scheduled", WAIT_MS);
        const old = job.deletedMs !== null && platform.now() - job.deletedMs > ID_MEMORY_MS;
        if (old && (await retireChain(logs, job.id))) await forget(job.id);
      },
    })),
    { what: "ledger", run: async (): Promise<void> => sweepLedger() },
    { what: "control plane", run: async (): Promise<void> => driveControl() },
    { what: "outbox", run: async (): Promise<void> => driveOutbox() },
    { what: "replays", run: async (): Promise<void> => driveReplays() },
    { what: "attachments", run: async (): Promise<void> => checkAttachments() },
    { what: "watch", run: async (): Promise<void> => watch() },
  ];
  const results = await Promise.allSettled(chores.map(({ what, run }) => answered(what, CHORE_MS, run())));
  results.forEach((result, i) => {
    if (result.status === "rejected") {
      log.error("a scheduled chore failed", { chore: chores[i]?.what, error: errorText(result.reason) });
    }
  });
  if (all === null) throw new Error("the control plane does not answer, and no configuration is known yet");
}

/**
 * Deletes the log of a job that was deleted long ago, last segment first; all of it or nothing, as what one of them still holds belongs to the counts of the
 * whole. @returns whether all of it is gone.
 */
async function retireChain(logs: DurableObjectNamespace<DeliveryLog>, id: number): Promise<boolean> {
  let last = 0;
  for (;;) {
    const status: LogStatus | null = await segmentOf(logs, id, last).status();
    if (status !== null && (status.counts.pending > 0 || status.setAside.objects > 0)) return false;
    if (!status?.sealed) break;
    last += 1;
  }
  for (let segment = last; segment >= 0; segment--) if (!(await segmentOf(logs, id, segment).retire())) return false;
  return true;
}
