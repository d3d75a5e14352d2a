import { TEXT_MAX_CHARACTERS } from "../limits.ts";
import type { FunctionFact, MessageFacts } from "../queue/facts.ts";
import { RecordLine } from "../record/line.ts";

/** What a message says of one record. */
export interface RecordFacts {
  /** JSON of the function's name: most messages have few, so each is parsed once. */
  script: string;
  eventMs: number;
  isOverLimit: boolean;
}

/** null: the line is no record. */
export function recordFacts(line: string): RecordFacts | null {
  const record = RecordLine.read(line);
  if (record === null) return null;
  return {
    script: record.text("ScriptName") ?? "null",
    eventMs: record.EventTimestampMs,
    isOverLimit: record.exceptionsAndLogsLength > TEXT_MAX_CHARACTERS,
  };
}

/** What a message of one part says of its records. null: nothing, as one of them is no record. */
export function messageFacts(records: readonly (RecordFacts | null)[]): MessageFacts | null {
  const byScript = new Map<string, FunctionFact>();
  let firstEventMs = Number.POSITIVE_INFINITY;
  let lastEventMs = 0;
  let isOverLimit = false;
  for (const record of records) {
    if (record === null) return null;
    const { script, eventMs } = record;
    const fact = byScript.get(script) ?? { scriptName: JSON.parse(script) as string, records: 0, lastEventMs: 0 };
    fact.records += 1;
    fact.lastEventMs = Math.max(fact.lastEventMs, eventMs);
    byScript.set(script, fact);
    firstEventMs = Math.min(firstEventMs, eventMs);
    lastEventMs = Math.max(lastEventMs, eventMs);
    isOverLimit ||= record.isOverLimit;
  }
  return records.length === 0 ? null : { firstEventMs, lastEventMs, functions: [[...byScript.values()]], isOverLimit };
}
