/**
 * The language of searches, docs/search.md. A parser of our own: of sixty questions and pasted
 * texts in test/formats/query/sixty.ts, `@hyperdx/lucene` 3.1.1 reads 41 as they are meant (it has
 * no `-(…)`, refuses times and stack lines for their colons, and exhausts the stack at 10,000
 * brackets).
 */
import { QUERY_MAX_DEPTH, QUERY_MAX_TERMS, QUERY_MAX_UNITS } from "../../base/limits.ts";
import { isKnownName } from "./names.ts";

/** What a text means, before its names and values are looked at. */
export type Term =
  | { readonly kind: "and" | "or"; readonly nodes: readonly Term[] }
  | { readonly kind: "not"; readonly node: Term }
  | { readonly kind: "word"; readonly value: Pattern }
  | FieldTerm;

export interface FieldTerm {
  readonly kind: "field";
  readonly name: string;
  readonly operator: "" | Comparison;
  readonly value: Pattern;
}

export type Comparison = ">" | ">=" | "<" | "<=";

/** A text that was asked for. */
export interface Pattern {
  readonly text: string;
  /** A `*` before it, or after it: more may stand there. */
  readonly opens: boolean;
  readonly goesOn: boolean;
  /** Where it begins in the query, in UTF-16 units from 0. */
  readonly at: number;
}

/** Why a text is no query, and where, in UTF-16 units from 0. */
export interface QueryFault {
  readonly at: number;
  readonly message: string;
}

/** The query, or what is between two brackets. */
interface Frame {
  /** Of its bracket. */
  readonly at: number;
  readonly isNegated: boolean;
  /** Before the bracket, as in `status:(500 OR 503)`; "": none. */
  readonly name: string;
  /** The parts that `OR` separates; the last one is in hand. */
  readonly parts: Term[][];
  /** Brackets within words that are open: `retry(3, 200)`. */
  inWords: number;
  /** Of the last `OR`. */
  orAt: number;
}

/** In time linear in the text, and without recursion. @returns null for a text without a term. */
export function parseQuery(text: string): { ok: true; term: Term | null } | { ok: false; fault: QueryFault } {
  const reader = new Reader(text.toWellFormed());
  const term = reader.read();
  return reader.fault === null ? { ok: true, term } : { ok: false, fault: reader.fault };
}

const SPACE = /\s*/y;
const OR = /OR(?=[\s()]|$)/y;
const AND = /AND(?=[\s()]|$)/y;
/** Not an arrow, a dash, or an option of a command. */
const NOT = /-(?=[\p{L}\p{N}"(_/*@#$.[{'%])/uy;
const NAME = /[\p{L}_$@][\p{L}\p{N}_$-]*(?:\.[\p{L}\p{N}_$-]+)*(?=:)/uy;
/** Of a name in quotes there may be a space after it, as in JSON. */
const AFTER_QUOTED = /: ?(?=[^\s)])/y;
const COMPARISON = /[<>]=?/y;
/** Of its backslashes, only those before a quote or a backslash stand for something. */
const QUOTED = /(\*?)"((?:[^"\\]|\\.)*)"(\*?)/sy;
export const NUMBER = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;

class Reader {
  fault: QueryFault | null = null;
  readonly #text: string;
  readonly #frames: Frame[] = [];
  #at = 0;
  #terms = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): Term | null {
    if (this.#text.length > QUERY_MAX_UNITS)
      this.#fail(QUERY_MAX_UNITS, `a query has at most ${QUERY_MAX_UNITS} characters`);
    this.#open(0, false, "");
    for (this.#take(SPACE); this.#at < this.#text.length && this.fault === null; this.#take(SPACE)) this.#next();
    if (this.#frames.length > 1) this.#fail(this.#frame.at, "this bracket is not closed");
    const { parts, orAt } = this.#frame;
    if (parts.length > 1 && parts.at(-1)?.length === 0) this.#fail(orAt, "OR needs something after it");
    return this.fault === null && parts[0]?.length !== 0 ? joined(parts) : null;
  }

  get #frame(): Frame {
    return this.#frames.at(-1) as Frame;
  }

  /** Takes what matches here; null: nothing does. */
  #take(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? null;
    this.#at += found?.length ?? 0;
    return found;
  }

  /** The first fault counts. */
  #fail(at: number, message: string): void {
    this.fault ??= { at, message };
  }

  #open(at: number, isNegated: boolean, name: string): void {
    if (this.#frames.length > QUERY_MAX_DEPTH) this.#fail(at, `brackets nest at most ${QUERY_MAX_DEPTH} deep`);
    this.#frames.push({ at, isNegated, name, parts: [[]], inWords: 0, orAt: 0 });
  }

  #next(): void {
    const frame = this.#frame;
    const at = this.#at;
    const hasTerm = frame.parts.at(-1)?.length !== 0;
    if (this.#take(OR) !== null) {
      if (!hasTerm) this.#fail(at, "OR needs something before it");
      frame.parts.push([]);
      frame.orAt = at;
    } else if (hasTerm && this.#take(AND) !== null) return;
    else if (this.#text[at] === ")" && frame.inWords === 0) this.#close(hasTerm);
    else this.#term(this.#take(NOT) !== null, frame.name);
  }

  #close(hasTerm: boolean): void {
    if (this.#frames.length === 1) {
      this.#fail(this.#at, "no bracket is open here");
      return;
    }
    const { at, isNegated, parts, orAt } = this.#frames.pop() as Frame;
    if (!hasTerm && parts.length > 1) this.#fail(orAt, "OR needs something after it");
    if (!hasTerm) this.#fail(at, "nothing is between these brackets");
    this.#at += 1;
    this.#add(joined(parts), isNegated);
  }

  #add(term: Term, isNegated: boolean): void {
    this.#frame.parts.at(-1)?.push(isNegated ? { kind: "not", node: term } : term);
  }

  #term(isNegated: boolean, outerName: string): void {
    const at = this.#at;
    const isBracket = this.#text[at] === "(";
    if (!isBracket && ++this.#terms > QUERY_MAX_TERMS) this.#fail(at, `a query has at most ${QUERY_MAX_TERMS} terms`);
    const quoted = this.#quoted();
    const name = isBracket ? outerName : this.#name(quoted);
    if (name !== null && this.#text[this.#at] === "(") {
      this.#open(this.#at, isNegated, name);
      this.#at += 1;
      return;
    }
    if (name !== null) this.#add(this.#field(name, at, quoted !== null, outerName), isNegated);
    else this.#add(valueTerm(outerName, quoted ?? withoutColon(this.#run(at))), isNegated);
  }

  /** Takes the name of a field, and its colon. null: none is here. */
  #name(quoted: Pattern | null): string | null {
    if (quoted !== null) return this.#take(AFTER_QUOTED) === null ? null : quoted.text;
    const at = this.#at;
    const name = this.#take(NAME);
    if (name === null) return null;
    this.#at += 1;
    // `Error: …`, `https://…`, `std::vector`
    if (this.#text.length > this.#at && !/^(?:[\s):]|\/\/)/.test(this.#text.slice(this.#at, this.#at + 2))) return name;
    this.#at = at;
    return null;
  }

  /** @param at where its name begins. @param isName it is in quotes: it can be nothing else. */
  #field(name: string, at: number, isName: boolean, outerName: string): Term {
    const operator = (this.#take(COMPARISON) ?? "") as FieldTerm["operator"];
    const quoted = this.#quoted();
    const value = quoted ?? this.#run(this.#at);
    const isOdd = value.text.includes(":") || (operator !== "" && !NUMBER.test(value.text));
    if (isName || quoted !== null || isKnownName(name) || !isOdd) return { kind: "field", name, operator, value };
    // `index.js:12:34`, `x:<y>`
    return valueTerm(outerName, patternOf(this.#text.slice(at, this.#at), at));
  }

  /** A text in quotes; null: none is here. */
  #quoted(): Pattern | null {
    const at = this.#at;
    QUOTED.lastIndex = at;
    const [all = "", opens = "", text = "", goesOn = ""] = QUOTED.exec(this.#text) ?? [];
    this.#at += all.length;
    if (all === "" && /^\*?"/.test(this.#text.slice(at, at + 2))) this.#fail(at, "this quote is not closed");
    if (all === "") return null;
    return { text: text.replaceAll(/\\(["\\])/g, "$1"), opens: opens !== "", goesOn: goesOn !== "", at };
  }

  /** What stands together, up to a space, or to a bracket that was opened before it. */
  #run(from: number): Pattern {
    const frame = this.#frame;
    for (; this.#at < this.#text.length; this.#at++) {
      const char = this.#text[this.#at] as string;
      if (/\s/.test(char)) break;
      if (char === "(") frame.inWords += 1;
      if (char !== ")") continue;
      if (frame.inWords === 0) break;
      frame.inWords -= 1;
    }
    return patternOf(this.#text.slice(from, this.#at), from);
  }
}

function patternOf(run: string, at: number): Pattern {
  const text = run.replace(/^\*+/, "");
  let end = text.length;
  while (text[end - 1] === "*") end--;
  return {
    text: text.slice(0, end),
    opens: text !== run,
    goesOn: end < text.length || (text === "" && run !== ""),
    at,
  };
}

/** `TypeError: …`: a record has the name of an exception apart from its message. */
function withoutColon(word: Pattern): Pattern {
  return { ...word, text: word.text.replace(/(?<=.):$/, "") };
}

/** @param name "": of no field. */
function valueTerm(name: string, value: Pattern): Term {
  return name === "" ? { kind: "word", value } : { kind: "field", name, operator: "", value };
}

function joined(parts: readonly (readonly Term[])[]): Term {
  const all = parts.map((nodes): Term => (nodes.length === 1 ? (nodes[0] as Term) : { kind: "and", nodes }));
  return all.length === 1 ? (all[0] as Term) : { kind: "or", nodes: all };
}
