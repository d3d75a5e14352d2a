import type { CanaryStatus } from "../delivery/types.ts";
import { answerIn } from "../destinations/remedies.ts";
import { parkedAdvice, type Rest } from "./words.ts";

/** Findings about the canary of a job. */
export function canaryFindings({ state, sinceMs, why }: CanaryStatus): Rest[] {
  if (state === "ok" || state === "waiting") return [];
  const answer = answerIn(why);
  const said = answer === null ? "" : ` (HTTP ${answer.status}${answer.code === null ? "" : ` ${answer.code}`})`;
  const common = { sinceMs, affected: null } as const;
  switch (state) {
    case "failed":
      return [
        {
          kind: "canary_failed",
          severity: "error",
          ...common,
          summary: `The canary could not be written${said}: records would fail too.`,
          advice: parkedAdvice(why),
        },
      ];
    case "missing":
      return [
        {
          kind: "canary_missing",
          severity: "error",
          ...common,
          summary: "The canary has disappeared from the store: other objects may be missing too.",
          advice:
            "Find what deletes objects there: a lifecycle rule, another program, or a delete marker in a versioned bucket.",
        },
      ];
    case "damaged":
      return [
        {
          kind: "canary_damaged",
          severity: "error",
          ...common,
          summary: "The store returned the canary with different content.",
          advice:
            "Find what changes objects in transit: a proxy, a gateway that compresses or decompresses, or a damaged store.",
        },
      ];
    case "unreadable":
      return [
        {
          kind: "canary_unreadable",
          severity: "warning",
          ...common,
          summary: `The canary cannot be read back${said}. Unknown: whether the store keeps what it accepts.`,
          advice: "Allow the key to read objects below the destination's path, or turn the canary off for this job.",
        },
      ];
  }
}
