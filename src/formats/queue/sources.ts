import { concat, decodeStrict, encodeUtf8 } from "../../base/bytes.ts";
import { isSource, type Source } from "../record/source.ts";
import type { Block } from "./sections.ts";

/** Type of the block. */
const SOURCES = 3;

/** Most sources that a message names; a part of another one says nothing of it. */
const NAMED_MAX = 255;

/**
 * What a head says of where its parts are from: how many sources it names (1 byte); of each the
 * length (2 bytes, big-endian) and the text (UTF-8); then one byte for each part, the number of its
 * source, from 1; 0: unknown. Nothing where all are unknown.
 */
export function encodeSources(parts: readonly { source?: Source }[]): Block[] {
  const named = [...new Set(parts.flatMap(({ source }) => source || []))].slice(0, NAMED_MAX);
  if (named.length === 0) return [];
  const texts = named.flatMap((source) => {
    const text = encodeUtf8(source);
    return [Uint8Array.of(text.length >> 8, text.length & 0xff), text];
  });
  const numbers = parts.map(({ source = "" }) => named.indexOf(source) + 1);
  return [[SOURCES, concat([Uint8Array.of(named.length), ...texts, Uint8Array.from(numbers)])]];
}

/**
 * The source of each part. What is malformed says nothing, and costs no record.
 * @param parts number of parts of the message.
 */
export function decodeSources(blocks: ReadonlyMap<number, Uint8Array>, parts: number): Source[] {
  const unknown: Source[] = Array.from({ length: parts }, () => "");
  const bytes = blocks.get(SOURCES);
  if (bytes === undefined) return unknown;
  const named: Source[] = [""];
  let at = 1;
  for (let left = bytes[0] ?? 0; left > 0; left--) {
    const end = at + 2 + (((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0));
    const source = sourceIn(bytes.subarray(at + 2, end));
    if (end > bytes.length || source === null) return unknown;
    named.push(source);
    at = end;
  }
  if (bytes.length !== at + parts) return unknown;
  return unknown.map((_, i) => named[bytes[at + i] ?? 0] ?? "");
}

/** null: not what intake writes. */
function sourceIn(text: Uint8Array): Source | null {
  try {
    const source = decodeStrict(text);
    return isSource(source) ? source : null;
  } catch {
    return null;
  }
}
