import { decodeUtf8 } from "../../base/bytes.ts";
import type { Question } from "../filter/parse.ts";
import { compileSought, fieldsAt, longest, passing, type Sought } from "../filter/sought.ts";
import type { LoadedRecord } from "../queue/load-records.ts";
import { isFieldName, isRowField } from "../record/fields.ts";
import type { RecordLine } from "../record/line.ts";
import { fold } from "../sketch/terms.ts";
import { PART_MAX } from "./compile-query.ts";
import { SHORT_NAMES } from "./names.ts";
import { plainParts } from "./prune.ts";

/** Fields that are read without parsing. */
const READ = [
  ...["DispatchNamespace", "Entrypoint", "EventType", "Outcome", "ScriptName"],
  ...["CPUTimeMs", "EventTimestampMs", "WallTimeMs"],
] as const;
type Read = (typeof READ)[number];

const STATUS = JSON.stringify(SHORT_NAMES.status[0]);

/** Few are less than one in so many. */
const FEW = 8;

/** What is cheap is asked first. */
const COST = { read: 1, sought: 2, parsed: 3 };

/** Of some records of a part, by their places in it, those that match, in the same order. */
interface Compiled {
  cost: number;
  of(lines: Lines, places: readonly number[]): readonly number[];
}

/**
 * Several queries over the records of messages. They share what they look at, ask what is cheap
 * first, and parse only what may match. As `compileQuery`, of records of any time.
 */
export class LineQueries {
  readonly #queries: readonly Compiled[];

  /** @param questions null: it has no term, and every record matches. */
  constructor(questions: readonly (Question | null)[]) {
    const all: Compiled = { cost: 0, of: (_lines, places) => places };
    this.#queries = questions.map((each) => (each === null ? all : compiled(each)));
  }

  /** By query, the places of the records that match as they are shipped. */
  matches(lines: Lines): (readonly number[])[] {
    const places = Array.from({ length: lines.length }, (_, i) => i);
    return this.#queries.map((query) => query.of(lines, places));
  }
}

/** Brackets nest no deeper than the parser allows. */
function compiled(question: Question): Compiled {
  if (!("nodes" in question)) return condition(question as Sought);
  const nodes = question.nodes.map(compiled).sort((a, b) => a.cost - b.cost);
  const cost = Math.max(0, ...nodes.map((node) => node.cost));
  if (question.kind === "and")
    return { cost, of: (lines, places) => nodes.reduce((left, node) => node.of(lines, left), places) };
  const none = (lines: Lines, places: readonly number[]): readonly number[] =>
    nodes.reduce((left, node) => without(left, node.of(lines, left)), places);
  return { cost, of: (lines, places) => without(places, none(lines, places)) };
}

function condition({ where, test, negated }: Sought): Compiled {
  const [field = "", ...below] = where.kind === "at" ? where.path : [];
  const each = (cost: number, isIt: (lines: Lines) => (i: number) => boolean): Compiled => ({
    cost,
    of: (lines, places) => {
      if (places.length === 0) return places;
      const is = isIt(lines);
      return places.filter((i) => is(i) !== negated);
    },
  });
  const passes = remembering(passing(test));
  if (below.length === 0 && READ.includes(field as Read))
    return each(COST.read, (lines) => {
      const values = lines.values(field as Read);
      return (i) => passes(values[i]);
    });
  const fields = fieldsAt(where);
  // Records have none of them.
  if (fields?.every(isRowField)) return each(COST.read, () => () => false);
  const plain: Sought = { kind: "sought", where, test, negated: false };
  const matches = compileSought(plain);
  const isMatch = (lines: Lines, i: number): boolean => matches(lines.seen(i, fields));
  if (JSON.stringify(where) === STATUS)
    return each(COST.read, (lines) => {
      const statuses = lines.statuses();
      return (i) => (statuses[i] === null ? isMatch(lines, i) : passes(statuses[i]));
    });
  if (field === "Exceptions" && below.length === 0 && test.kind === "there")
    return each(COST.read, (lines) => (i) => !lines.record(i).isText(field, "[]") && isMatch(lines, i));
  // The source is in no line.
  const part = field === "Source" ? "" : fold(longest(plainParts(plain)).slice(0, PART_MAX));
  if (part === "") return each(COST.parsed, (lines) => (i) => isMatch(lines, i));
  const found = (lines: Lines, places: readonly number[]): readonly number[] =>
    places.length === 0 ? places : lines.having(part, places).filter((i) => isMatch(lines, i));
  return {
    cost: COST.sought,
    of: (lines, places) => (negated ? without(places, found(lines, places)) : found(lines, places)),
  };
}

/** @param some of them, in the same order. */
function without(places: readonly number[], some: readonly number[]): readonly number[] {
  let next = 0;
  return places.filter((place) => place !== some[next] || next++ < 0);
}

/** The lines of a message, folded once, and only if a text is sought in many of them. */
export class MessageText {
  readonly #bytes: Uint8Array;
  #text = "";
  /** Where each line ends in the text. */
  readonly #ends: number[] = [];
  readonly #having = new Map<string, Uint8Array>();

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Of each line, whether it has a part in it: 1, or 0. */
  having(part: string): Uint8Array {
    if (this.#ends.length === 0) this.#fold();
    const known = this.#having.get(part);
    if (known !== undefined) return known;
    const having = new Uint8Array(this.#ends.length);
    this.#having.set(part, having);
    for (let [at, line] = [this.#text.indexOf(part), 0]; at !== -1; at = this.#text.indexOf(part, this.#ends[line])) {
      while ((this.#ends[line] as number) < at) line += 1;
      having[line] = 1;
    }
    return having;
  }

  /** Folding may change the length of a text, and never its number of lines. */
  #fold(): void {
    this.#text = fold(decodeUtf8(this.#bytes));
    for (let end = this.#text.indexOf("\n"); end !== -1; end = this.#text.indexOf("\n", end + 1)) this.#ends.push(end);
    // A part that is found lies before an end.
    this.#ends.push(this.#text.length);
  }
}

/** Of a set, those that differ most often come again. */
function remembering(test: (value: unknown) => boolean): (value: unknown) => boolean {
  const known = new Map<unknown, boolean>();
  return (value) => {
    const before = known.get(value);
    if (before !== undefined) return before;
    // Senders choose them.
    if (known.size >= REMEMBERED_MAX) known.clear();
    const is = test(value);
    known.set(value, is);
    return is;
  };
}

/** Values whose test is remembered, of each condition. */
const REMEMBERED_MAX = 500;

/** Records of one part, and what queries have looked at of each. */
export class Lines {
  readonly #records: readonly LoadedRecord[];
  readonly #text: MessageText;
  readonly #first: number;
  readonly #values = new Map<string, readonly unknown[]>();
  readonly #wholes: (object | undefined)[] = [];
  readonly #folded: (string | undefined)[] = [];

  constructor(records: readonly LoadedRecord[], text: MessageText, first: number) {
    this.#records = records;
    this.#text = text;
    this.#first = first;
  }

  get length(): number {
    return this.#records.length;
  }

  record(i: number): RecordLine {
    return (this.#records[i] as LoadedRecord).shipped;
  }

  /** By record. */
  values(field: Read): readonly unknown[] {
    return this.#column(field, (record) => record[field]);
  }

  /** Of the answer, which intake writes last in the event; null: it may be elsewhere. */
  statuses(): readonly unknown[] {
    return this.#column("status", (record) => {
      const status = record.numberAtEnd("Event", '"Response":{"Status":', "}}");
      if (!Number.isNaN(status)) return status;
      return /Status|\\/.test(record.text("Event") ?? "") ? null : undefined;
    });
  }

  #column(name: string, of: (record: RecordLine) => unknown): readonly unknown[] {
    const values = this.#values.get(name) ?? this.#records.map(({ shipped }) => of(shipped));
    this.#values.set(name, values);
    return values;
  }

  /** Those that may have a part. Of few, each is looked at by itself. */
  having(part: string, places: readonly number[]): readonly number[] {
    const lines = places.length * FEW < this.length ? null : this.#text.having(part);
    return places.filter((i) => {
      if (lines?.[this.#first + i] === 1) return true;
      const { whole, shipped } = this.#records[i] as LoadedRecord;
      // Extra fields are in no line, nor is the mark of what was cut.
      if (lines !== null && whole === shipped && shipped.extra === "") return false;
      this.#folded[i] ??= fold(shipped.withExtra);
      return (this.#folded[i] as string).includes(part);
    });
  }

  /** A record, or an object with all that is in these fields of it. @param fields null: all. */
  seen(i: number, fields: readonly string[] | null): object {
    const record = this.record(i);
    if (fields === null || !fields.every((field) => isFieldName(field) || isRowField(field))) return this.#whole(i);
    const seen: Record<string, unknown> = {};
    for (const field of fields) if (isFieldName(field)) seen[field] = record[field];
    return seen;
  }

  /** `Source:` finds it; words do not, as few jobs ship it. */
  #whole(i: number): object {
    const known = this.#wholes[i];
    if (known !== undefined) return known;
    const { withExtra, Source: value } = this.record(i);
    const whole: object = JSON.parse(withExtra);
    this.#wholes[i] = value === "" ? whole : Object.defineProperty(whole, "Source", { value });
    return whole;
  }
}
