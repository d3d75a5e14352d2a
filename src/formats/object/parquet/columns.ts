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
  /** Stands for the column in stored groups. */
  readonly name: OutputField | "RayID";
  readonly kind: ColumnKind;
  /** Its JSON where a record has none that can be read. */
  readonly fallback: string;
}

/** Every column. A new one is added behind the last. */
const COLUMNS: readonly Column[] = [
  column("CPUTimeMs", "int"),
  column("DispatchNamespace", "string"),
  column("Entrypoint", "string"),
  column("Event", "json", "{}"),
  column("EventTimestampMs", "time"),
  column("EventType", "string"),
  column("Exceptions", "entries", "[]"),
  column("Logs", "entries", "[]"),
  column("Outcome", "string"),
  column("ScriptName", "string"),
  column("ScriptTags", "strings", "[]"),
  column("ScriptVersion", "json", "{}"),
  column("WallTimeMs", "int"),
  column("Source", "string"),
  column("RayID", "ray"),
  column("RequestHeaders", "json", "{}"),
  column("RequestCF", "json", "{}"),
  column("ExceptionStacks", "strings", "[]"),
  column("DurableObjectID", "string"),
  column("ExecutionModel", "string"),
  column("Truncated", "bool", "false"),
  column("Level", "string"),
  column("Message", "string"),
  column("TimestampMs", "time"),
  column("RowType", "string"),
  column("ExceptionName", "string"),
  column("Fields", "entries", "{}"),
];

/** In the place of `Event`: what a ray id is looked up by, without reading every `Event`. */
const RAY = columnOf("RayID") as Column;

function column(name: Column["name"], kind: ColumnKind, fallback?: string): Column {
  return { name, kind, fallback: fallback ?? (kind === "int" || kind === "time" ? "0" : '""') };
}

/** Those of an output, in its order: `RayID` comes with `Event`, behind it. */
export function columnsOf(output: Pick<OutputFormat, "fieldNames" | "rows">): readonly Column[] {
  return namesOf(output).flatMap((name) => {
    const found = columnOf(name);
    if (found === undefined) throw new Error(`no column for ${name}`);
    return name === "Event" ? [found, RAY] : [found];
  });
}

/** undefined: there is none, as a later release wrote it, or it is damaged. */
export function columnOf(name: string | undefined): Column | undefined {
  return COLUMNS.find((each) => each.name === name);
}
