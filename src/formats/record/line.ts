import { copyBytes, encodeUtf8 } from "../../base/bytes.ts";
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
import { RecordLines } from "./lines.ts";
import { repeatedValue } from "./repeated.ts";
import type { Source } from "./source.ts";

const INDEX: ReadonlyMap<string, number> = new Map(FIELD_NAMES.map((name, i) => [name, i]));
const EXCEPTIONS = FIELD_NAMES.indexOf("Exceptions");
const OUTCOME = FIELD_NAMES.indexOf("Outcome");

const ZERO = 0x30;

/** Neighbouring records have the same source. */
let lastQuoted = { source: "", json: '""' };

function quoted(source: Source): string {
  if (lastQuoted.source !== source) lastQuoted = { source, json: JSON.stringify(source) };
  return lastQuoted.json;
}

/**
 * A record as its canonical line (`recordLine`), a part of the bytes of a message, parsed lazily: a
 * field's JSON is a slice of the line, and parsing is the largest cost of a record.
 *
 * The text between the separators is trusted: intake wrote it, and a checksum came with it.
 */
export class RecordLine implements TraceRecord, Required<ExtraValues> {
  /** Not in the line. */
  readonly Source: Source;
  /** Its extra fields, as extras.ts has them; not in the line either. */
  readonly extra: string;
  readonly EventTimestampMs: number;
  readonly #lines: RecordLines;
  /** Its number among them. */
  readonly #record: number;
  /** Parsed values, by field. */
  #values: unknown[] | null = null;
  /** Of most records, it is read several times. */
  #scriptName: string | undefined;
  /** null: not decoded yet. */
  #line: string | null = null;

  private constructor(lines: RecordLines, record: number, source: Source, extra: string) {
    this.#lines = lines;
    this.#record = record;
    this.Source = source;
    this.extra = extra;
    this.EventTimestampMs = this.number("EventTimestampMs");
  }

  /**
   * @param source where it came from; "": unknown.
   * @param extra its extra fields; "": none.
   * @returns null if the line is not canonical, as far as a partial check shows.
   */
  static read(line: string, source: Source = "", extra = ""): RecordLine | null {
    const bytes = encodeUtf8(line);
    return RecordLine.in(new RecordLines(bytes, 1), 0, bytes.length, source, extra);
  }

  /** The same of a line among others. @param to where it ends, before its newline. */
  static in(lines: RecordLines, from: number, to: number, source: Source, extra: string): RecordLine | null {
    const place = lines.find(from, to);
    if (place === -1) return null;
    const record = new RecordLine(lines, place, source, extra);
    const { EventTimestampMs: time } = record;
    return Number.isInteger(time) && time >= 0 && time <= TIME_MAX_MS ? record : null;
  }

  /** The same of a line that may have its extra fields with it. */
  static ofEntry(entry: Entry, source?: Source): RecordLine | null {
    const { line, extra } = splitEntry(entry);
    return RecordLine.read(line, source, extra);
  }

  get line(): string {
    this.#line ??= this.#lines.text(this.#lines.start(this.#record, 0), this.#end);
    return this.#line;
  }

  /** Length of the line in UTF-8. */
  get bytes(): number {
    return this.#end - this.#lines.start(this.#record, 0);
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
   * Whether every field is valid JSON. Keeps no value.
   * @param fits whether the value may be that of the field.
   */
  isCanonical(fits: (name: FieldName, value: unknown) => boolean = () => true): boolean {
    try {
      return FIELD_NAMES.every((name, i) => fits(name, JSON.parse(this.#text(i))));
    } catch (error) {
      if (error instanceof SyntaxError) return false;
      throw error;
    }
  }

  /** The JSON of a field; undefined for an unknown name. */
  text(name: string): string | undefined {
    const field = INDEX.get(name);
    if (field !== undefined) return this.#text(field);
    if (name === "Source") return quoted(this.Source);
    return isTakenField(name) ? extraText(this.extra, name) : undefined;
  }

  /** Whether the JSON of a field is this text. @param json ASCII. */
  isText(name: FieldName, json: string): boolean {
    const field = INDEX.get(name) as number;
    const from = this.#from(field);
    return this.#to(field) - from === json.length && this.#isAt(from, json);
  }

  /** A field as a number; NaN: it is none. */
  number(name: FieldName): number {
    const field = INDEX.get(name) as number;
    const from = this.#from(field);
    const to = this.#to(field);
    const number = this.#whole(from, to);
    // Most are short and whole: no text is made of these.
    return Number.isNaN(number) && from < to ? Number(this.#text(field)) : number;
  }

  /**
   * The whole number between these texts, where the JSON of a field ends with all of it; NaN: it
   * does not. @param before ASCII. @param after likewise.
   */
  numberAtEnd(name: FieldName, before: string, after: string): number {
    const { bytes } = this.#lines;
    const field = INDEX.get(name) as number;
    const to = this.#to(field) - after.length;
    const first = this.#from(field) + before.length;
    if (to <= first || !this.#isAt(to, after)) return Number.NaN;
    let from = to;
    while (from > first && isDigit(bytes[from - 1] as number)) from -= 1;
    return this.#isAt(from - before.length, before) ? this.#whole(from, to) : Number.NaN;
  }

  /**
   * Consecutive fields with names and commas: `"EventType":"fetch","Exceptions":[]`.
   * @param first index in canonical order. @param last likewise, inclusive.
   */
  run(first: number, last: number): string {
    // + 1: after the comma or brace at the start of the separator.
    return this.#slice(this.#lines.start(this.#record, first) + 1, this.#to(last));
  }

  /** Length of such a run in UTF-8. */
  runBytes(first: number, last: number): number {
    return this.#to(last) - this.#lines.start(this.#record, first) - 1;
  }

  /** Writes such a run. @returns where it ends. */
  copyRun(first: number, last: number, into: Uint8Array, at: number): number {
    const from = this.#lines.start(this.#record, first) + 1;
    return copyBytes(this.#lines.bytes, from, this.#to(last), into, at);
  }

  /** Length of `Exceptions` and `Logs` as JSON, in UTF-8: an upper bound of their text. */
  get exceptionsAndLogsLength(): number {
    return this.#lines.start(this.#record, OUTCOME) - this.#lines.start(this.#record, EXCEPTIONS);
  }

  get CPUTimeMs(): number {
    return this.number("CPUTimeMs");
  }
  get DispatchNamespace(): string {
    return this.#repeated("DispatchNamespace");
  }
  get Entrypoint(): string {
    return this.#repeated("Entrypoint");
  }
  get Event(): Record<string, unknown> {
    return this.#value("Event") as Record<string, unknown>;
  }
  get EventType(): string {
    return this.#repeated("EventType");
  }
  get Exceptions(): ExceptionEntry[] {
    return this.#value("Exceptions") as ExceptionEntry[];
  }
  get Logs(): LogEntry[] {
    return this.#value("Logs") as LogEntry[];
  }
  get Outcome(): string {
    return this.#repeated("Outcome");
  }
  get ScriptName(): string {
    this.#scriptName ??= this.#repeated("ScriptName");
    return this.#scriptName;
  }
  get ScriptTags(): string[] {
    return this.#value("ScriptTags") as string[];
  }
  get ScriptVersion(): TraceRecord["ScriptVersion"] {
    return this.#value("ScriptVersion") as TraceRecord["ScriptVersion"];
  }
  get WallTimeMs(): number {
    return this.number("WallTimeMs");
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

  get #end(): number {
    return this.#to(FIELD_NAMES.length - 1) + 1;
  }

  /** Where the value of a field begins. */
  #from(field: number): number {
    return this.#lines.value(this.#record, field);
  }

  /** Where it ends. */
  #to(field: number): number {
    return this.#lines.start(this.#record, field + 1);
  }

  #text(field: number): string {
    return this.#slice(this.#from(field), this.#to(field));
  }

  /** Of most records no text is wanted; of others, often several: the line is decoded once. */
  #slice(from: number, to: number): string {
    const start = this.#lines.start(this.#record, 0);
    const isAscii = this.line.length === this.bytes;
    return isAscii ? this.line.slice(from - start, to - start) : this.#lines.text(from, to);
  }

  #isAt(from: number, ascii: string): boolean {
    const { bytes } = this.#lines;
    for (let i = 0; i < ascii.length; i++) if (bytes[from + i] !== ascii.charCodeAt(i)) return false;
    return true;
  }

  /** Digits as a number; NaN: they are none. */
  #whole(from: number, to: number): number {
    const { bytes } = this.#lines;
    let number = from < to ? 0 : Number.NaN;
    for (let at = from; at < to; at++) {
      const byte = bytes[at] as number;
      if (!isDigit(byte)) return Number.NaN;
      number = 10 * number + byte - ZERO;
    }
    return number;
  }

  /** @throws SyntaxError if it is not JSON. */
  #repeated(name: FieldName): string {
    const field = INDEX.get(name) as number;
    return repeatedValue(this.#lines.bytes, this.#from(field), this.#to(field)) as string;
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

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= ZERO + 9;
}
