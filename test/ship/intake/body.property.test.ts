import { gzipSync } from "node:zlib";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { concat, encodeUtf8 } from "../../../src/base/bytes.ts";
import { EVENTS_PACE as PACE } from "../../../src/base/limits.ts";
import { decodeUtf8, readBody } from "../../../src/ship/intake/body.ts";

/** Its body arrives in pieces of these sizes, cyclically. @param isSized it says its length. */
function inPieces(bytes: Uint8Array, sizes: readonly number[], gzip: boolean, isSized: boolean): Request {
  let at = 0;
  let turn = 0;
  const body = new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      const size = sizes[turn++ % sizes.length] ?? 1;
      controller.enqueue(bytes.slice(at, at + size));
      at += size;
    },
  });
  const headers = {
    ...(gzip && { "content-encoding": "gzip" }),
    ...(isSized && { "content-length": `${bytes.length}` }),
  };
  return new Request("http://logship.test/", { method: "POST", body, headers });
}

const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map((array) => new Uint8Array(array)),
  fc
    .tuple(fc.constantFrom("ab", "\n", "€"), fc.nat({ max: 2_000 }))
    .map(([text, times]) => encodeUtf8(text.repeat(times))),
);
const sizes = fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 4 });
const level = fc.integer({ min: 0, max: 9 });

describe("a body", () => {
  it("is what was sent, or too large, by what it is when it is unpacked and by nothing else", async () => {
    const answers = { read: 0, tooLarge: 0 };
    const limit = fc.tuple(bytes, fc.integer({ min: -3, max: 3 }));
    await fc.assert(
      fc.asyncProperty(
        limit,
        sizes,
        fc.boolean(),
        fc.boolean(),
        level,
        async ([sent, room], pieces, gzip, says, each) => {
          const max = Math.max(sent.length + room, 0);
          const packed = gzip ? new Uint8Array(gzipSync(sent, { level: each })) : sent;
          const read = await readBody(inPieces(packed, pieces, gzip, says), max, PACE);
          answers[read.ok ? "read" : "tooLarge"] += 1;
          // Of one that says that it is longer as it comes, nothing is read.
          const isOver = sent.length > max || (says && packed.length > max);
          if (isOver) expect(read).toMatchObject({ ok: false, fault: { status: 413 } });
          else expect(read).toEqual({ ok: true, bytes: sent });
        },
      ),
      { numRuns: 300 },
    );
    expect(Math.min(answers.read, answers.tooLarge)).toBeGreaterThan(30);
  });

  it.each([1, 2, 8, 100])("of nothing, that is packed, with %i zeros after it, is refused", async (zeros) => {
    const packed = concat([new Uint8Array(gzipSync("")), new Uint8Array(zeros)]);
    const read = await readBody(inPieces(packed, [packed.length], true, true), 10_000_000, PACE);
    expect(read).toEqual({ ok: false, fault: { status: 400, message: "the body is not valid gzip" } });
  });

  it("that is packed and was damaged on the way is refused, or is what was sent", async () => {
    const damage = fc.record({ at: fc.nat(), bit: fc.nat({ max: 7 }), how: fc.constantFrom("flip", "cut", "add") });
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(
        bytes,
        sizes,
        fc.boolean(),
        level,
        damage,
        async (sent, pieces, says, each, { at, bit, how }) => {
          const packed = new Uint8Array(gzipSync(sent, { level: each }));
          const place = at % packed.length;
          const flip = (): Uint8Array => packed.map((byte, i) => (i === place ? byte ^ (1 << bit) : byte));
          const damaged =
            how === "cut"
              ? packed.slice(0, place)
              : how === "add"
                ? concat([packed, Uint8Array.from([at % 256])])
                : flip();
          const read = await readBody(inPieces(damaged, pieces, true, says), 10_000_000, PACE);
          if (read.ok) {
            // What is compressed may differ (time, distances); what it holds does not.
            expect(how).toBe("flip");
            expect(read.bytes).toEqual(sent);
          } else {
            refused += 1;
            expect(read.fault).toEqual({ status: 400, message: "the body is not valid gzip" });
          }
        },
      ),
      { numRuns: 400 },
    );
    expect(refused).toBeGreaterThan(200);
  });
});

describe("the text of a body", () => {
  it("is every byte that was sent but one byte order mark, or there is none", () => {
    const answers = { text: 0, none: 0 };
    const piece = fc.constantFrom(
      ...["a", "é", "€", "\u{1f600}", "\ufeff", "\ufffd", "\uffff", "\u0000"].map((text) => [...encodeUtf8(text)]),
      ...[[0x80], [0xc3], [0xe2, 0x82], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xfe]],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 5 }), (pieces) => {
        const sent = pieces.flat();
        const marked = sent.slice(0, 3).join() === "239,187,191";
        const text = decodeUtf8(Uint8Array.from(sent));
        // A lenient decoder writes back other bytes exactly where the input is invalid.
        const mended = encodeUtf8(
          new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(Uint8Array.from(sent)),
        );
        expect(text.ok).toBe([...mended].join() === sent.join());
        answers[text.ok ? "text" : "none"] += 1;
        if (text.ok) expect([...encodeUtf8(text.value)]).toEqual(marked ? sent.slice(3) : sent);
      }),
      { numRuns: 2_000 },
    );
    expect(Math.min(answers.text, answers.none)).toBeGreaterThan(100);
  });
});
