/**
 * Lines of objects out of stores that are slow, hostile, or have something else: bounded, and never
 * believed.
 */
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { streamOf } from "../../../src/base/streams.ts";
import { openObject, READ_PATIENCE, ReadFault, readLines } from "../../../src/ship/destinations/read-object.ts";
import { readAnswer } from "../../../src/ship/destinations/store/answers.ts";
import type { StoreAnswer } from "../../../src/ship/destinations/store/client.ts";
import { untilPasses } from "../../support/until.ts";
import { answer, bodyOf } from "./objects.ts";

afterEach(() => {
  vi.useRealTimers();
});

const encode = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text) as Uint8Array<ArrayBuffer>;

const storeOf = (body: ReadableStream<Uint8Array> | null, said: StoreAnswer = answer(200)) => ({
  read: async () => readAnswer(said, body),
});

interface Asked {
  skip?: number;
  limit?: number;
  bytesMax?: number;
}

const known = (file: Uint8Array, rawBytes: number) => ({ key: "k", bytes: file.length, rawBytes });

async function read(
  raw: Uint8Array,
  { skip = 0, limit = 100, bytesMax = 1_000_000 }: Asked = {},
  file = new Uint8Array(gzipSync(raw)),
  pieces: readonly Uint8Array[] = [file],
) {
  const object = known(file, raw.length);
  return readLines(await openObject(storeOf(bodyOf(pieces).body), object), object, { skip, limit, bytesMax });
}

/** What a reading of something else than was delivered ends with. */
async function fault(run: () => Promise<unknown>): Promise<[kind: string, words: string]> {
  const error = await run().then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ReadFault)) throw new Error(`no fault: ${error}`);
  return [error.kind, error.message];
}

function cut(bytes: Uint8Array, at: readonly number[]): Uint8Array[] {
  const ends = [0, ...at.map((each) => each % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return ends.slice(1).map((end, i) => bytes.subarray(ends[i], end));
}

describe("the lines of an object", () => {
  it("are those that are in it, whatever pieces it comes in, page by page", async () => {
    const text = fc.string({ unit: "binary", maxLength: 12 }).map((each) => each.replaceAll("\n", "").toWellFormed());
    const property = fc.asyncProperty(
      fc.array(text, { maxLength: 12 }),
      fc.boolean(),
      fc.array(fc.nat(), { maxLength: 5 }),
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 40, max: 200 }),
      async (texts, ends, cuts, limit, bytesMax) => {
        const raw = encode(texts.join("\n") + (ends && texts.length > 0 ? "\n" : ""));
        const wanted = texts.join("\n") + (ends && texts.length > 0 ? "\n" : "");
        const lines = wanted === "" ? [] : wanted.replace(/\n$/, "").split("\n");
        const file = new Uint8Array(gzipSync(raw));
        const got: { number: number; text: string; truncated: boolean }[] = [];
        let skip: number | null = 0;
        while (skip !== null) {
          const page: Awaited<ReturnType<typeof read>> = await read(
            raw,
            { skip, limit, bytesMax },
            file,
            cut(file, cuts),
          );
          expect(page.lines.length).toBeLessThanOrEqual(limit);
          if (page.next !== null) expect(page.next).toBe(skip + page.lines.length);
          if (page.next !== null) expect(page.lines.length).toBeGreaterThan(0);
          got.push(...page.lines);
          skip = page.next;
        }
        expect(got).toEqual(
          lines.map((each, i) => ({ number: i + 1, text: each.replace(/^\ufeff/, ""), truncated: false })),
        );
      },
    );
    await fc.assert(property, { numRuns: 100 });
  });

  it("come to so many bytes at most; one that is longer is cut between characters, and says so", async () => {
    const raw = encode(`${"é".repeat(50)}\nshort\n${"x".repeat(30)}\n${"y".repeat(30)}\n`);
    expect(await read(raw, { bytesMax: 41 })).toEqual({
      lines: [{ number: 1, text: "é".repeat(20), truncated: true }],
      next: 1,
    });
    expect(await read(raw, { skip: 1, bytesMax: 41 })).toEqual({
      lines: [
        { number: 2, text: "short", truncated: false },
        { number: 3, text: "x".repeat(30), truncated: false },
      ],
      next: 3,
    });
    expect(await read(raw, { skip: 3, bytesMax: 41 })).toMatchObject({ lines: [{ number: 4 }], next: null });
    expect(await read(raw, { skip: 9 })).toEqual({ lines: [], next: null });
  });

  it("are no more than were asked for, and the rest of the object is not", async () => {
    const noise = crypto.getRandomValues(new Uint8Array(60_000)).map((byte) => (byte === 10 ? 11 : byte));
    const raw = new Uint8Array(60_000 * 40);
    for (let i = 0; i < 40; i++) {
      raw.set(noise, i * 60_000);
      raw[i * 60_000 + 59_999] = 10;
      raw[i * 60_000] = i + 100;
    }
    // Stored as it is: what comes out is what went in.
    const file = new Uint8Array(gzipSync(raw, { level: 0 }));
    const { body, seen } = bodyOf(
      Array.from({ length: Math.ceil(file.length / 60_000) }, (_, i) => file.subarray(i * 60_000, (i + 1) * 60_000)),
    );
    const object = known(file, raw.length);
    const page = await readLines(await openObject(storeOf(body), object), object, { skip: 0, limit: 2, bytesMax: 1e6 });
    expect([page.lines.length, page.next]).toEqual([2, 2]);
    expect(seen.pulled).toBeLessThan(12);
    await untilPasses(() => expect(seen.cancelled).toBe(1));
  });
});

describe("what is not what was delivered", () => {
  const raw = encode('{"a":1}\n{"a":2}\n');
  const file = new Uint8Array(gzipSync(raw));

  it("is refused by its length: told, too long, too short", async () => {
    const told = bodyOf([file]);
    const open = () => openObject(storeOf(told.body, answer(200, { bytes: 7 })), known(file, raw.length));
    expect(await fault(open)).toEqual(["damaged", `it has 7 bytes; ${file.length} were delivered`]);
    expect(told.seen.cancelled).toBe(1);
    const of = (pieces: readonly Uint8Array[]) => fault(() => read(raw, {}, file, pieces));
    expect(await of([file, new Uint8Array(1)])).toEqual(["damaged", `it is longer; ${file.length} were delivered`]);
    expect((await of([file.subarray(0, 9)]))[0]).toBe("damaged");
  });

  it("is refused where it is no gzip, or breaks off", async () => {
    const plain = encode("<html>Welcome</html>");
    expect(await fault(() => read(plain, {}, plain))).toEqual(["damaged", "it is no whole gzip file"]);
    const altered = file.slice();
    altered[altered.length - 6] = (altered[altered.length - 6] ?? 0) ^ 255;
    expect(await fault(() => read(raw, {}, altered))).toEqual(["damaged", "it is no whole gzip file"]);
  });

  it("is read no further than it was long, however much it becomes", async () => {
    const bomb = new Uint8Array(gzipSync(new Uint8Array(30_000_000)));
    const object = known(bomb, 1_000);
    const { body } = bodyOf([bomb]);
    const run = async () =>
      readLines(await openObject(storeOf(body), object), object, { skip: 0, limit: 1, bytesMax: 100 });
    expect(await fault(run)).toEqual(["damaged", "it is longer than the 1000 bytes before compression"]);
  });

  it("is read no further than it was long, however long it goes on", async () => {
    let pulled = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 1;
        controller.enqueue(pulled === 1 ? file.slice() : new Uint8Array(1_000));
      },
    });
    const object = known(file, raw.length);
    const run = async () =>
      readLines(await openObject(storeOf(endless), object), object, { skip: 9, limit: 1, bytesMax: 100 });
    expect((await fault(run))[0]).toBe("damaged");
    expect(pulled).toBeLessThan(6);
  });

  it("is left where the store stalls or breaks off", async () => {
    const object = known(file, raw.length);
    const run = (then: "hang" | "break") => async () =>
      readLines(await openObject(storeOf(bodyOf([file.subarray(0, 8)], then).body), object), object, {
        skip: 0,
        limit: 1,
        bytesMax: 100,
      });
    expect(await fault(run("break"))).toEqual(["silent", "the store broke off"]);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const stalled = fault(run("hang"));
    await untilPasses(() => expect(vi.getTimerCount()).toBe(1));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await stalled).toEqual(["silent", "the store stopped sending"]);
  });

  it("is left where reading up to the lines takes too long", async () => {
    const { linesMs } = READ_PATIENCE;
    READ_PATIENCE.linesMs = -1;
    try {
      expect(await fault(() => read(raw))).toEqual(["silent", "reading up to there takes too long"]);
    } finally {
      READ_PATIENCE.linesMs = linesMs;
    }
  });

  it("is let go where the store answers too late", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const late = bodyOf([file]);
    const asked = Promise.withResolvers<ReturnType<typeof readAnswer>>();
    const opened = fault(() => openObject({ read: () => asked.promise }, known(file, raw.length)));
    await vi.advanceTimersByTimeAsync(15_000);
    expect(await opened).toEqual(["silent", "the store does not answer in time"]);
    asked.resolve(readAnswer(answer(200), late.body));
    await untilPasses(() => expect(late.seen.cancelled).toBe(1));
  });
});

describe("an answer without an object", () => {
  it.each<[StoreAnswer, string]>([
    [answer(404, { code: "NoSuchKey" }), "gone"],
    [answer(410), "gone"],
    [answer(404, { code: "NoSuchBucket", means: "destination" }), "refused"],
    [answer(403, { code: "AccessDenied" }), "forbidden"],
    [answer(401), "forbidden"],
    [answer(307), "refused"],
    [answer(400), "refused"],
    [answer(503), "silent"],
    [answer(429), "silent"],
    [answer(200), "damaged"],
    [{ kind: "unreachable", cause: "connection failed" }, "silent"],
  ])("%o is %s", async (said, kind) => {
    expect((await fault(() => openObject(storeOf(null, said), { key: "k", bytes: 1, rawBytes: 1 })))[0]).toBe(kind);
  });
});

describe("an object as it is", () => {
  it("comes whole, and breaks off where it is another", async () => {
    const bytes = encode("anything at all");
    const object = known(bytes, 0);
    const whole = streamOf(await openObject(storeOf(bodyOf(cut(bytes, [3, 9])).body), object));
    expect(new Uint8Array(await new Response(whole).arrayBuffer())).toEqual(bytes);
    const short = streamOf(await openObject(storeOf(bodyOf([bytes.subarray(1)]).body), object));
    await expect(new Response(short).arrayBuffer()).rejects.toThrow("were delivered");
  });

  it("is let go by whoever stops reading", async () => {
    const { body, seen } = bodyOf([encode("a"), encode("b")], "hang");
    const reader = streamOf(await openObject(storeOf(body), { key: "k", bytes: 9, rawBytes: 9 })).getReader();
    await reader.read();
    await reader.cancel();
    await untilPasses(() => expect(seen.cancelled).toBe(1));
  });
});
