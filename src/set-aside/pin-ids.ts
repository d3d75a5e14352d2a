import { pinChainIds } from "../delivery/chain.ts";
import type { JobReader } from "../delivery/job-reader.ts";
import { errorText, log } from "../log.ts";
import { answered } from "../platform.ts";
import type { LogShards } from "../trace-log/log-shards.ts";
import type { AsideAsked } from "../trace-log/set-aside-messages.ts";

/** Messages of one round; the rest follows in the next. */
const MESSAGES_MAX = 1_000;

/** Deadline for the log of one job, in ms. */
const LOG_MS = 5_000;

/**
 * Has the logs remember for good which set-aside messages they hold, while they still know: these
 * may be sent again after all other ids of their time are forgotten.
 */
export async function pinIds(
  ledger: Pick<LogShards, "asideToAsk" | "asideAsked">,
  logs: DurableObjectNamespace<JobReader>,
): Promise<void> {
  const { messages, jobs } = await ledger.asideToAsk(MESSAGES_MAX);
  if (messages.length === 0) return;
  const ids = messages.map(({ taken }) => taken);
  const answers = await Promise.all(
    jobs.map(async (job): Promise<{ job: number; forgotten: Set<string> | null }> => {
      try {
        const forgotten = await answered(`the log of job ${job}`, LOG_MS, pinChainIds(logs, job, ids));
        return { job, forgotten };
      } catch (error) {
        log.warn("a log could not be asked what it holds", { job, error: errorText(error) });
        return { job, forgotten: null };
      }
    }),
  );
  const all = answers.every(({ forgotten }) => forgotten !== null);
  await ledger.asideAsked(
    messages.map((message): AsideAsked => {
      const kept = answers.filter(({ forgotten }) => forgotten !== null && !forgotten.has(message.taken.id));
      return { ...message, kept: kept.map(({ job }) => job), all };
    }),
  );
}
