export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** The UTC hour, since the epoch, that a time in ms belongs to. */
export function hourOf(ms: number): number {
  return Math.floor(ms / HOUR_MS);
}

/** The UTC day, since the epoch, that a time in ms belongs to. */
export function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS);
}
