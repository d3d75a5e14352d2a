/** For all exceptions and logs of a record, in characters. */
const TEXT_MAX = 16_384;
const MARK = "<<<Logship: messages truncated>>>";

/**
 * The log lines that the documented limit keeps, for a record without exceptions. Implemented
 * independently of the code under test.
 */
export function truncatedLogs(lines: readonly string[]): string[] {
  const kept: string[] = [];
  let left = TEXT_MAX;
  for (const line of lines) {
    if (line.length > left) return left > 0 ? [...kept, line.slice(0, left) + MARK, MARK] : [...kept, MARK];
    kept.push(line);
    left -= line.length;
  }
  return kept;
}
