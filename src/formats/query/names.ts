import { fieldsAt, valuesAt, type Where } from "../filter/sought.ts";
import { isExtraField, isFieldName, isRowField } from "../record/fields.ts";

const at = (...path: readonly string[]) => ({ kind: "at", path }) as const;

/** Short names of what is asked for most, and where a record has it. */
export const SHORT_NAMES = {
  level: [at("Level"), at("Logs", "Level")],
  status: [at("Event", "Response", "Status")],
  path: [{ kind: "url", part: "path" }],
  host: [{ kind: "url", part: "host" }],
  method: [at("Event", "Request", "Method")],
  function: [at("ScriptName")],
  worker: [at("ScriptName")],
  version: [at("ScriptVersion", "ID"), at("ScriptVersion", "Tag"), at("ScriptVersion", "Message")],
  outcome: [at("Outcome")],
  ray: [at("Event", "RayID")],
  took: [at("WallTimeMs")],
  cpu: [at("CPUTimeMs")],
  type: [at("EventType")],
  cron: [at("Event", "Cron")],
  colo: [at("RequestCF", "colo")],
} as const satisfies Readonly<Record<string, readonly Where[]>>;

export function isShortName(name: string): name is keyof typeof SHORT_NAMES {
  return Object.hasOwn(SHORT_NAMES, name);
}

/** Whether a name is short, or of a field of records, and not of a logged object. */
export function isKnownName(name: string): boolean {
  const [head = ""] = name.split(".", 1);
  return isShortName(name) || isFieldName(head) || isExtraField(head) || isRowField(head);
}

/** What a name stands for in records as they are shipped, rows included. */
export interface Name {
  /** The fields of the record that its values are in. */
  readonly fields: readonly string[];
  /** All values that a record has for it. The first one stands for the record. */
  readonly valuesOf: (record: object) => readonly unknown[];
}

/** Longest name, in UTF-16 units, and how deep it may lead. */
export const NAME_MAX = 200;
const LEVELS_MAX = 10;

/**
 * Reads a short name, or a field of a record, dotted: `Event.Request.Method`. `Fields.customer` is
 * that of a logged object, in rows and in invocations.
 * @returns null: it is unknown.
 */
export function nameOf(name: string): Name | null {
  if (name === "level") return LEVEL;
  const wheres = isShortName(name) ? SHORT_NAMES[name] : wheresOf(name);
  if (wheres === null) return null;
  const walks = wheres.map((where) => valuesAt(where));
  return {
    fields: wheres.flatMap((where) => fieldsAt(where) ?? []),
    valuesOf: (record) => walks.flatMap((walk) => walk(record)).filter(isSaid),
  };
}

function wheresOf(name: string): readonly Where[] | null {
  const path = name.split(".");
  const [field = "", ...below] = path;
  if (name.length > NAME_MAX || path.length > LEVELS_MAX || path.includes("") || !isKnownName(field)) return null;
  if (isShortName(field)) return null;
  return [field === "Fields" && below.length > 0 ? { kind: "logged", path: below } : at(...path)];
}

/** The worst first; others behind these. */
const LEVELS = ["error", "warn", "info", "log", "debug"];

const levels = SHORT_NAMES.level.map((where) => valuesAt(where));

/** That of the row, or those of its log lines; what was thrown is an error. */
const LEVEL: Name = {
  fields: ["Level", "Logs", "Exceptions"],
  valuesOf: (record) => {
    const { Exceptions: thrown } = record as { Exceptions?: unknown };
    const rank = (level: unknown): number => (LEVELS.indexOf(String(level)) + LEVELS.length + 1) % (LEVELS.length + 1);
    const found = new Set([
      ...(Array.isArray(thrown) && thrown.length > 0 ? ["error"] : []),
      ...levels.flatMap((walk) => walk(record)).filter(isSaid),
    ]);
    return [...found].sort((a, b) => rank(a) - rank(b));
  },
};

/** Empty values stand for missing ones in a record. */
function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}
