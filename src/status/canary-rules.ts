import type { CanaryStatus } from "../delivery/types.ts";
import { answerIn, parkedAdvice, type Rest } from "./words.ts";

/** What the canary of a job says. */
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
          summary: `The canary could not be written${said}: records would not arrive either.`,
          advice: parkedAdvice(answer),
        },
      ];
    case "missing":
      return [
        {
          kind: "canary_missing",
          severity: "error",
          ...common,
          summary: "The store took the canary, and does not have it any more: it may not have other objects either.",
          advice:
            "Look for whatever deletes objects there: a lifecycle rule, another program, a versioned bucket with a delete marker.",
        },
      ];
    case "damaged":
      return [
        {
          kind: "canary_damaged",
          severity: "error",
          ...common,
          summary: "The store gives the canary back otherwise than it was written.",
          advice:
            "Look for what changes objects on the way: a proxy, a gateway that compresses or decompresses, a store that is damaged.",
        },
      ];
    case "unreadable":
      return [
        {
          kind: "canary_unreadable",
          severity: "warning",
          ...common,
          summary: `The canary cannot be read back${said}: nobody can tell whether the store keeps what it takes.`,
          advice: "Allow the key to read objects below the destination's path, or switch the canary off for this job.",
        },
      ];
  }
}
