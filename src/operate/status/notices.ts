import { counted } from "../../base/counted.ts";
import { intervalAdvice } from "../../ship/job/interval.ts";
import { type Facts, type JobFacts, NO_ANSWER } from "./facts.ts";
import type { Notice } from "./finding.ts";
import { shownSize } from "./finding-text.ts";

/** What could be better, by job. Pure, as the findings are. */
export function noticesOf({ jobs }: Facts): Notice[] {
  return jobs.flatMap(smallObjects);
}

/** An interval that is short for what a job receives. */
function smallObjects({ id, enabledSinceMs, intervalMs, isUnreadable, status }: JobFacts): Notice[] {
  if (isUnreadable || enabledSinceMs === null || status === NO_ANSWER || status === null) return [];
  const found = intervalAdvice(status.lastDay, intervalMs);
  if (found === null) return [];
  const { objects, meanBytes, seconds, made } = found;
  return [
    {
      kind: "many_small_objects",
      subject: { type: "job", id },
      summary: `Job ${id} has written ${counted(objects, "objects")} in the last 24 hours, ${shownSize(meanBytes)} each on average. An interval of ${seconds} seconds would make about ${made.objects} of ${shownSize(made.meanBytes)}.`,
      advice: `Each object costs a request, and readers open every one. Set max_upload_interval_seconds to ${seconds} (now ${intervalMs / 1_000}); records then leave up to ${seconds} seconds after they arrive.`,
    },
  ];
}
