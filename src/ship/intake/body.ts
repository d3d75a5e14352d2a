import { crc32, gunzipSync } from "node:zlib";
import { EVENTS_BODY_MAX_BYTES, GZIP_AT_ONCE_MAX_BYTES } from "../../base/limits.ts";
import { inflated, type Pace, readStream, type StreamRead } from "../../base/streams.ts";
import type { Decoded } from "../../formats/queue/message.ts";

export type BodyFault = { status: 400 | 408 | 413 | 415; message: string };
export type Body = { ok: true; bytes: Uint8Array } | { ok: false; fault: BodyFault };

/**
 * Reads a request body up to a limit, and decompresses gzip. The limit applies to the decompressed
 * bytes as they come, so a gzip bomb stays small. What is beyond it is left to {@link discardRest};
 * one that is too slow is cancelled.
 * @param maxBytes largest decompressed size.
 */
export async function readBody(request: Request, maxBytes: number, pace: Pace): Promise<Body> {
  const encoding = (request.headers.get("content-encoding") ?? "identity").trim().toLowerCase();
  if (encoding !== "identity" && encoding !== "gzip") {
    return { ok: false, fault: { status: 415, message: "Content-Encoding must be gzip or absent" } };
  }
  const tooLarge: Body = { ok: false, fault: { status: 413, message: `the body is larger than ${maxBytes} bytes` } };
  const length = lengthOf(request.headers);
  if (length !== null && length > maxBytes) return tooLarge;
  if (request.body === null) return { ok: true, bytes: new Uint8Array() };
  const isPacked = encoding === "gzip";
  const through = isPacked ? inflated : undefined;
  const expectedBytes = isPacked ? 0 : (length ?? 0);
  const isSmall = isPacked && length !== null && length <= GZIP_AT_ONCE_MAX_BYTES;
  const read = await (isSmall
    ? readSmall(request.body, maxBytes, pace)
    : // The rest may still be read by another reader, a bomb's too: as it came, it is small.
      readStream(request.body, { maxBytes, expectedBytes, ...pace, leaves: true, through }));
  switch (read.end) {
    case "whole":
      return { ok: true, bytes: read.bytes };
    case "longer":
      return tooLarge;
    case "late":
      return { ok: false, fault: { status: 408, message: slowWords(pace) } };
    case "broken": {
      const message = isPacked ? "the body is not valid gzip" : "the body broke off";
      return { ok: false, fault: { status: 400, message } };
    }
  }
}

/** Reads gzip as it came, then inflates it: at once, or if that is refused, as a stream. */
async function readSmall(body: ReadableStream<Uint8Array>, maxBytes: number, pace: Pace): Promise<StreamRead> {
  const packed = await readStream(body, { maxBytes: GZIP_AT_ONCE_MAX_BYTES, ...pace, leaves: true });
  // A body is never longer than it says.
  if (packed.end !== "whole") return packed.end === "longer" ? { ...packed, end: "broken" } : packed;
  const bytes = inflatedAtOnce(packed.bytes, maxBytes);
  if (bytes !== null) return { end: "whole", bytes };
  return readStream(new Response(packed.bytes).body, { maxBytes, through: inflated });
}

/** Header and trailer, and the shortest block between them. RFC 1952 */
const GZIP_MIN_BYTES = 20;

/** What the limit of {@link gunzipSync} is above a chunk that is never filled, in bytes. */
const ROOM_BYTES = 65_536;

/**
 * The content of one gzip member, of the length and checksum that its trailer says; null: it is not
 * just that, or too large. Takes a third of the time of a stream.
 */
function inflatedAtOnce(packed: Uint8Array, maxBytes: number): Uint8Array<ArrayBuffer> | null {
  if (packed.length < GZIP_MIN_BYTES) return null;
  const trailer = new DataView(packed.buffer, packed.byteOffset + packed.length - 8);
  const length = trailer.getUint32(4, true);
  if (length > Math.min(maxBytes, INFLATE_MAX * packed.length)) return null;
  // Zlib passes over zeros behind the trailer; of nothing, all of it is zeros, and still fits.
  if (length === 0) return null;
  try {
    // The runtime compares the limit with its buffer, not with the output: with a chunk of all of
    // it, so much more is enough. What is longer than it says is found before the buffer doubles.
    const chunkSize = Math.max(length + 1, 64);
    const raw = gunzipSync(packed, { maxOutputLength: chunkSize + ROOM_BYTES, chunkSize });
    if (raw.length !== length || crc32(raw) !== trailer.getUint32(0, true)) return null;
    return new Uint8Array(raw.buffer as ArrayBuffer, raw.byteOffset, raw.length);
  } catch {
    // The stream finds out what is wrong.
    return null;
  }
}

function slowWords({ ms, silenceMs }: Pace): string {
  return `the body did not arrive within ${ms} ms, or nothing of it came for ${silenceMs} ms; repeat the request`;
}

/** Deflate makes no more of a byte than this. https://zlib.net/zlib_tech.html */
const INFLATE_MAX = 1_032;

/**
 * What a body takes at most when it has arrived, in bytes, by what its headers say. None of a body
 * that says that it is too large is read.
 */
export function bodyRoom({ body, headers }: Request, maxBytes: number): number {
  if (body === null) return 0;
  const length = lengthOf(headers);
  if (length === null) return maxBytes;
  if (headers.has("content-encoding")) return Math.min(INFLATE_MAX * length, maxBytes);
  return length > maxBytes ? 0 : length;
}

/** Of a body as it is sent, in bytes; null: the request does not say. */
function lengthOf(headers: Headers): number | null {
  const length = headers.get("content-length");
  return length !== null && /^\d{1,15}$/.test(length) ? Number(length) : null;
}

/** Bounds of reading an unwanted body, in bytes (twice the largest accepted one) and ms. */
const REST_MAX_BYTES = 2 * EVENTS_BODY_MAX_BYTES;
const REST_WAIT_MS = 2_000;

/**
 * Reads and drops the rest of a body, for a request that is refused without reading it. If a server
 * answers and closes while the client still sends, the client loses the answer; a local
 * `wrangler dev` loses the answer to the next request. Never throws.
 * @see https://www.rfc-editor.org/rfc/rfc9112#section-9.6
 */
export async function discardRest({ body }: Request): Promise<void> {
  if (body === null || body.locked) return;
  await readStream(body, { maxBytes: REST_MAX_BYTES, ms: REST_WAIT_MS, keeps: false });
}

/** What {@link decodeUtf8} says of invalid bytes. */
export const NO_UTF8 = "the body is not valid UTF-8";

/** Length of the byte order mark that a body may begin with, in bytes. */
export function markLength(bytes: Uint8Array): 0 | 3 {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
}

/** Strict: invalid UTF-8 is a fault, not U+FFFD. Drops a byte order mark. */
export function decodeUtf8(bytes: Uint8Array): Decoded<string> {
  try {
    return { ok: true, value: new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes) };
  } catch {
    return { ok: false, why: NO_UTF8 };
  }
}
