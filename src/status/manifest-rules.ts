import type { ManifestStatus } from "../delivery/types.ts";
import { answerIn } from "../destinations/remedies.ts";
import { AFTER } from "./thresholds.ts";
import type { Rest } from "./words.ts";

/** Findings about the manifests of a job. */
export function manifestFindings(
  { failingSinceMs, why }: Pick<ManifestStatus, "failingSinceMs" | "why">,
  nowMs: number,
): Rest[] {
  if (failingSinceMs === null || nowMs - failingSinceMs < AFTER.manifestFailing) return [];
  const answer = answerIn(why);
  const said = answer === null ? "" : ` (HTTP ${answer.status}${answer.code === null ? "" : ` ${answer.code}`})`;
  return [
    {
      kind: "manifest_failing",
      severity: "warning",
      sinceMs: failingSinceMs,
      affected: null,
      summary: `Manifests cannot be written${said}: what was delivered since is not proven yet.`,
      advice:
        "Allow the key to write to _logship/ below the first folder of the destination's path. Records are delivered all the same.",
    },
  ];
}
