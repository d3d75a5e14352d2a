import { parsedJson } from "../../base/bytes.ts";
import { EVENT_MAX_DEPTH, FIELDS_MAX_UNITS } from "../../base/limits.ts";
import { isDeeperThan } from "../record/record.ts";
import { fold } from "../sketch/terms.ts";
import { type Comparison, canonicalNumber, comparing } from "./operators.ts";
import { finder, wordFinder } from "./text-search.ts";

/** Where in a record the values are that a search tests. Paths lead through arrays, too. */
export type Where =
  /** At the end of a path. */
  | { readonly kind: "at"; readonly path: readonly string[] }
  /** Anywhere below it; an empty path: in the record. */
  | { readonly kind: "below"; readonly path: readonly string[] }
  /** At the end of a path into an object that was logged. */
  | { readonly kind: "logged"; readonly path: readonly string[] }
  /** A part of the request's URL; `target`: its path and query. */
  | { readonly kind: "url"; readonly part: "host" | "hostname" | "path" | "target" };

/** Texts are folded. */
export type SoughtTest =
  | Comparison
  /**
   * A string that has the text within, or a number that is written like it. `begins`, `ends`: not
   * in the middle of a word.
   */
  | { readonly kind: "holds"; readonly text: string; readonly begins: boolean; readonly ends: boolean }
  /** A string, number or boolean written like the text; `begins`, `ends`: there, at least. */
  | { readonly kind: "like"; readonly text: string; readonly begins: boolean; readonly ends: boolean }
  /** Neither missing nor empty. */
  | { readonly kind: "there" };

/** A condition of a search: true if any of these values passes; negated, if none does. */
export interface Sought {
  readonly kind: "sought";
  readonly where: Where;
  readonly test: SoughtTest;
  readonly negated: boolean;
}

/** A record, or what an object has in place of one. */
type Json = { readonly [name: string]: unknown };

/** Never throws, whatever the record holds, and recurses into nothing: it may nest deeply. */
export function compileSought({ where, test, negated }: Sought): (record: object) => boolean {
  if (where.kind === "below" && where.path.length === 0 && test.kind === "holds") {
    const isIn = wordFinder(test);
    const number = canonicalNumber(test.text);
    return (record) => {
      const [texts, numbers] = scalarsOf(record);
      return (texts.some(isIn) || numbers.includes(number)) !== negated;
    };
  }
  const values = valuesAt(where, "text" in test ? test.text : "");
  const passes = passing(test);
  return (record) => values(record).some(passes) !== negated;
}

/** Whether one value passes a test. */
export function passing(test: SoughtTest): (value: unknown) => boolean {
  switch (test.kind) {
    case "lt":
    case "leq":
    case "gt":
    case "geq":
      return comparing(test);
    case "there":
      return isThere;
    case "holds": {
      const isIn = wordFinder(test);
      return (value) =>
        typeof value === "string" ? isIn(fold(value)) : typeof value === "number" && spelled(value) === test.text;
    }
    case "like": {
      const { text, begins, ends } = test;
      const isIn = finder(text);
      return (value) => {
        const own = spelled(value);
        if (own === null) return false;
        if (begins) return ends ? own === text : own.startsWith(text);
        return ends ? own.endsWith(text) : isIn(own);
      };
    }
  }
}

/** Folded, as JSON writes it, a string without its quotes; null: it is an object, or missing. */
function spelled(value: unknown): string | null {
  if (typeof value === "string") return fold(value);
  return typeof value === "number" || typeof value === "boolean" ? fold(String(value)) : null;
}

function isThere(value: unknown): boolean {
  if (typeof value === "object" && value !== null)
    return Object.values(value).some((below) => below !== "" && below !== null);
  return value !== undefined && value !== null && value !== "";
}

/**
 * The values there, in their order in the record.
 * @param text what each of them has within, folded, where that is known.
 */
export function valuesAt(where: Where, text = ""): (record: object) => unknown[] {
  switch (where.kind) {
    case "at":
      return walker(where.path);
    case "below": {
      const walk = walker(where.path);
      return (record) => walk(record).flatMap(allBelow);
    }
    case "logged":
      return logged(where.path, text);
    case "url": {
      const { part } = where;
      return (record) => urls(record).map((url) => (typeof url === "string" ? partOf(url, part) : undefined));
    }
  }
}

/** The fields of a record that values there are in; null: all. */
export function fieldsAt(where: Where): readonly string[] | null {
  switch (where.kind) {
    case "at":
    case "below":
      return where.path.length === 0 ? null : where.path.slice(0, 1);
    case "logged":
      return ["Fields", "Logs"];
    case "url":
      return ["Event"];
  }
}

/**
 * The values at the end of a path, through own properties of objects and elements of arrays. What
 * is left of a path may be one name with dots in it.
 */
function walker(path: readonly string[]): (root: unknown) => unknown[] {
  const rests = path.map((_name, i) => path.slice(i).join("."));
  const everywhere = (from: unknown, begun: number): unknown[] => {
    const found: unknown[] = [];
    const left: [value: unknown, at: number][] = [[from, begun]];
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const [value, at] = next;
      // The first is looked at first.
      if (Array.isArray(value)) for (const element of value.toReversed()) left.push([element, at]);
      else if (at === path.length) found.push(value);
      else if (typeof value === "object" && value !== null) {
        const [name, rest] = [path[at] as string, rests[at] as string];
        if (Object.hasOwn(value, name)) left.push([(value as Json)[name], at + 1]);
        if (rest !== name && Object.hasOwn(value, rest)) left.push([(value as Json)[rest], path.length]);
      }
    }
    return found;
  };
  return (root) => {
    let value = root;
    // Most records have one way, and nothing is made for it.
    for (let at = 0; at < path.length; at++) {
      if (typeof value !== "object" || value === null) return [];
      const [name, rest] = [path[at] as string, rests[at] as string];
      if (Array.isArray(value) || (rest !== name && Object.hasOwn(value, rest))) return everywhere(value, at);
      if (!Object.hasOwn(value, name)) return [];
      value = (value as Json)[name];
    }
    return Array.isArray(value) ? everywhere(value, path.length) : [value];
  };
}

/** Every value below one that is no object. */
function allBelow(root: unknown): unknown[] {
  const found: unknown[] = [];
  const left: unknown[] = [root];
  while (left.length > 0) {
    const value = left.pop();
    if (typeof value === "object" && value !== null) for (const below of Object.values(value)) left.push(below);
    else found.push(value);
  }
  return found;
}

/** Strings, folded, and numbers of the record in hand: each word of a question asks for them. */
const scalars = new WeakMap<object, readonly [texts: readonly string[], numbers: readonly number[]]>();

function scalarsOf(record: object): readonly [texts: readonly string[], numbers: readonly number[]] {
  const before = scalars.get(record);
  if (before !== undefined) return before;
  const found: [string[], number[]] = [[], []];
  for (const value of allBelow(record)) {
    if (typeof value === "string") found[0].push(fold(value));
    else if (typeof value === "number") found[1].push(value);
  }
  scalars.set(record, found);
  return found;
}

const messages = walker(["Logs", "Message"]);

/** A letter or digit that is written as an escape, as no writer of JSON does. */
const ESCAPED_WORD = /\\u00(?:3\d|[46][1-9a-f]|[57][\da])/i;

/**
 * Objects that the record in hand logged as texts, by these texts: each condition of a question
 * asks for them. Of more text than Cloudflare keeps of an event, they are parsed each time: parsed,
 * they take up to fifty times as much.
 */
const parsed = new WeakMap<object, { units: number; objects: Map<string, unknown> }>();
const PARSED_MAX_UNITS = 4 * FIELDS_MAX_UNITS;

/**
 * The values of a logged object: of a row, or among the arguments of a log line, where it is a
 * text. One that escapes letters is not looked into: what is asked for stands in it as it is.
 */
function logged(path: readonly string[], text: string): (record: object) => unknown[] {
  const walk = walker(path);
  const name = longestPlain(path.at(-1) as string);
  const part = longestPlain(text);
  return (record) => {
    const known = parsed.get(record) ?? { units: 0, objects: new Map() };
    parsed.set(record, known);
    const objectIn = (message: string): unknown => {
      if (known.objects.has(message)) return known.objects.get(message);
      if (message.length > FIELDS_MAX_UNITS || !message.includes(name)) return undefined;
      if (!fold(message).includes(part)) return undefined;
      const object = loggedObject(message.trim());
      known.units += message.length;
      if (known.units <= PARSED_MAX_UNITS) known.objects.set(message, object);
      return object;
    };
    const { Fields } = record as Json;
    const objects = messages(record).map((each) => (typeof each === "string" ? objectIn(each) : each));
    return [Fields, ...objects].flatMap(walk);
  };
}

/** As of rows: no deeper than what intake takes, so that it can be written again. */
function loggedObject(text: string): unknown {
  if (!text.startsWith("{") || !text.endsWith("}") || ESCAPED_WORD.test(text)) return undefined;
  const value = parsedJson(text);
  return typeof value === "object" && value !== null && !isDeeperThan(value, EVENT_MAX_DEPTH) ? value : undefined;
}

/**
 * What JSON writes as it is, whatever writes it: many escape what HTML may not have, some a slash.
 */
const PLAIN = "[ !#-%(-*,\\-.0-;?-[\\]-_a-~]";
const PLAIN_RUNS = new RegExp(`${PLAIN}+`, "g");

/** What leaves the words of a text as they are. */
export const PLAIN_WORDS = new RegExp(`^(?:${PLAIN}|/)*$`);

/** The longest run of a text that JSON writes as it is. */
export function longestPlain(text: string): string {
  return longest([...text.matchAll(PLAIN_RUNS)].map(([run]) => run));
}

export function longest(texts: readonly string[]): string {
  return texts.reduce((best, text) => (text.length > best.length ? text : best), "");
}

const urls = walker(["Event", "Request", "URL"]);

/** Takes a URL apart as it is written; one without a scheme is a path. */
const URL_PARTS = /^(?:[a-z][a-z0-9+.-]*:\/\/(?:[^/?#]*@)?(\[[^\]/?#]*\]|[^:/?#]*)([^/?#]*))?([^?#]*)(\?[^#]*)?/i;

/** The host is in lower case, without who asks. */
function partOf(url: string, part: Extract<Where, { kind: "url" }>["part"]): string {
  const [, written = "", port = "", below = "", query = ""] = URL_PARTS.exec(url) ?? [];
  const hostname = written.toLowerCase();
  const path = below === "" && hostname !== "" ? "/" : below;
  return { host: hostname + port, hostname, path, target: path + query }[part];
}
