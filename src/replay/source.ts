import { createHash } from "node:crypto";
import { concat } from "../bytes.ts";
import type { ReplaySource } from "../delivery/replayed.ts";
import type { ObjectStore } from "../destinations/object-store.ts";
import { platform, within } from "../platform.ts";
import { type SourceFault, sourceFault } from "./words.ts";

/** What was delivered, as far as it can be told from anything else. */
type Delivered = Pick<ReplaySource, "key" | "bytes" | "sha256">;

type Body = ReadableStream<Uint8Array>;

/**
 * How long a source may send nothing, in ms; and how long it may be waited for in all, which is a little less than a store may take to be sent as much. The time
 * that the store takes is not its own.
 */
const IDLE_MS = 20_000;
const LEAST_MS = 45_000;
const SLOWEST_BYTES_PER_MS = 50;
const MOST_MS = 13 * 60_000;

const LATE = Symbol("late");

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
export async function openSource(store: Pick<ObjectStore, "get">, { key, bytes }: Delivered): Promise<Opened> {
  const { answer, body } = await store.get(key);
  if (body === null) return { ok: false, fault: sourceFault(answer) };
  if (answer.kind === "answer" && answer.bytes !== null && answer.bytes !== bytes) {
    letGo(body);
    return { ok: false, fault: otherLength(answer.bytes, bytes) };
  }
  return { ok: true, body };
}

/**
 * The pieces of a body, the last of which comes only once all of them together are known to be what was delivered. Whoever sends them on as they come never
 * sends a whole object that is another.
 * @throws SourceError instead of the last piece, or before.
 */
async function* proven(body: Body, { bytes, sha256 }: Delivered): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  const hash = createHash("sha256");
  let held: Uint8Array | null = null;
  let total = 0;
  let patienceMs = Math.min(LEAST_MS + bytes / SLOWEST_BYTES_PER_MS, MOST_MS);
  try {
    for (;;) {
      const askedMs = platform.now();
      const read = await within(Math.min(IDLE_MS, patienceMs), reader.read(), LATE).catch(() => null);
      // One that sends a byte now and then is never idle, and never done.
      patienceMs -= platform.now() - askedMs;
      if (read === LATE || patienceMs <= 0) throw new SourceError(STALLED);
      if (read === null) throw new SourceError(BROKEN);
      if (read.done) break;
      if (read.value.length === 0) continue;
      total += read.value.length;
      if (total > bytes) throw new SourceError(otherLength(null, bytes));
      hash.update(read.value);
      if (held !== null) yield held;
      held = read.value;
    }
    if (total !== bytes) throw new SourceError(otherLength(total, bytes));
    if (hash.digest("hex") !== sha256)
      throw new SourceError({ kind: "damaged", words: "its bytes are others than were delivered" });
    if (held !== null) yield held;
  } finally {
    // Not waited for: a body that hangs may hang here as well.
    reader.cancel().catch(() => {});
  }
}

class SourceError extends Error {
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
 * An object as a body of known length, piece by piece. Where it turns out not to be what was delivered, the body breaks off before its end, and no store has
 * the whole of it.
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
  // A store that hangs up breaks the stream as well; the fetch that reads it reports that.
  pass().catch((error: unknown) => {
    if (error instanceof SourceError) onFault(error.fault);
    return writer.abort(error).catch(() => {});
  });
  return readable;
}

/** Nobody reads it. */
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
