import { toBase64 } from "../../base/bytes.ts";
import { ASIDE_SHOWN_BYTES, ASIDE_SHOWN_UNITS } from "../../base/limits.ts";
import { readStrictly } from "../../formats/queue/load-records.ts";
import { decodeMessage, linesOf, type Part } from "../../formats/queue/message.ts";
import type { Source } from "../../formats/record/source.ts";
import type { HeldMessage } from "../log/on-hold.ts";

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

/** Decodes a message as the consumer does. Its records are untrusted text, and stay text. */
export function contentOf({ message }: HeldMessage): AsideContent {
  const content = decodeMessage(message);
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
  const { parts, raw } = content.value;
  const lines = linesOf(content.value);
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
    file: new Uint8Array(raw),
    mediaType: "application/x-ndjson",
    extension: "ndjson",
  };
}

/** Of each record. */
function sourcesOf(parts: readonly Part[]): Source[] {
  return parts.flatMap(({ records, source = "" }) => Array.from({ length: records }, () => source));
}
