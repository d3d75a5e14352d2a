/** The growth of a count between checks. */
export interface Mark {
  value: number;
  /** The last check that saw it grow, in ms; null: none. */
  grewMs: number | null;
  /** The first check of this growth; pauses up to {@link REST_MS} belong to it. */
  sinceMs: number | null;
  /** Growth since then. */
  by: number;
}

/** After a rest this long, in ms, growth counts as new. */
export const REST_MS = 3_600_000;

/** @param before null: the first check; the count has grown from 0. */
export function marked(before: Mark | null, value: number, nowMs: number): Mark {
  const last = before ?? { value: 0, grewMs: null, sinceMs: null, by: 0 };
  if (value <= last.value) return { ...last, value };
  const more = value - last.value;
  const goesOn = last.grewMs !== null && last.sinceMs !== null && nowMs - last.grewMs <= REST_MS;
  return goesOn
    ? { value, grewMs: nowMs, sinceMs: last.sinceMs, by: last.by + more }
    : { value, grewMs: nowMs, sinceMs: nowMs, by: more };
}

/** Since when a filter or sample keeps nothing. */
export interface KeptNothing {
  /** Version of the job. */
  version: number;
  /** Kept in total; unchanged since then. */
  kept: number;
  sinceMs: number;
  /** Offered in total at that time. */
  given: number;
  /** Offered since, all dropped. */
  refused: number;
}

/** @param given offered in total. @param kept of these, in total. */
export function keptNothing(
  before: KeptNothing | null,
  { version, given, kept }: { version: number; given: number; kept: number },
  nowMs: number,
): KeptNothing {
  const same = before !== null && before.version === version && before.kept === kept && given >= before.given;
  if (!same) return { version, kept, sinceMs: nowMs, given, refused: 0 };
  return { ...before, refused: given - before.given };
}
