/** How a count that only grows has grown, from one look to the next. */
export interface Mark {
  value: number;
  /** When it was last seen to have grown, in ms; null: never. */
  grewMs: number | null;
  /** When this growth was first seen: pauses of an hour and less belong to it. */
  sinceMs: number | null;
  /** By how much it has grown since. */
  by: number;
}

/** A count rests so long, in ms, before a further growth is another one. */
export const REST_MS = 3_600_000;

/** @param before null: nobody has looked before; what is there then has grown from nothing. */
export function marked(before: Mark | null, value: number, nowMs: number): Mark {
  const last = before ?? { value: 0, grewMs: null, sinceMs: null, by: 0 };
  if (value <= last.value) return { ...last, value };
  const more = value - last.value;
  const goesOn = last.grewMs !== null && last.sinceMs !== null && nowMs - last.grewMs <= REST_MS;
  return goesOn
    ? { value, grewMs: nowMs, sinceMs: last.sinceMs, by: last.by + more }
    : { value, grewMs: nowMs, sinceMs: nowMs, by: more };
}

/** Since when something keeps nothing of what it gets. */
export interface KeptNothing {
  /** At which version of the job. */
  version: number;
  /** What it had kept then, and has kept by now. */
  kept: number;
  sinceMs: number;
  /** What it had been given then. */
  given: number;
  /** What it was given since, of which it kept nothing. */
  refused: number;
}

/** @param given what it was offered in all. @param kept what it kept of that in all. */
export function keptNothing(
  before: KeptNothing | null,
  { version, given, kept }: { version: number; given: number; kept: number },
  nowMs: number,
): KeptNothing {
  const same = before !== null && before.version === version && before.kept === kept && given >= before.given;
  if (!same) return { version, kept, sinceMs: nowMs, given, refused: 0 };
  return { ...before, refused: given - before.given };
}
