import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { concat, encodeUtf8 } from "../../../src/base/bytes.ts";
import { encodeMessage } from "../../support/message.ts";
import { readMessage } from "../../support/read-message.ts";

const envelope = fc.record({
  id: fc.stringMatching(/^[0-9a-f]{32}$/),
  takenInMs: fc.maxSafeNat(),
  keyed: fc.boolean(),
  shards: fc.constantFrom(1, 2, 64),
});

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
        const decoded = readMessage(encodeMessage({ ...head, records }, raw).buffer);
        answers[decoded.ok ? "taken" : "refused"] += 1;
        const newlines = raw.filter((byte) => byte === 0x0a).length;
        const ended = raw.length === 0 || raw.at(-1) === 0x0a;
        // Invalid UTF-8 is written back as other bytes.
        const utf8 =
          encodeUtf8(new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(raw)).join() === raw.join();
        expect(decoded.ok).toBe(ended && utf8 && newlines === records);
        if (!decoded.ok) return;
        expect([...encodeUtf8(decoded.value.lines.map((line) => `${line}\n`).join(""))]).toEqual([...raw]);
      }),
      { numRuns: 3_000 },
    );
    expect(Math.min(answers.taken, answers.refused)).toBeGreaterThan(50);
  });
});
