/** A million events a second, on paper: the highest measured rate, times what is missing. */
import { BOUNDS } from "./bounds.ts";
import type { CellResult, Figure } from "./cell.ts";

export const MILLION = 1_000_000;

/** What grows with the rate. The rest depends on the size of a batch or of a call. */
const GROWS: ReadonlySet<Figure["bound"]> = new Set([
  "isolateCpu",
  "queueMessages",
  "queueBacklog",
  "consumers",
  "objectRequests",
  "objectCpu",
  "objectBytes",
  "objectStorage",
  "storePuts",
]);

/** What a part would need. */
export interface Need {
  of: string;
  what: string;
  unit: string;
  value: number;
  limit: number;
  share: number;
  /** Of these parts, each at half of its limit. */
  parts: number;
  /** Events/s at which the one that there is reaches its limit. */
  breaksAt: number;
}

/**
 * @param cell at the highest rate. @returns what matters, the first that breaks first.
 */
export function needs({ load, figures }: CellResult): Need[] {
  const times = MILLION / load.eventsPerSecond;
  return figures
    .filter(({ bound, share }) => GROWS.has(bound) && share * times > 0.05)
    .map(({ bound, of, what, value, share }) => ({
      of,
      what,
      unit: BOUNDS[bound].unit,
      value: value * times,
      limit: BOUNDS[bound].limit,
      share: share * times,
      parts: Math.ceil((share * times) / 0.5),
      breaksAt: load.eventsPerSecond / share,
    }))
    .sort((a, b) => a.breaksAt - b.breaksAt);
}
