/** What of a reader's rows is compared with what is in the objects. Pure. */
import { createHash } from "node:crypto";
import { FIELD_NAMES, type FieldName } from "../../src/formats/record/fields.ts";

/** A row of a reader, by column. */
export type Row = Readonly<Record<string, unknown>>;

/** What stands for all rows, whatever their order. */
export interface Summary {
  count: number;
  /** Rows by `EventType`, sorted by it. */
  kinds: Readonly<Record<string, number>>;
  /** SHA-256 of every value of every row. */
  checksum: string;
}

/** Fields that hold an object or array: a reader gives them as such, or as their JSON text. */
const NESTED: ReadonlySet<FieldName> = new Set(["Event", "Exceptions", "Logs", "ScriptTags", "ScriptVersion"]);

/** Fields that hold a number. */
const NUMBERS: ReadonlySet<FieldName> = new Set(["CPUTimeMs", "EventTimestampMs", "WallTimeMs"]);

/**
 * @param escaped strings are the inside of a JSON string, as in CSV, and a number may be one.
 * @throws Error naming what is no value of its field.
 */
export function summaryOf(rows: readonly Row[], { escaped = false } = {}): Summary {
  const lines: string[] = [];
  const kinds = new Map<string, number>();
  for (const row of rows) {
    const values = FIELD_NAMES.map((name) => fieldValue(name, row[name], escaped));
    lines.push(JSON.stringify(values.map(sorted)));
    const kind = String(values[FIELD_NAMES.indexOf("EventType")]);
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  const checksum = createHash("sha256").update(lines.sort().join("\n")).digest("hex");
  return { count: rows.length, kinds: Object.fromEntries([...kinds].sort()), checksum };
}

function fieldValue(name: FieldName, value: unknown, escaped: boolean): unknown {
  if (value === undefined || value === null) throw new Error(`${name} is ${value}`);
  if (NESTED.has(name)) return typeof value === "string" ? JSON.parse(value) : value;
  if (name === "EventTimestampMs" && typeof value === "string" && DATE.test(value)) return msOf(value);
  if (!escaped || typeof value !== "string") return value;
  return JSON.parse(NUMBERS.has(name) ? value : `"${value}"`);
}

/** How readers of Parquet print a time: with a space or `T`, and in UTC if it has no offset. */
const DATE = /^\d{4}-\d\d-\d\d[ T]/;

function msOf(time: string): number {
  const iso = time.replace(" ", "T").replace(/([+-]\d\d)$/, "$1:00");
  return Date.parse(/(?:Z|[+-]\d\d:\d\d)$/.test(iso) ? iso : `${iso}Z`);
}

/** With the keys of objects in order: a reader may have another. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}

/** @returns how a reader's rows differ, in words; null: they do not. */
export function difference(found: Summary, truth: Summary): string | null {
  if (found.count !== truth.count) return `${found.count} of ${truth.count} records`;
  for (const kind of new Set([...Object.keys(truth.kinds), ...Object.keys(found.kinds)])) {
    const [is, was] = [found.kinds[kind] ?? 0, truth.kinds[kind] ?? 0];
    if (is !== was) return `${is} of ${was} records of ${kind}`;
  }
  return found.checksum === truth.checksum ? null : "a value";
}
