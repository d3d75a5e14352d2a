import { isObject } from "../../base/bytes.ts";
import { EVENT_MAX_DEPTH, FIELDS_MAX_UNITS } from "../../base/limits.ts";
import { jsonText } from "./encode.ts";
import { canonicalText } from "./exact.ts";
import { INVOCATION_FIELDS, isTakenField, type LogError, type RowField } from "./fields.ts";
import type { RecordLine } from "./line.ts";
import { isDeeperThan } from "./record.ts";
import { LOG_MARKER } from "./truncate.ts";

/** The fields of an invocation, and what is its own: one log line, or one exception. */
export interface Row {
  /** The JSON of a field; undefined: a row has none of that name. */
  text(name: string): string | undefined;
  /** As of the record; absent: some of its fields are not as they are there. */
  run?(first: number, last: number): string;
}

/** Whether an invocation has rows. */
export function hasRows(record: RecordLine): boolean {
  if (record.isText("Logs", "[]") && record.isText("Exceptions", "[]")) return false;
  return record.Logs.length > 0 || record.Exceptions.length > 0;
}

/**
 * The rows of an invocation: its logs in their order, then its exceptions. Pure, and made one by
 * one: each repeats what the invocation has, so all of them may be large.
 */
export function* rowsOf(record: RecordLine): Generator<Row> {
  const errors = record.Logs.length === 0 ? [] : record.LogErrors;
  for (const [i, log] of record.Logs.entries()) {
    const fields = fieldsOf(log.Message);
    yield new OwnRow(record, {
      Level: log.Level,
      Message: fields === null ? log.Message.join(" ") : "",
      TimestampMs: log.TimestampMs,
      RowType: "log",
      ExceptionName: "",
      Fields: fields,
      stack: "",
      errors: errors.filter(({ Log }) => Log === i),
    });
  }
  const stacks = record.Exceptions.length === 0 ? [] : record.ExceptionStacks;
  for (const [i, exception] of record.Exceptions.entries()) {
    yield new OwnRow(record, {
      Level: "error",
      Message: exception.message,
      TimestampMs: exception.TimestampMs,
      RowType: "exception",
      ExceptionName: exception.name,
      Fields: null,
      stack: stacks[i] ?? "",
    });
  }
}

/** Longest field of the invocation in such a row, as JSON, in UTF-16 units. */
const SHORT_UNITS = 1_000;

/**
 * Stands for this row and all that follow it, where they are too many. It is small: of what the
 * invocation has, long fields are empty.
 */
export function leftOutRow(record: RecordLine, row: Row): Row {
  const marker = new OwnRow(record, {
    Level: "",
    Message: LOG_MARKER,
    TimestampMs: Number(row.text("TimestampMs")),
    RowType: "log",
    ExceptionName: "",
    Fields: null,
    stack: "",
  });
  return {
    text: (name) => {
      const json = marker.text(name);
      return json === undefined || json.length <= SHORT_UNITS ? json : EMPTY[json[0] ?? ""];
    },
  };
}

/** The empty value of each kind that may be long, by how it begins. */
const EMPTY: { readonly [first: string]: string } = { "{": "{}", "[": "[]", '"': '""' };

/** What is a row's own. */
type Own = { readonly [name in Exclude<RowField, "TimestampMs" | "Fields">]: string } & {
  readonly TimestampMs: number;
  /** JSON of an object that is not empty; null: there is none. */
  readonly Fields: string | null;
  /** Of its exception; "": none. */
  readonly stack: string;
  /** Among the arguments of its log line. */
  readonly errors?: readonly LogError[];
};

const SHARED: ReadonlySet<string> = new Set([...INVOCATION_FIELDS, "Source"]);

class OwnRow implements Required<Row> {
  readonly #record: RecordLine;
  readonly #own: Own;

  constructor(record: RecordLine, own: Own) {
    this.#record = record;
    this.#own = own;
  }

  run(first: number, last: number): string {
    return this.#record.run(first, last);
  }

  text(name: string): string | undefined {
    switch (name) {
      case "Level":
      case "Message":
      case "RowType":
      case "ExceptionName":
        // Only intake makes sure that there is a level.
        return jsonText(this.#own[name] ?? "");
      case "TimestampMs":
        return jsonText(this.#own.TimestampMs ?? 0);
      case "Fields":
        return this.#own.Fields ?? "{}";
      case "ExceptionStacks":
        return jsonText(this.#own.stack === "" ? [] : [this.#own.stack]);
      case "LogErrors":
        return jsonText(this.#own.errors ?? []);
      default:
        return SHARED.has(name) || isTakenField(name) ? this.#record.text(name) : undefined;
    }
  }
}

/** How JSON escapes half of a surrogate pair; matches whole pairs, too, and escaped backslashes. */
const ESCAPED_SURROGATE = /\\ud/i;

/** Whether a text in it has half of a surrogate pair: only that is escaped as it is written. */
function hasHalves(value: object): boolean {
  return ESCAPED_SURROGATE.test(JSON.stringify(value).replaceAll("\\\\", ""));
}

/**
 * The JSON of a message that is one object, and not an empty one. It stays as it was logged, so
 * that no digit is lost; only line breaks between its parts are taken out.
 * @returns null: it is none, is nested too deeply, or too long to be parsed for it.
 */
function fieldsOf(message: readonly string[]): string | null {
  const [only = "", ...others] = message;
  if (others.length > 0 || only.length > FIELDS_MAX_UNITS) return null;
  const text = only.trim();
  if (!text.startsWith("{") || !text.endsWith("}")) return null;
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value) || Object.keys(value).length === 0 || isDeeperThan(value, EVENT_MAX_DEPTH)) return null;
    if (ESCAPED_SURROGATE.test(text) && hasHalves(value)) return canonicalText(text);
    // Within a text, JSON escapes them.
    return text.replaceAll(/[\n\r]+/g, "");
  } catch {
    return null;
  }
}
