import { encodeUtf8, toBase64 } from "../bytes.ts";
import { ASIDE_SHOWN_BYTES, ASIDE_SHOWN_UNITS } from "../limits.ts";
import { readStrictly, wholeMessage } from "../object/load.ts";
import type { Blobs } from "../queue/blob-store.ts";
import { decodeEnvelope, type Part } from "../queue/message.ts";
import type { Source } from "../record/source.ts";
import type { AsideMessage } from "../trace-log/set-aside-messages.ts";

/** What is in a message that was set aside. */
export interface AsideContent {
  /** Why it cannot be sent again; null: it can be read. */
  fault: string | null;
  /** `sources`: of each record, "" where it is unknown. */
  shown: { records: string[] | null; sources: Source[] | null; base64: string | null; complete: boolean };
  /** All of it. */
  file: Uint8Array<ArrayBuffer>;
  mediaType: string;
  extension: string;
}

/**
 * Decodes a message as the consumer does. Its records are untrusted text, and stay text. @throws if
 * the blob store does not answer.
 */
export async function contentOf({ message }: AsideMessage, blobs: Pick<Blobs, "get">): Promise<AsideContent> {
  const { content } = await wholeMessage({ body: message, envelope: decodeEnvelope(message) }, blobs);
  if (!content.ok) {
    const bytes = new Uint8Array(message);
    return {
      fault: content.why,
      shown: {
        records: null,
        sources: null,
        base64: toBase64(bytes.subarray(0, ASIDE_SHOWN_BYTES)),
        complete: bytes.length <= ASIDE_SHOWN_BYTES,
      },
      file: bytes,
      mediaType: "application/octet-stream",
      extension: "bin",
    };
  }
  const { lines, parts } = content.value;
  const records: string[] = [];
  let units = 0;
  for (const line of lines) {
    units += line.length;
    if (units > ASIDE_SHOWN_UNITS) break;
    records.push(line);
  }
  const isBad = lines.some((line) => readStrictly(line) === null);
  return {
    fault: isBad ? "holds a line that is no record" : null,
    shown: {
      records,
      sources: sourcesOf(parts).slice(0, records.length),
      base64: null,
      complete: records.length === lines.length,
    },
    file: encodeUtf8(lines.map((line) => `${line}\n`).join("")),
    mediaType: "application/x-ndjson",
    extension: "ndjson",
  };
}

/** Of each record. */
function sourcesOf(parts: readonly Part[]): Source[] {
  return parts.flatMap(({ records, source = "" }) => Array.from({ length: records }, () => source));
}
