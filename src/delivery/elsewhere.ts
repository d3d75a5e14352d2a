import { readTemplate, type Template } from "../destinations/keys.ts";
import type { ObjectRow } from "./rows.ts";

/**
 * Where one object goes instead of its job's destination: it was set aside, and a user sends it
 * there. What becomes of the job (parked, another destination) does not concern it, and its
 * failures do not concern the job: it is sent in a lane of its own, a few times, then set aside
 * again.
 */
export interface Target {
  /** The `destination_conf`. */
  sealed: string;
  /** Its path, as in JobConfig. */
  path: string;
  /** What it is called beside the reason of a failure. */
  host: string;
  /** What is known of it: as `leaveOut` of a WriteOutcome. */
  leaveOut: number;
}

/** Attempts at another destination; with their delays, some ten minutes. */
export const ELSEWHERE_TRIES = 8;

export function targetOf({ target }: Pick<ObjectRow, "target">): Target | null {
  return target === null ? null : (JSON.parse(target) as Target);
}

/** What the key of an object is made of that goes elsewhere; undefined: it does not. */
export function templateElsewhere(object: Pick<ObjectRow, "target">): Template | undefined {
  const target = targetOf(object);
  return target === null ? undefined : readTemplate(target.path);
}
