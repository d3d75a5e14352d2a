import { decodeUtf8 } from "../../base/bytes.ts";

/** How many texts are kept: one for each place that follows from its bytes. */
const KEPT = 512;
/** Longest one, in bytes. */
const LENGTH_MAX = 64;

interface Kept {
  json: Uint8Array;
  value: unknown;
}

const kept: (Kept | undefined)[] = Array.from({ length: KEPT });

/**
 * The value of a JSON text. Records repeat a few: one that came before is not parsed again.
 * @throws SyntaxError if it is not JSON.
 */
export function repeatedValue(bytes: Uint8Array, from: number, to: number): unknown {
  const length = to - from;
  if (length > LENGTH_MAX || length < 2) return JSON.parse(decodeUtf8(bytes.subarray(from, to)));
  // Names of a fleet differ in a digit, wherever it stands.
  let hash = length;
  for (let i = from; i < to; i++) hash = (Math.imul(hash, 31) + (bytes[i] as number)) | 0;
  const place = (hash ^ (hash >>> 9)) & (KEPT - 1);
  const before = kept[place];
  if (before !== undefined && isSame(before.json, bytes, from, to)) return before.value;
  const json = bytes.slice(from, to);
  const value: unknown = JSON.parse(decodeUtf8(json));
  // Who gets it may change it, unless it is a text.
  if (typeof value === "string") kept[place] = { json, value };
  return value;
}

function isSame(json: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  if (json.length !== to - from) return false;
  for (let i = 0; i < json.length; i++) if (json[i] !== bytes[from + i]) return false;
  return true;
}
