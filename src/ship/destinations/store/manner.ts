/**
 * In which manner a store takes a PUT: which headers are left out, as a sum of these; 0: none is.
 * It is found out by asking, and kept with the log.
 */
export const LEFT_OUT = {
  /** The one that only creates: `If-None-Match: *`, as S3 has it. */
  condition: 1,
  /** `Content-MD5`. */
  digest: 2,
} as const;

const BARE = LEFT_OUT.condition + LEFT_OUT.digest;

/**
 * What is known of a condition that is sent, kept in the same sum: the store has refused a second
 * object under a key, as it should; or it has not, and HEAD comes before each write. Neither: it
 * has not been asked.
 */
export const CONDITION = { believed: 4, ignored: 8 } as const;

const BELIEF = CONDITION.believed + CONDITION.ignored;

export function mannerOf(known: number): number {
  return known & BARE;
}

export function beliefOf(known: number): number {
  return known & BELIEF;
}

/** Whether the condition need not be tried: that was done, or it is left out. */
export function isTried(known: number): boolean {
  return !isConditional(known) || beliefOf(known) !== 0;
}

/** All manners, the given one first, and then those with the most headers. */
export function mannersFrom(leaveOut: number): number[] {
  return [...new Set([leaveOut & BARE, 0, LEFT_OUT.condition, LEFT_OUT.digest, BARE])];
}

/** Manners with fewer headers than the given one; with the digest, as long as there is one. */
export function plainerThan(leaveOut: number): number[] {
  const plainer = [leaveOut | LEFT_OUT.condition, BARE];
  return [...new Set(plainer)].filter((manner) => manner !== leaveOut);
}

export function isConditional(leaveOut: number): boolean {
  return (leaveOut & LEFT_OUT.condition) === 0;
}

/** The fields of a PUT that a manner decides. @param md5 of the body, hex. */
export function inManner(leaveOut: number, md5: string): { conditional: boolean; md5: string | null } {
  return { conditional: isConditional(leaveOut), md5: (leaveOut & LEFT_OUT.digest) === 0 ? md5 : null };
}
