import type { AccountLedger } from "../account/ledger.ts";
import type { AsideAsked, AsideToAsk } from "../account/set-aside-messages.ts";
import { keepChainIds } from "../delivery/chain-aside.ts";
import type { DeliveryLog } from "../delivery/delivery-log.ts";
import { errorText, log } from "../log.ts";
import { answered } from "../platform.ts";

/** Messages of one round: what is left is asked for in the next. */
const MESSAGES_MAX = 1_000;

/** How long the log of one job may take, in ms. */
const LOG_MS = 5_000;

/**
 * Has the logs remember for good which of the messages that are set aside they hold, as long as they can tell: somebody may send these again when all
 * else about their time is forgotten.
 */
export async function keepAsked(
  ledger: Pick<DurableObjectStub<AccountLedger>, "asideToAsk" | "asideAsked">,
  logs: DurableObjectNamespace<DeliveryLog>,
): Promise<void> {
  const { messages, jobs } = (await ledger.asideToAsk(MESSAGES_MAX)) as { messages: AsideToAsk[]; jobs: number[] };
  if (messages.length === 0) return;
  const ids = messages.map(({ taken }) => taken);
  const answers = await Promise.all(
    jobs.map(async (job): Promise<{ job: number; forgotten: Set<string> | null }> => {
      try {
        const forgotten = await answered(`the log of job ${job}`, LOG_MS, keepChainIds(logs, job, ids));
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
