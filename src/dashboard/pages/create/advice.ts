import { answerIn, remedyFor } from "../../../destinations/remedies.ts";
import type { Draft } from "./draft.ts";

/** @param message the API's message about a failed test write. */
export function adviceOn(message: string): string {
  return remedyFor(message) ?? "Check the destination.";
}

/** Whether the store refused, rather than the destination being invalid. */
export function isOfStore(message: string): boolean {
  return message.startsWith("error writing object");
}

/**
 * The region to try next, as the store has named it. null: it named none, or a change of the region
 * alone does not lead there: the endpoint is that of another one.
 */
export function namedRegion({ destination: { scheme, endpoint }, tested }: Draft): string | null {
  if (scheme !== "s3" || tested === null || tested.ok) return null;
  const answer = answerIn(tested.message);
  if (answer === null || (endpoint !== "" && answer.code !== "AuthorizationHeaderMalformed")) return null;
  return answer.region;
}
