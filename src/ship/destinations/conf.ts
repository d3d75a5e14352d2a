import { utf8Length } from "../../base/bytes.ts";
import type { DestinationContext } from "../../config.ts";
import { folderOf, LONGEST_FILL } from "../../formats/object/keys.ts";
import { blankFault } from "../../formats/secrets/blanks.ts";
import type { ConfParts, DestinationKind, Parsed, Place, Terms } from "./destination.ts";

/** What kinds of destination share in reading their strings. */

/** Of every store: an object is there once, and whatever a job writes is one. */
export const STORE_TERMS: Terms = {
  repeats: { once: true },
  plainRecords: false,
  fields: [],
  limits: null,
  isReadable: true,
  shows: "objects",
};

/** By name, percent-decoded. */
export type Parameters = ReadonlyMap<string, string>;

export interface PlaceRead<P extends Place = Place> {
  readonly place: P;
  /** Credentials are among them. */
  readonly parameters: Parameters;
}

/** The two readings of a kind whose parameters are its credentials. */
export function readings<P extends Place>(
  readPlace: (parts: ConfParts, context: DestinationContext) => Parsed<PlaceRead<P>>,
  readCredentials: (parameters: Parameters, place: P, context: DestinationContext) => Parsed<unknown>,
): Pick<DestinationKind, "place" | "destination"> {
  return {
    place: (parts, context) => {
      const read = readPlace(parts, context);
      return read.ok ? { ok: true, value: read.value.place } : read;
    },
    destination: (parts, context) => {
      const read = readPlace(parts, context);
      if (!read.ok) return read;
      const { place, parameters } = read.value;
      const credentials = readCredentials(parameters, place, context);
      return credentials.ok ? { ok: true, value: { ...place, credentials: credentials.value } } : credentials;
    },
  };
}

const SHAPE = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)(?:\/([^?]*))?(?:\?(.*))?$/is;

/** Splits a `destination_conf`. null: it has another shape. */
export function splitConf(conf: string): ConfParts | null {
  const match = SHAPE.exec(conf);
  if (match === null) return null;
  const [, scheme = "", authority = "", path = "", query = ""] = match;
  return { scheme, authority, path, query };
}

/** The reverse: what {@link splitConf} splits into the same parts. */
export function joinConf({ scheme, authority, path, query }: ConfParts): string {
  return `${scheme}://${authority}/${path}${query === "" ? "" : `?${query}`}`;
}

/**
 * S3 keys are at most 1,024 bytes, and an object's name takes 51 of them; counted with the longest
 * that may stand for its placeholders.
 */
const PATH_MAX_BYTES = 900;

/**
 * A path without slashes at its ends, in linear time: a pattern would try every run of slashes from
 * each of them.
 */
export function withoutOuterSlashes(path: string): string {
  let [from, until] = [0, path.length];
  while (path[from] === "/") from += 1;
  while (until > from && path[until - 1] === "/") until -= 1;
  return path.slice(from, until);
}

export function parsePath(raw: string): Parsed<string> {
  const path = withoutOuterSlashes(raw);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  if (/[\u0000-\u001f\u007f]/.test(path)) return { ok: false, why: "the path must not contain control characters" };
  // URLs swallow such segments, and the object would land elsewhere.
  if (path.split("/").some((segment) => segment === "." || segment === "..")) {
    return { ok: false, why: "the path must not contain . or .. as a segment" };
  }
  if (utf8Length(folderOf(path, LONGEST_FILL)) > PATH_MAX_BYTES)
    return { ok: false, why: `the path is longer than ${PATH_MAX_BYTES} bytes` };
  return { ok: true, value: path };
}

export interface Pair {
  /** As it is written. */
  readonly text: string;
  readonly name: string;
  readonly value: string;
}

/** The parameters of a query in their order, percent-decoded; a `+` stays a `+`. */
export function parsePairs(query: string): Parsed<Pair[]> {
  const pairs = query.split("&").filter((text) => text !== "");
  try {
    return {
      ok: true,
      value: pairs.map((text) => {
        const [name = "", ...rest] = text.split("=");
        return { text, name: decodeURIComponent(name), value: decodeURIComponent(rest.join("=")) };
      }),
    };
  } catch {
    return { ok: false, why: "a parameter is not correctly percent-encoded" };
  }
}

export function parseParameters(query: string, known: readonly string[]): Parsed<Parameters> {
  const pairs = parsePairs(query);
  if (!pairs.ok) return pairs;
  const parameters = new Map<string, string>();
  for (const { name, value } of pairs.value) {
    // An unknown name may be a secret in the wrong place (a key with an unescaped `&`): it is not
    // repeated.
    if (!known.includes(name))
      return { ok: false, why: `unknown parameter; known for this scheme are ${known.join(", ")}` };
    if (parameters.has(name)) return { ok: false, why: `${name} is given twice` };
    if (value === "") return { ok: false, why: `${name} is empty` };
    const why = blankFault(name, value);
    if (why !== null) return { ok: false, why };
    parameters.set(name, value);
  }
  return { ok: true, value: parameters };
}
