import { TIME_MAX_MS } from "../../base/limits.ts";
import { type Entry, entryOf, extraText, splitEntry } from "./extras.ts";
import {
  type ExceptionEntry,
  type ExtraValues,
  FIELD_NAMES,
  type FieldName,
  isTakenField,
  type LogEntry,
  type TakenField,
  type TraceRecord,
} from "./fields.ts";
import type { Source } from "./source.ts";

/** The text before each field's value in a canonical line, and after the last one. */
const SEPARATORS: readonly string[] = [...FIELD_NAMES.map((name, i) => `${i === 0 ? "{" : ","}"${name}":`), "}"];

const INDEX: ReadonlyMap<string, number> = new Map(FIELD_NAMES.map((name, i) => [name, i]));
const EXCEPTIONS = FIELD_NAMES.indexOf("Exceptions");
const OUTCOME = FIELD_NAMES.indexOf("Outcome");

/** The one field with foreign JSON, which may contain any of the separators. */
const EVENT = FIELD_NAMES.indexOf("Event");

const ZERO = 0x30;

/** Neighbouring records have the same source. */
let lastQuoted = { source: "", json: '""' };

function quoted(source: Source): string {
  if (lastQuoted.source !== source) lastQuoted = { source, json: JSON.stringify(source) };
  return lastQuoted.json;
}

/**
 * A record as its canonical line (`recordLine`), parsed lazily: a field's JSON is a slice of the
 * line, and parsing is the largest cost of a record. A separator contains an unescaped `"` after a
 * comma, so it can only occur between two fields or inside `Event`. Fields up to `Event` are
 * searched from the front, the others from the back.
 *
 * The text between the separators is trusted: intake wrote it, and a checksum came with it.
 */
export class RecordLine implements TraceRecord, Required<ExtraValues> {
  readonly line: string;
  /** Not in the line. */
  readonly Source: Source;
  /** Its extra fields, as extras.ts has them; not in the line either. */
  readonly extra: string;
  readonly EventTimestampMs: number;
  /** Where each separator begins; -1: not searched yet. */
  readonly #starts: number[];
  /** Parsed values, by field. */
  #values: unknown[] | null = null;

  private constructor(line: string, source: Source, extra: string) {
    this.line = line;
    this.Source = source;
    this.extra = extra;
    this.#starts = [0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, line.length - 1];
    // From the back in steps, so that no text is searched twice: what is counted of each record is
    // among these.
    for (let field = FIELD_NAMES.length - 1; field >= OUTCOME; field--) this.#start(field);
    this.#start(EXCEPTIONS);
    this.EventTimestampMs = this.number("EventTimestampMs");
  }

  /**
   * @param source where it came from; "": unknown.
   * @param extra its extra fields; "": none.
   * @returns null if the line is not canonical, as far as a partial check shows.
   */
  static read(line: string, source: Source = "", extra = ""): RecordLine | null {
    if (!line.startsWith(SEPARATORS[0] as string) || !line.endsWith("}")) return null;
    try {
      const record = new RecordLine(line, source, extra);
      const { EventTimestampMs: time } = record;
      return Number.isInteger(time) && time >= 0 && time <= TIME_MAX_MS ? record : null;
    } catch (error) {
      if (error instanceof SyntaxError) return null;
      throw error;
    }
  }

  /** The same of a line that may have its extra fields with it. */
  static ofEntry(entry: Entry, source?: Source): RecordLine | null {
    const { line, extra } = splitEntry(entry);
    return RecordLine.read(line, source, extra);
  }

  /** The line, with its extra fields. */
  get entry(): Entry {
    return entryOf(this.line, this.extra);
  }

  /** The line with its extra fields among the others, as one JSON object. */
  get withExtra(): string {
    return this.extra === "" ? this.line : `${this.line.slice(0, -1)},${this.extra.slice(1)}`;
  }

  /**
   * Whether every field is present, in canonical order, and valid JSON. Keeps no value.
   * @param fits whether the value may be that of the field.
   */
  isCanonical(fits: (name: FieldName, value: unknown) => boolean = () => true): boolean {
    try {
      return FIELD_NAMES.every(
        (name, i) => this.#start(i) < this.#start(i + 1) && fits(name, JSON.parse(this.#text(i))),
      );
    } catch (error) {
      if (error instanceof SyntaxError) return false;
      throw error;
    }
  }

  /**
   * The JSON of a field; undefined for an unknown name. @throws SyntaxError if this line lacks it.
   */
  text(name: string): string | undefined {
    const field = INDEX.get(name);
    if (field !== undefined) return this.#text(field);
    if (name === "Source") return quoted(this.Source);
    return isTakenField(name) ? extraText(this.extra, name) : undefined;
  }

  /** Whether the JSON of a field is this text. @throws SyntaxError if this line lacks it. */
  isText(name: FieldName, json: string): boolean {
    const field = INDEX.get(name) as number;
    const from = this.#start(field) + (SEPARATORS[field] as string).length;
    return this.#start(field + 1) - from === json.length && this.line.startsWith(json, from);
  }

  /** A field as a number; NaN: it is none. @throws SyntaxError if this line lacks it. */
  number(name: FieldName): number {
    const field = INDEX.get(name) as number;
    const end = this.#start(field + 1);
    const from = this.#start(field) + (SEPARATORS[field] as string).length;
    let number = from < end ? 0 : Number.NaN;
    // Most are short and whole: no text is made of these.
    for (let at = from; at < end; at++) {
      const digit = this.line.charCodeAt(at) - ZERO;
      if (digit < 0 || digit > 9) return Number(this.#text(field));
      number = 10 * number + digit;
    }
    return number;
  }

  /**
   * Consecutive fields with names and commas: `"EventType":"fetch","Exceptions":[]`.
   * @param first index in canonical order. @param last likewise, inclusive.
   * @throws SyntaxError if one of them is missing.
   */
  run(first: number, last: number): string {
    // + 1: after the comma or brace at the start of the separator.
    return this.line.slice(this.#start(first) + 1, this.#start(last + 1));
  }

  /** Length of `Exceptions` and `Logs` as JSON, in UTF-16 units: an upper bound of their text. */
  get exceptionsAndLogsLength(): number {
    return this.#start(OUTCOME) - this.#start(EXCEPTIONS);
  }

  get CPUTimeMs(): number {
    return this.#value("CPUTimeMs") as number;
  }
  get DispatchNamespace(): string {
    return this.#value("DispatchNamespace") as string;
  }
  get Entrypoint(): string {
    return this.#value("Entrypoint") as string;
  }
  get Event(): Record<string, unknown> {
    return this.#value("Event") as Record<string, unknown>;
  }
  get EventType(): string {
    return this.#value("EventType") as string;
  }
  get Exceptions(): ExceptionEntry[] {
    return this.#value("Exceptions") as ExceptionEntry[];
  }
  get Logs(): LogEntry[] {
    return this.#value("Logs") as LogEntry[];
  }
  get Outcome(): string {
    return this.#value("Outcome") as string;
  }
  get ScriptName(): string {
    return this.#value("ScriptName") as string;
  }
  get ScriptTags(): string[] {
    return this.#value("ScriptTags") as string[];
  }
  get ScriptVersion(): TraceRecord["ScriptVersion"] {
    return this.#value("ScriptVersion") as TraceRecord["ScriptVersion"];
  }
  get WallTimeMs(): number {
    return this.#value("WallTimeMs") as number;
  }

  get RequestHeaders(): NonNullable<ExtraValues["RequestHeaders"]> {
    return this.#extra("RequestHeaders") as NonNullable<ExtraValues["RequestHeaders"]>;
  }
  get RequestCF(): NonNullable<ExtraValues["RequestCF"]> {
    return this.#extra("RequestCF") as NonNullable<ExtraValues["RequestCF"]>;
  }
  get ExceptionStacks(): string[] {
    return this.#extra("ExceptionStacks") as string[];
  }
  get DurableObjectID(): string {
    return this.#extra("DurableObjectID") as string;
  }
  get ExecutionModel(): string {
    return this.#extra("ExecutionModel") as string;
  }
  get Truncated(): boolean {
    return this.#extra("Truncated") as boolean;
  }
  get LogErrors(): NonNullable<ExtraValues["LogErrors"]> {
    return this.#extra("LogErrors") as NonNullable<ExtraValues["LogErrors"]>;
  }
  get Preview(): NonNullable<ExtraValues["Preview"]> {
    return this.#extra("Preview") as NonNullable<ExtraValues["Preview"]>;
  }

  #text(field: number): string {
    return this.line.slice(this.#start(field) + (SEPARATORS[field] as string).length, this.#start(field + 1));
  }

  /** @throws SyntaxError if the field is missing. */
  #start(field: number): number {
    const known = this.#starts[field] as number;
    if (known !== -1) return known;
    const separator = SEPARATORS[field] as string;
    let start: number;
    if (field <= EVENT) start = this.line.indexOf(separator);
    else {
      let later = field + 1;
      while (this.#starts[later] === -1) later += 1;
      start = this.line.lastIndexOf(separator, (this.#starts[later] as number) - 1);
    }
    if (start === -1) throw new SyntaxError(`a record without ${FIELD_NAMES[field]}`);
    this.#starts[field] = start;
    return start;
  }

  /** Parsed on first use. @throws SyntaxError if it is not JSON. */
  #value(name: FieldName): unknown {
    const field = INDEX.get(name) as number;
    this.#values ??= [];
    // JSON never parses to undefined.
    if (this.#values[field] === undefined) this.#values[field] = JSON.parse(this.#text(field));
    return this.#values[field];
  }

  /** Parsed anew each time: few filters read one. @throws SyntaxError if it is not JSON. */
  #extra(name: TakenField): unknown {
    return JSON.parse(extraText(this.extra, name));
  }
}
