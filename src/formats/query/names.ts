import { isExtraField, isFieldName, isRowField } from "../record/fields.ts";

/** Short names of what is asked for most, and where a record has it. */
export const SHORT_NAMES: ReadonlyMap<string, readonly string[]> = new Map([
  ["method", ["Event", "Request", "Method"]],
  ["function", ["ScriptName"]],
  ["worker", ["ScriptName"]],
  ["outcome", ["Outcome"]],
  ["type", ["EventType"]],
  ["cron", ["Event", "Cron"]],
]);

/** Further ones, whose values have a meaning of their own: meaning.ts. */
const OWN_MEANING = new Set(["level", "status", "path", "host", "version", "ray", "took", "cpu"]);

/** Whether a name is short, or of a field of records, and not of a logged object. */
export function isKnownName(name: string): boolean {
  const [head = ""] = name.split(".", 1);
  return SHORT_NAMES.has(name) || OWN_MEANING.has(name) || isFieldName(head) || isExtraField(head) || isRowField(head);
}
