import type { Pieces } from "../../base/streams.ts";
import type { OutputFormat } from "../output/format.ts";
import type { RecordLine } from "../record/line.ts";

/**
 * The seam to what objects are made of: records → fragments → one object. A kind is a file that
 * implements {@link EncoderKind} and a line in encoders.ts; nothing outside of it knows its format.
 * docs/architecture.md
 */
export interface EncoderKind {
  readonly types: readonly OutputFormat["type"][];
  /** What the keys of its objects end with. No other kind has it. */
  readonly suffix: string;
  /** What the key of a canary ends with: not `suffix`, by which readers find objects. */
  readonly canarySuffix: string;
  /** Media type of an object as a file, and what such a file is called. */
  readonly fileType: string;
  readonly fileName: string;
  /**
   * Media type of what an object is decoded to. @param contentType what is in it, as its row says.
   */
  linesType(contentType: string): string;
  /**
   * What is in an object, piece by piece. It returns `object` when it stops. @throws Error for what
   * is no whole object of this kind, and what `object` throws.
   * @param fields of records that are needed: a kind may leave out the others. null, or absent: all
   *   are.
   */
  decode(object: Pieces, fields?: ReadonlySet<string> | null): Pieces;
  /**
   * The same of some fields, where the parts of an object with the others need not be read. Absent:
   * it is read whole. @throws Error as above, and what reading a part throws.
   */
  decodeParts?(object: Parts, fields: ReadonlySet<string>): Pieces;
  /**
   * @throws Error if the format cannot be written; a stored one was found to be valid when it was
   *   sent.
   */
  open(output: OutputFormat): Encoder;
}

/** An object of which parts are read. */
export interface Parts {
  /** Of all of it. */
  readonly bytes: number;
  /** How it begins. */
  readonly first: Uint8Array;
  /** All that is asked for. @param to where it ends, exclusively. */
  read(from: number, to: number): Promise<Uint8Array>;
}

/** How the records of one job are written. Pure: equal records make equal bytes. */
export interface Encoder {
  readonly kind: EncoderKind;
  /** Media type of what is in an object. */
  readonly contentType: string;
  /** What head and tail add to an object before compression, in bytes. */
  readonly aroundBytes: number;
  /** How large its fragments become, and how long they wait raw. */
  readonly sizes: FragmentSizes;
  /**
   * Stands between two fragments: as it is between those that are finished, and between those that
   * are not.
   */
  readonly seam: { finished: Uint8Array; raw: Uint8Array; content: Content };
  /** A record, or its rows, as a preview shows it. */
  text(record: RecordLine): string;
  /** The most that one record can take when it is written, in UTF-16 units. */
  unitsAtMost(record: RecordLine): number;
  /**
   * The most bytes of an object as it is stored. @param finishedBytes of fragments that are
   * finished. @param rawBytes of those that wait raw, and of head and tail, before compression.
   */
  storedAtMost(finishedBytes: number, rawBytes: number): number;
  /**
   * @param partOf of which part of its day a record is; absent: a day has one.
   * @param isSketched its fragments have the hashes of their words, and which records they are, if
   *   searches read the format.
   */
  gather(partOf?: (record: RecordLine) => string, isSketched?: boolean): Gatherer;
  /**
   * Finishes what waited raw, neighbours together. In a buffer of its own: a view would carry all
   * of another through a durable object call.
   */
  finish(raw: Uint8Array): Uint8Array<ArrayBuffer>;
  /** An object in the making. */
  assemble(): Assembly;
  /**
   * A whole object of one record. @param variant 0–23: objects of different variants have different
   * bytes and the same content. @throws Error if it does not read as it was written.
   */
  single(record: RecordLine, variant: number): Uint8Array<ArrayBuffer>;
}

/**
 * An object in the making: it is shown what the object is made of, in order, and says how it ends.
 */
export interface Assembly {
  /** How it begins. */
  readonly head: Part;
  /**
   * What comes next: finished fragments with the seams between them, in pieces of any size. Keeps
   * nothing of the buffer.
   * @throws Error if they are none of its encoder's.
   */
  add(body: Uint8Array, content: Content): void;
  /** How it ends. The content returned is that of the whole object. */
  end(): Part;
}

/** All in bytes before compression, but for `records`. */
export interface FragmentSizes {
  /** Of a fragment, at most. A larger record is a fragment by itself. */
  readonly records: number;
  readonly bytes: number;
  /** A fragment is finished at once that has as many records, or as many bytes; others wait raw. */
  readonly finishRecords: number;
  readonly finishBytes: number;
  /** Fragments that wait raw share a row up to this, which is less than a row holds. */
  readonly rawRowBytes: number;
  /** So much of a batch that waits raw is finished together. */
  readonly compactBytes: number;
}

/** What a record is in every job. */
export interface RecordPlace {
  /** Id of its part, as 32 hex digits. */
  part: string;
  /** Its place in the part. */
  index: number;
}

/** Gathers records into fragments, by UTC day and part of it. */
export interface Gatherer {
  /** @param from absent: what the record is of is not kept. */
  add(record: RecordLine, takenInMs: number, from?: RecordPlace): void;
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
 * Encoded records of one UTC day, or one part of it, for one job, on the way to its reader, with
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
   * List of the words of its records, as sketch.ts has it, for the sketch of its object; absent:
   * none are wanted, or there are too many.
   */
  hashes?: Uint32Array<ArrayBuffer>;
  /**
   * Which records its lines are, as identities.ts has it, with the hashes; absent: it is not known.
   */
  identities?: Uint8Array<ArrayBuffer>;
}
