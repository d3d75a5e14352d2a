import { namesOf, type OutputFormat } from "../../output/format.ts";
import type { OutputField } from "../../record/fields.ts";

/**
 * `int`: a whole number of 64 bits. `time`: the same, ms since the epoch. `bool`: a flag. `string`:
 * text in UTF-8. `json`: the JSON of an object, as in a line. `entries`: JSON declared as text, of
 * arrays, and of objects with any keys: ClickHouse reads every JSON column as objects, and stops at
 * an array, and at a key that is there twice. `strings`: a list of texts. `ray`: the `RayID` of an
 * `Event`.
 */
export type ColumnKind = "int" | "time" | "bool" | "string" | "json" | "entries" | "strings" | "ray";

export interface Column {
  /** Stands for the column in stored groups: never another one. */
  readonly id: number;
  readonly name: OutputField | "RayID";
  readonly kind: ColumnKind;
  /** Its JSON where a record has none that can be read. */
  readonly fallback: string;
}

/** Every column, by id. A new one is added behind the last. */
const COLUMNS: readonly Column[] = [
  column(0, "CPUTimeMs", "int"),
  column(1, "DispatchNamespace", "string"),
  column(2, "Entrypoint", "string"),
  column(3, "Event", "json", "{}"),
  column(4, "EventTimestampMs", "time"),
  column(5, "EventType", "string"),
  column(6, "Exceptions", "entries", "[]"),
  column(7, "Logs", "entries", "[]"),
  column(8, "Outcome", "string"),
  column(9, "ScriptName", "string"),
  column(10, "ScriptTags", "strings", "[]"),
  column(11, "ScriptVersion", "json", "{}"),
  column(12, "WallTimeMs", "int"),
  column(13, "Source", "string"),
  column(14, "RayID", "ray"),
  column(15, "RequestHeaders", "json", "{}"),
  column(16, "RequestCF", "json", "{}"),
  column(17, "ExceptionStacks", "strings", "[]"),
  column(18, "DurableObjectID", "string"),
  column(19, "ExecutionModel", "string"),
  column(20, "Truncated", "bool", "false"),
  column(21, "Level", "string"),
  column(22, "Message", "string"),
  column(23, "TimestampMs", "time"),
  column(24, "RowType", "string"),
  column(25, "ExceptionName", "string"),
  column(26, "Fields", "entries", "{}"),
];

/** In the place of `Event`: what a ray id is looked up by, without reading every `Event`. */
const RAY = COLUMNS[14] as Column;

function column(id: number, name: Column["name"], kind: ColumnKind, fallback?: string): Column {
  return { id, name, kind, fallback: fallback ?? (kind === "int" || kind === "time" ? "0" : '""') };
}

/** Those of an output, in its order: `RayID` comes with `Event`, behind it. */
export function columnsOf(output: Pick<OutputFormat, "fieldNames" | "rows">): readonly Column[] {
  return namesOf(output).flatMap((name) => {
    const found = COLUMNS.find((each) => each.name === name);
    if (found === undefined) throw new Error(`no column for ${name}`);
    return name === "Event" ? [found, RAY] : [found];
  });
}

/** undefined: there is none, as a later release wrote it, or it is damaged. */
export function columnOf(id: number): Column | undefined {
  return COLUMNS[id];
}
