import { createHash } from "node:crypto";
import { dayOf, hourOf } from "../../base/time.ts";

/** What a path may hold in place of a value. Any other braces are text. */
export const PLACEHOLDERS = ["{DATE}", "{DATE_ISO}", "{YYYY}", "{MM}", "{DD}", "{HOUR}", "{SCRIPT}"] as const;
type Placeholder = (typeof PLACEHOLDERS)[number];

/** What stands for each of them in one key. */
export type Fill = Readonly<Record<Placeholder, string>>;

/** Longest folder of a script, in bytes: all of it is ASCII. */
export const SCRIPT_MAX_BYTES = 128;

/** The folder of records without a script name; and of objects that are not of one script. */
export const NO_SCRIPT = "_none";
export const MIXED_SCRIPTS = "_mixed";

/** Fills the keys of probes and challenges: no day, no hour and no script. */
export const PROBE_DAY: Fill = {
  "{DATE}": "00010101",
  "{DATE_ISO}": "0001-01-01",
  "{YYYY}": "0001",
  "{MM}": "01",
  "{DD}": "01",
  "{HOUR}": "00",
  "{SCRIPT}": "_test",
};

/** Folders that no script name has. `_logship` is kept for files of the service itself. */
const RESERVED: readonly string[] = [NO_SCRIPT, MIXED_SCRIPTS, PROBE_DAY["{SCRIPT}"], "_logship"];

/** No key is longer than with this. */
export const LONGEST_FILL: Fill = { ...PROBE_DAY, "{SCRIPT}": "x".repeat(SCRIPT_MAX_BYTES) };

/** A path, read. */
export interface Template {
  /** Texts, and at the odd places placeholders. */
  readonly pieces: readonly string[];
  /** What it tells apart besides the day: an object has records of one hour, of one script. */
  readonly hour: boolean;
  readonly script: boolean;
}

/** What a path tells apart within a day. */
export type PathParts = Pick<Template, "hour" | "script">;

const SPLIT = new RegExp(`(${PLACEHOLDERS.join("|").replaceAll(/[{}]/g, "\\$&")})`);

/** Reads a path. */
export function readTemplate(path: string): Template {
  const pieces = path.split(SPLIT);
  const filled = pieces.filter((_, i) => i % 2 === 1);
  return { pieces, hour: filled.includes("{HOUR}"), script: filled.includes("{SCRIPT}") };
}

/** Whether it tells apart more than days. */
export function hasParts({ hour, script }: PathParts): boolean {
  return hour || script;
}

/** A UTC day as `YYYYMMDD`. @param day days since the epoch, up to the year 9999. */
export function dayStamp(day: number): string {
  return new Date(day * 86_400_000).toISOString().slice(0, 10).replaceAll("-", "");
}

/** A time as `YYYYMMDDTHHMMSSZ`, rounded down to the second. */
export function timeStamp(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, "")}Z`;
}

/** The time at which a name begins that {@link objectName} made, in ms; null: it is none. */
export function stampedMs(name: string): number | null {
  const iso = name.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z_.*$/s, "$1-$2-$3T$4:$5:$6Z");
  const timeMs = iso === name ? Number.NaN : Date.parse(iso);
  return Number.isNaN(timeMs) ? null : timeMs;
}

/**
 * Of which part of its day a record is, by what the template tells apart: `05` (an hour), `/shop`
 * (a script's folder), `05/shop`, or empty. Records of one day and part may share an object.
 * @param scriptName is asked for only where it matters.
 */
export function partOf({ hour, script }: PathParts, timeMs: number, scriptName: () => string): string {
  return `${hour ? hourStamp(timeMs) : ""}${script ? `/${scriptFolder(scriptName())}` : ""}`;
}

/** Whether it can be a {@link partOf} this template. */
export function isPartOf({ hour, script }: PathParts, part: string): boolean {
  const [hours = "", folder, ...more] = part.split("/");
  const isHour = hour ? /^\d\d$/.test(hours) : hours === "";
  return isHour && more.length === 0 && (script ? (folder ?? "") !== "" : folder === undefined);
}

/**
 * Fills a key below any template, also one that tells apart more than the one by which the object
 * was gathered: its hour is that of its first event, and without a script it is of several.
 * @param day since the epoch. @param part as {@link partOf} has it.
 */
export function fillOf(day: number, firstEventMs: number, part: string): Fill {
  const date = dayStamp(day);
  const [year, month, dayOfMonth] = [date.slice(0, 4), date.slice(4, 6), date.slice(6)];
  const at = part.indexOf("/");
  return {
    "{DATE}": date,
    "{DATE_ISO}": `${year}-${month}-${dayOfMonth}`,
    "{YYYY}": year,
    "{MM}": month,
    "{DD}": dayOfMonth,
    "{HOUR}": hourStamp(firstEventMs),
    "{SCRIPT}": at === -1 ? MIXED_SCRIPTS : part.slice(at + 1),
  };
}

function hourStamp(timeMs: number): string {
  return `${hourOf(timeMs) % 24}`.padStart(2, "0");
}

/** How the folder of a name ends that was cut: with 128 bits of its SHA-256. */
const CUT = /~[0-9a-f]{32}$/;
const CUT_BYTES = 33;

let last = { name: "", folder: NO_SCRIPT };

/**
 * A script's folder: its name, percent-encoded but for RFC 3986's unreserved characters, so that
 * `decodeURIComponent` gives it back. Encoded as well: dots at its end, and a reserved word's first
 * character. What would be longer than {@link SCRIPT_MAX_BYTES} is cut and ends with a hash, as do
 * names that end like one, or are no well-formed text. Two names never share a folder.
 */
export function scriptFolder(name: string): string {
  if (name !== last.name) last = { name, folder: folderOfScript(name) };
  return last.folder;
}

function folderOfScript(name: string): string {
  if (name === "") return NO_SCRIPT;
  if (name.length <= SCRIPT_MAX_BYTES && name.isWellFormed()) {
    const encoded = encoded3986(name).replace(/\.+$/, (dots) => "%2E".repeat(dots.length));
    if (encoded.length <= SCRIPT_MAX_BYTES && !CUT.test(encoded))
      return RESERVED.includes(encoded) ? `%5F${encoded.slice(1)}` : encoded;
  }
  let kept = "";
  for (const character of name.slice(0, SCRIPT_MAX_BYTES)) {
    const next = character.isWellFormed() ? encoded3986(character) : "";
    if (kept.length + next.length > SCRIPT_MAX_BYTES - CUT_BYTES) break;
    kept += next;
  }
  // As JSON, which tells halves of surrogate pairs apart.
  return `${kept}~${createHash("sha256").update(JSON.stringify(name)).digest("hex").slice(0, 32)}`;
}

function encoded3986(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Fills examples: an event of the script `shop` at this time. */
export function exampleFill(nowMs: number): Fill {
  return fillOf(dayOf(nowMs), nowMs, "/shop");
}

/** What people write for a placeholder, without case and punctuation. */
const MISSPELT: Readonly<Record<string, Placeholder>> = {
  DATE: "{DATE}",
  YYYYMMDD: "{DATE}",
  DATEISO: "{DATE_ISO}",
  ISODATE: "{DATE_ISO}",
  YYYY: "{YYYY}",
  YEAR: "{YYYY}",
  MM: "{MM}",
  MONTH: "{MM}",
  DD: "{DD}",
  DAY: "{DD}",
  HOUR: "{HOUR}",
  HH: "{HOUR}",
  SCRIPT: "{SCRIPT}",
  SCRIPTNAME: "{SCRIPT}",
};

/** Why a path does not mean what it seems to, in words; null: it does, as far as can be told. */
export function misspeltIn(path: string): string | null {
  for (const [found, inner = ""] of path.matchAll(/\{([A-Za-z_-]{2,12})\}/g)) {
    const meant = MISSPELT[inner.toUpperCase().replaceAll(/[_-]/g, "")];
    if (meant !== undefined && found !== meant && !PLACEHOLDERS.some((name) => name === found))
      return `${found} in the path is not a placeholder; write ${meant}`;
  }
  return null;
}

/** Where a template leads. */
export function folderOf(template: Template | string, fill: Fill): string {
  const { pieces } = typeof template === "string" ? readTemplate(template) : template;
  return pieces.map((piece, i) => (i % 2 === 1 ? fill[piece as Placeholder] : piece)).join("");
}

/** Whether a template leads to a folder, whatever the script. */
export function leadsTo(template: string, fill: Fill, folder: string): boolean {
  const literal = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  let script = "([^/]+)";
  const pattern = readTemplate(template).pieces.map((piece, i) => {
    if (i % 2 === 0) return literal(piece);
    if (piece !== "{SCRIPT}") return fill[piece as Placeholder];
    const here = script;
    script = "\\1";
    return here;
  });
  return new RegExp(`^${pattern.join("")}$`, "u").test(folder);
}

/** A key below it. */
export function keyBelow(template: Template | string, fill: Fill, name: string): string {
  const folder = folderOf(template, fill);
  return folder === "" ? name : `${folder}/${name}`;
}

/** Key of the small object that shows a destination to be writable. */
export function probeKey(path: string): string {
  return keyBelow(path, PROBE_DAY, "test.txt.gz");
}

/**
 * Name of an object: its first and last event, and what makes it unique. @param suffix of its
 * encoder.
 */
export function objectName(firstEventMs: number, lastEventMs: number, tag: string, suffix: string): string {
  return `${timeStamp(firstEventMs)}_${timeStamp(lastEventMs)}_${tag}${suffix}`;
}

/**
 * Odd, so that multiplying by it permutes the 32-bit integers (Knuth's multiplicative hash: 2^32
 * divided by the golden ratio).
 */
const SPREAD = 0x9e3779b1;

/**
 * The 8 hex digits of an object's key: a permutation of its number, shifted by the identity of its
 * log. Within a log no two numbers below 2^32 share a tag. Objects of two logs collide only on one
 * path, in the same two seconds, with a chance of 2^-32; the store then refuses the second.
 */
export function objectTag(logIdentity: string, number: number): string {
  const shift = Number.parseInt(createHash("sha256").update(logIdentity).digest("hex").slice(0, 8), 16);
  return ((Math.imul(number, SPREAD) + shift) >>> 0).toString(16).padStart(8, "0");
}
