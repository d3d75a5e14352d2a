import { FIELD_NAMES, type FieldName } from "../record/fields.ts";
import { isInMs } from "../record/record.ts";
import { repeatedValue } from "../record/repeated.ts";
import { type JsonScanner, type Literal, literal } from "./scanner.ts";

/** What intake asks of a record beside its line. */
export interface CanonicalRecord {
  timeMs: number;
  scriptName: string;
}

/** What stands before the value of each field. */
const BEFORE = Object.fromEntries(
  FIELD_NAMES.map((name, i) => [name, literal(`${i === 0 ? "{" : ","}"${name}":`)]),
) as unknown as { readonly [name in FieldName]: Literal };

/** Around values. */
const [COMMA, OPEN_LIST, CLOSE_LIST, CLOSE] = [",", "[", "]", "}"].map(literal) as [Literal, Literal, Literal, Literal];

/** Objects of a record, by what stands before each of their three values. */
type Before = readonly [Literal, Literal, Literal];
const VERSION = ['{"ID":', ',"Message":', ',"Tag":'].map(literal) as unknown as Before;
const EXCEPTION = ['{"name":', ',"message":', ',"TimestampMs":'].map(literal) as unknown as Before;
const LOG = ['{"Level":', ',"Message":', ',"TimestampMs":'].map(literal) as unknown as Before;

/** A time in an `Event` that intake looks at, with its colon. */
const SCHEDULED = literal('"ScheduledTimeMs":');

/**
 * Passes over a record if it is canonical already, to the byte: `toRecord` and `recordLine` would
 * make the same of it, and find nothing to say.
 * @param scanner stands where it begins; afterwards anywhere, if there is none.
 * @returns null: there is none, or one that may be written otherwise.
 */
export function canonicalRecord(scanner: JsonScanner, bytes: Uint8Array): CanonicalRecord | null {
  const s = scanner;
  if (!s.is(BEFORE.CPUTimeMs) || s.whole() < 0) return null;
  if (!s.is(BEFORE.DispatchNamespace) || !s.string()) return null;
  if (!s.is(BEFORE.Entrypoint) || !s.string()) return null;
  if (!s.is(BEFORE.Event) || !isEvent(s)) return null;
  if (!s.is(BEFORE.EventTimestampMs)) return null;
  const timeMs = s.whole();
  if (!isInMs(timeMs)) return null;
  if (!s.is(BEFORE.EventType) || !s.string()) return null;
  if (!s.is(BEFORE.Exceptions) || !isList(s, isException)) return null;
  if (!s.is(BEFORE.Logs) || !isList(s, isLog)) return null;
  if (!s.is(BEFORE.Outcome) || !s.string()) return null;
  if (!s.is(BEFORE.ScriptName)) return null;
  const from = s.at;
  if (!s.string()) return null;
  const scriptName = repeatedValue(bytes, from, s.at) as string;
  if (!s.is(BEFORE.ScriptTags) || !isList(s, isString)) return null;
  if (!s.is(BEFORE.ScriptVersion)) return null;
  if (!s.is(VERSION[0]) || !s.string() || !s.is(VERSION[1]) || !s.string()) return null;
  if (!s.is(VERSION[2]) || !s.string() || !s.is(CLOSE)) return null;
  if (!s.is(BEFORE.WallTimeMs) || s.whole() < 0 || !s.is(CLOSE)) return null;
  // Without a name it gets that of the setting.
  return scriptName === "" ? null : { timeMs, scriptName };
}

function isEvent(scanner: JsonScanner): boolean {
  const keys = scanner.exactObject();
  if (keys === null) return false;
  const end = scanner.at;
  for (let i = 0; i < keys.count; i++) {
    scanner.moveTo(keys.at(i));
    if (scanner.is(SCHEDULED) && !isInMs(scanner.whole())) return false;
  }
  scanner.moveTo(end);
  return true;
}

function isList(scanner: JsonScanner, isEntry: (scanner: JsonScanner) => boolean): boolean {
  if (!scanner.is(OPEN_LIST)) return false;
  if (scanner.is(CLOSE_LIST)) return true;
  do if (!isEntry(scanner)) return false;
  while (scanner.is(COMMA));
  return scanner.is(CLOSE_LIST);
}

const isString = (s: JsonScanner): boolean => s.string();

function isException(s: JsonScanner): boolean {
  if (!s.is(EXCEPTION[0]) || !s.string() || !s.is(EXCEPTION[1]) || !s.string()) return false;
  return s.is(EXCEPTION[2]) && isInMs(s.whole()) && s.is(CLOSE);
}

function isLog(s: JsonScanner): boolean {
  if (!s.is(LOG[0]) || !s.string() || !s.is(LOG[1]) || !isList(s, isString)) return false;
  return s.is(LOG[2]) && isInMs(s.whole()) && s.is(CLOSE);
}
