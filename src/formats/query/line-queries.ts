import { decodeUtf8 } from "../../base/bytes.ts";
import type { Question } from "../filter/parse.ts";
import { compileSought, fieldsAt, longest, passing, type Sought, type SoughtTest } from "../filter/sought.ts";
import type { LoadedRecord } from "../queue/load-records.ts";
import { isFieldName, isRowField } from "../record/fields.ts";
import type { RecordLine } from "../record/line.ts";
import { fold } from "../sketch/terms.ts";
import { PART_MAX } from "./compile-query.ts";
import { SHORT_NAMES } from "./names.ts";
import { plainParts } from "./prune.ts";

/** Fields that are read without parsing, and repeat: a test of a text is made once. */
const TEXTS = ["DispatchNamespace", "Entrypoint", "EventType", "Outcome", "ScriptName"] as const;
const NUMBERS = ["CPUTimeMs", "EventTimestampMs", "WallTimeMs"] as const;
const isOneOf = <T extends string>(names: readonly T[], name: string): name is T =>
  (names as readonly string[]).includes(name);

/** Texts whose test is remembered, of each condition: senders choose them. */
const REMEMBERED_MAX = 500;

/** The cheaper ones are asked first. */
const COST = { read: 1, sought: 2, parsed: 3 };

interface Compiled {
  cost: number;
  test(lines: Lines, i: number): boolean;
}

/**
 * Several queries over records that are lines of a message. They share what they look at, ask what
 * is cheap first, and parse only what may match. As {@link compileQuery}, of records of any time.
 */
export class LineQueries {
  readonly #queries: readonly Compiled[];
  readonly #parts: string[] = [];

  /** @param questions null: it has no term, and every record matches. */
  constructor(questions: readonly (Question | null)[]) {
    this.#queries = questions.map((each) => (each === null ? { cost: 0, test: () => true } : this.#compiled(each)));
  }

  /** @param text of their message. @param firstLine that of the first record. */
  over(records: readonly LoadedRecord[], text: FoldedLines, firstLine: number): Lines {
    return new Lines(records, text, firstLine, this.#parts);
  }

  /** By query, which of the records match as they are shipped. @param lines of {@link over}. */
  matches(lines: Lines): number[][] {
    return this.#queries.map(({ test }) => {
      const found: number[] = [];
      for (let i = 0; i < lines.length; i++) if (test(lines, i)) found.push(i);
      return found;
    });
  }

  #compiled(question: Question): Compiled {
    if (!("nodes" in question)) return this.#condition(question as Sought);
    const nodes = question.nodes.map((node) => this.#compiled(node)).sort((a, b) => a.cost - b.cost);
    const ends = question.kind === "or";
    const test = (lines: Lines, i: number): boolean => {
      for (const node of nodes) if (node.test(lines, i) === ends) return ends;
      return !ends;
    };
    return { test, cost: Math.max(0, ...nodes.map(({ cost }) => cost)) };
  }

  #condition(condition: Sought): Compiled {
    const { where, test, negated } = condition;
    const [field = "", ...below] = where.kind === "at" ? where.path : ["", ""];
    if (below.length === 0 && isOneOf(TEXTS, field)) return textTest(field, test, negated);
    if (below.length === 0 && isOneOf(NUMBERS, field)) {
      const passes = passing(test);
      return { cost: COST.read, test: (lines, i) => passes(lines.record(i)[field]) !== negated };
    }
    const fields = fieldsAt(where);
    // Records have none of them.
    if (fields?.every(isRowField)) return { cost: COST.read, test: () => negated };
    const plain: Sought = { ...condition, negated: false };
    const matches = compileSought(plain);
    if (JSON.stringify(where) === STATUS) {
      const passes = passing(test);
      const isIn = (lines: Lines, i: number): boolean => {
        const status = lines.status(i);
        return status === null ? false : Number.isNaN(status) ? matches(lines.seen(i, fields)) : passes(status);
      };
      return { cost: COST.read, test: (lines, i) => isIn(lines, i) !== negated };
    }
    if (field === "Exceptions" && below.length === 0 && test.kind === "there") {
      const isThere = (lines: Lines, i: number): boolean =>
        !lines.record(i).isText("Exceptions", "[]") && matches(lines.seen(i, fields));
      return { cost: COST.read, test: (lines, i) => isThere(lines, i) !== negated };
    }
    // That is in no line.
    const part = field === "Source" ? "" : fold(longest(plainParts(plain)).slice(0, PART_MAX));
    const at = part === "" ? -1 : this.#place(part);
    return {
      cost: at === -1 ? COST.parsed : COST.sought,
      test: (lines, i) => ((at === -1 || lines.has(at, i)) && matches(lines.seen(i, fields))) !== negated,
    };
  }

  #place(part: string): number {
    const known = this.#parts.indexOf(part);
    return known === -1 ? this.#parts.push(part) - 1 : known;
  }
}

const STATUS = JSON.stringify(SHORT_NAMES.status[0]);

function textTest(field: (typeof TEXTS)[number], test: SoughtTest, negated: boolean): Compiled {
  const passes = passing(test);
  const known = new Map<string, boolean>();
  const isWanted = (text: string): boolean => {
    const before = known.get(text);
    if (before !== undefined) return before;
    if (known.size >= REMEMBERED_MAX) known.clear();
    const is = passes(text) !== negated;
    known.set(text, is);
    return is;
  };
  return { cost: COST.read, test: (lines, i) => isWanted(lines.text(field, i)) };
}

/** The lines of a message, folded once, and only if a word is looked for. */
export class FoldedLines {
  readonly #bytes: Uint8Array;
  #text: string | null = null;
  /** Where each line ends in the text. */
  readonly #ends: number[] = [];
  readonly #having = new Map<string, Uint8Array | null>();

  /** @param bytes in UTF-8, a newline after each. */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Which lines have this part: 1, or 0. null: none has. */
  having(part: string): Uint8Array | null {
    const known = this.#having.get(part);
    if (known !== undefined) return known;
    const having = this.#find(part);
    this.#having.set(part, having);
    return having;
  }

  #find(part: string): Uint8Array | null {
    this.#text ??= this.#folded();
    const text = this.#text;
    let at = text.indexOf(part);
    if (at === -1) return null;
    const found = new Uint8Array(this.#ends.length);
    for (let line = 0; at !== -1; at = text.indexOf(part, this.#ends[line])) {
      while ((this.#ends[line] as number) < at) line += 1;
      found[line] = 1;
    }
    return found;
  }

  /** Folding may change the length of a text, and never its number of lines. */
  #folded(): string {
    const text = fold(decodeUtf8(this.#bytes));
    // A part that is found lies before an end.
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", end + 1)) this.#ends.push(end);
    if (!text.endsWith("\n")) this.#ends.push(text.length);
    return text;
  }
}

/** Records of one part, and what queries have looked at of each. */
export class Lines {
  readonly #records: readonly LoadedRecord[];
  readonly #text: FoldedLines;
  readonly #first: number;
  readonly #parts: readonly string[];
  readonly #having: (Uint8Array | null | undefined)[] = [];
  readonly #texts = new Map<string, string[]>();
  readonly #statuses: (number | null | undefined)[] = [];
  readonly #wholes: (object | undefined)[] = [];

  constructor(records: readonly LoadedRecord[], text: FoldedLines, first: number, parts: readonly string[]) {
    this.#records = records;
    this.#text = text;
    this.#first = first;
    this.#parts = parts;
  }

  get length(): number {
    return this.#records.length;
  }

  record(i: number): RecordLine {
    return (this.#records[i] as LoadedRecord).shipped;
  }

  text(field: (typeof TEXTS)[number], i: number): string {
    let texts = this.#texts.get(field);
    if (texts === undefined) {
      texts = this.#records.map(({ shipped }) => shipped[field]);
      this.#texts.set(field, texts);
    }
    return texts[i] as string;
  }

  /** Whether a record may have a part in it. */
  has(at: number, i: number): boolean {
    const part = this.#parts[at] as string;
    if (this.#having[at] === undefined) this.#having[at] = this.#text.having(part);
    if (this.#having[at]?.[this.#first + i] === 1) return true;
    const { whole, shipped } = this.#records[i] as LoadedRecord;
    // What was cut has a mark in place of it.
    return whole !== shipped || (shipped.extra !== "" && fold(shipped.extra).includes(part));
  }

  /**
   * That of the answer, which intake writes last in the event: nothing is parsed. null: there is
   * none. NaN: it may be elsewhere.
   */
  status(i: number): number | null {
    const known = this.#statuses[i];
    if (known !== undefined) return known;
    const record = this.record(i);
    const status = record.numberAtEnd("Event", '"Response":{"Status":', "}}");
    const isNone = Number.isNaN(status) && !/Status|\\/.test(record.text("Event") ?? "");
    this.#statuses[i] = isNone ? null : status;
    return isNone ? null : status;
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
