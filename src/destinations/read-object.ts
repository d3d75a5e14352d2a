import { createGunzip } from "node:zlib";
import { platform, within } from "../platform.ts";
import type { ObjectStore, StoreAnswer } from "./object-store.ts";
import { answerWords } from "./probe.ts";

/** What is known of an object that was delivered. */
export interface Known {
  key: string;
  /** As it is stored. */
  bytes: number;
  /** Before compression. */
  rawBytes: number;
}

/**
 * `gone`: it is not there. `forbidden`: these credentials may not read it. `refused`: the store gives nothing, for another reason. `damaged`: it is not what was
 * delivered. `silent`: nobody can tell at the moment.
 */
export type ReadFaultKind = "gone" | "forbidden" | "refused" | "damaged" | "silent";

/** Why an object cannot be read; the words hold nothing of the store's own but its status and code. */
export class ReadFault extends Error {
  readonly kind: ReadFaultKind;

  constructor(kind: ReadFaultKind, words: string) {
    super(words);
    this.kind = kind;
  }
}

/** How long a store may take to begin its answer, how long it may send nothing in the middle of it, and how long reading lines may take in all, in ms. */
export const READ_PATIENCE = { openMs: 15_000, idleMs: 10_000, linesMs: 40_000 };

/** One write to the decompressor, in bytes: what comes out of it is read before the next one, and is at most a thousand times as much. */
const INFLATE_STEP_BYTES = 16_384;

const LATE = Symbol("late");
const LINE_FEED = 0x0a;

type Body = ReadableStream<Uint8Array>;
type Pieces = AsyncGenerator<Uint8Array, void, undefined>;

/**
 * Asks for an object where it was delivered.
 * @returns its bytes, piece by piece: exactly as many as were delivered. Whoever stops earlier returns the generator.
 * @throws ReadFault at once, or from the generator where it turns out later.
 */
export async function openObject(store: Pick<ObjectStore, "get">, known: Known): Promise<Pieces> {
  const asked = store.get(known.key);
  const got = await within(READ_PATIENCE.openMs, asked, null);
  if (got === null) {
    // Whatever still comes is let go.
    asked.then(({ body }) => body?.cancel()).catch(() => {});
    throw new ReadFault("silent", "the store does not answer in time");
  }
  const { answer, body } = got;
  if (body === null) throw faultOf(answer);
  if (answer.kind === "answer" && answer.bytes !== null && answer.bytes !== known.bytes) {
    body.cancel().catch(() => {});
    throw otherLength(`it has ${answer.bytes} bytes`, known);
  }
  return piecesOf(body, known);
}

/** Of an answer without an object. */
function faultOf(answer: StoreAnswer): ReadFault {
  const words = answerWords(answer);
  if (answer.kind === "unreachable") return new ReadFault("silent", `the store cannot be reached: ${words}`);
  const { status, code } = answer;
  if (status >= 200 && status < 300) return new ReadFault("damaged", "the store answers without any bytes");
  if ((status === 404 || status === 410) && code !== "NoSuchBucket")
    return new ReadFault(
      "gone",
      `it is not there (${words}): it was removed, or the job had another destination when it was delivered`,
    );
  if (status === 401 || status === 403)
    return new ReadFault(
      "forbidden",
      `the job's credentials may not read it (${words}): write-only credentials deliver, and show nothing; some stores also say so of objects that were removed`,
    );
  if (status >= 500 || status === 429 || status === 408) return new ReadFault("silent", `the store says ${words}`);
  if (status >= 300 && status < 400)
    return new ReadFault("refused", `the store sends elsewhere (${words}), and that is never followed`);
  return new ReadFault("refused", `the store does not give it (${words})`);
}

function otherLength(found: string, { bytes }: Known): ReadFault {
  return new ReadFault("damaged", `${found}; ${bytes} were delivered`);
}

/** @throws ReadFault for a body that stalls, breaks off, or has another length. */
async function* piecesOf(body: Body, known: Known): Pieces {
  const reader = body.getReader();
  let total = 0;
  try {
    for (;;) {
      const read = await within(READ_PATIENCE.idleMs, reader.read(), LATE).catch(() => null);
      if (read === LATE) throw new ReadFault("silent", "the store stopped sending");
      if (read === null) throw new ReadFault("silent", "the store broke off");
      if (read.done) break;
      total += read.value.length;
      if (total > known.bytes) throw otherLength("it is longer", known);
      if (read.value.length > 0) yield read.value;
    }
    if (total !== known.bytes) throw otherLength(`it has ${total} bytes`, known);
  } finally {
    // Not waited for: a body that hangs may hang here as well.
    reader.cancel().catch(() => {});
  }
}

/** An object as it is stored, for whoever saves it; it breaks off where it is not what was delivered. */
export function objectStream(pieces: Pieces): Body {
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await pieces.next();
      if (next.done) controller.close();
      else controller.enqueue(next.value);
    },
    async cancel() {
      await pieces.return();
    },
  });
}

/** @throws ReadFault for what is not gzip, and for what becomes longer than was delivered. */
async function* inflated(pieces: Pieces, { rawBytes }: Known): Pieces {
  const gunzip = createGunzip({ chunkSize: 65_536 });
  let total = 0;
  // What goes wrong on the way in comes out at the other end.
  const fill = feed(pieces, gunzip).catch((error: unknown) => {
    gunzip.destroy(error instanceof Error ? error : new Error("broken"));
  });
  try {
    for await (const piece of gunzip as AsyncIterable<Uint8Array>) {
      total += piece.length;
      if (total > rawBytes)
        throw new ReadFault("damaged", `it is longer than the ${rawBytes} bytes before compression`);
      yield piece;
    }
    await fill;
  } catch (error) {
    if (error instanceof ReadFault) throw error;
    throw new ReadFault("damaged", "it is no whole gzip file");
  } finally {
    gunzip.destroy();
    // The one who feeds may wait for room that nobody makes any more: the generator is let go from here.
    pieces.return().catch(() => {});
  }
}

async function feed(pieces: Pieces, gunzip: ReturnType<typeof createGunzip>): Promise<void> {
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; at += INFLATE_STEP_BYTES) {
      if (gunzip.destroyed) return;
      const hasRoom = gunzip.write(piece.slice(at, at + INFLATE_STEP_BYTES));
      if (!hasRoom) await new Promise<void>((resolve) => gunzip.once("drain", resolve).once("close", resolve));
    }
  }
  gunzip.end();
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
  /** Of all texts together, in bytes of UTF-8. A first line that is longer is cut; any other is left to the next page. */
  bytesMax: number;
}

/**
 * Some lines of an object, which is decompressed as far as they need, and never held. It takes as long as what stands before them.
 * @returns `next`: how many to skip for those after them; null: there are none.
 * @throws ReadFault
 */
export async function readLines(
  pieces: Pieces,
  known: Known,
  asked: LinesAsked,
): Promise<{ lines: Line[]; next: number | null }> {
  const raw = inflated(pieces, known);
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

  /** @returns false: the line does not fit this page any more. */
  #hold(part: Uint8Array): boolean {
    const room = this.#room - this.#heldBytes;
    if (part.length > room) {
      if (this.#lines.length > 0) return false;
      this.#isCut = true;
    }
    // The decompressor goes on with its buffer.
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
