/**
 * Messages that are delivered again and again, each time under a new id: packing others would cost
 * more than what is measured.
 */
import { crc32 } from "node:zlib";
import { fromHex } from "../../../../src/bytes.ts";
import { randomIds } from "../../../../src/intake/ids.ts";
import { crc32Combine } from "../../../../src/object/crc32-combine.ts";

/** Where a message's header has what; src/intake/message.ts has the layout. */
const ID_AT = 4;
const TAKEN_AT = 20;
const RAW_BYTES_AT = 32;
const CRC_AT = 36;

export class MessagePool {
  readonly #bodies: ArrayBuffer[] = [];
  readonly #idOf = randomIds();
  #next = 0;

  /** @param frames as bench/messages.ts frames them. */
  constructor(frames: ArrayBuffer) {
    const view = new DataView(frames);
    for (let at = 0; at < frames.byteLength; ) {
      const from = at + 4;
      at = from + view.getUint32(at);
      this.#bodies.push(frames.slice(from, at));
    }
    if (this.#bodies.length === 0) throw new Error("there are no messages");
  }

  /** Of a batch of so many messages, on average, in bytes of records. */
  rawBytesOf(messages: number): number {
    const sum = this.#bodies.reduce((sum, body) => sum + new DataView(body).getUint32(RAW_BYTES_AT), 0);
    return (sum / this.#bodies.length) * messages;
  }

  /** The next messages, round and round, as the queue would deliver them. */
  take(messages: number, takenInMs: number): ArrayBuffer[] {
    return Array.from({ length: messages }, () => {
      const body = this.#bodies[this.#next++ % this.#bodies.length] as ArrayBuffer;
      return restamped(body, this.#idOf(0), takenInMs);
    });
  }
}

/**
 * The same records in a message of another id. Its checksum is of header and records together; of
 * these only the header changes.
 */
function restamped(body: ArrayBuffer, id: string, takenInMs: number): ArrayBuffer {
  const copy = body.slice(0);
  const view = new DataView(copy);
  const rawBytes = view.getUint32(RAW_BYTES_AT);
  const ofHeader = (): number => crc32Combine(crc32(new Uint8Array(copy, 0, CRC_AT)), 0, rawBytes);
  const ofRecords = view.getUint32(CRC_AT) ^ ofHeader();
  new Uint8Array(copy).set(fromHex(id), ID_AT);
  view.setBigUint64(TAKEN_AT, BigInt(takenInMs));
  view.setUint32(CRC_AT, ofRecords ^ ofHeader());
  return copy;
}
