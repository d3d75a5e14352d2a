import { CF_KEYS, HEADERS, PREVIEW_KEYS } from "../record/extras.ts";
import {
  type AnyField,
  type ExtraField,
  FIELD_NAMES,
  isExtraField,
  isFieldName,
  isOff,
  type TraceRecord,
  typeOf,
} from "../record/fields.ts";

/**
 * The type of the value that a key leads to. `any`: below `Event`, `RequestCF` and `Preview`, where
 * it depends on the record.
 */
export type KeyType = "string" | "int" | "bool" | "array" | "any";

/** A valid key. */
export interface ResolvedKey {
  /** The record's field, then the names below it. */
  readonly path: readonly [AnyField, ...string[]];
  readonly type: KeyType;
}

const VERSION_NAMES: readonly (keyof TraceRecord["ScriptVersion"])[] = ["ID", "Message", "Tag"];

/** Objects whose names are known, with the type of what is below each. */
const OBJECTS: ReadonlyMap<AnyField, { names: readonly string[]; type: KeyType }> = new Map([
  ["ScriptVersion", { names: VERSION_NAMES, type: "string" }],
  ["RequestHeaders", { names: HEADERS, type: "string" }],
  ["RequestCF", { names: CF_KEYS, type: "any" }],
  ["Preview", { names: PREVIEW_KEYS, type: "any" }],
]);

/** The keys below an object whose names are known; of anything else, none. */
export function keysBelow(field: AnyField): string[] {
  return (OBJECTS.get(field)?.names ?? []).map((name) => `${field}.${name}`);
}

/**
 * Reads a key: a field's name, or a dotted path into an object. Dots always separate: a name that
 * contains one cannot be reached. Every path below `Event` is a key, as its contents are not known
 * beforehand.
 * @param extra fields that are on.
 * @returns the key, or why it is none.
 */
export function resolveKey(key: string, extra: readonly ExtraField[] = []): ResolvedKey | string {
  // As in records, which have no lone surrogates.
  const [head = "", ...below] = key.toWellFormed().split(".");
  if (isExtraField(head) && !extra.includes(head)) return isOff(head);
  if (!isFieldName(head) && !isExtraField(head)) {
    return `unknown field ${quote(key)}${hint(nearestKey(key, head, below, extra))}`;
  }
  if (below.includes("")) return `field ${quote(key)} has an empty name in it`;
  const field = typeOf(head);
  const type = field.startsWith("array") ? "array" : (field as KeyType | "object");
  const path = [head, ...below] as const;
  if (head === "Event") {
    if (below.length === 0) return "Event is an object: name what lies below it, as in Event.Request.Method";
    return { path, type: "any" };
  }
  if (type === "object") return keyBelow(path, below);
  return below.length === 0 ? { path, type } : nothingBelow(head, type);
}

function keyBelow(path: ResolvedKey["path"], below: readonly string[]): ResolvedKey | string {
  const [field] = path;
  const keys = keysBelow(field);
  const type = OBJECTS.get(field)?.type ?? "any";
  if (below.length === 0) return `${field} is an object: name one of ${keys.join(", ")}`;
  const key = `${field}.${below[0]}`;
  if (!keys.includes(key)) return `unknown field ${quote(key)}${hint(nearest(key, keys))}`;
  return below.length === 1 ? { path, type } : nothingBelow(key, type);
}

function nothingBelow(key: string, type: KeyType): string {
  return `nothing lies below ${key} (${type})`;
}

function nearestKey(
  key: string,
  head: string,
  below: readonly string[],
  extra: readonly ExtraField[],
): string | undefined {
  const field = nearest(head, [...FIELD_NAMES, ...extra]);
  return nearest(key, keysBelow("ScriptVersion")) ?? (field && [field, ...below].join("."));
}

/** The known name that differs only in case or in how its words are joined. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const plain = simplified(name);
  return known.find((candidate) => simplified(candidate) === plain);
}

/**
 * Whether a name is another one but for case, joints, or one letter wrong, missing, added or
 * swapped.
 */
export function isNear(name: string, known: string): boolean {
  const [a, b] = [simplified(name), simplified(known)];
  const shorter = Math.min(a.length, b.length);
  let head = 0;
  while (head < shorter && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < shorter - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const [x, y] = [a, b].map((each) => each.slice(head, each.length - tail)) as [string, string];
  return Math.max(x.length, y.length) <= 1 || (x.length === 2 && y.length === 2 && x === `${y[1]}${y[0]}`);
}

function simplified(name: string): string {
  return name.toLowerCase().replace(/[\s_-]/g, "");
}

/** The suggestion after a refused name. */
export function hint(meant: string | undefined): string {
  return meant === undefined ? "" : `, did you mean ${quote(meant)}?`;
}

const QUOTED_MAX_LENGTH = 60;

/** Foreign text as a fault shows it: one line, lone surrogates escaped, shortened. */
export function quote(text: string): string {
  const piece = text.length > QUOTED_MAX_LENGTH ? `${text.slice(0, QUOTED_MAX_LENGTH)}…` : text;
  return JSON.stringify(piece);
}
