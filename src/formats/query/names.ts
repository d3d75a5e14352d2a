import { parsedJson } from "../../base/bytes.ts";
import { isExtraField, isFieldName, isRowField } from "../record/fields.ts";

/** What a name stands for in records as they are shipped, rows included. */
export interface Name {
  /** The fields of the record that its values are in. */
  readonly fields: readonly string[];
  /** All values that a record has for it. The first one stands for the record. */
  readonly valuesOf: (record: unknown) => readonly unknown[];
}

/** Longest name, in UTF-16 units, and how deep it may lead. */
export const NAME_MAX = 200;
const LEVELS_MAX = 10;

/** The names of the language that are a field under a shorter name. */
const SHORT = {
  outcome: "Outcome",
  worker: "ScriptName",
  function: "ScriptName",
  status: "Event.Response.Status",
  method: "Event.Request.Method",
  ray: "Event.RayID",
  cron: "Event.Cron",
  type: "EventType",
  took: "WallTimeMs",
  cpu: "CPUTimeMs",
  colo: "RequestCF.colo",
} as const;

const URL_PATH = ["Event", "Request", "URL"];

/** What a field alone does not say. */
const MADE: Readonly<Record<string, Name>> = {
  level: { fields: ["Level", "Logs", "Exceptions"], valuesOf: levelsOf },
  path: { fields: ["Event"], valuesOf: (record) => ofUrl(record, pathOf) },
  host: { fields: ["Event"], valuesOf: (record) => ofUrl(record, hostOf) },
  version: {
    fields: ["ScriptVersion"],
    valuesOf: (record) => ["ID", "Tag", "Message"].flatMap((name) => present(at(record, ["ScriptVersion", name]))),
  },
};

/** The short names, for those who ask. */
export const SHORT_NAMES: readonly string[] = [...Object.keys(SHORT), ...Object.keys(MADE)];

/**
 * Reads a short name, or a field of a record, dotted: `Event.Request.Method`. `Fields.customer` is
 * that of a logged object, in rows and in invocations.
 * @returns null: it is unknown.
 */
export function nameOf(name: string): Name | null {
  if (Object.hasOwn(MADE, name)) return MADE[name] as Name;
  const path = (Object.hasOwn(SHORT, name) ? SHORT[name as keyof typeof SHORT] : name).split(".");
  const [field = ""] = path;
  if (!isFieldName(field) && !isExtraField(field) && !isRowField(field)) return null;
  if (name.length > NAME_MAX || path.length > LEVELS_MAX || path.includes("")) return null;
  if (field === "Fields" && path.length > 1) return loggedName(path.slice(1));
  return { fields: [field], valuesOf: (record) => present(at(record, path)) };
}

function loggedName(path: readonly string[]): Name {
  return {
    fields: ["Fields", "Logs"],
    valuesOf: (record) => [at(record, ["Fields"]), ...loggedIn(record)].flatMap((logged) => present(at(logged, path))),
  };
}

/** The objects that were logged as the only argument of a line. */
function loggedIn(record: unknown): unknown[] {
  const logs = at(record, ["Logs"]);
  if (!Array.isArray(logs)) return [];
  return logs.flatMap((entry: unknown) => {
    const message = at(entry, ["Message"]);
    const [text] = Array.isArray(message) && message.length === 1 ? message : [];
    return typeof text === "string" && text.startsWith("{") ? [parsedJson(text)] : [];
  });
}

/** The worst first; others behind these. */
const LEVELS = ["error", "warn", "info", "log", "debug"];

/** Those of its log lines, or of the row; what was thrown is an error. */
function levelsOf(record: unknown): unknown[] {
  const logs = at(record, ["Logs"]);
  const thrown = at(record, ["Exceptions"]);
  const rank = (level: unknown): number => (LEVELS.indexOf(String(level)) + LEVELS.length + 1) % (LEVELS.length + 1);
  const levels = new Set([
    ...(Array.isArray(thrown) && thrown.length > 0 ? ["error"] : []),
    ...present(at(record, ["Level"])),
    ...(Array.isArray(logs) ? logs.flatMap((entry: unknown) => present(at(entry, ["Level"]))) : []),
  ]);
  return [...levels].sort((a, b) => rank(a) - rank(b));
}

function ofUrl(record: unknown, part: (url: string) => string): string[] {
  const url = at(record, URL_PATH);
  return typeof url === "string" && url !== "" ? [part(url)] : [];
}

/** Behind scheme and host, up to `?` or `#`. No URL is parsed: there are millions. */
function pathOf(url: string): string {
  const begin = url.indexOf("://");
  const from = begin === -1 ? 0 : begin + 3;
  const [rest = ""] = url.slice(from).split(/[?#]/, 1);
  const slash = rest.indexOf("/");
  if (slash === -1) return begin === -1 ? rest : "/";
  return begin === -1 ? rest : rest.slice(slash);
}

/** With its port; "": the URL has no scheme. */
function hostOf(url: string): string {
  const begin = url.indexOf("://");
  const [authority = ""] = begin === -1 ? [] : url.slice(begin + 3).split(/[/?#]/, 1);
  return authority.slice(authority.lastIndexOf("@") + 1).toLowerCase();
}

/** A value that says something: empty ones stand for missing ones in a record. */
function present(value: unknown): unknown[] {
  return value === undefined || value === null || value === "" ? [] : [value];
}

/** The value at the end of a path through own properties of objects; not into arrays. */
function at(root: unknown, path: readonly string[]): unknown {
  let value = root;
  for (const name of path) {
    if (typeof value !== "object" || value === null || Array.isArray(value) || !Object.hasOwn(value, name))
      return undefined;
    value = (value as { readonly [name: string]: unknown })[name];
  }
  return value;
}
