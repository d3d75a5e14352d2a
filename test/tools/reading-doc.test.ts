/** The lines of docs/reading.md fit what jobs write. No reader is needed. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { FIELD_NAMES } from "../../src/formats/record/fields.ts";
import { ROOT } from "../../tools/paths.ts";

const PAGE = readFileSync(join(ROOT, "docs/reading.md"), "utf8");

/** The first block of code below a heading. */
function block(heading: string): string {
  const found = new RegExp(`^#{2,3} ${heading}\n[^]*?^\`\`\`\\w*\n([^]*?)^\`\`\`$`, "m").exec(PAGE)?.[1];
  if (found === undefined) throw new Error(`no line for ${heading}`);
  return found;
}

it.each([
  ...["DuckDB", "polars", "pandas", "pyarrow", "ClickHouse", "Spark", "jq", "Miller"].map((name) => [
    name,
    "logs/2*/*.log.gz",
  ]),
  ...["DuckDB", "polars", "pandas", "pyarrow", "ClickHouse", "Spark", "Miller"].map((name) => [
    `${name} as CSV`,
    "csv/2*/*.log.gz",
  ]),
  ...["DuckDB", "polars", "pandas", "pyarrow", "ClickHouse", "Spark"].map((name) => [
    `${name} as Parquet`,
    "parquet/2*/*.parquet",
  ]),
] as const)("%s reads the days, and no other folder", (name, files) => {
  expect(block(name)).toContain(files);
});

// The others take the types of JSON itself, or a schema that one of these makes.
it.each([
  ...["DuckDB", "polars", "pyarrow", "ClickHouse", "Spark", "lnav"],
  ...["DuckDB as CSV", "pandas as CSV", "ClickHouse as CSV"],
])("%s names every column", (name) => {
  expect(FIELD_NAMES.filter((field) => !new RegExp(`\\b${field}\\b`).test(block(name)))).toEqual([]);
});

it("gives Athena the columns and types of Spark, each mapped to its field", () => {
  const spark = [...(/"""(.*?)"""/s.exec(block("Spark"))?.[1]?.matchAll(/(\w+) (BIGINT|STRING)/g) ?? [])];
  expect(spark.map(([, name]) => name)).toEqual(FIELD_NAMES);
  const athena = block("Athena");
  const columns = /logs \((.*?)\)/s
    .exec(athena)?.[1]
    ?.split(",")
    .map((column) => column.trim());
  expect(columns).toEqual(spark.map(([column]) => column.toLowerCase()));
  const mapped = [...athena.matchAll(/'mapping\.(\w+)' = '(\w+)'/g)].map(([, column, field]) => [column, field]);
  expect(mapped).toEqual(FIELD_NAMES.map((field) => [field.toLowerCase(), field]));
});
