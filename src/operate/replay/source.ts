import { createHash } from "node:crypto";
import { concat } from "../../base/bytes.ts";
import { platform, within } from "../../base/platform.ts";
import { type Pieces, piecesOf, StreamFault } from "../../base/streams.ts";
import type { Body, OpenDestination } from "../../ship/destinations/destination.ts";
import type { ReplaySource } from "../../ship/reader/replayed.ts";
import { type SourceFault, sourceFault } from "./replay-text.ts";

/** What identifies a delivered object. */
type Delivered = Pick<ReplaySource, "key" | "bytes" | "sha256">;

/**
 * The longest pause of a source, in ms; and the longest wait for all of it, a little less than the
 * timeout of an upload of that size. The time that the target takes is not counted.
 */
const IDLE_MS = 20_000;
const LEAST_MS = 45_000;
const SLOWEST_BYTES_PER_MS = 50;
const MOST_MS = 13 * 60_000;

const STALLED: SourceFault = {
  kind: "error",
  error: { kind: "unreachable", words: "the source stopped sending", cause: "timeout" },
};
const BROKEN: SourceFault = {
  kind: "error",
  error: { kind: "unreachable", words: "the source broke off", cause: "connection_failed" },
};

export type Opened = { ok: true; body: Body } | { ok: false; fault: SourceFault };

/** Asks for an object where it was delivered. Never throws. */
export async function openSource(store: Pick<OpenDestination, "read">, { key, bytes }: Delivered): Promise<Opened> {
  const answer = await store.read(key);
  if (!answer.ok) return { ok: false, fault: sourceFault(answer) };
  if (answer.bytes === null || answer.bytes === bytes) return { ok: true, body: answer.body };
  letGo(answer.body);
  return { ok: false, fault: otherLength(answer.bytes, bytes) };
}

/**
 * The pieces of a body. The last comes only after all of them are known to be what was delivered: a
 * caller that sends them on never sends another object whole.
 * @throws SourceError instead of the last piece, or before.
 */
async function* proven(body: Body, { bytes, sha256 }: Delivered): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  let held: Uint8Array | null = null;
  let total = 0;
  let patienceMs = Math.min(LEAST_MS + bytes / SLOWEST_BYTES_PER_MS, MOST_MS);
  const wait = async <T, L>(next: () => Promise<T>, late: L): Promise<T | L> => {
    const askedMs = platform.now();
    const read = await within(Math.min(IDLE_MS, patienceMs), next(), late);
    // A source that sends a byte now and then is never idle, and never done.
    patienceMs -= platform.now() - askedMs;
    return patienceMs <= 0 ? late : read;
  };
  try {
    for await (const piece of piecesOf(body, wait)) {
      if (piece.length === 0) continue;
      total += piece.length;
      if (total > bytes) throw new SourceError(otherLength(null, bytes));
      hash.update(piece);
      if (held !== null) yield held;
      held = piece;
    }
  } catch (error) {
    if (!(error instanceof StreamFault)) throw error;
    throw new SourceError(error.why === "late" ? STALLED : BROKEN);
  }
  if (total !== bytes) throw new SourceError(otherLength(total, bytes));
  if (hash.digest("hex") !== sha256)
    throw new SourceError({ kind: "damaged", words: "its bytes are not those that were delivered" });
  if (held !== null) yield held;
}

/** Reads all of a body, and keeps nothing. @returns null: it is what was delivered. */
export async function verify(body: Body, object: Delivered): Promise<SourceFault | null> {
  try {
    for await (const _ of proven(body, object));
    return null;
  } catch (error) {
    if (error instanceof SourceError) return error.fault;
    throw error;
  }
}

/** The pieces of a body, which breaks off where it is not what was delivered. @throws Error */
export async function* contentOf(body: Body, object: Delivered): Pieces {
  yield* proven(body, object);
}

/** A source is not what was delivered, or cannot be read to its end. */
export class SourceError extends Error {
  readonly fault: SourceFault;

  constructor(fault: SourceFault) {
    super("the source is not what was delivered");
    this.fault = fault;
  }
}

/** All of an object. @returns its bytes, or why there are none. */
export async function readWhole(body: Body, object: Delivered): Promise<Uint8Array | SourceFault> {
  const pieces: Uint8Array[] = [];
  try {
    for await (const piece of proven(body, object)) pieces.push(piece);
  } catch (error) {
    if (error instanceof SourceError) return error.fault;
    throw error;
  }
  return concat(pieces);
}

/**
 * An object as a body of known length, piece by piece. If it is not what was delivered, the body
 * breaks off before its end, and no store gets all of it.
 * @param open called at once.
 * @param onFault is told why it broke off, if that was the source.
 */
export function passedOn(open: () => Promise<Opened>, object: Delivered, onFault: (fault: SourceFault) => void): Body {
  const { readable, writable } = new FixedLengthStream(object.bytes);
  const writer = writable.getWriter();
  const pass = async (): Promise<void> => {
    const opened = await open();
    if (!opened.ok) throw new SourceError(opened.fault);
    for await (const piece of proven(opened.body, object)) await writer.write(piece);
    await writer.close();
  };
  // A store that closes the connection breaks the stream, too; the fetch that reads it reports
  // that.
  pass().catch((error: unknown) => {
    if (error instanceof SourceError) onFault(error.fault);
    return writer.abort(error).catch(() => {});
  });
  return readable;
}

/** Cancels a body that is not read. */
export function letGo(body: Body): void {
  if (!body.locked) body.cancel().catch(() => {});
}

function otherLength(found: number | null, bytes: number): SourceFault {
  const words =
    found === null
      ? `it is longer than the ${bytes} bytes that were delivered`
      : `it has ${found} bytes; ${bytes} were delivered`;
  return { kind: "damaged", words };
}
