import { type ExceptionEntry, FIELD_NAMES, type FieldName, type LogEntry, type TraceRecord } from "./fields.ts";

/** What stands before the value of each field in a canonical line, and after the last one. */
const SEPARATORS: readonly string[] = [...FIELD_NAMES.map((name, i) => `${i === 0 ? "{" : ","}"${name}":`), "}"];

const INDEX: ReadonlyMap<string, number> = new Map(FIELD_NAMES.map((name, i) => [name, i]));

/** The one field that holds foreign JSON, in which any of the separators may stand as well. */
const EVENT = FIELD_NAMES.indexOf("Event");

/**
 * A record as its canonical line (`recordLine`), read where it is needed and nowhere else: the JSON of a field is a slice of the line, and parsing is
 * what a record costs most. A separator begins with a `,` and a `"` that opens a key, and a `"` inside of a string is always escaped; so one can only stand
 * between two fields, or inside of `Event`. The fields before it are looked for from the front, the others from the back.
 */
export class RecordLine implements TraceRecord {
  readonly line: string;
  /** Where each separator begins. */
  readonly #starts: readonly number[];
  readonly #values: unknown[] = [];

  private constructor(line: string, starts: readonly number[]) {
    this.line = line;
    this.#starts = starts;
  }

  /** @returns null if that is no canonical line. What stands between the separators is believed: intake wrote it, and a checksum came with it. */
  static read(line: string): RecordLine | null {
    const starts = new Array<number>(SEPARATORS.length);
    let from = 0;
    for (let i = 0; i <= EVENT; i++) {
      const separator = SEPARATORS[i] as string;
      const start = line.indexOf(separator, from);
      if (start === -1) return null;
      starts[i] = start;
      from = start + separator.length;
    }
    if (starts[0] !== 0 || !line.endsWith("}")) return null;
    let end = line.length - 1;
    starts[FIELD_NAMES.length] = end;
    for (let i = FIELD_NAMES.length - 1; i > EVENT; i--) {
      const start = line.lastIndexOf(SEPARATORS[i] as string, end);
      if (start < from) return null;
      starts[i] = start;
      end = start - 1;
    }
    const record = new RecordLine(line, starts);
    return /^\d{1,15}$/.test(record.text("EventTimestampMs") ?? "") ? record : null;
  }

  /** The JSON of a field; undefined: a record has none of that name. */
  text(name: string): string | undefined {
    const field = INDEX.get(name);
    return field === undefined ? undefined : this.#text(field);
  }

  /** How many UTF-16 units the JSON of `Exceptions` and `Logs` has: at least as many as what they say. */
  get exceptionsAndLogsLength(): number {
    const [exceptions, logs] = [INDEX.get("Exceptions"), INDEX.get("Logs")] as [number, number];
    return this.#text(exceptions).length + this.#text(logs).length;
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
  get EventTimestampMs(): number {
    return Number(this.text("EventTimestampMs"));
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
    const start = (this.#starts[field] as number) + (SEPARATORS[field] as string).length;
    return this.line.slice(start, this.#starts[field + 1]);
  }

  /** Parsed when it is first asked for. @throws SyntaxError if it is no JSON. */
  #value(name: FieldName): unknown {
    const field = INDEX.get(name) as number;
    if (!(field in this.#values)) this.#values[field] = JSON.parse(this.#text(field));
    return this.#values[field];
  }
}
