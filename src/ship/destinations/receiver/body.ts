import { parsedJson, utf8Length } from "../../../base/bytes.ts";
import type { BodyForm, SentRecord } from "./receiver.ts";

/** What is made of the lines of an object. */
export type Built =
  /**
   * `records`: the number of the record that each entry is; entries of one group stand together.
   */
  | { kind: "body"; text: string; records: number[] }
  /** It exceeds what one body may hold: as much as this is sure to fit. */
  | { kind: "too_large"; records: number; bytes: number }
  /** Some of its records are refused before anything is sent. */
  | { kind: "refused"; refused: { record: number; words: string }[] }
  /** A line that is no JSON object. */
  | { kind: "unreadable" };

/** The last time that a date can have. ECMA-262, section 21.4.1.1. */
const TIME_MAX_MS = 8.64e15;

/** Of what fits a body exactly, the next ones are made a little smaller: lines differ. */
const SPARE = 0.8;

/**
 * Puts records into a body. Pure: equal lines, ids and times make equal bytes.
 * @param lines NDJSON, one record each.
 * @param id of the object.
 * @param name the receiver's, for people.
 * @param from the number of the first of these lines in the object.
 */
export function buildBody(
  lines: readonly string[],
  id: string,
  form: BodyForm,
  name: string,
  nowMs: number,
  from = 0,
): Built {
  const { limits, frame } = form;
  const oldestMs = limits.maxAgeMs === null ? Number.NEGATIVE_INFINITY : nowMs - limits.maxAgeMs;
  const refused: { record: number; words: string }[] = [];
  const groups = new Map<string, { texts: string[]; records: number[] }>();
  let bytes = frame.open.length + frame.close.length;
  let lineBytes = 0;
  for (const [index, line] of lines.entries()) {
    const number = from + index;
    const record = readRecord(line);
    if (record === null) return { kind: "unreadable" };
    lineBytes += utf8Length(line) + 1;
    const entry = form.entry(record, `${id}-${number}`);
    if ("refused" in entry) {
      refused.push({ record: number, words: entry.refused });
      continue;
    }
    const { group, text, bytes: counted } = entry;
    const size = utf8Length(text);
    const limited = counted ?? size;
    if (limited > limits.entryBytes) {
      refused.push({ record: number, words: `a record of ${limited} bytes; ${name} takes ${limits.entryBytes}` });
    } else if (record.timeMs > 0 && record.timeMs < oldestMs) {
      const hours = (limits.maxAgeMs ?? 0) / 3_600_000;
      refused.push({ record: number, words: `older than the ${hours} hours that ${name} takes` });
    } else if (limits.maxAheadMs !== undefined && record.timeMs > nowMs + limits.maxAheadMs) {
      const minutes = limits.maxAheadMs / 60_000;
      refused.push({ record: number, words: `further ahead than the ${minutes} minutes that ${name} takes` });
    }
    let members = groups.get(group);
    if (members === undefined) {
      members = { texts: [], records: [] };
      groups.set(group, members);
      bytes += utf8Length(group) + frame.closeGroup.length + frame.betweenGroups.length;
    }
    members.texts.push(text);
    members.records.push(number);
    bytes += size + frame.between.length;
  }
  if (refused.length > 0) return { kind: "refused", refused };
  if (bytes > limits.bytes && lines.length === 1)
    return {
      kind: "refused",
      refused: [{ record: from, words: `a record of ${bytes} bytes; ${name} takes ${limits.bytes}` }],
    };
  if (lines.length > limits.records || bytes > limits.bytes) {
    const share = Math.min(1, limits.bytes / bytes) * SPARE;
    const records = Math.max(1, Math.min(limits.records, Math.ceil(lines.length / 2)));
    return { kind: "too_large", records, bytes: Math.max(1, Math.floor(lineBytes * share)) };
  }
  const written = [...groups].map(([group, { texts }]) => group + texts.join(frame.between) + frame.closeGroup);
  return {
    kind: "body",
    text: frame.open + written.join(frame.betweenGroups) + frame.close,
    records: [...groups.values()].flatMap(({ records }) => records),
  };
}

function readRecord(line: string): SentRecord | null {
  const fields = parsedJson(line);
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) return null;
  const { EventTimestampMs: timeMs } = fields as Record<string, unknown>;
  return {
    line,
    fields: fields as Record<string, unknown>,
    timeMs: typeof timeMs === "number" && Math.abs(timeMs) <= TIME_MAX_MS ? timeMs : 0,
  };
}

/** The lines of an NDJSON text. */
export function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}
