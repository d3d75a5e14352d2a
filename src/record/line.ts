import { TIME_MAX_MS } from "../limits.ts";
import { type ExceptionEntry, FIELD_NAMES, type FieldName, type LogEntry, type TraceRecord } from "./fields.ts";

/** What stands before the value of each field in a canonical line, and after the last one. */
const SEPARATORS: readonly string[] = [...FIELD_NAMES.map((name, i) => `${i === 0 ? "{" : ","}"${name}":`), "}"];

const INDEX: ReadonlyMap<string, number> = new Map(FIELD_NAMES.map((name, i) => [name, i]));
const EXCEPTIONS = FIELD_NAMES.indexOf("Exceptions");
const OUTCOME = FIELD_NAMES.indexOf("Outcome");
const TIMESTAMP = FIELD_NAMES.indexOf("EventTimestampMs");

/** The one field that holds foreign JSON, in which any of the separators may stand as well. */
const EVENT = FIELD_NAMES.indexOf("Event");

/**
 * A record as its canonical line (`recordLine`), read where it is needed and nowhere else: the JSON of a field is a slice of the line, and parsing is
 * what a record costs most. A separator begins with a `,` and a `"` that opens a key, and a `"` inside of a string is always escaped; so one can only stand
 * between two fields, or inside of `Event`. The fields up to `Event` are looked for from the front, the others from the back.
 *
 * What stands between the separators is believed: intake wrote it, and a checksum came with it.
 */
export class RecordLine implements TraceRecord {
  readonly line: string;
  readonly EventTimestampMs: number;
  /** Where each separator begins, as far as it was looked for; -1: it was not. Fields that nobody wants are never looked for. */
  readonly #starts: number[];
  /** What was asked for, parsed. */
  #values: unknown[] | null = null;

  private constructor(line: string) {
    this.line = line;
    this.#starts = [0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, line.length - 1];
    // From the back in steps, so that no search goes over the same text twice. What is no number gives NaN; what is empty would give 0.
    this.#start(OUTCOME);
    this.#start(EXCEPTIONS);
    this.EventTimestampMs = Number(this.#text(TIMESTAMP) || Number.NaN);
  }

  /** @returns null if that is no canonical line, as far as it shows without looking at all of it. */
  static read(line: string): RecordLine | null {
    if (!line.startsWith(SEPARATORS[0] as string) || !line.endsWith("}")) return null;
    try {
      const record = new RecordLine(line);
      const { EventTimestampMs: time } = record;
      return Number.isInteger(time) && time >= 0 && time <= TIME_MAX_MS ? record : null;
    } catch (error) {
      if (error instanceof SyntaxError) return null;
      throw error;
    }
  }

  /** Whether every field is there, in canonical order, and is JSON. */
  isCanonical(): boolean {
    try {
      return FIELD_NAMES.every((name, i) => this.#start(i) < this.#start(i + 1) && this.#value(name) !== undefined);
    } catch (error) {
      if (error instanceof SyntaxError) return false;
      throw error;
    }
  }

  /** The JSON of a field; undefined: a record has none of that name. @throws SyntaxError if this one lacks it. */
  text(name: string): string | undefined {
    const field = INDEX.get(name);
    return field === undefined ? undefined : this.#text(field);
  }

  /**
   * Fields that are neighbours in canonical order, with their names and the commas between them: `"EventType":"fetch","Exceptions":[]`.
   * @param first place of the first of them in canonical order. @param last of the last one.
   * @throws SyntaxError if one of them is missing.
   */
  run(first: number, last: number): string {
    // Behind the comma, or the brace, that the separator begins with.
    return this.line.slice(this.#start(first) + 1, this.#start(last + 1));
  }

  /** How many UTF-16 units `Exceptions` and `Logs` have as JSON: more than what they say. */
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

  #text(field: number): string {
    return this.line.slice(this.#start(field) + (SEPARATORS[field] as string).length, this.#start(field + 1));
  }

  /** @throws SyntaxError if there is none. */
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

  /** Parsed when it is first asked for. @throws SyntaxError if it is no JSON. */
  #value(name: FieldName): unknown {
    const field = INDEX.get(name) as number;
    this.#values ??= [];
    // No JSON is undefined.
    if (this.#values[field] === undefined) this.#values[field] = JSON.parse(this.#text(field));
    return this.#values[field];
  }
}
