/** A source that is slow, hostile, or has changed: reads are bounded, and content is verified. */
import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import type { SourceFault } from "../../../src/operate/replay/replay-text.ts";
import { sourceFault, waitingWords } from "../../../src/operate/replay/replay-text.ts";
import { openSource, passedOn, readWhole } from "../../../src/operate/replay/source.ts";
import { readAnswer } from "../../../src/ship/destinations/store/answers.ts";
import type { StoreAnswer } from "../../../src/ship/destinations/store/client.ts";

const answer = (fields: Partial<Extract<StoreAnswer, { kind: "answer" }>>): StoreAnswer => ({
  kind: "answer",
  status: 200,
  code: null,
  retryAfterS: null,
  etag: null,
  bytes: null,
  sha256: null,
  ...fields,
});

/** The fault that follows from an S3 answer without a body. */
function faultOf(said: StoreAnswer): SourceFault {
  const read = readAnswer(said, null);
  if (read.ok) throw new Error("this is a body");
  return sourceFault(read);
}

function delivered(bytes: Uint8Array): { key: string; bytes: number; sha256: string } {
  return { key: "k", bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
}

/** A body of these pieces. */
function bodyOf(pieces: readonly Uint8Array[], then: "end" | "hang" | "break" = "end"): ReadableStream<Uint8Array> {
  const queue = pieces.map((piece) => piece.slice());
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = queue.shift();
      if (piece !== undefined) controller.enqueue(piece);
      else if (then === "end") controller.close();
      else if (then === "break") controller.error(new Error("gone"));
      else return new Promise(() => {});
      return undefined;
    },
  });
}

const splits = (bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] => {
  const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return at.slice(1).map((end, i) => bytes.subarray(at[i], end));
};

const content = fc.uint8Array({ minLength: 1, maxLength: 300 });
const cutsOf = fc.array(fc.nat(), { maxLength: 6 });

describe("a source", () => {
  it("that is what was delivered comes whole, however it is cut; any other is damaged, and never ends", async () => {
    const property = fc.asyncProperty(content, content, cutsOf, async (wanted, sent, cuts) => {
      const object = delivered(wanted);
      const same = Buffer.compare(wanted, sent) === 0;
      for (const bytes of [wanted, sent]) {
        const right = bytes === wanted || same;
        const whole = await readWhole(bodyOf(splits(bytes, cuts)), object);
        if (right) expect(whole).toEqual(wanted);
        else expect(whole).toMatchObject({ kind: "damaged" });
        let fault: SourceFault | null = null;
        const stream = passedOn(
          async () => ({ ok: true, body: bodyOf(splits(bytes, cuts)) }),
          object,
          (found) => {
            fault = found;
          },
        );
        const got: Uint8Array[] = [];
        const read = async (): Promise<string> => {
          for await (const piece of stream) got.push(piece.slice());
          return "whole";
        };
        const end = await read().catch(() => "broken");
        expect([end, fault === null]).toEqual(right ? ["whole", true] : ["broken", false]);
        const total = got.reduce((sum, { length }) => sum + length, 0);
        if (right) expect(Buffer.concat(got)).toEqual(Buffer.from(wanted));
        else expect(total).toBeLessThan(wanted.length);
      }
    });
    await fc.assert(property, { numRuns: 150 });
  });

  it("that differs in one byte is found out", async () => {
    const property = fc.asyncProperty(content, fc.nat(), fc.integer({ min: 1, max: 255 }), async (wanted, at, by) => {
      const other = wanted.slice();
      const i = at % other.length;
      other[i] = (other[i] ?? 0) ^ by;
      expect(await readWhole(bodyOf([other]), delivered(wanted))).toMatchObject({ kind: "damaged" });
    });
    await fc.assert(property);
  });

  it("that breaks off is read again some other time", async () => {
    const wanted = new Uint8Array(100);
    const fault = await readWhole(bodyOf([wanted.subarray(0, 60)], "break"), delivered(wanted));
    expect(fault).toMatchObject({ kind: "error", error: { kind: "unreachable", words: "the source broke off" } });
  });

  it("that never ends is read no further than what was delivered", async () => {
    let pulled = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 1;
        controller.enqueue(new Uint8Array(1_000));
      },
    });
    const fault = await readWhole(endless, delivered(new Uint8Array(5_000)));
    expect(fault).toMatchObject({ kind: "damaged", words: "it is longer than the 5000 bytes that were delivered" });
    expect(pulled).toBeLessThan(10);
  });

  it("that stalls is left, and one that trickles, too", async () => {
    vi.useFakeTimers();
    try {
      const wanted = new Uint8Array(100);
      const stalled = readWhole(bodyOf([wanted.subarray(0, 60)], "hang"), delivered(wanted));
      await vi.advanceTimersByTimeAsync(20_000);
      expect(await stalled).toMatchObject({ kind: "error", error: { words: "the source stopped sending" } });
    } finally {
      vi.useRealTimers();
    }
    let now = 0;
    vi.spyOn(platform, "now").mockImplementation(() => now);
    let sent = 0;
    const trickle = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          now += 10_000;
          sent += 1;
          controller.enqueue(new Uint8Array(1));
        },
      },
      { highWaterMark: 0 },
    );
    expect(await readWhole(trickle, delivered(new Uint8Array(1_000)))).toMatchObject({
      kind: "error",
      error: { words: "the source stopped sending" },
    });
    expect(sent).toBe(5);
  });

  it("that says another length is not even read", async () => {
    const body = bodyOf([new Uint8Array(7)]);
    const store = { read: async () => readAnswer(answer({ bytes: 7 }), body) };
    expect(await openSource(store, delivered(new Uint8Array(5)))).toEqual({
      ok: false,
      fault: { kind: "damaged", words: "it has 7 bytes; 5 were delivered" },
    });
    expect(body.locked).toBe(false);
  });
});

describe("an answer without an object", () => {
  it.for([
    [{ status: 404, code: "NoSuchKey" }, "missing"],
    [{ status: 404 }, "missing"],
    [{ status: 410 }, "missing"],
    [{ status: 404, code: "NoSuchBucket", means: "destination" }, "misconfigured"],
    [{ status: 403, code: "AccessDenied" }, "misconfigured"],
    [{ status: 401 }, "misconfigured"],
    [{ status: 301 }, "misconfigured"],
    [{ status: 400 }, "misconfigured"],
    [{ status: 503, code: "SlowDown" }, "busy"],
    [{ status: 500 }, "busy"],
    [{ status: 429 }, "busy"],
    [{ status: 408 }, "busy"],
  ] as const)("%o is %s", ([fields, kind]) => {
    const fault = faultOf(answer(fields));
    expect(fault.kind === "error" ? fault.error.kind : fault.kind).toBe(kind);
  });

  it("is never taken for a missing object where the store says nothing of it", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 200, max: 599 }),
        fc.option(fc.stringMatching(/^[A-Za-z]{1,10}$/)),
        (status, code) => {
          const fault = faultOf(answer({ status, code }));
          if (status !== 404 && status !== 410) expect(fault.kind).toBe("error");
          const words = fault.kind === "error" ? waitingWords(fault.error) : fault.words;
          expect(words).toContain(`HTTP ${status}`);
        },
      ),
    );
    expect(faultOf({ kind: "unreachable", cause: "timeout" })).toMatchObject({ kind: "error" });
  });
});
