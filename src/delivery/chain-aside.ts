import type { TakenId } from "../storage/id-memory.ts";
import { segmentOf } from "./chain.ts";
import type { DeliveryLog } from "./delivery-log.ts";
import { segmentOfNumber } from "./log-state.ts";
import type { AsideObject } from "./types.ts";

type Logs = DurableObjectNamespace<DeliveryLog>;

/** A part of the objects of a job that are set aside, segment by segment, the oldest first in each; and how many there are in all. */
export async function chainAside(
  logs: Logs,
  jobId: number,
  offset: number,
  limit: number,
): Promise<{ entries: AsideObject[]; total: number }> {
  const entries: AsideObject[] = [];
  let total = 0;
  for (let segment = 0; ; segment++) {
    const skip = Math.max(0, offset - total);
    const page = await segmentOf(logs, jobId, segment).asideObjects(skip, limit - entries.length);
    entries.push(...(page.entries as AsideObject[]));
    total += page.total;
    if (!page.sealed) return { entries, total };
  }
}

/**
 * The segment that has an object of this number, if the job has one.
 * @param jobId of a job that there is.
 */
export async function segmentWith(
  logs: Logs,
  jobId: number,
  number: number,
): Promise<DurableObjectStub<DeliveryLog> | null> {
  const wanted = segmentOfNumber(number);
  // One that is merely named would come into being.
  for (let segment = 0; segment < wanted; segment++) {
    if (!(await segmentOf(logs, jobId, segment).holds([])).sealed) return null;
  }
  return segmentOf(logs, jobId, wanted);
}

/**
 * Has every segment of a job's log remember for good which of these messages it holds.
 * @returns ids of those of which one of them cannot tell.
 */
export async function keepChainIds(logs: Logs, jobId: number, messages: readonly TakenId[]): Promise<Set<string>> {
  const forgotten = new Set<string>();
  for (let segment = 0; ; segment++) {
    const answer = await segmentOf(logs, jobId, segment).keepIds(messages);
    for (const id of answer.forgotten) forgotten.add(id);
    if (!answer.sealed) return forgotten;
  }
}
