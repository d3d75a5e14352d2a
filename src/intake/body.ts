import { EVENTS_BODY_MAX_BYTES } from "../limits.ts";
import type { Decoded } from "../queue/message.ts";
import { readStream } from "../streams.ts";

export type BodyFault = { status: 400 | 413 | 415; message: string };
export type Body = { ok: true; bytes: Uint8Array } | { ok: false; fault: BodyFault };

/**
 * Reads a request body to its end or to the limit, whichever comes first; `Content-Encoding: gzip` is undone on the way, and counted by what
 * comes out, so that a small bomb stays small. What is beyond the limit is left to {@link discardRest}.
 * @param maxBytes largest decompressed size.
 * @param ms how long it may take to come; as long as the caller waits if it is not said.
 */
export async function readBody(request: Request, maxBytes: number, ms?: number): Promise<Body> {
  const encoding = (request.headers.get("content-encoding") ?? "identity").trim().toLowerCase();
  if (encoding !== "identity" && encoding !== "gzip") {
    return { ok: false, fault: { status: 415, message: "Content-Encoding must be gzip or absent" } };
  }
  const tooLarge: Body = { ok: false, fault: { status: 413, message: `the body is larger than ${maxBytes} bytes` } };
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) return tooLarge;
  if (request.body === null) return { ok: true, bytes: new Uint8Array() };
  // The stream's declared chunk type differs between the two declarations of the same thing.
  const stream: ReadableStream<Uint8Array> =
    encoding === "gzip"
      ? request.body.pipeThrough(new DecompressionStream("gzip") as ReadableWritablePair<Uint8Array, Uint8Array>)
      : request.body;
  // The rest of a plain body may still be read by another reader; a bomb is cancelled.
  const read = await readStream(stream, { maxBytes, ms, leaves: encoding !== "gzip" });
  switch (read.end) {
    case "whole":
      return { ok: true, bytes: read.bytes };
    case "longer":
      return tooLarge;
    case "late":
      return { ok: false, fault: { status: 400, message: `the body did not come within ${ms} ms` } };
    case "broken": {
      const message = encoding === "gzip" ? "the body is not valid gzip" : "the body broke off";
      return { ok: false, fault: { status: 400, message } };
    }
  }
}

/** How much of a body that nobody wants is read all the same, in bytes, and how long, in ms: twice the largest that is ever accepted. */
const REST_MAX_BYTES = 2 * EVENTS_BODY_MAX_BYTES;
const REST_WAIT_MS = 2_000;

/**
 * Reads what is left of a body, and forgets it, before a request is answered that was refused without reading it. A server that answers and closes
 * while a client still sends makes that client lose the answer; and a local `wrangler dev` loses the answer to the next request. It never throws.
 * @see https://www.rfc-editor.org/rfc/rfc9112#section-9.6
 */
export async function discardRest({ body }: Request): Promise<void> {
  if (body === null || body.locked) return;
  await readStream(body, { maxBytes: REST_MAX_BYTES, ms: REST_WAIT_MS, keeps: false });
}

/** UTF-8 text, strictly: a byte that is no UTF-8 is a fault, not U+FFFD. A byte order mark is dropped. */
export function decodeUtf8(bytes: Uint8Array): Decoded<string> {
  try {
    return { ok: true, value: new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes) };
  } catch {
    return { ok: false, why: "the body is not valid UTF-8" };
  }
}
