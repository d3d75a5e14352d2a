import { decodeStrict, utf8Length } from "../../base/bytes.ts";
import { PREVIEW_TEXT_MAX_BYTES } from "../../base/limits.ts";
import { dayOf } from "../../base/time.ts";
import { batchTexts, contentType, type OutputFormat } from "../../formats/output/format.ts";
import { loadedRecord } from "../../formats/queue/load-records.ts";
import type { Entry } from "../../formats/record/extras.ts";
import { RecordLine } from "../../formats/record/line.ts";
import type { Source } from "../../formats/record/source.ts";
import { FILTERED, recordJudge, SAMPLED_OUT, type ShippingRules } from "../job/build.ts";

/** What a job would do with some records. Indices are those of the list of records. */
export interface Preview {
  /** Number of records: the sum of the next three. */
  events: number;
  kept: number;
  filtered: number;
  sampledOut: number;
  /** How many kept records lose some of their `Exceptions` and `Logs`. */
  truncated: number;
  /** The kept records that are shown. */
  records: PreviewRecord[];
  notKept: { index: number; reason: "filtered" | "sampled_out" }[];
  /** One for each UTC day, in the order of their first records. */
  objects: PreviewObject[];
  /** How many kept records are not shown. */
  leftOut: number;
}

export interface PreviewRecord {
  index: number;
  /** As in {@link PreviewObject}. */
  day: number;
  text: string;
  source: Source;
  truncated: boolean;
}

/** An object of these records alone, before compression. */
export interface PreviewObject {
  /** UTC days since the epoch. */
  day: number;
  contentType: string;
  records: number;
  /** Size of the whole object, in UTF-8. */
  bytes: number;
  /** Its text up to the first record that is not shown. */
  text: string;
  complete: boolean;
}

/**
 * Sampling depends on the ids of job and message. With fixed ones the same request gets the same
 * answer: the share is right, but a real job may pick other records.
 */
const PREVIEW_JOB_ID = 0;
const PREVIEW_MESSAGE_ID = "6c6f677368697020707265766965773a";

/**
 * Offers records to a job that does not exist, by the code of the queue handler. Pure.
 * @param lines one a record.
 * @param maxBytes most text that is shown, in UTF-8. From the first record that does not fit,
 *   records are only counted.
 * @param sources where each came from; absent: unknown.
 * @throws if a line is no record, or the filter cannot be read: bugs, as both were checked.
 */
export function preview(
  rules: Omit<ShippingRules, "id">,
  lines: readonly Entry[],
  maxBytes = PREVIEW_TEXT_MAX_BYTES,
  sources: readonly Source[] = [],
): Preview {
  const judge = recordJudge({ ...rules, id: PREVIEW_JOB_ID }, PREVIEW_MESSAGE_ID);
  const objects = new Objects(rules.output, maxBytes);
  const result: Preview = {
    ...{ events: lines.length, kept: 0, filtered: 0, sampledOut: 0, truncated: 0 },
    ...{ records: [], notKept: [], objects: [], leftOut: 0 },
  };
  for (const [index, line] of lines.entries()) {
    const whole = RecordLine.ofEntry(line, sources[index]);
    if (whole === null) throw new Error("a line is no record");
    const record = loadedRecord(index, whole);
    const text = judge(record);
    if (text === FILTERED) {
      result.filtered += 1;
      result.notKept.push({ index, reason: "filtered" });
    } else if (text === SAMPLED_OUT) {
      result.sampledOut += 1;
      result.notKept.push({ index, reason: "sampled_out" });
    } else {
      const truncated = rules.output.truncate !== false && record.shipped !== record.whole;
      result.kept += 1;
      if (truncated) result.truncated += 1;
      const day = dayOf(record.shipped.EventTimestampMs);
      if (objects.add(text, day)) result.records.push({ index, day, text, source: whole.Source, truncated });
      else result.leftOut += 1;
    }
  }
  return { ...result, objects: objects.finish() };
}

/** Puts rendered records into the objects of their days, and shows them while there is room. */
class Objects {
  readonly #contentType: string;
  readonly #prefix: string;
  readonly #delimiter: string;
  readonly #suffix: string;
  readonly #byDay = new Map<number, PreviewObject>();
  #room: number;
  #isFull = false;

  constructor(format: OutputFormat, maxBytes: number) {
    const { prefix, delimiter, suffix } = batchTexts(format);
    this.#contentType = contentType(format);
    this.#prefix = decodeStrict(prefix);
    this.#delimiter = decodeStrict(delimiter);
    this.#suffix = decodeStrict(suffix);
    this.#room = maxBytes;
  }

  /** @returns whether the record is shown. */
  add(text: string, day: number): boolean {
    let object = this.#byDay.get(day);
    const added = (object === undefined ? this.#prefix : this.#delimiter) + text;
    const bytes = utf8Length(added);
    const reserved = object === undefined ? utf8Length(this.#suffix) : 0;
    if (object === undefined) {
      object = { day, contentType: this.#contentType, records: 0, bytes: reserved, text: "", complete: true };
      this.#byDay.set(day, object);
    }
    object.records += 1;
    object.bytes += bytes;
    // Smaller records that follow are not shown either: no gaps.
    this.#isFull ||= bytes + reserved > this.#room;
    if (this.#isFull) {
      object.complete = false;
      return false;
    }
    this.#room -= bytes + reserved;
    object.text += added;
    return true;
  }

  finish(): PreviewObject[] {
    const objects = [...this.#byDay.values()];
    for (const object of objects) if (object.complete) object.text += this.#suffix;
    return objects;
  }
}
