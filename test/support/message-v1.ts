import { crc32, deflateRawSync } from "node:zlib";
import { fromHex } from "../../src/bytes.ts";
import type { Part } from "../../src/queue/message.ts";

/**
 * A message of version 1, as earlier releases made them.
 * @param raw the records as NDJSON, each line ended by a newline.
 */
export function encodeMessage({ id, takenInMs, keyed, records }: Part, raw: Uint8Array): Uint8Array<ArrayBuffer> {
  const deflated = deflateRawSync(raw, { level: 3 });
  const body = deflated.length < raw.length ? deflated : raw;
  const message = new Uint8Array(40 + body.length);
  const view = new DataView(message.buffer);
  view.setUint16(0, 0x4c53);
  view.setUint8(2, 1);
  view.setUint8(3, (body === deflated ? 1 : 0) | (keyed ? 2 : 0));
  message.set(fromHex(id), 4);
  view.setBigUint64(20, BigInt(takenInMs));
  view.setUint32(28, records);
  view.setUint32(32, raw.length);
  view.setUint32(36, crc32(raw, crc32(message.subarray(0, 36))));
  message.set(body, 40);
  return message;
}
