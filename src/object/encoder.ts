import type { OutputFormat } from "../output/format.ts";
import type { RecordLine } from "../record/line.ts";
import type { Pieces } from "../streams.ts";

/**
 * The seam to what objects are made of: records → fragments → one object. A kind is a file that
 * implements {@link EncoderKind} and a line in encoders.ts; nothing outside of it knows its format.
 * docs/adding-a-destination.md
 */
export interface EncoderKind {
  readonly types: readonly OutputFormat["type"][];
  /** What the keys of its objects end with. No other kind has it. */
  readonly suffix: string;
  /** What the key of a canary ends with: not `suffix`, by which readers find objects. */
  readonly canarySuffix: string;
  /** Media type of an object as a file. */
  readonly fileType: string;
  /**
   * What is in an object, piece by piece. It returns `object` when it stops. @throws Error for what
   * is no whole object of this kind, and what `object` throws.
   */
  decode(object: Pieces): Pieces;
  /**
   * @throws Error if the format cannot be written; a stored one was found to be valid when it was
   *   sent.
   */
  open(output: OutputFormat): Encoder;
}

/** How the records of one job are written. Pure: equal records make equal bytes. */
export interface Encoder {
  readonly kind: EncoderKind;
  /** Media type of what is in an object. */
  readonly contentType: string;
  /** What head and tail add to an object before compression, in bytes. */
  readonly aroundBytes: number;
  /**
   * Stands between two fragments: as it is between those that are finished, and between those that
   * are not.
   */
  readonly seam: { finished: Uint8Array; raw: Uint8Array; content: Content };
  /** A record, or its rows, as a preview shows it. */
  text(record: RecordLine): string;
  /**
   * The most that one record can take when it is written, in UTF-16 units. @param lineUnits length
   * of its canonical line.
   */
  unitsAtMost(lineUnits: number, record: RecordLine): number;
  /**
   * @param partOf of which part of its day a record is; absent: a day has one.
   * @param isSketched its fragments have the hashes of their words, if searches read the format.
   */
  gather(partOf?: (record: RecordLine) => string, isSketched?: boolean): Gatherer;
  /**
   * Finishes what waited raw, neighbours together. In a buffer of its own: a view would carry all
   * of another through a durable object call.
   */
  finish(raw: Uint8Array): Uint8Array<ArrayBuffer>;
  /** Of these parts, one after the other; of none: that of no bytes. */
  join(parts: readonly Content[]): Content;
  /** How an object begins. */
  head(): Part;
  /**
   * How it ends. @param content of all before. The content returned is that of the whole object.
   */
  tail(content: Content): Part;
  /**
   * A whole object of one record. @param variant 0–23: objects of different variants have different
   * bytes and the same content. @throws Error if it does not read as it was written.
   */
  single(record: RecordLine, variant: number): Uint8Array<ArrayBuffer>;
}

/** All records of a message as a fragment, compressed as they came. */
export interface FinishedMessage {
  readonly records: number;
  /** @param part as {@link Fragment} has it, of all records; "": there is none. */
  fragment(part: string, isSketched: boolean): Fragment;
}

/** Gathers records into fragments, by UTC day and part of it. */
export interface Gatherer {
  /** @param isAscii each character of the record's line is one byte of UTF-8. */
  add(record: RecordLine, takenInMs: number, isAscii: boolean): void;
  /**
   * Takes over all records of a message as they came, instead of each.
   * @returns false: they are written otherwise, or are of several parts, and nothing was taken.
   */
  take(message: FinishedMessage, records: readonly RecordLine[]): boolean;
  finish(): Fragment[];
}

/**
 * Facts about bytes before compression. Those of a concatenation follow from those of its parts.
 */
export interface Content {
  /** Number of the bytes. */
  rawBytes: number;
  /** CRC-32. */
  crc: number;
}

export interface Part {
  bytes: Uint8Array<ArrayBuffer>;
  content: Content;
}

/**
 * Encoded records of one UTC day, or one part of it, for one job, on the way into its log, with
 * seams between them and none around them.
 */
export interface Fragment extends Content {
  /** UTC days since the epoch. */
  day: number;
  /** What the job's path tells apart within a day, as keys.ts has it; absent: nothing. */
  part?: string;
  /**
   * It is finished: another finished one can follow. Otherwise it waits raw, for others to be
   * finished with.
   */
  deflated: boolean;
  records: number;
  firstEventMs: number;
  lastEventMs: number;
  oldestTakenMs: number;
  body: Uint8Array;
  /**
   * Hashes of the words of its records, in any order, for the sketch of its object; absent: none
   * are wanted, or there are too many.
   */
  hashes?: Uint32Array<ArrayBuffer>;
  /** The same as the release before makes them, with a seed of the job. */
  words?: Uint32Array<ArrayBuffer>;
}
