import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../../../src/base/bytes.ts";
import { objectStore } from "../../../../src/ship/destinations/s3/object-store.ts";
import type { StoreAnswer } from "../../../../src/ship/destinations/store/client.ts";
import { destination } from "../context.ts";

const NOW = Date.UTC(2026, 10, 20, 12);
const HOUR_S = 3_600;

const bytes = encodeUtf8("x");
const put = (key: string) => ({
  key,
  body: bytes,
  bytes: bytes.length,
  sha256: "0".repeat(64),
  contentType: "application/x-ndjson",
  md5: null,
  conditional: true,
});

/** What is made of one answer of a store, and the URL that it was asked at. */
async function answerTo(response: Response, key = "k", path = ""): Promise<{ answer: StoreAnswer; url: string }> {
  let url = "";
  const store = objectStore(
    destination(`s3://traces/?region=auto&endpoint=store.example${path}&access-key-id=a&secret-access-key=b`),
    {
      now: () => NOW,
      sleep: async () => {},
      fetch: async (asked) => {
        url = `${asked}`;
        return response;
      },
    },
  );
  return { answer: await store.put(put(key)), url };
}

async function retryAfterS(header: string): Promise<number | null> {
  const { answer } = await answerTo(new Response(null, { status: 503, headers: { "retry-after": header } }));
  if (answer.kind !== "answer") throw new Error("no answer");
  return answer.retryAfterS;
}

describe("Retry-After", () => {
  it("in seconds is as many, up to an hour; none is nothing to wait for", async () => {
    const seconds = fc.oneof(fc.nat({ max: 5_000 }), fc.nat({ max: 999_999_999 }));
    await fc.assert(
      fc.asyncProperty(seconds, fc.nat({ max: 2 }), async (wanted, zeros) => {
        const header = `${wanted}`.padStart(`${wanted}`.length + zeros, "0").slice(0, 9);
        fc.pre(Number(header) === wanted);
        expect(await retryAfterS(header)).toBe(wanted === 0 ? null : Math.min(wanted, HOUR_S));
      }),
      { numRuns: 300 },
    );
  });

  it("as a date is the time until then, up to an hour; a date that has passed is nothing to wait for", async () => {
    const offsets = fc.oneof(fc.integer({ min: -5, max: 4_000 }), fc.integer({ min: -1e9, max: 1e9 }));
    await fc.assert(
      fc.asyncProperty(offsets, async (offset) => {
        const header = new Date(NOW + offset * 1_000).toUTCString();
        expect(await retryAfterS(header)).toBe(offset <= 0 ? null : Math.min(offset, HOUR_S));
      }),
      { numRuns: 300 },
    );
  });

  it("that is anything else is nothing, or at most an hour in whole seconds, and never a throw", async () => {
    const header = fc.oneof(
      fc.string({ unit: "grapheme-ascii" }),
      fc
        .array(fc.constantFrom("1", "-", "e9", ".", " ", ":", "Fri", ",", "GMT", "2099", "Nov", "Infinity", "NaN"), {
          maxLength: 6,
        })
        .map((pieces) => pieces.join("")),
    );
    await fc.assert(
      fc.asyncProperty(header, async (text) => {
        const wait = await retryAfterS(text);
        if (wait !== null) expect(Number.isInteger(wait) && wait >= 1 && wait <= HOUR_S).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

describe("the code of a refusal", () => {
  const code = fc.stringMatching(/^[A-Za-z0-9]{1,64}$/);
  const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 3 });

  function inPieces(text: string, pieces: readonly number[]): ReadableStream {
    const all = encodeUtf8(text);
    let at = 0;
    let turn = 0;
    return new ReadableStream({
      pull(controller) {
        if (at >= all.length) return controller.close();
        const size = pieces[turn++ % pieces.length] ?? 1;
        controller.enqueue(all.slice(at, at + size));
        at += size;
      },
    });
  }

  const codeOf = async (body: ReadableStream): Promise<string | null> => {
    const { answer } = await answerTo(new Response(body, { status: 403 }));
    if (answer.kind !== "answer") throw new Error("no answer");
    return answer.code;
  };

  it("is found in whatever pieces it comes, whatever stands around it", async () => {
    const around = fc.string({ unit: "grapheme", maxLength: 60 }).filter((text) => !text.includes("<Code>"));
    await fc.assert(
      fc.asyncProperty(code, around, around, sizes, async (wanted, before, after, pieces) => {
        const body = `<?xml version="1.0"?><Error>${before}<Code>${wanted}</Code><Message>${after}</Message></Error>`;
        expect(await codeOf(inPieces(body, pieces))).toBe(wanted);
      }),
      { numRuns: 200 },
    );
  });

  it("is a plain word or nothing, whatever a store says, and of an endless answer no more is read than it takes", async () => {
    const piece = fc.constantFrom(
      "<Code>",
      "</Code>",
      "<",
      "A",
      "a1",
      " ",
      "é",
      "\n",
      "x".repeat(64),
      "\u0000",
      "&lt;",
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 12 }), sizes, async (said, pieces) => {
        const found = await codeOf(inPieces(said.join(""), pieces));
        if (found !== null) {
          expect(found).toMatch(/^[A-Za-z0-9]{1,64}$/);
          expect(said.join("")).toContain(`<Code>${found}</Code>`);
        }
      }),
      { numRuns: 300 },
    );
    let pulls = 0;
    const endless = new ReadableStream({
      pull(controller) {
        pulls += 1;
        controller.enqueue(new Uint8Array(1_000).fill(0x20));
      },
    });
    expect(await codeOf(endless)).toBeNull();
    expect(pulls).toBeLessThan(40);
  });
});

describe("the URL of an object", () => {
  it("leads to exactly its key, whatever is in it, below the prefix of the endpoint", async () => {
    const segment = fc
      .string({
        unit: fc.oneof(
          fc.constantFrom("=", "+", "%", "?", "#", "&", ";", ":", "\\", "'", "(", "*", "!", "~", " ", "."),
          fc.string({ unit: "grapheme", minLength: 1, maxLength: 1 }),
        ),
        minLength: 1,
        maxLength: 8,
      })
      // A path with such segments is refused before; one may come of a `/` as well.
      .filter((text) => !text.split("/").some((part) => part === "." || part === ".."));
    await fc.assert(
      fc.asyncProperty(
        fc.array(segment, { minLength: 1, maxLength: 4 }),
        fc.constantFrom("", "/a/b"),
        async (segments, prefix) => {
          const key = segments.join("/");
          const { url } = await answerTo(new Response(), key, prefix);
          const { origin, pathname, search, hash } = new URL(url);
          expect([origin, search, hash]).toEqual(["https://store.example", "", ""]);
          expect(decodeURIComponent(pathname)).toBe(`${prefix}/traces/${key}`);
          // What a signature has encoded is encoded: RFC 3986 leaves these bare, and no others.
          expect(pathname).toMatch(/^[A-Za-z0-9._~/%-]*$/);
        },
      ),
      { numRuns: 300 },
    );
  });
});
