import { APPEND_MAX_WRITTEN_UNITS, PREPARED_MAX_BYTES } from "../../base/limits.ts";
import { errorText, log } from "../../base/logger.ts";
import { readTemplate } from "../../formats/object/keys.ts";
import type { Loaded } from "../../formats/queue/load-records.ts";
import { type Offered, prepare, rulesOf, writtenAtMost } from "../job/build.ts";
import { type JobConfig, type OptOut, optedOut, stampOf, wasIn } from "../job/config.ts";
import type { Prepared } from "../log/append-types.ts";

/** What jobs ship of the parts of one append. */
export interface PreparedAll {
  prepared: Prepared[];
  /** Records sent to jobs: an event counts once for each job. */
  offered: number;
  /** Jobs that are offered any. */
  jobs: ReadonlySet<number>;
}

/**
 * Makes what each job ships of some parts, once for all jobs of equal rules that are offered the
 * same. A job whose rules cannot be read, or that would exceed the bound, is left out: its reader
 * makes it.
 */
export function prepareAll(
  group: readonly Loaded[],
  { jobs, optOuts }: { jobs: readonly JobConfig[]; optOuts: readonly OptOut[] },
): PreparedAll {
  const offers = offersOf(group, optOuts);
  const byRules = new Map<string, { prepared: Prepared; share: Omit<Prepared["jobs"][number], "id" | "stamp"> }>();
  const all: PreparedAll & { jobs: Set<number> } = { prepared: [], offered: 0, jobs: new Set() };
  let bytes = 0;
  for (const job of jobs) {
    const mine = offers.filter(({ message, records }) => records.length > 0 && wasIn(job, message.takenInMs));
    if (mine.length === 0) continue;
    all.jobs.add(job.id);
    all.offered += mine.reduce((sum, { records }) => sum + records.length, 0);
    try {
      const ids = mine.map(({ message }) => message.id);
      const rules = rulesOf(job);
      const key = rules === null ? null : `${ids.join()} ${rules}`;
      const own = { id: job.id, stamp: stampOf(job) };
      const shared = key === null ? undefined : byRules.get(key);
      if (shared !== undefined) {
        shared.prepared.jobs.push({ ...own, ...shared.share });
        continue;
      }
      // A format may add much to each record, and all of it is in memory at once.
      if (bytes >= PREPARED_MAX_BYTES || writtenAtMost(job, mine) > APPEND_MAX_WRITTEN_UNITS) continue;
      const { fragments, ...share } = prepare(job, mine);
      const { hour, script } = readTemplate(job.path);
      const prepared: Prepared = {
        ...{ output: job.output, template: { hour, script } },
        ...{ jobs: [{ ...own, ...share }], parts: ids, fragments },
      };
      all.prepared.push(prepared);
      if (key !== null) byRules.set(key, { prepared, share });
      bytes += fragments.reduce((sum, { body, hashes }) => sum + body.length + (hashes?.byteLength ?? 0), 0);
    } catch (error) {
      // Its reader tries it, and holds up no other.
      log.error("a job's records could not be made", { job: job.id, error: errorText(error) });
    }
  }
  return all;
}

/** Leaves out records of functions whose logging was off at intake, and second copies of a part. */
function offersOf(group: readonly Loaded[], optOuts: readonly OptOut[]): Offered[] {
  const isOff = optedOut(optOuts);
  const seen = new Set<string>();
  return group.flatMap((part): Offered[] => {
    const { message, records } = part;
    if (seen.has(message.id)) return [];
    seen.add(message.id);
    if (optOuts.length === 0) return [part];
    const kept = records.filter((record) => !isOff(record.whole.ScriptName, message.takenInMs));
    return [kept.length === records.length ? part : { message, records: kept }];
  });
}
