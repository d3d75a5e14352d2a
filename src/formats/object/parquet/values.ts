import { decodeUtf8, encodeUtf8, parsedJson } from "../../../base/bytes.ts";

/** What Parquet has for the JSON of a field. */
export interface Value<T> {
  value: T;
  /** Its JSON follows from it, to the byte. */
  isExact: boolean;
}

/** A whole number, a safe one. */
export function readInt(json: string): Value<number> {
  const number = Number(json);
  if (Number.isSafeInteger(number)) return { value: number + 0, isExact: String(number) === json };
  const near = Math.round(number);
  return { value: Number.isSafeInteger(near) ? near : 0, isExact: false };
}

/** A flag. */
export function readFlag(json: string): Value<boolean> {
  return { value: json === "true", isExact: json === "true" || json === "false" };
}

/** A text. */
export function readString(json: string): Value<string> {
  const bare = json.slice(1, -1);
  if (JSON.stringify(bare) === json) return { value: bare, isExact: true };
  const text = parsedJson(json);
  return typeof text === "string" ? { value: text, isExact: isWritten(text, json) } : { value: "", isExact: false };
}

/** A list of texts. */
export function readStrings(json: string): Value<string[]> {
  if (json === "[]") return { value: [], isExact: true };
  const list = parsedJson(json);
  const texts = Array.isArray(list) ? list.filter((each) => typeof each === "string") : [];
  return { value: texts, isExact: isWritten(texts, json) };
}

/** Whether its JSON is this, and its texts have a UTF-8: JSON escapes what has none. */
function isWritten(value: string | readonly string[], json: string): boolean {
  return JSON.stringify(value) === json && [value].flat().every((text) => text.isWellFormed());
}

/** Longest ray id that is taken for one, in characters: the platform's have 16. */
const RAY_MAX = 64;

/** Where it stands first, as intake writes it. */
const RAY_FIRST = /^\{"RayID":"([^"\\]{0,64})"/;

/** The ray id of an `Event`, wherever it stands in it; "": it has none. */
export function rayOf(json: string): string {
  const first = RAY_FIRST.exec(json)?.[1];
  if (first !== undefined || !json.includes('"RayID"')) return first ?? "";
  const event = parsedJson(json);
  const id: unknown = typeof event === "object" && event !== null && "RayID" in event ? event.RayID : null;
  return typeof id === "string" && id.length <= RAY_MAX && id.isWellFormed() ? id : "";
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

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
