import { encodeParts, type Part } from "../../src/formats/queue/message.ts";

/**
 * A message of one part, without a seal.
 * @param raw the records as NDJSON, each line ended by a newline.
 */
export function encodeMessage(part: Part, raw: Uint8Array): Uint8Array<ArrayBuffer> {
  return encodeParts([part], raw);
}
