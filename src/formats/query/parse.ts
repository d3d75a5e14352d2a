/**
 * The language of searches, docs/search.md. A parser of our own: of sixty questions and pasted
 * texts in test/formats/query/sixty.ts, `@hyperdx/lucene` 3.1.1 reads 41 as they are meant (it has
 * no `-(…)`, refuses times and stack lines for their colons, and exhausts the stack at 10,000
 * brackets).
 */
import { parsedJson } from "../../base/bytes.ts";
import { QUERY_MAX_DEPTH, QUERY_MAX_TERMS, QUERY_MAX_UNITS } from "../../base/limits.ts";
import { isKnownName, isShortName } from "./names.ts";

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

/** Without recursion. @returns null for a text without a term. */
export function parseQuery(written: string): { ok: true; term: Term | null } | { ok: false; fault: QueryFault } {
  const text = written.toWellFormed();
  const reader = new Reader(text);
  const term = reader.read();
  const whole = text.length > QUERY_MAX_UNITS ? null : ofJson(text.trim());
  if (whole !== null) return { ok: true, term: whole };
  return reader.fault === null ? { ok: true, term } : { ok: false, fault: reader.fault };
}

/** A text that is one object: a record may have it as a text, or its values. null: it is none. */
function ofJson(text: string): Term | null {
  const json = text.startsWith("{") ? parsedJson(text) : undefined;
  if (json === undefined) return null;
  const fields: Term[] = [];
  const values: [path: readonly string[], value: unknown][] = [[[], json]];
  // It grows meanwhile.
  for (const [path, value] of values) {
    if (Array.isArray(value)) for (const each of value) values.push([path, each]);
    else if (typeof value === "object" && value !== null)
      for (const [name, each] of Object.entries(value)) values.push([[...path, name], each]);
    else if (value !== null && value !== "" && !path.includes(""))
      fields.push(loggedTerm(path.join("."), literal(String(value), 0)));
  }
  const compact = text.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/g, "$1");
  const texts = [...new Set([text, compact])].map((each) => valueTerm("", literal(each, 0)));
  const areFields = fields.length > 0 && fields.length <= QUERY_MAX_TERMS;
  return { kind: "or", nodes: [...texts, ...(areFields ? [{ kind: "and", nodes: fields } as const] : [])] };
}

/** A field that is named as in JSON: of a logged object, or of a record. No short name is meant. */
function loggedTerm(name: string, value: Pattern): Term {
  const logged = fieldTerm(`Fields.${name}`, value);
  if (!isKnownName(name)) return fieldTerm(name, value);
  return isShortName(name.split(".", 1)[0] as string) ? logged : oneOf([fieldTerm(name, value), logged]);
}

function fieldTerm(name: string, value: Pattern, operator: FieldTerm["operator"] = ""): FieldTerm {
  return { kind: "field", name, operator, value };
}

function literal(text: string, at: number): Pattern {
  return { text, opens: false, goesOn: false, at };
}

const SPACE = /\s*/y;
const OR = /OR(?=[\s()]|$)/y;
const AND = /AND(?=[\s()]|$)/y;
/** Not an arrow, a dash, or an option of a command. */
const NOT = /-(?=[\p{L}\p{N}"(_/*@#$.[{'%])/uy;
const NAME = /[\p{L}_$@][\p{L}\p{N}_$-]*(?:\.[\p{L}\p{N}_$-]+)*(?=:)/uy;
/** Of a name in quotes there may be a space after it, as in JSON. */
const AFTER_QUOTED = /: ?(?=[^\s)[{])/y;
/** A value of JSON. */
const SCALAR = /(?:"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|true|false|null)(?=[\s,}\])]|$)/isy;
/** What JSON has between its values, before a quote, or at the end. */
const OPENING = /[[\]{},:][[\]{},:\s]*(?=")/y;
const CLOSING = /[[\]{},:][[\]{},:\s]*(?="|$)/y;
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
    else if (this.#take(hasTerm ? CLOSING : OPENING) !== null) return;
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
    else if (quoted !== null) this.#add(this.#phrase(quoted, at, outerName), isNegated);
    else this.#add(valueTerm(outerName, withoutColon(this.#run(at))), isNegated);
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

  /**
   * What is named in quotes, as in JSON, or has a name that is in no table, may as well be text:
   * `redis:6379`.
   * @param at where its name begins.
   */
  #field(name: string, at: number, isQuoted: boolean, outerName: string): Term {
    const from = this.#at;
    const operator = (this.#take(COMPARISON) ?? "") as FieldTerm["operator"];
    const value = (isQuoted ? this.#scalar() : null) ?? this.#quoted() ?? this.#run(this.#at);
    if (!isQuoted && isKnownName(name)) return fieldTerm(name, value, operator);
    const text = this.#text.slice(at, this.#at);
    if (operator !== "")
      return NUMBER.test(value.text) ? fieldTerm(name, value, operator) : valueTerm(outerName, patternOf(text, at));
    const field = isQuoted ? loggedTerm(name, value) : fieldTerm(name, value);
    if (value.opens) return field;
    // As JSON is written without spaces.
    const texts = new Set([text, ...(isQuoted ? [`${JSON.stringify(name)}:${this.#text.slice(from, this.#at)}`] : [])]);
    return oneOf([field, ...Array.from(texts, (each) => valueTerm(outerName, patternOf(each, at)))]);
  }

  /**
   * A text in quotes. A record may have it as it is written, or as JSON means it.
   * @param from where it begins.
   */
  #phrase(quoted: Pattern, from: number, outerName: string): Term {
    const written = this.#text.slice(from, this.#at).replaceAll(/^\*?"|"\*?$/g, "");
    const meant = String(parsedJson(`"${written}"`) ?? written);
    const texts = new Set([quoted.text, written, meant]);
    return oneOf(Array.from(texts, (text) => valueTerm(outerName, { ...quoted, text })));
  }

  /** A value as JSON has it; null: none is here. */
  #scalar(): Pattern | null {
    const at = this.#at;
    const json = parsedJson(this.#take(SCALAR) ?? "");
    if (json !== undefined) return literal(String(json), at);
    this.#at = at;
    return null;
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
  return name === "" ? { kind: "word", value } : fieldTerm(name, value);
}

function joined(parts: readonly (readonly Term[])[]): Term {
  return oneOf(parts.map((nodes) => (nodes.length === 1 ? (nodes[0] as Term) : { kind: "and", nodes })));
}

function oneOf(nodes: readonly Term[]): Term {
  return nodes.length === 1 ? (nodes[0] as Term) : { kind: "or", nodes };
}
