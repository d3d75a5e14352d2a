/** How long the soak goes on, and from where. */
export interface SoakSettings {
  /** All that happens is drawn from it. */
  seed: number;
  /** Episodes begin until so much time has passed. */
  minutes: number;
  /** This episode alone; null: from the first one on. */
  only: number | null;
}

/** By this name `npm run soak` hands its settings to the tests, as JSON. */
export const SOAK_VARIABLE = "LOGSHIP_SOAK";

/** Short enough for every run of the tests. */
const SHORT: SoakSettings = { seed: 1, minutes: 0.4, only: null };

/** @throws SyntaxError if the variable is set to anything but what `npm run soak` sets it to. */
export function soakSettings(env: Readonly<Record<string, string | undefined>>): SoakSettings {
  const set = env[SOAK_VARIABLE];
  return set === undefined ? SHORT : { ...SHORT, ...(JSON.parse(set) as Partial<SoakSettings>) };
}
