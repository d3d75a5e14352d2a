import { TEXT_MAX_CHARACTERS } from "../../base/limits.ts";
import { recordLayout } from "../../formats/output/format.ts";
import type { JobMeaning } from "./rules.ts";

/** What of a job decides which records it ships, and what of each. */
export type Ships = Pick<JobMeaning, "filter" | "sampleRate" | "output"> & { enabled: unknown };

/**
 * What a job has shipped before a change and will not ship after it, each in a sentence; empty:
 * nothing. Filters are not compared by what they match: any other one may match less.
 */
export function lossesOf(before: Ships, after: Ships): string[] {
  const losses: string[] = [];
  const kept = new Set(recordLayout(after.output).fields);
  const gone = new Set(recordLayout(before.output).fields.filter((name) => !kept.has(name)));
  if (gone.size > 0) losses.push(`no longer shipped: ${[...gone].join(", ")}`);
  if (after.output.rows === "log" && before.output.rows === undefined)
    losses.push("an invocation without a log line or an exception is no longer shipped");
  if (after.output.truncate === undefined && before.output.truncate === false)
    losses.push(`logs and exceptions are cut to ${TEXT_MAX_CHARACTERS} characters a record`);
  if (after.sampleRate < before.sampleRate)
    losses.push(`the share of records that is shipped falls from ${before.sampleRate} to ${after.sampleRate}`);
  if (after.filter !== null && shape(after.filter) !== shape(before.filter))
    losses.push("records that the new filter does not match are no longer shipped");
  if (before.enabled === true && after.enabled !== true)
    losses.push("events that arrive while the job is paused are not shipped");
  return losses;
}

/** The same for a filter that is only spaced in another way. */
function shape(filter: string | null): string | null {
  return filter === null ? null : JSON.stringify(JSON.parse(filter));
}
