/** Length and starting point of the soak. */
export interface SoakSettings {
  /** Seed of every random choice. */
  seed: number;
  /** The first episode, from 1. */
  first: number;
  /** The most episodes to run. */
  episodes: number;
  /** No episode begins after this time. */
  minutes: number;
}

/** The environment variable in which `npm run soak` passes its settings to the tests, as JSON. */
export const SOAK_VARIABLE = "LOGSHIP_SOAK";

/** Short enough for every run of the tests, with the same seed each time. */
const SHORT: SoakSettings = { seed: 1, first: 1, episodes: 6, minutes: 2 };

/** @throws SyntaxError if the variable is set to anything that `npm run soak` does not set. */
export function soakSettings(env: Readonly<Record<string, string | undefined>>): SoakSettings {
  const set = env[SOAK_VARIABLE];
  return set === undefined ? SHORT : { ...SHORT, ...(JSON.parse(set) as Partial<SoakSettings>) };
}
