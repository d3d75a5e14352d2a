import type { WriteOutcome } from "../destination.ts";
import { buildBody } from "./body.ts";
import type { BodyForm, Receiver, ReceiverDestination } from "./receiver.ts";

/**
 * What one request to a receiver is, before it is compressed. What sends and what previews use it.
 */

/**
 * An object above this size, before compression, is not read into memory: it is divided. Four are
 * sent at once, each as lines and as the text of a body, in an isolate of 128 MB.
 * https://developers.cloudflare.com/workers/platform/limits/#memory
 */
const READ_MAX_BYTES = 8_000_000;

/** Of an object that is sent as it is. */
export const NDJSON_TYPE = "application/x-ndjson";

/** What an object is, as far as it decides whether it fits. */
interface Size {
  records: number;
  /** Before compression. */
  rawBytes: number;
}

/** Why an object is not sent as it is. null: by its size it may be. */
export function tooMuch({ records, rawBytes }: Size, receiver: Receiver, form: BodyForm | null): WriteOutcome | null {
  const { limits } = receiver.takes;
  if (form === null) {
    if (limits === null || (records <= limits.records && rawBytes <= limits.bytes)) return null;
    if (records > 1) return { kind: "divide", ...limits, why: null };
    return partly({
      refused: [{ record: 0, words: `a record of ${rawBytes} bytes; ${receiver.name} takes ${limits.bytes}` }],
    });
  }
  if (rawBytes <= READ_MAX_BYTES || records < 2) return null;
  const bytes = Math.min(limits?.bytes ?? READ_MAX_BYTES, Math.floor(rawBytes / 2));
  return { kind: "divide", records: Math.min(limits?.records ?? records, records - 1), bytes, why: null };
}

/** What is refused, by default before anything is sent. */
export function partly(leftover: Partial<Extract<WriteOutcome, { kind: "partly" }>>): WriteOutcome {
  return { kind: "partly", isSent: false, again: [], refused: [], error: null, unnamed: null, ...leftover };
}

/** `records`: the number of the record that each entry is. */
export type SentBody = { kind: "body"; text: string; records: readonly number[] };

/** Of an object that is no text of records. */
export function unreadable({ name }: Pick<Receiver, "name">): WriteOutcome {
  const words = `holds a line that is not an NDJSON record, and ${name} needs these`;
  return { kind: "failed", error: { kind: "refused", words, cause: "configuration" }, mayBeThere: false };
}

/** Whether an object of this type is text, compressed, as a request to a receiver is. */
export function isText(contentType: string): boolean {
  return contentType === NDJSON_TYPE || contentType.startsWith("text/");
}

/** Of an object that was made for a store, and whose job ships to a receiver since. */
export function noText(contentType: string, { name }: Pick<Receiver, "name">): WriteOutcome {
  const words = `it is ${contentType}, and ${name} takes text`;
  return { kind: "failed", error: { kind: "refused", words, cause: "configuration" }, mayBeThere: false };
}

/**
 * The body of lines, or why they are not sent as one. Pure.
 * @param lines NDJSON, one record each. @param id of the object.
 */
export function bodyOf(
  lines: readonly string[],
  id: string,
  receiver: Pick<Receiver, "name">,
  form: BodyForm,
  nowMs: number,
): SentBody | WriteOutcome {
  const built = buildBody(lines, id, form, receiver.name, nowMs);
  switch (built.kind) {
    case "body":
      return built;
    case "unreadable":
      return unreadable(receiver);
    case "too_large":
      return { kind: "divide", records: built.records, bytes: built.bytes, why: null };
    case "refused": {
      const refused = new Set(built.refused.map(({ record }) => record));
      return partly({ refused: built.refused, again: [...lines.keys()].filter((number) => !refused.has(number)) });
    }
  }
}

/** Address and headers of a request, but for its length. @param type of its body. */
export function headOf(
  { url, options }: ReceiverDestination["credentials"],
  receiver: Receiver,
  id: string,
  type: string,
): { url: string; headers: Headers } {
  const added = receiver.request?.(options, id);
  const headers = new Headers([...options.headers]);
  if (!options.headers.has("content-type")) headers.set("content-type", type);
  headers.set("content-encoding", "gzip");
  headers.set("idempotency-key", id);
  for (const [name, value] of Object.entries(added?.headers ?? {})) headers.set(name, value);
  const target = new URL(url);
  const query = new URLSearchParams(added?.query ?? {}).toString();
  if (query !== "") target.search = target.search === "" ? `?${query}` : `${target.search}&${query}`;
  return { url: target.href, headers };
}
