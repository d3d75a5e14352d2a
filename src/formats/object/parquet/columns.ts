import { namesOf, type OutputFormat } from "../../output/format.ts";
import {
  EXTRA_FIELDS,
  emptyText,
  FIELD_NAMES,
  type FieldType,
  type OutputField,
  ROW_FIELDS,
  typeOf,
} from "../../record/fields.ts";

/**
 * `int`: a whole number of 64 bits. `time`: the same, ms since the epoch. `bool`: a flag. `string`:
 * text in UTF-8. `json`: the JSON of an object, as in a line. `entries`: JSON declared as text, of
 * arrays, and of objects with any keys: ClickHouse reads every JSON column as objects, and stops at
 * an array, and at a key that is there twice. `strings`: a list of texts. `ray`: the `RayID` of an
 * `Event`.
 */
export type ColumnKind = "int" | "time" | "bool" | "string" | "json" | "entries" | "strings" | "ray";

export interface Column {
  /** Stands for the column in stored groups. */
  readonly name: OutputField | "RayID";
  readonly kind: ColumnKind;
  /** Its JSON where a record has none that can be read. */
  readonly fallback: string;
}

/** What a column is by the type of its field. */
const KINDS: Readonly<Record<FieldType, ColumnKind>> = {
  int: "int",
  bool: "bool",
  string: "string",
  object: "json",
  "array[object]": "entries",
  "array[string]": "strings",
};

/** Of fields that have more than a type. */
const KIND_OF: Readonly<Partial<Record<OutputField, ColumnKind>>> = {
  EventTimestampMs: "time",
  TimestampMs: "time",
  Fields: "entries",
};

const COLUMNS: readonly Column[] = [...FIELD_NAMES, ...EXTRA_FIELDS, ...ROW_FIELDS].map((name) => ({
  name,
  kind: KIND_OF[name] ?? KINDS[typeOf(name)],
  fallback: emptyText(name),
}));

/** In the place of `Event`: what a ray id is looked up by, without reading every `Event`. */
const RAY: Column = { name: "RayID", kind: "ray", fallback: '""' };

/** Those of an output, in its order: `RayID` comes with `Event`, behind it. */
export function columnsOf(output: Pick<OutputFormat, "fieldNames" | "rows">): readonly Column[] {
  return namesOf(output).flatMap((name) => {
    const found = columnOf(name) as Column;
    return name === "Event" ? [found, RAY] : [found];
  });
}

/** undefined: there is none, as a later release wrote it, or it is damaged. */
export function columnOf(name: string | undefined): Column | undefined {
  return name === RAY.name ? RAY : COLUMNS.find((each) => each.name === name);
}
