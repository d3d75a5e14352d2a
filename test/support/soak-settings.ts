/** How long the soak goes on, and from where. */
export interface SoakSettings {
  /** All that happens is drawn from it. */
  seed: number;
  /** The first episode, from 1. */
  first: number;
  /** At most so many. */
  episodes: number;
  /** No episode begins after so much time. */
  minutes: number;
}

/** By this name `npm run soak` hands its settings to the tests, as JSON. */
export const SOAK_VARIABLE = "LOGSHIP_SOAK";

/** Short enough for every run of the tests, and the same in each. */
const SHORT: SoakSettings = { seed: 1, first: 1, episodes: 6, minutes: 2 };

/** @throws SyntaxError if the variable is set to anything but what `npm run soak` sets it to. */
export function soakSettings(env: Readonly<Record<string, string | undefined>>): SoakSettings {
  const set = env[SOAK_VARIABLE];
  return set === undefined ? SHORT : { ...SHORT, ...(JSON.parse(set) as Partial<SoakSettings>) };
}
