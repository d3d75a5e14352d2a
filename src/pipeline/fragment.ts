import { constants, crc32, deflateRawSync } from "node:zlib";
import { utf8Length } from "../bytes.ts";
import { FRAGMENT_MAX_RAW_BYTES, FRAGMENT_MAX_RECORDS, FRAGMENT_MIN_DEFLATE_BYTES } from "../limits.ts";

/** Deflate level of everything that ends up in an object. */
export const OBJECT_DEFLATE_LEVEL = 6;

/**
 * Encoded records of one UTC day for one job, on the way into its log. Deflated, it ends on a sync flush: a whole number of bytes, no last
 * block, so that fragments can follow each other in one gzip member.
 */
export interface Fragment {
  /** UTC days since the epoch. */
  day: number;
  deflated: boolean;
  records: number;
  /** Size before compression, in bytes. */
  rawBytes: number;
  /** CRC-32 of the uncompressed bytes. */
  crc: number;
  firstEventMs: number;
  lastEventMs: number;
  oldestTakenMs: number;
  body: Uint8Array;
}

/** Deflates so that another deflated fragment can follow. */
export function deflateFragment(raw: Uint8Array): Uint8Array {
  return deflateRawSync(raw, { level: OBJECT_DEFLATE_LEVEL, finishFlush: constants.Z_SYNC_FLUSH });
}

interface OpenFragment {
  texts: string[];
  rawBytes: number;
  firstEventMs: number;
  lastEventMs: number;
  oldestTakenMs: number;
}

const encoder = new TextEncoder();

/** Gathers encoded records of one job into fragments, by day. */
export class FragmentBuilder {
  readonly #open = new Map<number, OpenFragment>();
  readonly #done: Fragment[] = [];

  /**
   * @param text the encoded record.
   * @param day UTC day of its timestamp.
   */
  add(text: string, day: number, eventMs: number, takenInMs: number): void {
    let open = this.#open.get(day);
    const bytes = utf8Length(text);
    if (
      open !== undefined &&
      (open.texts.length >= FRAGMENT_MAX_RECORDS || open.rawBytes + bytes > FRAGMENT_MAX_RAW_BYTES)
    ) {
      this.#close(day, open);
      open = undefined;
    }
    if (open === undefined) {
      open = { texts: [], rawBytes: 0, firstEventMs: eventMs, lastEventMs: eventMs, oldestTakenMs: takenInMs };
      this.#open.set(day, open);
    }
    open.texts.push(text);
    open.rawBytes += bytes;
    open.firstEventMs = Math.min(open.firstEventMs, eventMs);
    open.lastEventMs = Math.max(open.lastEventMs, eventMs);
    open.oldestTakenMs = Math.min(open.oldestTakenMs, takenInMs);
  }

  finish(): Fragment[] {
    for (const [day, open] of this.#open) this.#close(day, open);
    this.#open.clear();
    return this.#done;
  }

  #close(day: number, open: OpenFragment): void {
    const raw = encoder.encode(open.texts.join(""));
    const deflated = raw.length >= FRAGMENT_MIN_DEFLATE_BYTES;
    const { firstEventMs, lastEventMs, oldestTakenMs } = open;
    this.#done.push({
      day,
      deflated,
      records: open.texts.length,
      rawBytes: raw.length,
      crc: crc32(raw),
      firstEventMs,
      lastEventMs,
      oldestTakenMs,
      // A view would carry its whole backing buffer through a durable object call.
      body: deflated ? deflateFragment(raw).slice() : raw,
    });
  }
}
