import { concat, encodeUtf8, free } from "../../base/bytes.ts";
import { deflateFragment } from "../../base/deflate.ts";
import {
  COMPACT_AT_RAW_BYTES,
  FRAGMENT_MAX_RAW_BYTES,
  FRAGMENT_MAX_RECORDS,
  FRAGMENT_MIN_DEFLATE_BYTES,
} from "../../base/limits.ts";
import { dayOf } from "../../base/time.ts";
import type { InvocationRenderer } from "../output/rows.ts";
import type { Takeover } from "../queue/message.ts";
import type { RecordLine } from "../record/line.ts";
import { HashSet } from "../sketch/hash-set.ts";
import { IdentityWriter } from "../sketch/identities.ts";
import { FRAGMENT_MAX_WORDS, listOf } from "../sketch/sketch.ts";
import { hashJson } from "../sketch/terms.ts";
import type { Fragment, FragmentSizes, Gatherer, RecordPlace } from "./encoder.ts";
import { contentOf } from "./gzip.ts";

/** Of which records a fragment is, beside their bytes. */
interface Held extends Pick<Fragment, "day" | "records" | "firstEventMs" | "lastEventMs" | "oldestTakenMs"> {
  part: string;
}

interface OpenFragment extends Held {
  /** Of its records, with delimiters between them, so far. */
  bytes: Uint8Array<ArrayBuffer>;
  rawBytes: number;
  /** null: it is not known which records they are. */
  identities: IdentityWriter | null;
}

/** How fragments are made. As of an encoder. */
interface Making {
  readonly sizes: FragmentSizes;
  finish(raw: Uint8Array): Uint8Array<ArrayBuffer>;
}

/** Text that is deflated. */
export const DEFLATED: Making = {
  sizes: {
    records: FRAGMENT_MAX_RECORDS,
    bytes: FRAGMENT_MAX_RAW_BYTES,
    finishRecords: Number.POSITIVE_INFINITY,
    finishBytes: FRAGMENT_MIN_DEFLATE_BYTES,
    rawRowBytes: COMPACT_AT_RAW_BYTES,
    compactBytes: COMPACT_AT_RAW_BYTES,
  },
  finish: deflateFragment,
};

/** Gathers encoded records of one job into fragments, by day and part of it. */
export class FragmentBuilder {
  readonly #making: Making;
  readonly #delimiter: Uint8Array;
  readonly #isSketched: boolean;
  readonly #written: number | null;
  /** By day, or day and part. */
  readonly #open = new Map<number | string, OpenFragment>();
  readonly #done: Fragment[] = [];
  /** Of a fragment that was finished, for the next one. */
  #spare = new Uint8Array();

  /**
   * @param delimiter stands between two records. The reader puts it between fragments.
   * @param isSketched the hashes of their words are wanted. They are lines of JSON, then.
   * @param written as `writtenFields`: which records they are is wanted, too.
   */
  constructor(
    delimiter: Uint8Array = new Uint8Array(),
    isSketched = false,
    making: Making = DEFLATED,
    written: number | null = null,
  ) {
    this.#making = making;
    this.#written = isSketched ? written : null;
    this.#delimiter = delimiter;
    this.#isSketched = isSketched;
  }

  /**
   * @param record encoded.
   * @param day UTC day of its timestamp.
   * @param part of that day, as {@link Fragment} has it; "": it has none.
   */
  add(record: string, day: number, eventMs: number, takenInMs: number, part = "", from?: RecordPlace): void {
    const utf8 = encodeUtf8(record);
    const { bytes, rawBytes } = this.reserve(utf8.length, day, eventMs, takenInMs, part, from);
    bytes.set(utf8, rawBytes - utf8.length);
  }

  /**
   * The same of a record of so many bytes.
   * @returns where the caller writes it at once: the last of the raw bytes.
   */
  reserve(
    bytes: number,
    day: number,
    eventMs: number,
    takenInMs: number,
    part = "",
    of?: RecordPlace,
  ): Pick<OpenFragment, "bytes" | "rawBytes"> {
    const key = part === "" ? day : `${day} ${part}`;
    const delimiter = this.#delimiter;
    let open = this.#open.get(key);
    if (open !== undefined) {
      const grown = open.rawBytes + delimiter.length + bytes;
      if (open.records >= this.#making.sizes.records || grown > this.#making.sizes.bytes) {
        this.#close(open);
        open = undefined;
      }
    }
    if (open === undefined) {
      const times = { firstEventMs: eventMs, lastEventMs: eventMs, oldestTakenMs: takenInMs };
      const identities = this.#written === null ? null : new IdentityWriter(this.#written);
      open = { day, part, bytes: this.#spare, rawBytes: 0, records: 0, ...times, identities };
      this.#spare = new Uint8Array();
      this.#open.set(key, open);
    }
    const from = open.records > 0 ? open.rawBytes + delimiter.length : 0;
    if (from + bytes > open.bytes.length) open.bytes = grown(open.bytes, from + bytes);
    if (open.records > 0) open.bytes.set(delimiter, open.rawBytes);
    open.rawBytes = from + bytes;
    open.records += 1;
    if (of === undefined) open.identities = null;
    else open.identities?.add(of.part, of.index);
    open.firstEventMs = Math.min(open.firstEventMs, eventMs);
    open.lastEventMs = Math.max(open.lastEventMs, eventMs);
    open.oldestTakenMs = Math.min(open.oldestTakenMs, takenInMs);
    return open;
  }

  finish(): Fragment[] {
    for (const open of this.#open.values()) this.#close(open);
    this.#open.clear();
    free(this.#spare);
    return this.#done;
  }

  #close({ bytes, rawBytes, identities, ...held }: OpenFragment): void {
    const raw = bytes.subarray(0, rawBytes);
    const { finishRecords, finishBytes } = this.#making.sizes;
    const deflated = rawBytes >= finishBytes || held.records >= finishRecords;
    const isFull = rawBytes === bytes.length;
    const body = deflated ? this.#making.finish(raw) : isFull ? bytes : raw.slice();
    const written = { deflated, ...contentOf(raw), body };
    this.#done.push(fragmentOf(held, written, this.#isSketched ? raw : null, identities));
    if (body === bytes) return;
    const [larger, smaller] = bytes.length > this.#spare.length ? [bytes, this.#spare] : [this.#spare, bytes];
    this.#spare = larger;
    free(smaller);
  }
}

/** Whether so much is one fragment that is finished at once: what an object can take over. */
export function isFinishedFragment(records: number, rawBytes: number): boolean {
  const { sizes } = DEFLATED;
  return records <= sizes.records && rawBytes <= sizes.bytes && rawBytes >= sizes.finishBytes;
}

/**
 * All records of a message as a fragment. @param identities which they are, and the hashes of their
 * words are wanted; null: none are.
 */
export function takenOver({ deflated, raw, crc }: Takeover, held: Held, identities: IdentityWriter | null): Fragment {
  // In a buffer of its own: a view would carry the message through a durable object call.
  const written = { deflated: true, rawBytes: raw.length, crc, body: concat([deflated]) };
  return fragmentOf(held, written, identities && raw, identities);
}

/** @param lines of JSON, whose words' hashes are wanted; null: none are. */
function fragmentOf(
  { part, ...held }: Held,
  written: Pick<Fragment, "deflated" | "rawBytes" | "crc" | "body">,
  lines: Uint8Array | null,
  writer: IdentityWriter | null,
): Fragment {
  const hashes = lines && hashesOf(lines, held.records);
  const identities = writer?.finish();
  return {
    ...{ ...held, ...(part !== "" && { part }), ...written },
    ...(hashes !== null && { hashes }),
    ...(identities !== undefined && { identities }),
  };
}

/** As many paths have a record each, it begins with the size of one. The smaller one is freed. */
function grown({ buffer, length }: Uint8Array<ArrayBuffer>, least: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(buffer.transfer(Math.max(least, 2 * length)));
}

/**
 * Gathers records of a format. @param partOf of which part of its day a record is; absent: a day
 * has one.
 */
export function gathererOf(
  builder: FragmentBuilder,
  { text, writer }: InvocationRenderer,
  partOf?: (record: RecordLine) => string,
): Gatherer {
  return {
    add: (record, takenInMs, from) => {
      const { EventTimestampMs: timeMs } = record;
      const day = dayOf(timeMs);
      const part = partOf?.(record);
      if (writer === null) return builder.add(text(record), day, timeMs, takenInMs, part, from);
      const length = writer.bytes(record);
      const { bytes, rawBytes } = builder.reserve(length, day, timeMs, takenInMs, part, from);
      writer.write(record, bytes, rawBytes - length);
    },
    finish: () => builder.finish(),
  };
}

/** So many bytes of lines have one word that no line before has, about; fewer, where ids abound. */
const BYTES_A_WORD = 64;

/** List of the words in so many lines of JSON; null: too many. */
function hashesOf(lines: Uint8Array, records: number): Uint32Array<ArrayBuffer> | null {
  const words = new HashSet(lines.length / BYTES_A_WORD);
  hashJson(lines, words);
  return words.size > FRAGMENT_MAX_WORDS * Math.ceil(records / FRAGMENT_MAX_RECORDS) ? null : listOf(words);
}
