import { clause } from "../../base/storage/sql.ts";
import { TRACED } from "../../formats/record/shares.ts";
import type { Source } from "../../formats/record/source.ts";
import type { Health } from "./function-health.ts";

/** Of whose invocations a count is. */
export interface HealthOf {
  scriptName: string;
  /** Who sent the events; "": it is unknown. */
  source: Source;
  /** Id of the version; "": it is unknown. */
  version: string;
}

/** How invocations went, and when they were taken in, in ms since the epoch. */
export interface Ran extends Health {
  firstMs: number;
  lastMs: number;
  /** When the first that failed was; 0: none did, or an earlier release counted. */
  firstFailedMs: number;
  /** What its owner calls the version; absent: nothing. */
  tag?: string;
}

/** How the invocations of one version of a function went in a slot or an hour. */
export interface RanIn extends HealthOf {
  /** Number of the slot, or of the hour, since the epoch, by time of intake. */
  at: number;
  health: Ran;
  /** Others were summed in that time, and this one may be among them in part. */
  isPartial: boolean;
}

/** The key of the functions that are summed. */
export const SUMMED = "null";

/**
 * The key of a version of a function: the JSON of the name; ` @` and the JSON of the version; and
 * where it is not the platform that names it, a blank and the source. So a sender that uses the
 * name of another's function changes nothing of it.
 */
export function keyOf({ scriptName, source, version }: HealthOf): string {
  const of = version === "" ? "" : ` @${JSON.stringify(version)}`;
  return JSON.stringify(scriptName) + of + (source === TRACED ? "" : ` ${source}`);
}

const KEY = /^("(?:[^"\\]|\\.)*")(?: @("(?:[^"\\]|\\.)*"))?(?: (.*))?$/s;

export function ofKey(key: string): HealthOf {
  const [, name = '""', version = '""', source = TRACED] = KEY.exec(key) ?? [];
  return { scriptName: JSON.parse(name) as string, source, version: JSON.parse(version) as string };
}

const VERSION = /^("(?:[^"\\]|\\.)*") @"(?:[^"\\]|\\.)*"/s;

/** The key of the function, of one of its versions. */
export function functionKeyOf(key: string): string {
  return key.replace(VERSION, "$1");
}

/** The rows of a function, by all that name it, and of all its versions. */
export const named = (scriptName: string) =>
  clause`function >= ${JSON.stringify(scriptName)} AND function < ${`${JSON.stringify(scriptName)}!`}`;

const texts = new WeakMap<object, string>();

/** As JSON, made once: of a value that never changes. What is gathered is written often. */
export function textOnce(value: object): string {
  const known = texts.get(value);
  if (known !== undefined) return known;
  const text = JSON.stringify(value);
  texts.set(value, text);
  return text;
}
