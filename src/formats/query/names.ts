import { isExtraField, isFieldName, isRowField } from "../record/fields.ts";

/** Short names of what is asked for most, and where a record has it; null: see meaning.ts. */
export const SHORT_NAMES: ReadonlyMap<string, readonly string[] | null> = new Map([
  ["level", null],
  ["status", null],
  ["path", null],
  ["host", null],
  ["method", ["Event", "Request", "Method"]],
  ["function", ["ScriptName"]],
  ["worker", ["ScriptName"]],
  ["version", null],
  ["outcome", ["Outcome"]],
  ["ray", null],
  ["took", null],
  ["cpu", null],
  ["type", ["EventType"]],
  ["cron", ["Event", "Cron"]],
]);

/** Whether a name is short, or of a field of records, and not of a logged object. */
export function isKnownName(name: string): boolean {
  const [head = ""] = name.split(".", 1);
  return SHORT_NAMES.has(name) || isFieldName(head) || isExtraField(head) || isRowField(head);
}
