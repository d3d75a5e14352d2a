/**
 * How to run the lines of docs/reading.md: for each reader, what shows that it is there, and what
 * prints the rows of `logs` as NDJSON. Pure.
 */
import type { Form } from "./sample.ts";

export interface Command {
  file: string;
  args: readonly string[];
}

/** One way to have a reader: as a command, or as a package of Python. */
interface Way {
  /** Prints its version. */
  version: Command;
  /** @param blocks the lines to run, in order; the last one reads. */
  rows(blocks: readonly string[]): Command;
}

export interface Reader {
  /** The heading of its section; that of CSV is `<name> as CSV`. */
  name: string;
  forms: readonly Form[];
  /** The first that is there is taken. */
  ways: readonly Way[];
}

const LINES: readonly Form[] = ["logs", "csv", "tab"];
const ALL: readonly Form[] = [...LINES, "parquet"];

const shell = (script: string, ...args: string[]): Command => ({ file: "sh", args: ["-c", script, "sh", ...args] });

/** A command whose line prints the rows itself. */
const printing = (version: string): Way => ({
  version: shell(version),
  rows: (blocks) => shell(blocks.at(-1) ?? ""),
});

/** To a file: it does not write to a pipe by name. */
const DUCKDB_ROWS = "COPY logs TO 'duckdb.json' (FORMAT json);";
const CLICKHOUSE_ROWS = "SELECT * FROM logs";
/** The time is a column of lnav's own. */
const LNAV_ROWS =
  `;SELECT log_time_msecs AS EventTimestampMs, CPUTimeMs, DispatchNamespace, Entrypoint, Event, EventType,
  Exceptions, Logs, Outcome, ScriptName, ScriptTags, ScriptVersion, WallTimeMs FROM logship`.replaceAll("\n", " ");

/** @param python the command of a Python that may have the packages. */
export function readers(python: string): Reader[] {
  const code = (...lines: string[]): Command => ({ file: python, args: ["-c", lines.join("\n")] });
  const module = (name: string, print: string, before = ""): Way => ({
    version: code(`import ${name}`, `print(${name}.__version__)`),
    rows: (blocks) => code(before, ...blocks, print),
  });
  return [
    {
      name: "DuckDB",
      forms: [...ALL, "parts"],
      ways: [
        {
          version: shell("duckdb -version"),
          rows: (blocks) => shell('duckdb -c "$1" >&2 && cat duckdb.json', `${blocks.at(-1)}\n${DUCKDB_ROWS}`),
        },
        {
          version: code("import duckdb", "print(duckdb.__version__)"),
          rows: (blocks) =>
            code(
              "import duckdb",
              `duckdb.execute(${JSON.stringify(`${blocks.at(-1)}\n${DUCKDB_ROWS}`)})`,
              "print(open('duckdb.json', encoding='utf8').read())",
            ),
        },
      ],
    },
    { name: "polars", forms: ALL, ways: [module("polars", 'print(logs.collect().write_ndjson(), end="")')] },
    {
      name: "pandas",
      forms: ALL,
      ways: [module("pandas", "print(logs.to_json(orient='records', lines=True))")],
    },
    {
      name: "pyarrow",
      forms: ALL,
      ways: [module("pyarrow", "import json\nfor row in logs.to_pylist(): print(json.dumps(row, default=str))")],
    },
    {
      name: "ClickHouse",
      forms: ALL,
      ways: [
        {
          version: shell("clickhouse local --version"),
          rows: (blocks) =>
            shell('clickhouse local --query "$1"', `${blocks.at(-1)}\n${CLICKHOUSE_ROWS} FORMAT JSONEachRow`),
        },
        {
          version: code("import chdb", `print(chdb.query("SELECT 'chdb ' || version()", "TSVRaw"))`),
          rows: (blocks) =>
            code(
              "from chdb import session",
              "here = session.Session()",
              `here.query(${JSON.stringify(blocks.at(-1))})`,
              `print(here.query(${JSON.stringify(CLICKHOUSE_ROWS)}, "JSONEachRow"))`,
            ),
        },
      ],
    },
    {
      name: "Spark",
      forms: ALL,
      ways: [
        module(
          "pyspark",
          "for row in logs.toJSON().collect(): print(row)",
          `from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()`,
        ),
      ],
    },
    { name: "jq", forms: ["logs"], ways: [printing("jq --version")] },
    { name: "Miller", forms: LINES, ways: [printing("mlr --version")] },
    {
      name: "lnav",
      forms: ["logs"],
      ways: [
        {
          version: shell("lnav -V"),
          // With a folder of its own for the formats that are installed.
          rows: (blocks) =>
            shell(
              `unset XDG_CONFIG_HOME; HOME="$PWD"; export HOME; printf %s "$1" > logship.json
               lnav -i logship.json >&2 && lnav -n -c "$2" -c ':write-jsonlines-to -' logs/2*/*.log.gz`,
              blocks.at(-1) ?? "",
              LNAV_ROWS,
            ),
        },
      ],
    },
  ];
}
