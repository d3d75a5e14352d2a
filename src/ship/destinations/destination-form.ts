import { withoutOuterSlashes } from "./conf.ts";
import type { ConfParts, Parsed, Terms } from "./destination.ts";
import { decoded, MASK, maskText, type SecretParts, unmaskText } from "./masks.ts";
import type { ToldAnswer } from "./remedies.ts";

/**
 * What a form asks for to make a `destination_conf` of one kind. Every parameter of a valid string
 * belongs to a field; entry.ts reads and writes the strings.
 */
export interface DestinationForm {
  /** In addresses; unique. */
  readonly id: string;
  /** A store holds objects; a receiver takes records. */
  readonly group: "store" | "receiver";
  /** The name that people look for. */
  readonly name: string;
  /** What it takes, in one line. Backticks mark code, here and in hints. */
  readonly about: string;
  /** The string that a new one is made from: its scheme, and what is not asked for. */
  readonly start: string;
  readonly parts: readonly FormPart[];
  readonly terms: Terms;
  /** Its test is a request without a record. */
  readonly testLeavesNothing?: true;
  /** Whether a string of this scheme is one of its own. */
  owns(parts: ConfParts): boolean;
  /** The values to try next, as an answer to a test suggests. null: it suggests none. */
  mend?(values: Values, answer: ToldAnswer): { values: Values; words: string } | null;
}

/** Texts by the name of their field; "": none. */
export type Values = Readonly<Record<string, string>>;

export type FormPart = FormField | FormChoice;

export interface FormField {
  /** Lower-case letters, digits and `_`; unique in its form. */
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  /** Where its text stands in the string. */
  readonly at: Lens;
  /** Never shown, not even in part. */
  readonly isSecret?: boolean;
  /**
   * Lines of text; whether something holds (`true`, or ""); the path of objects, with placeholders.
   */
  readonly kind?: "lines" | "check" | "path";
  /** Rarely needed: folded away while it is empty. */
  readonly isFurther?: true;
  /** What may be chosen; absent: any text. */
  readonly choices?: readonly { value: string; label: string }[];
  /** What to say where it is empty; absent: it may be. */
  readonly missing?: string;
  /** Its text in a new form. */
  readonly initial?: string | ((defaults: FormDefaults) => string);
  /** A valid text, in place of any where only the service behind it matters. */
  readonly stub?: string;
  /** Words of a fault that is about it, beside its own parameter at their beginning. */
  readonly blamed?: RegExp;
}

/** One of several ways, of which the string holds one. */
export interface FormChoice {
  readonly name: string;
  readonly legend: string;
  readonly ways: readonly { value: string; label: string; hint: string; fields: readonly FormField[] }[];
}

export interface FormDefaults {
  /** Of this deployment. */
  accountId: string;
  /** Bindings of R2 buckets that it may ship to. */
  bindings?: readonly string[];
}

/**
 * A part of a string: what is set is what is got, and nothing else changes. A text that cannot
 * stand there is refused.
 */
export interface Lens {
  /** Parameters that it covers, in lower case. */
  readonly claims: readonly string[];
  /** @param isClaimed whether a parameter is covered by a lens of the same form. */
  get(parts: ConfParts, isClaimed: IsClaimed): string;
  set(parts: ConfParts, text: string, isClaimed: IsClaimed): Parsed<ConfParts>;
  /** Its text may hold secrets: how it is shown, and what was meant where that comes back. */
  readonly masks?: { hide(text: string): string; restore(text: string, stored: string): string };
}

type IsClaimed = (parameter: string) => boolean;

const done = (parts: ConfParts): Parsed<ConfParts> => ({ ok: true, value: parts });

/** Between `://` and the path. @param name in an error. */
export function authority(name: string): Lens {
  return {
    claims: [],
    get: (parts) => parts.authority,
    set: (parts, text) =>
      /[/?#]/.test(text)
        ? { ok: false, why: `${name} must not contain a slash, ? or #` }
        : done({ ...parts, authority: text }),
  };
}

/** A host, which may be entered as a URL without a path. Plain http is the parameter `tls=off`. */
export const HOST: Lens = {
  claims: ["tls"],
  get: (parts) => (isPlain(parts) ? `http://${parts.authority}` : parts.authority),
  set: (parts, text) => {
    const [, scheme = "https", host = ""] = /^(?:(https?):\/\/)?(.*?)\/*$/is.exec(text) ?? [];
    const given = authority("the address").set(parts, host, none);
    return given.ok ? withScheme(given.value, scheme) : given;
  },
};

const none: IsClaimed = () => false;

function isPlain({ query }: ConfParts): boolean {
  return pairsOf(query).includes("tls=off");
}

function withScheme(parts: ConfParts, scheme: string): Parsed<ConfParts> {
  const others = pairsOf(parts.query).filter((pair) => pair !== "tls=off");
  if (scheme.toLowerCase() === "http") others.push("tls=off");
  return done({ ...parts, query: others.join("&") });
}

/** The path, without slashes at its ends. */
export const PATH: Lens = {
  claims: [],
  get: (parts) => withoutOuterSlashes(parts.path),
  set: (parts, text) =>
    text.includes("?")
      ? { ok: false, why: "the path must not contain a ?" }
      : done({ ...parts, path: withoutOuterSlashes(text) }),
};

/** The end of a path whose beginning is mostly the same. A text with a slash is the whole path. */
export function pathBelow(prefix: string): Lens {
  return {
    claims: [],
    get: ({ path }) => {
      const rest = path.slice(prefix.length);
      return path.startsWith(prefix) && !rest.includes("/") ? rest : path;
    },
    set: (parts, text) => PATH.set(parts, text === "" || text.includes("/") ? text : prefix + text, none),
  };
}

/**
 * A parameter. @param prefix stands before what is entered: a text that has a blank, or is the
 * whole value already, is taken as it is.
 */
export function parameter(name: string, prefix = ""): Lens {
  const wanted = name.toLowerCase();
  const isIt = (pair: string): boolean => nameOf(pair).toLowerCase() === wanted;
  return {
    claims: [wanted],
    get: ({ query }) => {
      const pair = pairsOf(query).find(isIt);
      const value = pair === undefined ? "" : textIn(pair);
      const rest = value.slice(prefix.length);
      return prefix !== "" && value.startsWith(prefix) && rest !== "" && !/\s/.test(rest) ? rest : value;
    },
    set: (parts, text) => {
      const value = text === "" || /\s/.test(text) || text === MASK || text.startsWith(prefix) ? text : prefix + text;
      const pair = value === "" ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(value)}`];
      const pairs = pairsOf(parts.query);
      const at = pairs.findIndex(isIt);
      const others = pairs.filter((each) => !isIt(each));
      others.splice(at === -1 ? others.length : at, 0, ...pair);
      return done({ ...parts, query: others.join("&") });
    },
  };
}

/** A header of every request. @param prefix as in {@link parameter}: `Bearer `. */
export function header(name: string, prefix = ""): Lens {
  return parameter(`${HEADER}${name}`, prefix);
}

/** A parameter that is there with one value, or is not. */
export function flag(name: string, value: string): Lens {
  const lens = parameter(name);
  return {
    ...lens,
    get: (parts, isClaimed) => (lens.get(parts, isClaimed) === "" ? "" : "true"),
    set: (parts, text, isClaimed) => lens.set(parts, text === "" ? "" : value, isClaimed),
  };
}

const HEADER = "header_";

/** All headers that no other field has, a line each: `Name: value`. */
export const FURTHER_HEADERS: Lens = {
  claims: [],
  get: ({ query }, isClaimed) =>
    pairsOf(query)
      .filter((pair) => isFurther(pair, isClaimed))
      .map((pair) => `${nameOf(pair).slice(HEADER.length)}: ${textIn(pair)}`)
      .join("\n"),
  set: (parts, text, isClaimed) => {
    const others = pairsOf(parts.query).filter((pair) => !isFurther(pair, isClaimed));
    for (const line of linesOf(text)) {
      const [name, value] = splitLine(line);
      if (name === "" || value === "")
        return { ok: false, why: "each further header must be on its own line, as Name: value" };
      if (isClaimed(`${HEADER}${name}`.toLowerCase()))
        return { ok: false, why: `the header ${shortened(name)} has a field of its own` };
      others.push(`${HEADER}${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
    }
    return done({ ...parts, query: others.join("&") });
  },
  masks: {
    hide: (text) =>
      linesOf(text)
        .map((line) => `${splitLine(line)[0]}: ${MASK}`)
        .join("\n"),
    restore: (text, stored) => {
      const known = new Map(linesOf(stored).map((line) => [splitLine(line)[0].toLowerCase(), line]));
      return linesOf(text)
        .map((line) => {
          const [name, value] = splitLine(line);
          return value === MASK ? (known.get(name.toLowerCase()) ?? line) : line;
        })
        .join("\n");
    },
  },
};

function isFurther(pair: string, isClaimed: IsClaimed): boolean {
  const name = nameOf(pair);
  return name.startsWith(HEADER) && !isClaimed(name.toLowerCase());
}

const shortened = (name: string): string => name.replace(/[^A-Za-z0-9_-]/g, "").slice(0, 64);

function linesOf(text: string): string[] {
  return text.split(/\r?\n/).filter((line) => line.trim() !== "");
}

function splitLine(line: string): [name: string, value: string] {
  const at = line.indexOf(":");
  return at === -1 ? [line.trim(), ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
}

/** All parameters that no other field has, headers aside, as they are written: `a=b&c=d`. */
export function furtherParameters(secrets: SecretParts): Lens {
  const further = (pair: string, isClaimed: IsClaimed): boolean => {
    const name = nameOf(pair);
    return !name.startsWith(HEADER) && !isClaimed(name.toLowerCase());
  };
  return {
    claims: [],
    get: ({ query }, isClaimed) =>
      pairsOf(query)
        .filter((pair) => further(pair, isClaimed))
        .join("&"),
    set: (parts, text, isClaimed) => {
      const given = pairsOf(text.replace(/^\?/, ""));
      const foreign = given.find((pair) => !further(pair, isClaimed));
      if (foreign !== undefined)
        return { ok: false, why: `the parameter ${shortened(nameOf(foreign))} has a field of its own` };
      const others = pairsOf(parts.query).filter((pair) => !further(pair, isClaimed));
      return done({ ...parts, query: [...given, ...others].join("&") });
    },
    masks: masksOf({ ...secrets, hasCode: false }, "?"),
  };
}

/** A whole URL, with all parameters that no other field has. Plain http as with {@link HOST}. */
export function address(secrets: SecretParts): Lens {
  const query = furtherParameters(secrets);
  return {
    claims: ["tls"],
    get: (parts, isClaimed) => {
      if (parts.authority === "" && parts.path === "") return "";
      const text = query.get(parts, isClaimed);
      const scheme = isPlain(parts) ? "http" : "https";
      return `${scheme}://${parts.authority}/${parts.path}${text === "" ? "" : `?${text}`}`;
    },
    set: (parts, text, isClaimed) => {
      const match = /^(?:(https?):\/\/)?([^/?#]*)(?:\/([^?]*))?(?:\?(.*))?$/is.exec(text);
      if (match === null) return { ok: false, why: "the address must be an https:// URL" };
      const [, scheme = "https", host = "", path = "", given = ""] = match;
      const rest = query.set({ ...parts, authority: host, path }, given, isClaimed);
      return rest.ok ? withScheme(rest.value, scheme) : rest;
    },
    masks: masksOf(secrets),
  };
}

function masksOf(secrets: SecretParts, before = ""): NonNullable<Lens["masks"]> {
  const start = before.length;
  return {
    hide: (text) => maskText(before + text, secrets).slice(start),
    restore: (text, stored) =>
      unmaskText(before + text, before + stored, { ...secrets, storedHasCode: secrets.hasCode }).slice(start),
  };
}

function pairsOf(query: string): string[] {
  return query.split("&").filter((pair) => pair !== "");
}

function nameOf(pair: string): string {
  return decoded(pair.split("=", 1)[0] ?? "");
}

function textIn(pair: string): string {
  const at = pair.indexOf("=");
  return at === -1 ? "" : decoded(pair.slice(at + 1));
}
