import { parsedJson } from "../../base/bytes.ts";
import { EVENT_MAX_DEPTH, RECORD_MAX_BYTES } from "../../base/limits.ts";
import type { Pieces } from "../../base/streams.ts";
import type { CompiledQuery } from "../../formats/query/compile-query.ts";
import { isDeeperThan } from "../../formats/record/record.ts";
import { fold } from "../../formats/sketch/terms.ts";
import { ReadFault } from "../../ship/destinations/read-object.ts";

/** A line of an object that matches. */
export interface Match {
  /** From 1. */
  line: number;
  /** The record, and its JSON. */
  record: object;
  json: string;
  /** `EventTimestampMs`; null: it was shipped without. */
  timeMs: number | null;
}

/** What was looked at. */
export interface Scanned {
  bytes: number;
  records: number;
  /** Lines that are no records as JSON: of a format that the job had before, or a stranger's. */
  unreadable: number;
}

/** The longest line, in bytes: more than a record can have. */
const LINE_MAX_BYTES = 2 * RECORD_MAX_BYTES;

/** More levels than a record can have, and a template of it. */
const LEVELS_MAX = 2 * EVENT_MAX_DEPTH;

const LINE_FEED = 0x0a;

/**
 * Looks at every record of an object. Most are passed over as text, and only those that may match
 * are parsed.
 * @param content lines of JSON, decoded, in pieces of any size; it is returned when this stops.
 * @param found is called for each match, in the order of lines.
 * @throws ReadFault for a line that no record has, and what `content` throws.
 */
export async function scan(content: Pieces, query: CompiledQuery, found: (match: Match) => void): Promise<Scanned> {
  const scanned: Scanned = { bytes: 0, records: 0, unreadable: 0 };
  const decoder = new TextDecoder();
  /** The beginning of a line whose end has not come. */
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  const hold = (part: Uint8Array): void => {
    if (part.length === 0) return;
    heldBytes += part.length;
    if (heldBytes > LINE_MAX_BYTES) throw new ReadFault("damaged", "a line is longer than any record");
    // A copy: the decoder reuses its buffer.
    held.push(part.slice());
  };
  const look = (lines: Uint8Array): void => {
    const begun = held.map((part) => decoder.decode(part, { stream: true })).join("");
    held = [];
    heldBytes = 0;
    scanLines(begun + decoder.decode(lines), query, scanned, found);
  };
  for await (const piece of content) {
    scanned.bytes += piece.length;
    const end = piece.lastIndexOf(LINE_FEED) + 1;
    if (end > 0) look(piece.subarray(0, end));
    hold(piece.subarray(end));
  }
  if (heldBytes > 0) look(new Uint8Array());
  return scanned;
}

function scanLines(text: string, query: CompiledQuery, scanned: Scanned, found: (match: Match) => void): void {
  // Folding may change the length of a text, and never its number of lines.
  const folded = query.foldedPart === "" ? text : fold(text);
  const isSameLength = folded.length === text.length;
  const originals = isSameLength ? null : text.split("\n");
  const first = scanned.records;
  for (let from = 0; from < folded.length; ) {
    const at = query.foldedPart === "" ? from : folded.indexOf(query.foldedPart, from);
    const stop = at === -1 ? folded.length : at;
    // Lines that are passed over are counted all the same.
    for (let end = folded.indexOf("\n", from); end !== -1 && end < stop; end = folded.indexOf("\n", from)) {
      scanned.records += 1;
      from = end + 1;
    }
    if (at === -1) {
      if (from < folded.length) scanned.records += 1;
      return;
    }
    const lineEnd = folded.indexOf("\n", at);
    const end = lineEnd === -1 ? folded.length : lineEnd;
    const json = originals === null ? text.slice(from, end) : (originals[scanned.records - first] as string);
    scanned.records += 1;
    from = end + 1;
    judge(json, scanned, query, found);
  }
}

function judge(json: string, scanned: Scanned, query: CompiledQuery, found: (match: Match) => void): void {
  const record = parsedJson(json);
  if (typeof record !== "object" || record === null || Array.isArray(record)) {
    scanned.unreadable += 1;
    return;
  }
  if (!query.matches(record)) return;
  // Readers of the answer would fail at it.
  if (isDeeperThan(record, LEVELS_MAX)) {
    scanned.unreadable += 1;
    return;
  }
  const { EventTimestampMs: timeMs } = record as { EventTimestampMs?: unknown };
  found({ line: scanned.records, record, json, timeMs: typeof timeMs === "number" ? timeMs : null });
}
