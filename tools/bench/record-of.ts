import type { TraceRecord } from "../../src/formats/record/fields.ts";
import { toRecord } from "../../src/formats/record/record.ts";
import type { TraceItem } from "./records.ts";

/** The record that intake makes of an item of the mix. @throws if it makes none. */
export function recordOf(item: TraceItem, takenInMs: number): TraceRecord {
  const findings = { faults: [], unknownKeys: new Set<string>() };
  const record = toRecord(item, { takenInMs, defaultScriptName: "unnamed", lenient: false }, "", findings);
  if (record === null) throw new Error(`the mix has an invalid record: ${JSON.stringify(findings.faults)}`);
  return record;
}
