/** Findings about what a job writes beside its objects: its canary and its manifests. */

import { answerIn } from "../../ship/destinations/remedies.ts";
import type { CanaryStatus, ManifestStatus } from "../../ship/reader/statuses.ts";
import { head, parkedAdvice, type Rest } from "./finding-text.ts";
import { AFTER } from "./thresholds.ts";

/** The store's answer, for the middle of a sentence; "": it is not known. */
function answerWords(why: string | null): string {
  const answer = answerIn(why);
  return answer === null ? "" : ` (HTTP ${answer.status}${answer.code === null ? "" : ` ${answer.code}`})`;
}

export function canaryFindings({ state, sinceMs, why }: CanaryStatus): Rest | Rest[] {
  switch (state) {
    case "ok":
    case "waiting":
      return [];
    case "failed":
      return {
        ...head("canary_failed", "error", sinceMs),
        summary: `logship cannot write the canary${answerWords(why)}, and records would fail too.`,
        advice: parkedAdvice(why),
      };
    case "missing":
      return {
        ...head("canary_missing", "error", sinceMs),
        summary: "The canary has disappeared from the store, and other objects may be missing too.",
        advice:
          "Find what deletes objects there: a lifecycle rule, another program, or a delete marker in a versioned bucket.",
      };
    case "damaged":
      return {
        ...head("canary_damaged", "error", sinceMs),
        summary: "The store returned the canary with different content.",
        advice:
          "Find what changes objects in transit: a proxy, a gateway that compresses or decompresses, or a damaged store.",
      };
    case "unreadable":
      return {
        ...head("canary_unreadable", "warning", sinceMs),
        summary: `logship cannot read the canary back${answerWords(why)}, so it is unknown whether the store keeps what it accepts.`,
        advice: "Allow the key to read objects below the destination's path, or turn the canary off for this job.",
      };
  }
}

export function manifestFindings(
  { failingSinceMs, why }: Pick<ManifestStatus, "failingSinceMs" | "why">,
  nowMs: number,
): Rest | Rest[] {
  if (failingSinceMs === null || nowMs - failingSinceMs < AFTER.manifestFailing) return [];
  return {
    ...head("manifest_failing", "warning", failingSinceMs),
    summary: `logship cannot write manifests${answerWords(why)}, so recent deliveries are not proven yet.`,
    advice:
      "Allow the key to write to _logship/ below the first folder of the destination's path. Delivery of records continues.",
  };
}
