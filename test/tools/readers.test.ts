/** The lines of docs/reading.md, and the sample that they are tried on. No reader is needed. */
import { spawnSync } from "node:child_process";
import { chmodSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { FIELD_NAMES } from "../../src/formats/record/fields.ts";
import { ROOT } from "../../tools/paths.ts";
import { blocksOf, forTabs } from "../../tools/readers/blocks.ts";
import { difference, type Row, summaryOf } from "../../tools/readers/compare.ts";
import { type Form, sampleObjects, sampleRecords } from "../../tools/readers/sample.ts";
import { readers } from "../../tools/readers/ways.ts";
import { readCsv } from "../formats/output/read-csv.ts";
import { folderOf } from "./project-files/temporary.ts";

const PAGE = blocksOf(readFileSync(join(ROOT, "docs/reading.md"), "utf8"));
const READERS = readers("python3");

const block = (heading: string): string => {
  const found = PAGE.get(heading);
  if (found === undefined) throw new Error(`no line for ${heading}`);
  return found;
};

describe("the lines of docs/reading.md", () => {
  it.each(READERS)("$name reads the days of each form, and no other folder", ({ name, forms }) => {
    // lnav is given its files beside the block, which is a description of them.
    if (name !== "lnav") expect(block(name)).toContain("logs/2*/*.log.gz");
    if (forms.includes("parquet")) expect(block(`${name} as Parquet`)).toContain("parquet/2*/*.parquet");
    if (!forms.includes("csv")) return;
    const csv = block(`${name} as CSV`);
    expect(csv).toContain("csv/2*/*.log.gz");
    expect(forTabs(csv)).toBe(csv.replace(/(["']),\1/, "$1\\t$1").replace("csv/2*/", "tab/2*/"));
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

  it("cannot be turned to tabs without one delimiter", () => {
    expect(() => forTabs("read('csv/2*/*.log.gz')")).toThrow("not one delimiter");
    expect(() => forTabs(`sep="," quote=','`)).toThrow("not one delimiter");
  });
});

const records = sampleRecords();
const truth = summaryOf(rowsOf(records));

function rowsOf(of: readonly object[]): Row[] {
  return of.map((record) => ({ ...record }));
}

const textsOf = (form: Form): string[] =>
  sampleObjects(records, form).map(({ bytes }) => new TextDecoder().decode(gunzipSync(bytes)));

describe("the sample", () => {
  it("has every kind of event, each rarer than the requests before it, over several days", () => {
    const kinds = "alarm deployment email fetch hibernatable_web_socket queue scheduled tail unknown worker_rpc";
    expect(Object.keys(truth.kinds)).toEqual(kinds.split(" "));
    expect(records.findIndex(({ EventType }) => EventType !== "fetch")).toBeGreaterThan(200);
    const keys = sampleObjects(records, "logs").map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
    expect(keys.map((key) => key.slice(0, 9))).toEqual(
      ["20261119/", "20261120/", "20261121/"].flatMap((day) => [day, day]),
    );
  });

  it("has what readers stumble over: other line separators, escapes, numbers in quotes, the largest number", () => {
    const text = textsOf("logs").join("");
    for (const odd of [
      "\u2028",
      "\u2029",
      "\u0085",
      "\\u0000",
      "\\\\",
      '\\"',
      "\\r\\n",
      "😀",
      '"007"',
      '"NA"',
      "1e+300",
    ])
      expect(text).toContain(odd);
    expect(text).toContain(`"WallTimeMs":${Number.MAX_SAFE_INTEGER}`);
    expect(text).not.toContain('"stack"');
  });

  it("is read back whole by splitting at line feeds alone", () => {
    const lines = textsOf("logs").flatMap((text) => text.split("\n").filter((line) => line !== ""));
    expect(lines.map((line) => JSON.parse(line))).toEqual(records);
    expect(lines.join("\n").split(/\r\n|[\n\r\u2028\u2029\u0085]/).length).toBeGreaterThan(lines.length);
  });

  it("is the same by hours, each object of one", () => {
    const objects = sampleObjects(records, "parts");
    const lines = objects.flatMap(({ key, bytes }) => {
      const own = gunzipSync(bytes).toString().split("\n").slice(0, -1);
      for (const line of own) {
        const iso = new Date(JSON.parse(line).EventTimestampMs).toISOString();
        expect(key.startsWith(`dt=${iso.slice(0, 10)}/hour=${iso.slice(11, 13)}/`)).toBe(true);
      }
      return own;
    });
    expect(lines.map((line) => JSON.parse(line))).toEqual(records);
    expect(objects.length).toBeGreaterThan(12);
  });

  it.each([
    ["csv", ","],
    ["tab", "\t"],
  ] as const)("is the same as %s, by RFC 4180", (form, fieldDelimiter) => {
    const rows = textsOf(form).flatMap((text) => {
      const [header, ...values] = readCsv(text, fieldDelimiter);
      expect(header).toEqual(FIELD_NAMES);
      return values.map((row) => Object.fromEntries(FIELD_NAMES.map((name, i) => [name, row[i]])));
    });
    expect(difference(summaryOf(rows, { escaped: true }), truth)).toBeNull();
  });
});

describe("the comparison", () => {
  const found = (change: (rows: Record<string, unknown>[]) => Row[]): string | null =>
    difference(summaryOf(change(rowsOf(records))), truth);
  const last = (field: string, value: unknown) =>
    found((rows) => rows.map((row, i) => (i === rows.length - 1 ? { ...row, [field]: value } : row)));

  it("takes rows in any order, and nested values as JSON text with keys in any order", () => {
    expect(found((rows) => rows.reverse())).toBeNull();
    const turned = (value: object): string => JSON.stringify(Object.fromEntries(Object.entries(value).reverse()));
    expect(
      found((rows) =>
        rows.map((row) => ({ ...row, Event: turned(row.Event as object), Logs: JSON.stringify(row.Logs) })),
      ),
    ).toBeNull();
  });

  it("takes times as readers of Parquet print them, and sees one that is a millisecond off", () => {
    const printed = (text: (iso: string) => string): string | null =>
      found((rows) =>
        rows.map((row) => ({
          ...row,
          EventTimestampMs: text(new Date(row.EventTimestampMs as number).toISOString()),
        })),
      );
    expect(printed((iso) => iso)).toBeNull();
    expect(printed((iso) => iso.replace("T", " ").replace("Z", "+00"))).toBeNull();
    expect(printed((iso) => iso.replace("T", " ").replace("Z", "000+00:00"))).toBeNull();
    expect(printed((iso) => iso.replace("T", " ").replace("Z", ""))).toBeNull();
    expect(printed((iso) => iso.replace(/0Z$/, "1Z"))).toBe("a value");
  });

  it("sees a record too few or twice, another kind, a number as text and one character", () => {
    expect(found((rows) => rows.slice(1))).toBe(`${truth.count - 1} of ${truth.count} records`);
    expect(found((rows) => [...rows, ...rows.slice(0, 1)])).toBe(`${truth.count + 1} of ${truth.count} records`);
    expect(last("EventType", "queue")).toBe("2 of 3 records of deployment");
    expect(last("WallTimeMs", "0")).toBe("a value");
    expect(last("ScriptName", "cI")).toBe("a value");
    expect(last("Event", "{}")).toBe("a value");
    expect(() => last("Outcome", null)).toThrow("Outcome is null");
    expect(() => last("Logs", "[unescaped]")).toThrow();
  });
});

describe("npm run readers", () => {
  /** @param commands shell scripts by name, before all others. */
  function run(args: readonly string[], { commands = {}, folder = ROOT }: { commands?: object; folder?: string } = {}) {
    const bin = folderOf({ ...commands });
    for (const name of Object.keys(commands)) chmodSync(join(bin, name), 0o755);
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, "tools/readers.ts"), ...args], {
      cwd: ROOT,
      env: { ...process.env, INIT_CWD: folder, PATH: `${bin}${delimiter}${process.env.PATH}` },
      encoding: "utf8",
    });
    return { code: status, lines: stdout.split("\n").slice(2, -1), err: stderr };
  }
  const fakeJq = (reads: string): object => ({
    jq: `#!/bin/sh\nif [ "$1" = --version ]; then echo jq-test; else ${reads}; fi\n`,
  });
  const row = (says: string): string => `jq          NDJSON   ${"jq-test".padEnd(24)}  ${says}`;

  it("says ok for a reader that gives back every record", () => {
    expect(run(["jq"], { commands: fakeJq("cat") })).toEqual({ code: 0, lines: [row("ok")], err: "" });
  });

  it("says ok for jq itself, where it is", () => {
    expect(run(["jq"]).code).toBe(0);
  });

  it("says how a reader differs, and exits with 1", () => {
    const fewer = run(["jq"], { commands: fakeJq("tail -n +2") });
    expect(fewer).toMatchObject({ code: 1, lines: [row(`differs: ${truth.count - 1} of ${truth.count} records`)] });
    const fails = run(["jq"], { commands: fakeJq("cat >/dev/null; echo 'parse error' >&2; exit 5") });
    expect(fails).toMatchObject({ code: 1, lines: [row("differs: parse error")] });
  });

  it("passes over a reader that is absent", () => {
    const { code, lines } = run(["polars", "--python", join(ROOT, "no-python")]);
    expect([code, lines.map((line) => line.split(/ {2,}/))]).toEqual([
      0,
      ["NDJSON", "CSV", "tabs", "Parquet"].map((form) => ["polars", form, "-", "absent"]),
    ]);
  });

  it("reads objects of a job, by a path from where the user is", () => {
    const [line] = textsOf("logs")[0]?.split("\n") ?? [];
    // Two objects, stored by another tool: gzip of any kind.
    const folder = folderOf({
      "down/20261120/a.log.gz": "",
      "down/20261121/b.log.gz": "",
      "down/00010101/x.log.gz": "",
    });
    for (const name of ["20261120/a", "20261121/b"])
      spawnSync("sh", [
        "-c",
        `printf '%s\\n' "$1" | gzip > "$2"`,
        "sh",
        line ?? "",
        join(folder, "down", `${name}.log.gz`),
      ]);
    expect(run(["jq", "--dir", "down"], { commands: fakeJq("cat"), folder })).toMatchObject({
      code: 0,
      lines: [row("ok")],
    });
    expect(run(["jq", "--dir", "."], { folder })).toMatchObject({ code: 2, err: `${folder} has no 2*/*.log.gz\n` });
  });

  it("names what it does not know", () => {
    expect(run(["excel"])).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^no reader is called excel: DuckDB, /),
    });
    for (const args of [["--help"], ["--dir"], ["--python"]])
      expect(run(args)).toMatchObject({ code: 2, err: expect.stringMatching(/^[^\n]+\n\nusage: npm run readers /) });
  });
});
