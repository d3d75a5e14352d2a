import { isObject } from "../../base/bytes.ts";
import { jsonText } from "./encode.ts";
import { messageText } from "./record.ts";

/*
 * `JSON.parse` rounds numbers, moves keys that are whole numbers to the front, and V8 may take one
 * key with an escape for another. So here it gets a marked text: every number is a string that
 * begins with "n", each key begins with "k" and has no escape, and other strings that begin with
 * "n", "k" or "s" have an "s" before it. It then has nothing to round, to move or to mistake;
 * repeated keys and escapes in strings are left to it.
 */

/** A string, with the colon that makes it a key; or a number. Unrolled, so that it is linear. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|-?\d[-+.\dEe]*/g;

/** A marked number or key, or the beginning of a marked string. */
const MARKED = /(?<!\\)"(?:s|n([^"]*)"|k([^"]*)":)/g;

function mark(token: string, colon: string | undefined): string {
  if (colon === undefined) return token.startsWith('"') ? token.replace(/^"(?=[kns\\])/, '"s') : `"n${token}"`;
  const key = token.slice(0, -colon.length);
  const written = key.includes("\\") ? jsonText(JSON.parse(key)) : key;
  return `"k${written.slice(1, -1).replaceAll(/[%"\\]/g, encodeURIComponent)}":`;
}

function unmark(_marked: string, number: string | undefined, key: string | undefined): string {
  return number ?? (key === undefined ? '"' : `"${decodeURIComponent(key)}":`);
}

/** @param value of a marked text. @throws RangeError as {@link jsonText}. */
function textOf(value: unknown): string {
  return jsonText(value).replace(MARKED, unmark);
}

/**
 * A JSON text as records have it: no white space between tokens; numbers, and the order of keys, as
 * they stand there; strings and keys as {@link jsonText} writes them. Of a key that is repeated in
 * an object the last value counts, in the place of the first.
 * @param text valid JSON. @throws RangeError as {@link jsonText}.
 */
export function canonicalText(text: string): string {
  return textOf(JSON.parse(text.replace(TOKEN, mark)));
}

/** An event, parsed. */
export interface ParsedEvent {
  value: unknown;
  /** Its `Event` as {@link canonicalText}; undefined: none, or `jsonText` writes the same. */
  eventText?: string | undefined;
}

/**
 * @param text an event as valid JSON.
 * @param isKept `JSON.parse` changes none of its numbers and keys; else, the parts of messages are
 *   already the texts that a record has of them.
 */
export function parseEvent(text: string, isKept: boolean): ParsedEvent {
  if (isKept) return { value: JSON.parse(text) };
  const marked = text.replace(TOKEN, mark);
  const { eventText, parts } = exactTexts(JSON.parse(marked));
  // Not before: both as objects take twice the memory.
  const value: unknown = JSON.parse(marked.replace(MARKED, unmark));
  let n = 0;
  for (const [holder, key] of messageParts(value, "")) holder[key] = parts[n++];
  return { value, eventText };
}

/** @param root of a marked text. @returns `parts`: in the order of {@link messageParts}. */
function exactTexts(root: unknown): { eventText: string | undefined; parts: string[] } {
  const event = isObject(root) ? root.kEvent : undefined;
  const parts = Array.from(messageParts(root, "k"), ([holder, key]) => {
    const part = holder[key];
    return typeof part === "string" ? part.replace(/^[ns]/, "") : messageText(part, textOf);
  });
  // Of one that is too deep for the stack this is no JSON; no record is made of it either.
  return { eventText: isObject(event) ? messageText(event, textOf) : undefined, parts };
}

type Holder = { [key: string | number]: unknown };

/** Where parts of messages are in an event of either form. @param mark what keys begin with. */
function* messageParts(root: unknown, mark: "" | "k"): Generator<[holder: Holder, key: string | number]> {
  for (const list of ["logs", "Logs", "exceptions", "Exceptions"]) {
    const entries = isObject(root) ? root[mark + list] : undefined;
    for (const entry of Array.isArray(entries) ? (entries.filter(isObject) as Holder[]) : [])
      for (const key of [`${mark}message`, `${mark}Message`]) {
        const message = entry[key];
        // That of an exception is one part, even if it is an array.
        if (Array.isArray(message) && list.length === 4) for (const i of message.keys()) yield [message as never, i];
        else if (message !== undefined && message !== null) yield [entry, key];
      }
  }
}
