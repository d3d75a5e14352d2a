/** Messages whose records objects take over as they are compressed. */
import { crc32, deflateRawSync, inflateRawSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { concat, encodeUtf8 } from "../../../src/base/bytes.ts";
import { load } from "../../../src/formats/queue/load-records.ts";
import { type MacKey, macKeyOf } from "../../../src/formats/queue/mac.ts";
import {
  decodeEnvelope,
  decodeMessage,
  encodeParts,
  headOf,
  isNewer,
  type Part,
} from "../../../src/formats/queue/message.ts";
import { type ReadMessage, readMessage } from "../../support/read-message.ts";
import { noise, noisyLine, TAKEN } from "../record/samples.ts";

const OURS = macKeyOf(new Uint8Array(32).fill(1));
const OTHERS = macKeyOf(new Uint8Array(32).fill(2));

const LINES = Array.from({ length: 40 }, (_, i) => JSON.stringify({ a: noise(5_000, i) }));
const PART: Part = { id: "ab".repeat(16), takenInMs: TAKEN, keyed: true, shards: 8, records: LINES.length };

const ndjson = (lines: readonly string[]): Uint8Array => encodeUtf8(lines.map((line) => `${line}\n`).join(""));
const message = (isForTakeover: boolean, seal?: MacKey) => encodeParts([PART], ndjson(LINES), {}, seal, isForTakeover);

function read(body: Uint8Array<ArrayBuffer>, keys = [OURS]): ReadMessage {
  const decoded = readMessage(body.buffer, keys);
  if (!decoded.ok) throw new Error(decoded.why);
  return decoded.value;
}

const FLAG = 4;

/** With the flag turned, and the head's checksum made right: another producer can do that. */
function turned(whole: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const other = whole.slice();
  const view = new DataView(other.buffer);
  other[3] = (other[3] as number) ^ FLAG;
  const head = other.subarray(0, view.getUint32(28));
  view.setUint32(36, crc32(head.subarray(40), crc32(head.subarray(0, 36))));
  return other;
}

describe("a message to be taken over", () => {
  const whole = message(true, OURS);
  const plain = message(false, OURS);

  it("says so by a flag beside those of its first part", () => {
    expect([plain, whole].map((each) => (each[3] as number) & FLAG)).toEqual([0, FLAG]);
    const { records: _, ...head } = PART;
    expect([headOf(plain.buffer), headOf(whole.buffer)]).toEqual([head, head]);
    expect(decodeEnvelope(whole.buffer)).toEqual({ ok: true, value: { parts: [PART] } });
    expect(isNewer(whole.buffer)).toBe(false);
  });

  it("has its records as they are compressed, so that more can follow", () => {
    const { takeover, ...rest } = read(whole);
    expect(rest).toEqual(read(plain));
    if (takeover === undefined) throw new Error("it cannot be taken over");
    const more = deflateRawSync(encodeUtf8("more"));
    const both = inflateRawSync(concat([takeover.deflated, more])) as Uint8Array;
    expect(new TextDecoder().decode(both)).toBe(`${LINES.join("\n")}\nmore`);
    const raw = ndjson(LINES);
    expect(takeover).toMatchObject({ raw, crc: crc32(raw) });
  });

  it("is one stream to any reader", () => {
    const head = new DataView(whole.buffer).getUint32(28);
    // Behind the type and length of its block.
    expect(inflateRawSync(whole.subarray(head + 5))).toEqual(inflateRawSync(plain.subarray(head + 5)));
  });

  it("without a seal of ours is read, and never taken over: what ends its stream would end an object", () => {
    for (const each of [message(true), message(true, OTHERS)]) {
      expect(read(each).lines).toEqual(LINES);
      expect(read(each)).not.toHaveProperty("takeover");
      expect(read(each)).not.toHaveProperty("isAuthentic");
    }
    expect(read(whole, [OTHERS, OURS])).toHaveProperty("takeover");
  });

  it("is none whose flag another writer has turned: it is read, and nothing of it is trusted", () => {
    for (const each of [turned(plain), turned(whole), turned(message(false)), turned(message(true))]) {
      expect(read(each).lines).toEqual(LINES);
      expect(read(each)).not.toHaveProperty("takeover");
      expect(read(each)).not.toHaveProperty("isAuthentic");
    }
    expect(read(turned(turned(whole)))).toEqual(read(whole));
  });

  it("whose flag was turned is parsed strictly", () => {
    const kindOf = (body: ArrayBuffer) => load({ body, envelope: decodeEnvelope(body) }, [OURS]).kind;
    const of = (line: string, isForTakeover: boolean) =>
      encodeParts([{ ...PART, records: 1 }], ndjson([line]), {}, OURS, isForTakeover);
    const good = noisyLine(1_000, 1);
    const bad = good.replace('"fetch"', "fetch");
    for (const isForTakeover of [true, false]) {
      expect([good, bad].map((line) => kindOf(of(line, isForTakeover).buffer))).toEqual(["loaded", "loaded"]);
      const forged = [good, bad].map((line) => kindOf(turned(of(line, isForTakeover)).buffer));
      expect(forged).toEqual(["loaded", "unreadable"]);
    }
  });

  it("of which any bit was flipped is refused", () => {
    const flips = 1_200;
    for (let i = 0; i < flips; i++) {
      const flipped = whole.slice();
      // All bits of the head, then some of the body.
      const bit = i < 8 * 120 ? i : Math.floor((i / flips) * 8 * whole.length);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(decodeMessage(flipped.buffer, [OURS]).ok, `bit ${bit}`).toBe(false);
    }
  });

  it("that was cut, or goes on, is refused", () => {
    for (const bytes of [whole.slice(0, -1), whole.slice(0, -5), concat([whole, Uint8Array.of(0)])])
      expect(decodeMessage(bytes.buffer, [OURS]).ok).toBe(false);
  });
});
