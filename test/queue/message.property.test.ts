import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { concat, encodeUtf8 } from "../../src/bytes.ts";
import { blobKey, decodeEnvelope, decodeMessage, joinMessage, splitMessage } from "../../src/queue/message.ts";
import { recordLine } from "../../src/record/encode.ts";
import { anyRecord } from "../record/samples.ts";
import { encodeMessage } from "../support/message.ts";

const HEADER_BYTES = 40;

const envelope = fc.record({
  id: fc.stringMatching(/^[0-9a-f]{32}$/),
  takenInMs: fc.maxSafeNat(),
  keyed: fc.boolean(),
});

/** Lines, some of which compress and some do not. */
const lines = fc.array(fc.oneof(anyRecord.map(recordLine), fc.constant(`"${"a".repeat(500)}"`)), {
  minLength: 1,
  maxLength: 4,
});
const message = fc.tuple(envelope, lines).map(([head, all]) => ({
  head,
  all,
  bytes: encodeMessage({ ...head, records: all.length }, encodeUtf8(all.map((line) => `${line}\n`).join(""))),
}));

function flipped(bytes: Uint8Array, bit: number): Uint8Array<ArrayBuffer> {
  const changed = new Uint8Array(bytes);
  changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return changed;
}

describe("what is in a queue message", () => {
  it("is every byte of it, or the message is refused: lines that end, in UTF-8, as many as it says", () => {
    const answers = { taken: 0, refused: 0 };
    const piece = fc.constantFrom(
      ...["{}\n", "\n", "{}", "\r\n", "\ufeff", "€", "\u2028", "\u0000"].map(encodeUtf8),
      ...[[0xff], [0xc3], [0xed, 0xa0, 0x80], [0x80]].map((bytes) => Uint8Array.from(bytes)),
    );
    const contents = fc.array(piece, { maxLength: 5 }).map(concat);
    fc.assert(
      fc.property(envelope, contents, fc.nat({ max: 5 }), (head, raw, records) => {
        const decoded = decodeMessage(encodeMessage({ ...head, records }, raw).buffer);
        answers[decoded.ok ? "taken" : "refused"] += 1;
        const newlines = raw.filter((byte) => byte === 0x0a).length;
        const ended = raw.length === 0 || raw.at(-1) === 0x0a;
        // Invalid UTF-8 is written back as other bytes.
        const utf8 =
          encodeUtf8(new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(raw)).join() === raw.join();
        expect(decoded.ok).toBe(ended && utf8 && newlines === records);
        if (!decoded.ok) return;
        expect([...encodeUtf8(decoded.value.lines.map((line) => `${line}\n`).join(""))]).toEqual([...raw]);
        expect(decoded.value.ascii).toBe(raw.every((byte) => byte < 0x80));
      }),
      { numRuns: 3_000 },
    );
    expect(Math.min(answers.taken, answers.refused)).toBeGreaterThan(50);
  });
});

describe("a reference", () => {
  it("of which any bit was flipped is refused", () => {
    fc.assert(
      fc.property(message, fc.nat(), ({ bytes }, at) => {
        const { reference } = splitMessage(bytes);
        expect(decodeEnvelope(flipped(reference, at % (8 * reference.length)).buffer).ok).toBe(false);
      }),
      { numRuns: 1_000 },
    );
  });

  it("has another key with any other bit of id or checksum, and the same whatever else its header says", () => {
    fc.assert(
      fc.property(message, fc.nat({ max: 8 * HEADER_BYTES - 1 }), ({ bytes }, bit) => {
        const at = bit >> 3;
        const counts = (at >= 4 && at < 20) || at >= 36;
        expect(blobKey(flipped(bytes, bit)) !== blobKey(bytes)).toBe(counts);
      }),
      { numRuns: 1_000 },
    );
  });

  it("is made and undone without a change to what it is made of", () => {
    fc.assert(
      fc.property(message, ({ bytes }) => {
        const before = bytes.slice();
        const { reference, key, body } = splitMessage(bytes);
        expect(bytes).toEqual(before);
        expect(key).toBe(blobKey(bytes));
        const kept = reference.slice();
        expect(new Uint8Array(joinMessage(reference.buffer, body))).toEqual(before);
        expect(reference).toEqual(kept);
      }),
    );
  });
});
