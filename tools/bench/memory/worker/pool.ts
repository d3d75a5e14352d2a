/**
 * Messages that are delivered again and again, each time under a new id: packing others would cost
 * more than what is measured.
 */
import { crc32 } from "node:zlib";
import { fromHex } from "../../../../src/base/bytes.ts";
import { decodeBlocks } from "../../../../src/formats/queue/sections.ts";
import { randomIds } from "../../../../src/ship/intake/ids.ts";

/** Where a message has what; src/formats/queue/message.ts has the layout. */
const ID_AT = 4;
const TAKEN_AT = 20;
const HEAD_LENGTH_AT = 28;
const CRC_AT = 36;
const BLOCKS_AT = 40;

/** Types of blocks of the head: the parts, and what the body is. */
const PARTS = 1;
const BODY = 2;

export class MessagePool {
  readonly #bodies: ArrayBuffer[] = [];
  readonly #idOf = randomIds(1);
  #next = 0;

  /** @param frames as messages.ts frames them. */
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
    const sum = this.#bodies.reduce((sum, body) => sum + block(body, BODY).getUint32(0), 0);
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

/** The same records in a message of another id; it has one part. */
function restamped(body: ArrayBuffer, id: string, takenInMs: number): ArrayBuffer {
  const copy = body.slice(0);
  const bytes = new Uint8Array(copy);
  const view = new DataView(copy);
  const part = block(copy, PARTS);
  bytes.set(fromHex(id), ID_AT);
  bytes.set(fromHex(id), part.byteOffset);
  view.setBigUint64(TAKEN_AT, BigInt(takenInMs));
  part.setBigUint64(16, BigInt(takenInMs));
  const head = bytes.subarray(BLOCKS_AT, view.getUint32(HEAD_LENGTH_AT));
  view.setUint32(CRC_AT, crc32(head, crc32(bytes.subarray(0, CRC_AT))));
  return copy;
}

/** @throws if the head of a message has no such block. */
function block(body: ArrayBuffer, type: number): DataView {
  const length = new DataView(body).getUint32(HEAD_LENGTH_AT);
  const bytes = decodeBlocks(new Uint8Array(body, BLOCKS_AT, length - BLOCKS_AT))?.get(type);
  if (bytes === undefined) throw new Error(`a message without block ${type}`);
  return new DataView(body, bytes.byteOffset, bytes.length);
}
