import { concat } from "../bytes.ts";
import { EVENTS_BODY_MAX_BYTES } from "../limits.ts";
import { within } from "../platform.ts";
import type { Decoded } from "../queue/message.ts";

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
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = stream.getReader();
  let isLate = false;
  const late = (): void => {
    isLate = true;
    reader.cancel().catch(() => {});
  };
  const timer = ms === undefined ? undefined : setTimeout(late, ms);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (isLate) return { ok: false, fault: { status: 400, message: `the body did not come within ${ms} ms` } };
      if (done) break;
      length += value.length;
      if (length > maxBytes) {
        // A bomb is let go of; of anything else somebody may still want to see the end.
        if (encoding === "gzip") await reader.cancel();
        else reader.releaseLock();
        return tooLarge;
      }
      chunks.push(value);
    }
  } catch {
    return {
      ok: false,
      fault: { status: 400, message: encoding === "gzip" ? "the body is not valid gzip" : "the body broke off" },
    };
  } finally {
    clearTimeout(timer);
  }
  return { ok: true, bytes: concat(chunks) };
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
  const reader = body.getReader();
  const read = async (): Promise<void> => {
    for (let length = 0; length <= REST_MAX_BYTES; ) {
      const { done, value } = await reader.read();
      if (done) return;
      length += value.length;
    }
  };
  // Whoever hung up meanwhile has nothing left to send.
  const over = (): void => {};
  await within(REST_WAIT_MS, read().catch(over), undefined);
  reader.cancel().catch(over);
}

/** UTF-8 text, strictly: a byte that is no UTF-8 is a fault, not U+FFFD. A byte order mark is dropped. */
export function decodeUtf8(bytes: Uint8Array): Decoded<string> {
  try {
    return { ok: true, value: new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes) };
  } catch {
    return { ok: false, why: "the body is not valid UTF-8" };
  }
}
