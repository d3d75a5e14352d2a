import { concat, encodeUtf8 } from "../bytes.ts";
import { FRAGMENT_MAX_RECORDS } from "../limits.ts";
import type { OpenLines } from "../queue/lines.ts";
import { utcDay } from "../record/record.ts";
import type { FinishedMessage, Fragment } from "./encoder.ts";
import { hashesOf } from "./fragment.ts";

type Times = Pick<Fragment, "firstEventMs" | "lastEventMs" | "oldestTakenMs">;

/**
 * All records of a message as a fragment, compressed as they came: for what ships all of them as
 * they stand. Made once for all jobs, when the first one asks for it.
 */
export class Finished implements FinishedMessage {
  readonly records: number;
  readonly #lines: OpenLines;
  readonly #times: Times;
  #body: Uint8Array<ArrayBuffer> | null = null;
  /** null: too many; undefined: not asked for yet. */
  #hashes: Uint32Array<ArrayBuffer> | null | undefined;

  private constructor(records: number, lines: OpenLines, times: Times) {
    this.records = records;
    this.#lines = lines;
    this.#times = times;
  }

  /** @returns null: it is no fragment, as its records are too many or of several days. */
  static of(records: number, lines: OpenLines, times: Times): Finished | null {
    const isOfOneDay = utcDay(times.firstEventMs) === utcDay(times.lastEventMs);
    return records <= FRAGMENT_MAX_RECORDS && isOfOneDay ? new Finished(records, lines, times) : null;
  }

  fragment(part: string, isSketched: boolean): Fragment {
    const { rawBytes, crc, deflated, text } = this.#lines;
    // In a buffer of its own: a view would carry the message through a durable object call.
    this.#body ??= concat([deflated]);
    if (isSketched) this.#hashes ??= hashesOf(encodeUtf8(text), this.records);
    return {
      day: utcDay(this.#times.firstEventMs),
      ...(part !== "" && { part }),
      deflated: true,
      records: this.records,
      ...{ rawBytes, crc },
      ...this.#times,
      body: this.#body,
      ...(isSketched && this.#hashes && { hashes: this.#hashes }),
    };
  }
}
