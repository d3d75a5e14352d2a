import { concat, encodeUtf8, free } from "../../base/bytes.ts";
import { deflateFragment } from "../../base/deflate.ts";
import {
  COMPACT_AT_RAW_BYTES,
  FRAGMENT_MAX_RAW_BYTES,
  FRAGMENT_MAX_RECORDS,
  FRAGMENT_MIN_DEFLATE_BYTES,
} from "../../base/limits.ts";
import type { Takeover } from "../queue/message.ts";
import { HashSet } from "../sketch/hash-set.ts";
import { FRAGMENT_MAX_WORDS } from "../sketch/sketch.ts";
import { hashJson } from "../sketch/terms.ts";
import type { Fragment, FragmentSizes } from "./encoder.ts";
import { contentOf } from "./gzip.ts";

/** Of which records a fragment is, beside their bytes. */
interface Held extends Pick<Fragment, "day" | "records" | "firstEventMs" | "lastEventMs" | "oldestTakenMs"> {
  part: string;
}

interface OpenFragment extends Omit<Held, "records"> {
  texts: string[];
  rawBytes: number;
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
  readonly #delimiter: string;
  readonly #delimiterBytes: number;
  readonly #isSketched: boolean;
  /** By day, or day and part. */
  readonly #open = new Map<number | string, OpenFragment>();
  readonly #done: Fragment[] = [];

  /**
   * @param delimiter stands between two records, in UTF-8. The reader puts it between fragments.
   * @param isSketched the hashes of their words are wanted. They are lines of JSON, then.
   * @throws TypeError if the delimiter is no UTF-8.
   */
  constructor(delimiter: Uint8Array = new Uint8Array(), isSketched = false, making: Making = DEFLATED) {
    this.#making = making;
    // A byte order mark is a valid delimiter.
    this.#delimiter = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(delimiter);
    this.#delimiterBytes = delimiter.length;
    this.#isSketched = isSketched;
  }

  /**
   * @param text the encoded record.
   * @param bytes its length in UTF-8.
   * @param day UTC day of its timestamp.
   * @param part of that day, as {@link Fragment} has it; "": it has none.
   */
  add(text: string, bytes: number, day: number, eventMs: number, takenInMs: number, part = ""): void {
    const key = part === "" ? day : `${day} ${part}`;
    let open = this.#open.get(key);
    if (open !== undefined) {
      const grown = open.rawBytes + this.#delimiterBytes + bytes;
      if (open.texts.length >= this.#making.sizes.records || grown > this.#making.sizes.bytes) {
        this.#close(open);
        open = undefined;
      }
    }
    if (open === undefined) {
      const times = { firstEventMs: eventMs, lastEventMs: eventMs, oldestTakenMs: takenInMs };
      open = { day, part, texts: [], rawBytes: 0, ...times };
      this.#open.set(key, open);
    }
    open.rawBytes += open.texts.length > 0 ? this.#delimiterBytes + bytes : bytes;
    open.texts.push(text);
    open.firstEventMs = Math.min(open.firstEventMs, eventMs);
    open.lastEventMs = Math.max(open.lastEventMs, eventMs);
    open.oldestTakenMs = Math.min(open.oldestTakenMs, takenInMs);
  }

  finish(): Fragment[] {
    for (const open of this.#open.values()) this.#close(open);
    this.#open.clear();
    return this.#done;
  }

  #close({ texts, ...open }: OpenFragment): void {
    const raw = encodeUtf8(texts.join(this.#delimiter));
    const { finishRecords, finishBytes } = this.#making.sizes;
    const deflated = raw.length >= finishBytes || texts.length >= finishRecords;
    const body = deflated ? this.#making.finish(raw) : raw;
    const held = { ...open, records: texts.length };
    this.#done.push(fragmentOf(held, { deflated, ...contentOf(raw), body }, this.#isSketched ? raw : null));
    if (deflated) free(raw);
  }
}

/** Whether so much is one fragment that is finished at once: what an object can take over. */
export function isFinishedFragment(records: number, rawBytes: number): boolean {
  const { sizes } = DEFLATED;
  return records <= sizes.records && rawBytes <= sizes.bytes && rawBytes >= sizes.finishBytes;
}

/** All records of a message as a fragment. @param isSketched hashes of their words are wanted. */
export function takenOver({ deflated, text, rawBytes, crc }: Takeover, held: Held, isSketched: boolean): Fragment {
  // In a buffer of its own: a view would carry the message through a durable object call.
  const written = { deflated: true, rawBytes, crc, body: concat([deflated]) };
  return fragmentOf(held, written, isSketched ? encodeUtf8(text) : null);
}

/** @param lines of JSON, whose words' hashes are wanted; null: none are. */
function fragmentOf(
  { part, ...held }: Held,
  written: Pick<Fragment, "deflated" | "rawBytes" | "crc" | "body">,
  lines: Uint8Array | null,
): Fragment {
  const hashes = lines && hashesOf(lines, held.records);
  return { ...held, ...(part !== "" && { part }), ...written, ...(hashes !== null && { hashes }) };
}

/** Hashes of the words in so many lines of JSON; null: too many. */
function hashesOf(lines: Uint8Array, records: number): Uint32Array<ArrayBuffer> | null {
  const words = new HashSet();
  hashJson(lines, words);
  return words.size > FRAGMENT_MAX_WORDS * Math.ceil(records / FRAGMENT_MAX_RECORDS) ? null : words.all();
}
