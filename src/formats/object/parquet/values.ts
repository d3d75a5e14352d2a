import { decodeUtf8, encodeUtf8, isEqual, latin1, parsedJson } from "../../../base/bytes.ts";

/** A value as Parquet has it. */
export interface Value {
  bytes: Uint8Array;
  /** Its JSON follows from it, to the byte. */
  isExact: boolean;
}

const EMPTY: Value = { bytes: new Uint8Array(), isExact: false };

/** A whole number. `isExact` as of {@link Value}. */
export function readInt(json: string): { value: number; isExact: boolean } {
  const number = Number(json);
  if (Number.isSafeInteger(number)) return { value: number + 0, isExact: String(number) === json };
  const near = Math.round(number);
  return { value: Number.isSafeInteger(near) ? near : 0, isExact: false };
}

const TRUE = encodeUtf8("true");
const FALSE = encodeUtf8("false");

/** A flag. `isExact` as of {@link Value}. @param json its JSON, in UTF-8. */
export function readBool(json: Uint8Array): { value: boolean; isExact: boolean } {
  const value = isEqual(json, TRUE);
  return { value, isExact: value || isEqual(json, FALSE) };
}

/** The JSON of a flag, in UTF-8. */
export function flag(value: boolean): Uint8Array {
  return value ? TRUE : FALSE;
}

/** A text. @param json its JSON, in UTF-8. */
export function readString(json: Uint8Array): Value {
  if (isBare(json)) return { bytes: json.subarray(1, -1), isExact: true };
  const text = parsed(json);
  return typeof text === "string" ? textOf(text, isWritten(text, json)) : EMPTY;
}

/** A list of texts. @param json its JSON, in UTF-8. */
export function readStrings(json: Uint8Array): { values: string[]; isExact: boolean } {
  if (json.length === 2) return { values: [], isExact: true };
  const list = parsed(json);
  if (!Array.isArray(list)) return { values: [], isExact: false };
  const texts = list.filter((each) => typeof each === "string");
  const isWellFormed = texts.every((text) => text.isWellFormed());
  return {
    values: isWellFormed ? texts : texts.map((text) => text.toWellFormed()),
    isExact: isWellFormed && isWritten(list, json),
  };
}

/** Longest ray id that is taken for one, in characters: the platform's have 16. */
const RAY_MAX = 64;

const RAY_KEY = encodeUtf8('{"RayID":"');

/**
 * Where the ray id of an `Event` stands, where it stands first, as intake writes it; null: it may
 * be elsewhere, or there is none.
 * @param start of the event's JSON.
 */
export function rayIn(lines: Uint8Array, start: number, end: number): [start: number, end: number] | null {
  for (let at = 0; at < RAY_KEY.length; at++) if (lines[start + at] !== RAY_KEY[at]) return null;
  const from = start + RAY_KEY.length;
  for (let at = from; at < end && at <= from + RAY_MAX; at++) {
    const code = lines[at];
    if (code === QUOTE) return [from, at];
    if (code === BACKSLASH) return null;
  }
  return null;
}

const NOTHING = new Uint8Array();

/** The same of an event that its sender wrote, wherever it stands in it; no bytes: it has none. */
export function rayOf(json: Uint8Array): Uint8Array {
  if (!latin1(json).includes('"RayID"')) return NOTHING;
  const event = parsed(json);
  const id: unknown = typeof event === "object" && event !== null && "RayID" in event ? event.RayID : null;
  return typeof id === "string" && id.length <= RAY_MAX && id.isWellFormed() ? encodeUtf8(id) : NOTHING;
}

/** The JSON of a text, in UTF-8. @param bytes the text. */
export function quoted(bytes: Uint8Array): Uint8Array {
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (byte < 0x20 || byte === QUOTE || byte === BACKSLASH) return encodeUtf8(JSON.stringify(decodeUtf8(bytes)));
  }
  const json = new Uint8Array(bytes.length + 2);
  json[0] = QUOTE;
  json.set(bytes, 1);
  json[bytes.length + 1] = QUOTE;
  return json;
}

/** The JSON of a list of texts, in UTF-8. */
export function listed(values: readonly string[]): Uint8Array {
  return encodeUtf8(JSON.stringify(values));
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Between its quotes, it is the text itself. */
function isBare(json: Uint8Array): boolean {
  const last = json.length - 1;
  if (last < 1 || json[0] !== QUOTE || json[last] !== QUOTE) return false;
  for (let at = 1; at < last; at++) {
    const byte = json[at] as number;
    if (byte === BACKSLASH || byte < 0x20) return false;
  }
  return true;
}

function textOf(text: string, isExact: boolean): Value {
  return { bytes: encodeUtf8(text), isExact: isExact && text.isWellFormed() };
}

/** Whether it is what `JSON.stringify` makes of a value. */
function isWritten(value: unknown, json: Uint8Array): boolean {
  return latin1(encodeUtf8(JSON.stringify(value))) === latin1(json);
}

/** undefined: it is no JSON. */
function parsed(json: Uint8Array): unknown {
  return parsedJson(decodeUtf8(json));
}
