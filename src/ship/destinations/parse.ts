import { keepsSecrets } from "../../base/hosts.ts";
import type { DestinationContext } from "../../config.ts";
import { fillOf, folderOf, misspeltIn } from "../../formats/object/keys.ts";
import { splitConf } from "./conf.ts";
import type { ConfParts, Destination, DestinationKind, Parsed, Place, Plan, PlannedObject } from "./destination.ts";
import { KINDS } from "./kinds.ts";
import { hasMask, MASK, maskText, type SecretParts, unmaskText } from "./masks.ts";

export { MASK };

/** Longest `destination_conf`, in characters. */
export const DESTINATION_CONF_MAX = 4_096;

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
  const why = read.ok ? (kind.misplaced?.(read.value) ?? misspeltIn(read.value.path)) : null;
  return why === null ? read : { ok: false, why };
}

/** Reads where a `destination_conf` leads. Its credentials may be masked or missing. */
export function parsePlace(conf: string, context: DestinationContext): Parsed<Place> {
  const split = partsOf(conf);
  return split.ok ? split.value.kind.place(split.value.parts, context) : split;
}

/**
 * What would be sent of records, without a secret of the string; null: they are written as they
 * are, or the string is no destination.
 */
export function planFor(conf: string, context: DestinationContext, object: PlannedObject, nowMs: number): Plan | null {
  const split = partsOf(maskDestination(conf));
  return split.ok ? (split.value.kind.plan?.(split.value.parts, context, object, nowMs) ?? null) : null;
}

function partsOf(conf: string): Parsed<{ kind: DestinationKind; parts: ConfParts }> {
  if (conf.length > DESTINATION_CONF_MAX)
    return { ok: false, why: `destination_conf is longer than ${DESTINATION_CONF_MAX} characters` };
  if (!conf.isWellFormed()) return { ok: false, why: "destination_conf must be well-formed text" };
  const parts = splitConf(conf);
  if (parts === null) return { ok: false, why: "destination_conf must be <scheme>://<bucket>/<path>?<parameters>" };
  const kind = KINDS.find(({ schemes }) => schemes.includes(parts.scheme));
  if (kind !== undefined) return { ok: true, value: { kind, parts } };
  if (parts.scheme === "http") return { ok: false, why: "http:// is not accepted: an address begins with https://" };
  const known = KINDS.flatMap(({ schemes }) => schemes).map((name) => `${name}://`);
  return { ok: false, why: `unknown scheme; supported are ${known.join(", ")}` };
}

/** The string with `****` for every secret value. */
export function maskDestination(conf: string): string {
  return maskText(conf, secretsIn(conf));
}

/** Puts the stored secrets where the sent string has `****`. */
export function unmaskDestination(sent: string, stored: string): string {
  return unmaskText(sent, stored, { ...secretsIn(sent), storedHasCode: secretsIn(stored).hasCode });
}

/** Whether a secret in the string is masked. */
export function isMasked(conf: string): boolean {
  return hasMask(conf, secretsIn(conf));
}

function secretsIn(conf: string): SecretParts {
  // Of one that is refused for its capitals, too.
  const scheme = conf.slice(0, Math.max(0, conf.indexOf("://"))).toLowerCase();
  const kind = KINDS.find(({ schemes }) => schemes.includes(scheme));
  return { isSecret: (parameter) => kind?.isShown(parameter) !== true, hasCode: kind?.hasSecretPath === true };
}

/**
 * Whether the secrets of one may be kept for the other: they are never sent to another address.
 * Parameters of a receiver are none of it.
 */
export function sameStore(a: Place, b: Place): boolean {
  return (
    a.scheme === b.scheme &&
    keepsSecrets(a.endpoint, b.endpoint) &&
    a.accountId === b.accountId &&
    a.bucket === b.bucket &&
    a.addressing === b.addressing
  );
}

/**
 * Whether what one of them has, the other has as well: they differ in secrets and parameters at
 * most.
 */
export function sameHolder(a: Place, b: Place): boolean {
  const holder = ({ scheme, endpoint: { origin, host, pathname }, accountId, bucket, path }: Place): string =>
    JSON.stringify([scheme, origin, host, pathname, accountId, bucket, path]);
  return holder(a) === holder(b);
}

/**
 * Whether an ownership challenge for one is a challenge for the other: it is bound to all of this,
 * and to the account.
 */
export function samePlace(a: Place, b: Place): boolean {
  return sameStore(a, b) && a.endpoint.href === b.endpoint.href && a.path === b.path;
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

/** As addressed by path, where the end of one endpoint may be the bucket of another. */
function folderUrl({ endpoint, bucket }: Place, folder: string): string {
  return `${endpoint.href.replace(/\/$/, "")}/${bucket}/${folder}`.replace(/\/$/, "");
}

/** What may be shown of an address: where it leads. */
export function maskUrl(url: string): string {
  return URL.canParse(url) && new URL(url).origin !== "null" ? `${new URL(url).origin}/${MASK}` : MASK;
}
