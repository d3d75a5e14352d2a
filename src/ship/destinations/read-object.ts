import { platform, within } from "../../base/platform.ts";
import { type Pieces, piecesOf, StreamFault } from "../../base/streams.ts";
import type { Parts } from "../../formats/object/encoder.ts";
import { decoderOf, decoderOfType } from "../../formats/object/encoders.ts";
import type { Body, OpenDestination, Unread } from "./destination.ts";
import { readSmall, readWithin } from "./read-small.ts";

/** What is known of an object that was delivered. */
export interface Known {
  key: string;
  /** Of what has no key yet. */
  contentType?: string;
  /** As it is stored. */
  bytes: number;
  /** Before compression. */
  rawBytes: number;
}

/**
 * `gone`: it is not there. `forbidden`: these credentials may not read it. `refused`: the store
 * gives nothing, for another reason. `damaged`: it is not what was delivered. `silent`: unknown at
 * the moment.
 */
export type ReadFaultKind = "gone" | "forbidden" | "refused" | "damaged" | "silent";

/** Why an object cannot be read. Of the store's own text, the words hold status and code alone. */
export class ReadFault extends Error {
  readonly kind: ReadFaultKind;

  constructor(kind: ReadFaultKind, words: string) {
    super(words);
    this.kind = kind;
  }
}

/**
 * How long a store may take to begin its answer, may pause within it, may take for a part of an
 * object, and how long reading lines may take in all, in ms.
 */
export const READ_PATIENCE = { openMs: 15_000, idleMs: 10_000, partMs: 20_000, linesMs: 40_000 };

const LINE_FEED = 0x0a;

/**
 * Asks for an object where it was delivered.
 * @returns its bytes, piece by piece: exactly as many as were delivered. A caller that stops
 *   earlier returns the generator.
 * @throws ReadFault at once, or from the generator where it turns out later.
 */
export async function openObject(store: Pick<OpenDestination, "read">, known: Known): Promise<Pieces> {
  const answer = await readWithin(store, known.key, READ_PATIENCE.openMs);
  if (answer === null) throw new ReadFault("silent", LATE);
  if (!answer.ok) throw faultOf(answer);
  if (answer.bytes !== null && answer.bytes !== known.bytes) {
    answer.body.cancel().catch(() => {});
    throw otherLength(`it has ${answer.bytes} bytes`, known);
  }
  return checked(answer.body, known);
}

/** What is left of the requests that readings may make beside one for each object. */
export interface PartsRoom {
  requests: number;
}

/** An object takes some tens of them, and one that is begun is read to its end. */
const ROOM_MIN = 100;

/** A smaller object is read whole: it comes as fast as its parts. */
const PARTS_FROM_BYTES = 500_000;

/** So much is asked for to begin with. */
const FIRST_BYTES = 4_096;

const LATE = "the store does not answer in time";
const BROKEN_OFF = "the store broke off";

/**
 * Asks for parts of an object alone, each of which comes with the checksum that is stored beside
 * the object: that tells that it is the one that was delivered, and not another one meanwhile.
 * @param mark of its SHA-256: the first hex digits.
 * @param told what comes, in bytes.
 * @returns null: it has to be read whole, as its kind is, or it is small, or the store shows no
 *   checksum, knows no ranges, or has another object.
 * @throws ReadFault at once, or from a read.
 */
export async function openParts(
  store: Pick<OpenDestination, "read">,
  { key, bytes, mark }: Known & { mark: string },
  told: (bytes: number) => void,
  room: PartsRoom,
): Promise<Parts | null> {
  if (decoderOf(key).decodeParts === undefined || mark === "") return null;
  if (bytes < PARTS_FROM_BYTES || room.requests < ROOM_MIN) return null;
  const read = async (from: number, to: number): Promise<Uint8Array | null> => {
    room.requests -= 1;
    const asked = { maxBytes: to - from, ms: READ_PATIENCE.partMs, range: { from, bytes: to - from } };
    const part = await readSmall(store, key, asked);
    if (part.ok) told(part.bytes.length);
    if (part.ok && part.bytes.length === to - from && part.sha256?.startsWith(mark)) return part.bytes;
    if (part.ok || part.why === "too large") return null;
    if (part.why !== "refused") throw new ReadFault("silent", part.why === "late" ? LATE : BROKEN_OFF);
    // A range that it does not have, or take, is no word on the object.
    if (part.answer.why === "refused") return null;
    throw faultOf(part.answer);
  };
  const first = await read(0, FIRST_BYTES);
  if (first === null) return null;
  return {
    ...{ bytes, first },
    read: async (from, to) => {
      const part = await read(from, to);
      if (part === null) throw new ReadFault("damaged", "the store gave something else while it was read");
      return part;
    },
  };
}

function faultOf({ why, words }: Unread): ReadFault {
  switch (why) {
    case "unreachable":
      return new ReadFault("silent", `the store cannot be reached: ${words}`);
    case "empty":
      return new ReadFault("damaged", "the store answers without any bytes");
    case "gone":
      return new ReadFault(
        "gone",
        `it is not there (${words}): it was removed, or the job had another destination when it was delivered`,
      );
    case "forbidden":
      return new ReadFault(
        "forbidden",
        `the job's credentials may not read it (${words}): write-only credentials deliver, and show nothing; some stores also say so of objects that were removed`,
      );
    case "busy":
      return new ReadFault("silent", `the store says ${words}`);
    case "redirected":
      return new ReadFault("refused", `the store redirects (${words}), and redirects are never followed`);
    case "no_bucket":
    case "refused":
      return new ReadFault("refused", `the store does not give it (${words})`);
  }
}

function otherLength(found: string, { bytes }: Known): ReadFault {
  return new ReadFault("damaged", `${found}; ${bytes} were delivered`);
}

/** @throws ReadFault for a body that stalls, breaks off, or has another length. */
async function* checked(body: Body, known: Known): Pieces {
  let total = 0;
  try {
    for await (const piece of piecesOf(body, (next, late) => within(READ_PATIENCE.idleMs, next(), late))) {
      total += piece.length;
      if (total > known.bytes) throw otherLength("it is longer", known);
      if (piece.length > 0) yield piece;
    }
  } catch (error) {
    if (!(error instanceof StreamFault)) throw error;
    throw new ReadFault("silent", error.why === "late" ? "the store stopped sending" : BROKEN_OFF);
  }
  if (total !== known.bytes) throw otherLength(`it has ${total} bytes`, known);
}

export interface Line {
  /** In the object, from 1. */
  number: number;
  text: string;
  /** Only its beginning is here. */
  truncated: boolean;
}

export interface LinesAsked {
  /** Lines before the first one that is wanted. */
  skip: number;
  limit: number;
  /**
   * Of all texts together, in bytes of UTF-8. A first line that is longer is cut; any other is left
   * to the next page.
   */
  bytesMax: number;
}

/**
 * What is in an object before compression. @param fields as of `EncoderKind.decode`; of parts, they
 * are some, and its kind decodes parts.
 * @throws ReadFault where it cannot be decoded, or becomes longer than was delivered.
 */
export async function* plain(
  object: Pieces | Parts,
  { key, contentType, rawBytes }: Known,
  fields: ReadonlySet<string> | null = null,
): Pieces {
  const kind = contentType === undefined ? decoderOf(key) : decoderOfType(contentType);
  const isParts = "first" in object;
  const lines = isParts ? kind.decodeParts?.(object, fields ?? new Set()) : kind.decode(object, fields);
  if (lines === undefined) throw new Error("parts of an object that is read whole");
  let total = 0;
  try {
    for await (const piece of lines) {
      total += piece.length;
      if (total > rawBytes)
        throw new ReadFault("damaged", `it is longer than the ${rawBytes} bytes before compression`);
      yield piece;
    }
  } catch (error) {
    if (error instanceof ReadFault) throw error;
    throw new ReadFault("damaged", `it is no whole ${kind.fileName}`);
  }
}

/**
 * Some lines of an object, which is decoded as far as they need, and never held in memory. It takes
 * as long as what stands before them.
 * @returns `next`: how many to skip for those after them; null: there are none.
 * @throws ReadFault
 */
export async function readLines(
  pieces: Pieces,
  known: Known,
  asked: LinesAsked,
): Promise<{ lines: Line[]; next: number | null }> {
  const raw = plain(pieces, known);
  const untilMs = platform.now() + READ_PATIENCE.linesMs;
  const collector = new Collector(asked);
  try {
    for await (const piece of raw) {
      if (collector.take(piece)) return collector.page(true);
      if (platform.now() > untilMs) throw new ReadFault("silent", "reading up to there takes too long");
    }
    return collector.page(false);
  } finally {
    raw.return().catch(() => {});
  }
}

/** Finds lines in bytes that come in pieces of any size. */
class Collector {
  readonly #asked: LinesAsked;
  readonly #lines: Line[] = [];
  /** Lines that were begun, the one in hand included. */
  #begun = 0;
  #isOpen = false;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #isCut = false;
  #room: number;

  constructor(asked: LinesAsked) {
    this.#asked = asked;
    this.#room = asked.bytesMax;
  }

  /** @returns whether the page is full, and something follows it. */
  take(piece: Uint8Array): boolean {
    let at = 0;
    while (at < piece.length) {
      if (this.#lines.length === this.#asked.limit) return true;
      const end = piece.indexOf(LINE_FEED, at);
      this.#begin();
      if (this.#begun > this.#asked.skip && !this.#hold(piece.subarray(at, end === -1 ? piece.length : end)))
        return true;
      if (end === -1) return false;
      this.#end();
      at = end + 1;
    }
    return false;
  }

  page(follows: boolean): { lines: Line[]; next: number | null } {
    if (!follows && this.#isOpen) this.#end();
    return { lines: this.#lines, next: follows ? this.#asked.skip + this.#lines.length : null };
  }

  #begin(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#begun += 1;
  }

  /** @returns false: the line does not fit this page. */
  #hold(part: Uint8Array): boolean {
    const room = this.#room - this.#heldBytes;
    if (part.length > room) {
      if (this.#lines.length > 0) return false;
      this.#isCut = true;
    }
    // A copy: the decoder reuses its buffer.
    const kept = part.slice(0, room);
    this.#held.push(kept);
    this.#heldBytes += kept.length;
    return true;
  }

  #end(): void {
    this.#isOpen = false;
    if (this.#begun <= this.#asked.skip) return;
    const decoder = new TextDecoder();
    let text = "";
    for (const part of this.#held) text += decoder.decode(part, { stream: true });
    // Of a character that was cut in half, nothing is shown.
    if (!this.#isCut) text += decoder.decode();
    this.#lines.push({ number: this.#begun, text, truncated: this.#isCut });
    this.#room -= this.#heldBytes;
    this.#held = [];
    this.#heldBytes = 0;
    this.#isCut = false;
  }
}
