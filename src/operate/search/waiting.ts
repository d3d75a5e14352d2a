import { errorText, log } from "../../base/logger.ts";
import { answered, within } from "../../base/platform.ts";
import { plural } from "../../base/words.ts";
import { LogShards } from "../../ship/log/log-shards.ts";
import { shardsStatus } from "../../ship/reader/job-status.ts";
import type { NotSearched } from "./not-searched.ts";

/**
 * Deadline of a question to the log, and how long reading may take, in ms. It goes on afterwards.
 */
const ASK_MS = 5_000;
const READ_MS = 5_000;

/**
 * Has these jobs read what the log has for them, so that a search finds it.
 * @returns what they have not read by then, and what is set aside before they could.
 */
export async function notReadYet(
  env: Pick<Env, "READERS" | "TRACE_LOG" | "CONTROL">,
  jobs: readonly number[],
): Promise<NotSearched[]> {
  const leave = (job: number, why: string): NotSearched => ({ job, object: null, why });
  try {
    let waits = await waiting(env, jobs);
    const behind = waits.filter(({ unread }) => unread > 0).map(({ job }) => job);
    if (behind.length > 0) {
      const reading = new LogShards(env).drive(behind).catch((error: unknown) => {
        log.warn("jobs did not read the log for a search", { error: errorText(error) });
      });
      await within(READ_MS, reading, undefined);
      waits = await waiting(env, jobs);
    }
    return waits.flatMap(({ job, unread, isOnHold }) => [
      ...(unread > 0 ? [leave(job, `${plural(unread, "record")} not read from the log yet: search again`)] : []),
      ...(isOnHold ? [leave(job, "messages on hold may have records for it: resend or delete them")] : []),
    ]);
  } catch (error) {
    log.warn("the log did not answer a search", { error: errorText(error) });
    return jobs.map((job) => leave(job, "a part of the log, where records may wait, does not answer: search again"));
  }
}

async function waiting(
  env: Pick<Env, "READERS" | "TRACE_LOG" | "CONTROL">,
  jobs: readonly number[],
): Promise<{ job: number; unread: number; isOnHold: boolean }[]> {
  const shards = [...(await answered("the log", ASK_MS, shardsStatus(env, jobs))).values()];
  return jobs.map((job) => {
    const own = shards.flatMap(({ jobs: statuses }) => statuses[job] ?? []);
    const unread = own.reduce((sum, each) => sum + (each.unread?.records ?? 0), 0);
    return { job, unread, isOnHold: own.some((each) => each.isOnHold) };
  });
}
