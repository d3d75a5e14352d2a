import type { PartHead } from "./append-types.ts";
import type { CountedFunction, FunctionCount } from "./function-counts.ts";

/** What became of the events of a part, from the account's point of view. */
export interface CountedPart extends Pick<PartHead, "id" | "takenInMs" | "bytes" | "source" | "inSeconds"> {
  events: number;
  /** Offered to at least one enabled job. */
  routed: number;
  /** Dropped because logging of their function was off. */
  notEnabled: number;
  /** No job was enabled. */
  notRouted: number;
  /** The three by function. */
  functions: CountedFunction[];
}

/**
 * Counts a part.
 * @param off functions whose logging was off at its intake.
 * @param isRouted any job was enabled then.
 */
export function countedPart(
  { id, takenInMs, bytes, source, functions, inSeconds }: PartHead,
  off: ReadonlySet<string>,
  isRouted: boolean,
): CountedPart {
  const sum = { events: 0, routed: 0, notEnabled: 0, notRouted: 0 };
  const counted = functions.map(({ scriptName, version, records, lastEventMs, health }): CountedFunction => {
    const fate = off.has(scriptName) ? "notEnabled" : isRouted ? "routed" : "notRouted";
    sum.events += records;
    sum[fate] += records;
    const none = { routed: 0, notEnabled: 0, notRouted: 0 };
    return {
      scriptName,
      ...none,
      [fate]: records,
      lastEventMs,
      ...(version !== undefined && { version }),
      ...(fate !== "notEnabled" && { health }),
    };
  });
  const head = { id, takenInMs, bytes, ...(source !== undefined && { source }), ...(inSeconds && { inSeconds }) };
  return { ...head, ...sum, functions: counted };
}

/** Records of a part that jobs are offered: those of functions whose logging was not off. */
export function offeredOf({ functions }: PartHead, off: ReadonlySet<string>): number {
  return functions.reduce((sum, { scriptName, records }) => sum + (off.has(scriptName) ? 0 : records), 0);
}

/** Events by function, with where they came from. No source was seen later than now. */
export function functionCounts(parts: readonly CountedPart[], nowMs: number): FunctionCount[] {
  return parts.flatMap(({ source, takenInMs, functions }) => {
    if (source === undefined) return functions;
    const sources = [{ source, lastMs: Math.min(takenInMs, nowMs) }];
    return functions.map((count) => ({ ...count, sources }));
  });
}

export function sumOf(parts: readonly CountedPart[], of: (part: CountedPart) => number): number {
  return parts.reduce((sum, part) => sum + of(part), 0);
}
