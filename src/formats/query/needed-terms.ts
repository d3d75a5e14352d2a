import { fold, runsIn, UUID_GROUPS, UUID_LENGTH, type Word } from "../sketch/terms.ts";

/** Words that a record with a match has. null: any record may match. */
export type Needed = string | { readonly all: readonly Needed[] } | { readonly any: readonly Needed[] } | null;

export function allOf(parts: readonly Needed[]): Needed {
  const all = parts.filter((part) => part !== null);
  return all.length === 0 ? null : { all };
}

/**
 * What is known of a text that is a part of a value, at one of its ends: the value ends there, too,
 * or at least a run (more of a UUID may follow), or nothing: a run may go on.
 */
export type Edge = "value" | "word" | "part";

/** The words that every value has of which this text is a part: those that are whole within it. */
export function wordsWithin(text: string, begin: Edge, end: Edge): Needed {
  const part = new Part(fold(text), begin, end);
  const needed: Needed[] = [];
  const left = new Set(part.runs.keys());
  for (let first = 1 - UUID_GROUPS.length; first < part.runs.length; first++) {
    if (!part.mayBeUuid(first)) continue;
    const uuid = UUID_GROUPS.map((_digits, i) => first + i);
    for (const run of uuid) left.delete(run);
    const word = uuid.map((run) => part.runs[run]?.word).join("-");
    if (word.length < UUID_LENGTH) continue;
    const whole = uuid.filter((run) => !part.isCut(run));
    // Where more of a word stands before or after, it is no UUID: no other one has these groups.
    if (whole.length === uuid.length) needed.push(word);
    else needed.push({ any: [word, part.wordsOf(whole)] });
  }
  const others = part.wordsOf([...left].filter((run) => !part.isCut(run)));
  return allOf([...needed, others]);
}

/** A part of a value, whose runs at its edges may go on. */
class Part {
  readonly runs: readonly Word[];
  readonly #text: string;
  readonly #begin: Edge;
  readonly #end: Edge;

  constructor(folded: string, begin: Edge, end: Edge) {
    this.runs = runsIn(folded);
    this.#text = folded;
    this.#begin = begin;
    this.#end = end;
  }

  wordsOf(runs: readonly number[]): Needed {
    return allOf([...new Set(runs.map((run) => (this.runs[run] as Word).word))]);
  }

  isCut(run: number): boolean {
    const { at, word } = this.runs[run] as Word;
    const isLast = at + word.length === this.#text.length;
    return (this.#begin === "part" && at === 0) || (this.#end === "part" && isLast);
  }

  /**
   * Whether the value may have a UUID whose first group is this run.
   * @param first below 0: before the text.
   */
  mayBeUuid(first: number): boolean {
    return UUID_GROUPS.every((digits, i) => {
      const run = this.runs[first + i];
      if (run === undefined) return first + i < 0 ? this.#goesOn("before") : this.#goesOn("after");
      const fits = this.isCut(first + i) ? run.word.length <= digits : run.word.length === digits;
      const isJoined = i === 0 || first + i === 0 || this.#between(first + i) === "-";
      return fits && isJoined && /^[0-9a-f]+$/.test(run.word);
    });
  }

  /** Whether a run beyond the text may be joined to the first or last one by a hyphen. */
  #goesOn(where: "before" | "after"): boolean {
    if ((where === "before" ? this.#begin : this.#end) === "value") return false;
    const between = this.#between(where === "before" ? 0 : this.runs.length);
    return between === "" || between === "-";
  }

  /** What stands before a run, after the one before. */
  #between(run: number): string {
    const before = this.runs[run - 1];
    return this.#text.slice(before === undefined ? 0 : before.at + before.word.length, this.runs[run]?.at);
  }
}
