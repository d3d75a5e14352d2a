import type { ConfParts, Destination, DestinationContext, DestinationKind, Parsed, Place } from "./destination.ts";
import { fillOf, folderOf, misspeltIn } from "./keys.ts";
import { KINDS } from "./kinds.ts";

/** Longest `destination_conf`, in characters. */
export const DESTINATION_CONF_MAX = 4_096;

/** Stands for a secret where it is not shown, and for "as it was" where it is sent. */
export const MASK = "****";

const SHAPE = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)(?:\/([^?]*))?(?:\?(.*))?$/is;

/**
 * Reads a `destination_conf`.
 * @returns the destination, or in words what is wrong; never with a secret in it.
 */
export function parseDestination(conf: string, context: DestinationContext): Parsed<Destination> {
  const split = partsOf(conf);
  return split.ok ? split.value.kind.destination(split.value.parts, context) : split;
}

/** The same for a string that a caller sends, which has to lead where it seems to. */
export function parseNewDestination(conf: string, context: DestinationContext): Parsed<Destination> {
  const split = partsOf(conf);
  if (!split.ok) return split;
  const { kind, parts } = split.value;
  const read = kind.destination(parts, context);
  const why = read.ok ? (kind.misplaced(read.value) ?? misspeltIn(read.value.path)) : null;
  return why === null ? read : { ok: false, why };
}

/** Reads where a `destination_conf` leads. Its credentials may be masked or missing. */
export function parsePlace(conf: string, context: DestinationContext): Parsed<Place> {
  const split = partsOf(conf);
  return split.ok ? split.value.kind.place(split.value.parts, context) : split;
}

function partsOf(conf: string): Parsed<{ kind: DestinationKind; parts: ConfParts }> {
  if (conf.length > DESTINATION_CONF_MAX)
    return { ok: false, why: `destination_conf is longer than ${DESTINATION_CONF_MAX} characters` };
  if (!conf.isWellFormed()) return { ok: false, why: "destination_conf must be well-formed text" };
  const match = SHAPE.exec(conf);
  if (match === null) return { ok: false, why: "destination_conf must be <scheme>://<bucket>/<path>?<parameters>" };
  const [, scheme = "", authority = "", path = "", query = ""] = match;
  const kind = KINDS.find(({ schemes }) => schemes.includes(scheme));
  if (kind !== undefined) return { ok: true, value: { kind, parts: { scheme, authority, path, query } } };
  const known = KINDS.flatMap(({ schemes }) => schemes).map((name) => `${name}://`);
  return { ok: false, why: `unknown scheme; supported are ${known.join(", ")}` };
}

/** A secret of any kind: a string that cannot be parsed is masked, too. */
function isSecret(parameter: string): boolean {
  return KINDS.some((kind) => kind.isSecret(parameter));
}

/** The string with `****` for every secret value. */
export function maskDestination(conf: string): string {
  const { path, code, query } = sections(conf);
  return path + (code === "" ? "" : MASK) + mapParameters(query, (name, value) => (isSecret(name) ? MASK : value));
}

/** Puts the stored secrets where the sent string has `****`. */
export function unmaskDestination(sent: string, stored: string): string {
  const secrets = new Map<string, string>();
  const known = sections(stored);
  mapParameters(known.query, (name, value) => {
    if (isSecret(name)) secrets.set(name, value);
    return value;
  });
  const { path, code, query } = sections(sent);
  const isSamePath = code === MASK && path === known.path;
  return path + (isSamePath ? known.code : code) + mapMasked(query, (name, value) => secrets.get(name) ?? value);
}

/**
 * A string up to its query, without a code that is the end of its path; that code, or ""; and its
 * query, with the `?`.
 */
function sections(conf: string): { path: string; code: string; query: string } {
  const at = conf.indexOf("?");
  const whole = at === -1 ? conf : conf.slice(0, at);
  const query = at === -1 ? "" : conf.slice(at);
  const scheme = whole.slice(0, whole.indexOf("://"));
  const hasCode = KINDS.some(({ schemes, hasSecretPath }) => hasSecretPath && schemes.includes(scheme));
  const cut = hasCode ? whole.lastIndexOf("/") + 1 : whole.length;
  return { path: whole.slice(0, cut), code: whole.slice(cut), query };
}

/** Whether a secret in the string is masked. */
export function isMasked(conf: string): boolean {
  const { code, query } = sections(conf);
  let found = code === MASK;
  mapMasked(query, (name, value) => {
    found ||= isSecret(name);
    return value;
  });
  return found;
}

function mapMasked(query: string, map: (name: string, value: string) => string): string {
  return mapParameters(query, (name, value) => (decoded(value) === MASK ? map(name, value) : value));
}

/** Maps the values of a query, as they are written. Names are compared percent-decoded. */
function mapParameters(query: string, map: (name: string, value: string) => string): string {
  if (query === "") return "";
  const pairs = query.slice(1).split("&");
  const mapped = pairs.map((pair) => {
    const at = pair.indexOf("=");
    return at === -1 ? pair : `${pair.slice(0, at)}=${map(decoded(pair.slice(0, at)), pair.slice(at + 1))}`;
  });
  return `?${mapped.join("&")}`;
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Whether the secrets of one may be kept for the other: they are never sent anywhere else. */
export function sameStore(a: Place, b: Place): boolean {
  return (
    a.scheme === b.scheme && a.endpoint.href === b.endpoint.href && a.accountId === b.accountId && a.bucket === b.bucket
  );
}

/**
 * Whether an ownership challenge for one is a challenge for the other: it is bound to all of this,
 * and to the account.
 */
export function samePlace(a: Place, b: Place): boolean {
  return sameStore(a, b) && a.path === b.path;
}

/** Whether objects of both go to one folder, by whichever parameters the two name it. */
export function sameFolder(a: Place, b: Place): boolean {
  return folderUrl(a, a.path) === folderUrl(b, b.path);
}

/**
 * Whether objects of one of these days, of any hour and script, go to one folder: `logs/20261120`
 * is that of `logs/{DATE}` on that day. Days that neither path names are alike to both.
 * @param from first day since the epoch. @param to last day.
 */
export function sameFolderOn(a: Place, b: Place, { from, to }: { from: number; to: number }): boolean {
  if (sameFolder(a, b)) return true;
  const days = [from, ...daysIn(a.path), ...daysIn(b.path)].filter((day) => day >= from && day <= to);
  return days.some((day) =>
    HOURS_MS.some((ms) => {
      const fill = { ...fillOf(day, ms, ""), "{SCRIPT}": "{SCRIPT}" };
      return folderUrl(a, folderOf(a.path, fill)) === folderUrl(b, folderOf(b.path, fill));
    }),
  );
}

const HOURS_MS = Array.from({ length: 24 }, (_, hour) => hour * 3_600_000);

/** Days since the epoch that a path may name: `20261120`, `2026-11-20`, `2026/11/20`. */
function daysIn(path: string): number[] {
  const stamps = Array.from(path, (_, at) => /^(\d{4})\D?(\d\d)\D?(\d\d)/.exec(path.slice(at, at + 10)));
  return stamps.flatMap((stamp) => {
    const day = stamp === null ? Number.NaN : Date.parse(`${stamp[1]}-${stamp[2]}-${stamp[3]}T00:00:00Z`) / 86_400_000;
    return Number.isNaN(day) ? [] : [day];
  });
}

/** Addressing is by path: the end of one endpoint may be the bucket of another. */
function folderUrl({ endpoint, bucket }: Place, folder: string): string {
  return `${endpoint.href.replace(/\/$/, "")}/${bucket}/${folder}`.replace(/\/$/, "");
}

/** What may be shown of an address: where it leads. */
export function maskUrl(url: string): string {
  return URL.canParse(url) && new URL(url).origin !== "null" ? `${new URL(url).origin}/${MASK}` : MASK;
}
