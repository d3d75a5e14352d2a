import { requireForm } from "../../../destinations/entry.ts";
import type { Values } from "../../../destinations/form.ts";
import { answerIn, remedyFor } from "../../../destinations/remedies.ts";
import type { Draft } from "./draft.ts";

/** @param message the API's message about a failed test write. */
export function adviceOn(message: string): string {
  return remedyFor(message) ?? "Check the destination.";
}

/** Whether the destination refused, rather than being invalid. */
export function isOfStore(message: string): boolean {
  return /^error (?:writing|sending) /.test(message);
}

/** The values to try next, as the answer to the last test suggests. null: it suggests none. */
export function mendOf({
  destination,
  tested,
}: Pick<Draft, "destination" | "tested">): { values: Values; words: string } | null {
  const answer = tested === null || tested.ok ? null : answerIn(tested.message);
  return answer === null ? null : (requireForm(destination).mend?.(destination.values, answer) ?? null);
}
