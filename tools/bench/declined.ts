/**
 * Why the scan of intake leaves lines to the parser (src/formats/json/canonical.ts): one reason a
 * line, for the mix of the benchmark and for the records and trace items of test/fixtures.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { encodeUtf8, isObject, type Json, parsedJson } from "../../src/base/bytes.ts";
import { EVENT_MAX_BYTES, EVENT_MAX_NESTING } from "../../src/base/limits.ts";
import { canonicalRecord } from "../../src/formats/json/canonical.ts";
import { JsonScanner, literal } from "../../src/formats/json/scanner.ts";
import { jsonText, recordLine } from "../../src/formats/record/encode.ts";
import { FIELD_NAMES, isFieldName, type TraceRecord } from "../../src/formats/record/fields.ts";
import { type Findings, isRecordForm, toRecord } from "../../src/formats/record/record.ts";
import { ROOT } from "../paths.ts";
import { recordOf } from "./record-of.ts";
import { RecordMix } from "./records.ts";
import { count, table } from "./table.ts";

/** 2026-11-20T12:00:00Z. */
const NOON = 1_795_176_000_000;

const RECORDS = 20_000;

const BOUNDED = { key: literal('"Event"'), levels: EVENT_MAX_NESTING };

/** Another name than a record has, so that it is seen where it was filled in. */
const CONTEXT = { takenInMs: NOON, defaultScriptName: "\u0000", lenient: false };

/** A line that was declined, and what parsing makes of it. */
interface Declined {
  line: string;
  value: Json;
  record: TraceRecord;
  findings: Findings & { oddTimes: string[] };
}

/** Of JSON, without the white space between them. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:,]|[^\s{}[\]:,"]+/g;

const tokensOf = (json: string): string[] => json.match(TOKENS) ?? [];

/** The first token that another text has in another form: as it is, and there. */
function firstOther(line: string, other: string): [string, string] {
  const [tokens, others] = [tokensOf(line), tokensOf(other)];
  const at = tokens.findIndex((token, i) => token !== others[i]);
  return [tokens[at] ?? "", others[at] ?? ""];
}

/** Whether this is where a line differs first from what the parser makes of it. */
function differsIn(kind: "string" | "number", { line, record }: Declined): boolean {
  const [a, b] = firstOther(line, recordLine(record)).map((token) => parsedJson(token));
  return typeof a === kind && a === b;
}

/** In this order: of several reasons the first one is counted. */
const REASONS = {
  "larger than an event may be": ({ line }) => encodeUtf8(line).length > EVENT_MAX_BYTES,
  "a field is missing": ({ value }) => FIELD_NAMES.some((name) => !(name in value)),
  "a key that is no field": ({ value }) => !Object.keys(value).every(isFieldName),
  "fields in another order": ({ value }) => Object.keys(value).join() !== FIELD_NAMES.join(),
  "white space between tokens": ({ line }) => tokensOf(line).join("") !== line,
  "no script name": ({ record }) => record.ScriptName === CONTEXT.defaultScriptName,
  "a time that is not in milliseconds": ({ findings }) => findings.oddTimes.length > 0,
  "a value that becomes another": ({ value, record }) => jsonText(value) !== recordLine(record),
  "an escape in another form": (declined) => differsIn("string", declined),
  "a number in another form": (declined) => differsIn("number", declined),
  "a key that moves or is repeated": ({ line, record }) => recordLine(record) !== line,
} as const satisfies { readonly [reason: string]: (declined: Declined) => boolean };

export type Reason =
  | keyof typeof REASONS
  | "not JSON"
  | "no object"
  | "a trace item"
  | "a value that is refused"
  | "a time of other centuries, or more than the scan compares";

/** @returns null: the scan takes it. */
export function declineOf(line: string): Reason | null {
  const bytes = encodeUtf8(line);
  const scanner = new JsonScanner(bytes, 0, bytes.length, BOUNDED);
  if (canonicalRecord(scanner, bytes) !== null && scanner.at === bytes.length && bytes.length <= EVENT_MAX_BYTES)
    return null;
  const value = parsedJson(line);
  if (value === undefined) return "not JSON";
  if (!isObject(value)) return "no object";
  if (!isRecordForm(value)) return "a trace item";
  const findings = { faults: [], unknownKeys: new Set<string>(), oddTimes: [] };
  const record = toRecord(value, CONTEXT, "", findings);
  if (record === null) return "a value that is refused";
  const declined = { line, value, record, findings };
  const names = Object.keys(REASONS) as (keyof typeof REASONS)[];
  const found = names.find((name) => REASONS[name](declined));
  return found ?? "a time of other centuries, or more than the scan compares";
}

/** How many lines were declined for each reason, most first. */
export function declinesOf(lines: readonly string[]): Map<Reason, number> {
  const counts = new Map<Reason, number>();
  for (const line of lines) {
    const reason = declineOf(line);
    if (reason !== null) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return new Map([...counts].toSorted(([, a], [, b]) => b - a));
}

const fixture = <T>(name: string): T =>
  JSON.parse(readFileSync(join(ROOT, "test/fixtures", `${name}.json`), "utf8")) as T;

/** Lines by where they come from. */
export function linesOf(records: number): { readonly [source: string]: readonly string[] } {
  const mix = new RecordMix(1);
  const items = Array.from({ length: records }, (_, i) => mix.next(NOON + i));
  const vectors = fixture<{ item: unknown; record: TraceRecord }[]>("tail-vectors");
  return {
    "the mix, as records": items.map((item, i) => recordLine(recordOf(item, NOON + i))),
    "the mix, as trace items": items.map(jsonText),
    "fixtures: records of trace items": vectors.map(({ record }) => recordLine(record)),
    "fixtures: trace items": vectors.map(({ item }) => jsonText(item)),
    "fixtures: records in the wild": fixture<{ input: unknown }[]>("records").map(({ input }) => jsonText(input)),
  };
}

export function reportDeclined(isQuick: boolean): string[] {
  const rows = Object.entries(linesOf(isQuick ? 1_000 : RECORDS)).flatMap(([source, lines]) => {
    const declines = declinesOf(lines);
    const taken = lines.length - [...declines.values()].reduce((sum, each) => sum + each, 0);
    const all = [["taken as it is", taken] as const, ...declines].filter(([, each]) => each > 0);
    return all.map(([what, each], i) => [i === 0 ? source : "", what, count(each)]);
  });
  return ["LINES that intake takes as they are, and why it parses others", table(["", "", "lines"], rows)];
}
