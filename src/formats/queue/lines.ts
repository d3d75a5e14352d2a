import { deflateRawSync, inflateRawSync } from "node:zlib";
import { free } from "../../base/bytes.ts";
import { MESSAGE_RAW_MAX_BYTES, RECORD_MAX_BYTES } from "../../base/limits.ts";

/** Largest NDJSON of a message: {@link MESSAGE_RAW_MAX_BYTES}, or one record and its newline. */
const RAW_LIMIT = Math.max(MESSAGE_RAW_MAX_BYTES, RECORD_MAX_BYTES) + 1;

/**
 * A message is inflated once, and the queue bills whole units of 64 KB, so a few percent rarely
 * change what a message of one part costs. Level 3 makes the benchmark's 2.7 % smaller and takes
 * 18 % longer; level 1 makes them 3.5 % larger and takes 3 % less.
 */
const ONCE = { level: 2 } as const;

/** Messages of several parts are filled to such a unit, so a smaller part costs less. */
const SHARED = { level: 3 } as const;

export interface PackedLines {
  body: Uint8Array;
  isDeflated: boolean;
}

/** Deflates lines where that makes them shorter. @param parts how many the message has. */
export function packLines(raw: Uint8Array, parts: number): PackedLines {
  const deflated = deflateRawSync(raw, parts > 1 ? SHARED : ONCE);
  if (deflated.length < raw.length) return { body: deflated, isDeflated: true };
  free(deflated);
  return { body: raw, isDeflated: false };
}

/** Strict, and keeps a byte order mark: the text must be exactly what was written. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export type ReadLines = { ok: true; value: { lines: string[]; ascii: boolean } } | { ok: false; why: string };

/** How lines were packed. */
export interface LinesForm {
  rawLength: number;
  isDeflated: boolean;
}

/** @param isIntact whether the checksum of the lines is right. @throws never. */
export function readLines(
  packed: Uint8Array,
  { rawLength, isDeflated }: LinesForm,
  isIntact: (raw: Uint8Array) => boolean,
): ReadLines {
  if (rawLength > RAW_LIMIT) return { ok: false, why: `announces ${rawLength} bytes of records` };
  let raw: Uint8Array = packed;
  if (isDeflated) {
    try {
      // One chunk for all of it saves copies. The runtime compares the limit with its buffer, which
      // grows by doubling, not with the output: an exact limit would refuse valid messages. The
      // exact length is checked below.
      const chunkSize = Math.max(rawLength + 1, 64);
      raw = inflateRawSync(packed, { maxOutputLength: 2 * chunkSize, chunkSize });
    } catch {
      return { ok: false, why: "does not inflate" };
    }
  }
  try {
    if (raw.length !== rawLength || !isIntact(raw)) return { ok: false, why: "fails its checksum" };
    const text = decoder.decode(raw);
    const lines = text.split("\n");
    if (lines.pop() !== "") return { ok: false, why: "ends within a record" };
    return { ok: true, value: { lines, ascii: text.length === raw.length } };
  } catch {
    return { ok: false, why: "is not UTF-8" };
  } finally {
    // A batch of the queue has up to a hundred of them.
    if (raw !== packed) free(raw);
  }
}
