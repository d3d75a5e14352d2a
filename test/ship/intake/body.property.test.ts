import { gzipSync } from "node:zlib";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { concat, encodeUtf8 } from "../../../src/base/bytes.ts";
import { EVENTS_PACE as PACE } from "../../../src/base/limits.ts";
import { decodeUtf8, readBody } from "../../../src/ship/intake/body.ts";
import { parsedFrom } from "./found.ts";

/** A request whose body arrives in pieces of these sizes, cyclically. */
function inPieces(bytes: Uint8Array, sizes: readonly number[], gzip: boolean): Request {
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
  const headers: Record<string, string> = gzip ? { "content-encoding": "gzip" } : {};
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
      fc.asyncProperty(limit, sizes, fc.boolean(), level, async ([sent, room], pieces, gzip, each) => {
        const max = Math.max(sent.length + room, 0);
        const packed = gzip ? new Uint8Array(gzipSync(sent, { level: each })) : sent;
        const read = await readBody(inPieces(packed, pieces, gzip), max, PACE);
        answers[read.ok ? "read" : "tooLarge"] += 1;
        if (sent.length > max) expect(read).toMatchObject({ ok: false, fault: { status: 413 } });
        else expect(read).toEqual({ ok: true, bytes: sent });
      }),
      { numRuns: 300 },
    );
    expect(Math.min(answers.read, answers.tooLarge)).toBeGreaterThan(30);
  });

  it("that is packed and was damaged on the way is refused, or is what was sent", async () => {
    const damage = fc.record({ at: fc.nat(), bit: fc.nat({ max: 7 }), how: fc.constantFrom("flip", "cut", "add") });
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(bytes, sizes, level, damage, async (sent, pieces, each, { at, bit, how }) => {
        const packed = new Uint8Array(gzipSync(sent, { level: each }));
        const place = at % packed.length;
        const flip = (): Uint8Array => packed.map((byte, i) => (i === place ? byte ^ (1 << bit) : byte));
        const damaged =
          how === "cut"
            ? packed.slice(0, place)
            : how === "add"
              ? concat([packed, Uint8Array.from([at % 256])])
              : flip();
        const read = await readBody(inPieces(damaged, pieces, true), 10_000_000, PACE);
        if (read.ok) {
          // The compressed bytes may differ (time, distances); the decompressed ones are the same.
          expect(how).toBe("flip");
          expect(read.bytes).toEqual(sent);
        } else {
          refused += 1;
          expect(read.fault).toEqual({ status: 400, message: "the body is not valid gzip" });
        }
      }),
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

describe("the events of a body", () => {
  const jsonText = fc.oneof(
    fc.jsonValue().map((value) => JSON.stringify(value)),
    fc.jsonValue().map((value) => JSON.stringify(value, null, "\t").replaceAll("\n", "\r")),
    fc.constantFrom("{", '{"a":}', "nul", '"\u0001"', "{}{}", '{"__proto__":{"a":1}}', "-0", "1e400", '"\u2028"'),
  );
  const around = fc.constantFrom("", "", " ", "\t", "\r", " \r");
  const line = fc.oneof(
    { weight: 6, arbitrary: fc.tuple(around, jsonText, around).map((parts) => parts.join("")) },
    { weight: 1, arbitrary: around },
  );

  /** A simple reference implementation. */
  function slowly(text: string): unknown[] {
    const found: unknown[] = [];
    let rest = text;
    while (rest !== "") {
      const cut = rest.search("\n");
      const own = cut < 0 ? rest : rest.slice(0, cut);
      rest = cut < 0 ? "" : rest.slice(cut + 1);
      if (/^[ \t\r]*$/.test(own)) continue;
      const pointer = `/${found.length}`;
      try {
        found.push({ pointer, value: JSON.parse(own) });
      } catch {
        found.push({ pointer, fault: "this line is not JSON" });
      }
    }
    return found;
  }

  it("by the line are what JSON.parse makes of each that is not blank, in order, the last newline there or not", () => {
    const answers = { value: 0, fault: 0 };
    fc.assert(
      fc.property(fc.array(line, { maxLength: 8 }), fc.constantFrom("", "\n", "\r\n", "\n\n"), (all, end) => {
        const parsed = parsedFrom(all.join("\n") + end, true);
        const events = slowly(all.join("\n") + end);
        expect(parsed).toEqual({ ok: true, events });
        for (const event of events) answers["fault" in (event as object) ? "fault" : "value"] += 1;
      }),
      { numRuns: 1_000 },
    );
    expect(Math.min(answers.value, answers.fault)).toBeGreaterThan(200);
  });

  it("as JSON are what JSON.parse makes of it, one or as many as the array has, or none at all", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          line,
          fc.array(line, { maxLength: 4 }).map((all) => `[${all.join(",")}]`),
        ),
        (text) => {
          const parsed = parsedFrom(text, false);
          let value: unknown;
          try {
            value = JSON.parse(text);
          } catch {
            expect(parsed).toEqual({ ok: false, kind: "not_json" });
            return;
          }
          const events = Array.isArray(value)
            ? value.map((each: unknown, i) => ({ pointer: `/${i}`, value: each }))
            : [{ pointer: "", value }];
          expect(parsed).toEqual({ ok: true, events });
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
