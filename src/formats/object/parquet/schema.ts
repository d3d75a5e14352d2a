import type { SchemaElement } from "hyparquet";
import type { Column, ColumnKind } from "./columns.ts";

const REQUIRED = { repetition_type: "REQUIRED" } as const;
const TEXT = { type: "BYTE_ARRAY", logical_type: { type: "STRING" } } as const;

/**
 * How the values of a group are written: as numbers, flags and texts. The JSON of a record is text
 * already, which the writer would take for values to make JSON of.
 */
const WRITTEN: { readonly [kind in ColumnKind]: Partial<SchemaElement> } = {
  int: { type: "INT64" },
  time: { type: "INT64" },
  bool: { type: "BOOLEAN" },
  string: TEXT,
  json: TEXT,
  entries: TEXT,
  strings: TEXT,
  ray: TEXT,
};

/**
 * What a file says that they are, with the older names of types beside the newer: some readers know
 * only those.
 */
const DECLARED: typeof WRITTEN = {
  ...WRITTEN,
  time: {
    type: "INT64",
    converted_type: "TIMESTAMP_MILLIS",
    logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MILLIS" },
  },
  string: { ...TEXT, converted_type: "UTF8" },
  json: { type: "BYTE_ARRAY", converted_type: "JSON", logical_type: { type: "JSON" } },
  entries: { ...TEXT, converted_type: "UTF8" },
  strings: { ...TEXT, converted_type: "UTF8" },
  ray: { ...TEXT, converted_type: "UTF8" },
};

/** Of a group. */
export function writtenSchema(columns: readonly Column[]): SchemaElement[] {
  return schemaOf(columns, WRITTEN);
}

/** Of a file. */
export function declaredSchema(columns: readonly Column[]): SchemaElement[] {
  return schemaOf(columns, DECLARED);
}

/** A list has three elements: itself, that there are several, and one of them. */
function schemaOf(columns: readonly Column[], types: typeof WRITTEN): SchemaElement[] {
  const elements = columns.flatMap(({ name, kind }): SchemaElement[] => {
    if (kind !== "strings") return [{ name, ...REQUIRED, ...types[kind] }];
    return [
      { name, ...REQUIRED, num_children: 1, converted_type: "LIST", logical_type: { type: "LIST" } },
      { name: "list", repetition_type: "REPEATED", num_children: 1 },
      { name: "element", ...REQUIRED, ...types[kind] },
    ];
  });
  return [{ name: "record", num_children: columns.length }, ...elements];
}
