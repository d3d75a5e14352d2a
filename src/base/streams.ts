import { createGunzip } from "node:zlib";
import { free, GrowingBytes } from "./bytes.ts";
import { within } from "./platform.ts";

export type Pieces = AsyncGenerator<Uint8Array, void, undefined>;

const LATE = Symbol("late");

/** A stream sent nothing for too long, or broke off before its end. */
export class StreamFault extends Error {
  readonly why: "late" | "broken";

  constructor(why: "late" | "broken") {
    super(`a stream was ${why}`);
    this.why = why;
  }
}

/** Reads one piece of a stream, and waits for it. @returns `late` if it does not come in time. */
type Wait = <T, L>(read: () => Promise<T>, late: L) => Promise<T | L>;

/**
 * The pieces of a stream. When the caller stops, the stream is cancelled, and nothing waits for
 * that: a body that hangs may hang there, too.
 * @param leaves the rest goes to another reader if the caller stops between two pieces.
 * @throws StreamFault
 */
export async function* piecesOf(
  stream: ReadableStream<Uint8Array>,
  wait: Wait = (read) => read(),
  leaves = false,
): Pieces {
  const { reader, next } = readerOf(stream);
  let isBetween = false;
  try {
    for (;;) {
      isBetween = false;
      const read = await wait<Awaited<ReturnType<typeof next>>, typeof LATE>(next, LATE).catch(() => null);
      if (read === LATE) throw new StreamFault("late");
      if (read === null) throw new StreamFault("broken");
      if (read.done) return;
      isBetween = true;
      yield read.value;
    }
  } finally {
    if (leaves && isBetween) reader.releaseLock();
    else reader.cancel().catch(() => {});
  }
}

/**
 * Pieces of a stream of bytes. Left to itself, the runtime cuts it into the least ones, and a read
 * costs as much as the scan of a record. They grow while they are full: a small body, or one that
 * trickles in, does not take the largest buffer for each read.
 */
const PIECE_MIN_BYTES = 4_096;
const PIECE_MAX_BYTES = 65_536;

interface Reader {
  reader: { cancel(): Promise<void>; releaseLock(): void };
  next: () => Promise<ReadableStreamReadResult<Uint8Array>>;
}

/** A stream that is made of pieces, and not of bytes, is read as it comes. */
function readerOf(stream: ReadableStream<Uint8Array>): Reader {
  try {
    const reader = stream.getReader({ mode: "byob" });
    let size = PIECE_MIN_BYTES;
    const next = async (): Promise<ReadableStreamReadResult<Uint8Array>> => {
      const read = await reader.read(new Uint8Array(size));
      const bytes = read.value?.length ?? 0;
      if (bytes === size) size = Math.min(2 * size, PIECE_MAX_BYTES);
      else if (bytes < size / 4) size = Math.max(size / 2, PIECE_MIN_BYTES);
      return read;
    };
    return { reader, next };
  } catch (error) {
    if (stream.locked) throw error;
    const reader = stream.getReader();
    return { reader, next: () => reader.read() };
  }
}

/** The pieces, behind another one. */
export async function* behind(first: Uint8Array, pieces: Pieces): Pieces {
  yield first;
  yield* pieces;
}

/** The reverse: each piece is made when it is asked for. It breaks off where they do. */
export function streamOf(pieces: Pieces): ReadableStream<Uint8Array> {
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

/**
 * One write to the decompressor, in bytes. What comes out of it is read before the next, and is at
 * most a thousand times as much.
 */
const INFLATE_STEP_BYTES = 16_384;

/**
 * Inflates gzip step by step: what is not read yet holds up the rest. (The platform's own
 * `DecompressionStream` inflates at once all that is written to it: 1 MB can become 1 GB.)
 * @param packed is returned when this stops.
 * @throws Error for what is no whole gzip file, and what `packed` throws.
 */
export async function* inflated(packed: Pieces): Pieces {
  const gunzip = createGunzip({ chunkSize: 65_536 });
  // A failure of the input comes out at the other end.
  const fill = feed(packed, gunzip).catch((error: unknown) => {
    gunzip.destroy(error instanceof Error ? error : new Error("broken"));
  });
  try {
    for await (const piece of gunzip as AsyncIterable<Uint8Array>) yield piece;
    // What follows the end of a file, and begins no other one, is passed over.
    if ((await fill) !== gunzip.bytesWritten) throw new Error("there is more behind the end of a gzip file");
  } finally {
    gunzip.destroy();
    // `feed` may wait for room that will not come: the input is returned from here.
    packed.return().catch(() => {});
  }
}

/** @returns how many bytes it was given. */
async function feed(packed: Pieces, gunzip: ReturnType<typeof createGunzip>): Promise<number> {
  let bytes = 0;
  for await (const piece of packed) {
    bytes += piece.length;
    for (let at = 0; at < piece.length; at += INFLATE_STEP_BYTES) {
      if (gunzip.destroyed) return bytes;
      const hasRoom = gunzip.write(piece.slice(at, at + INFLATE_STEP_BYTES));
      if (!hasRoom) await roomIn(gunzip);
    }
  }
  gunzip.end();
  return bytes;
}

/** Leaves no listener: an object takes hundreds of these waits. */
function roomIn(gunzip: ReturnType<typeof createGunzip>): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      gunzip.off("drain", go).off("close", go);
      resolve();
    };
    gunzip.on("drain", go).on("close", go);
  });
}

/** How long what a stranger sends may take to arrive, in ms. */
export interface Pace {
  /** Without a byte. */
  silenceMs: number;
  /** For all of it. */
  ms: number;
}

/** How a stream was read: to its end, or up to where it was too long, too slow or broke off. */
export interface StreamRead {
  end: "whole" | "longer" | "late" | "broken";
  /** At most `maxBytes`; none, where they are not kept. */
  bytes: Uint8Array<ArrayBuffer>;
}

/**
 * Reads a stream to its end. Never throws.
 * @param bounds.maxBytes of a longer one, nothing more is read.
 * @param bounds.expectedBytes of all of it, where that is known.
 * @param bounds.ms for all of it; undefined: no limit.
 * @param bounds.silenceMs for each piece of it; undefined: no limit.
 * @param bounds.leaves as for {@link piecesOf}.
 * @param bounds.keeps false: what is read is dropped.
 * @param bounds.through what is made of the pieces, and kept instead.
 * @param bounds.each is given every piece as it comes.
 */
export async function readStream(
  stream: ReadableStream<Uint8Array> | null,
  {
    maxBytes,
    ms,
    silenceMs,
    leaves = false,
    keeps = true,
    through,
    each,
    expectedBytes = 0,
  }: {
    maxBytes: number;
    expectedBytes?: number | undefined;
    ms?: number | undefined;
    silenceMs?: number | undefined;
    leaves?: boolean;
    keeps?: boolean;
    through?: ((pieces: Pieces) => Pieces) | undefined;
    each?: (piece: Uint8Array) => void;
  },
): Promise<StreamRead> {
  const kept = new GrowingBytes(maxBytes, keeps ? expectedBytes : 0);
  let room = maxBytes;
  const read = (end: StreamRead["end"]): StreamRead => ({ end, bytes: kept.take() });
  if (stream === null) return read("whole");
  const over = Promise.withResolvers<undefined>();
  // One timer for all: a stream that sends a byte now and then is never idle.
  const timer = ms === undefined ? undefined : setTimeout(() => over.resolve(undefined), ms);
  const untilOver: Wait = (read, late) => Promise.race([read(), over.promise.then(() => late)]);
  const wait: Wait = (read, late) =>
    silenceMs === undefined ? untilOver(read, late) : within(silenceMs, untilOver(read, late), late);
  const isBounded = ms !== undefined || silenceMs !== undefined;
  const pieces = piecesOf(stream, isBounded ? wait : undefined, leaves);
  try {
    for await (const piece of through?.(pieces) ?? pieces) {
      each?.(piece);
      const { length } = piece;
      if (keeps) {
        const fits = piece.subarray(0, room);
        kept.reserve(fits.length).set(fits);
        // The platform gives each piece a buffer of its own.
        if (through === undefined) free(piece);
      }
      if (length > room) return read("longer");
      room -= length;
    }
    return read("whole");
  } catch (error) {
    return read(error instanceof StreamFault ? error.why : "broken");
  } finally {
    clearTimeout(timer);
    if (leaves) await freed(pieces);
  }
}

/** How long the end of a read that is under way is waited for, in ms. */
const FREE_WAIT_MS = 1_000;

/** Waits until the next reader can have the stream. Of one that is silent, it cannot. */
async function freed(pieces: Pieces): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, FREE_WAIT_MS);
  await Promise.race([pieces.return(), late.promise]).catch(() => {});
  clearTimeout(timer);
}
