import { gzipSync } from "node:zlib";
import { describe, expect, it, vi } from "vitest";
import { concat } from "../../../src/base/bytes.ts";
import { EVENTS_PACE as PACE } from "../../../src/base/limits.ts";
import { inflated, type Pieces } from "../../../src/base/streams.ts";
import { discardRest, readBody } from "../../../src/ship/intake/body.ts";
import { noise } from "../../formats/record/samples.ts";
import { onFakeClock, stalled } from "../../support/runtime/stalled.ts";

const MAX = 100_000;
const bytesOf = (text: string) => new TextEncoder().encode(text);

function post(body: Uint8Array | ReadableStream | null, headers: Record<string, string> = {}): Request {
  return new Request("http://logship.test/", { method: "POST", body, headers });
}

/** A body of zeros, ten thousand at a time. */
function endless(bytes = Number.POSITIVE_INFINITY): {
  body: ReadableStream;
  seen: { sent: number; cancelled: boolean };
} {
  const seen = { sent: 0, cancelled: false };
  const body = new ReadableStream({
    pull(controller) {
      if (seen.sent >= bytes) return controller.close();
      seen.sent += 10_000;
      controller.enqueue(new Uint8Array(10_000));
    },
    cancel() {
      seen.cancelled = true;
    },
  });
  return { body, seen };
}

/** More than any accepted body. */
const REST = 33_554_432;
const gzip = { "content-encoding": "gzip" };
const tooLarge = { ok: false, fault: { status: 413, message: `the body is larger than ${MAX} bytes` } };
const badGzip = { ok: false, fault: { status: 400, message: "the body is not valid gzip" } };

describe("the body of a request", () => {
  const bodies: [what: string, bytes: Uint8Array][] = [
    ["nothing", new Uint8Array()],
    ["a few bytes", bytesOf("{}")],
    ["as many bytes as are allowed", bytesOf(noise(MAX))],
  ];

  it.each([100, 65_536, MAX])("is refused if it is twice as long as it says: %i bytes", async (said) => {
    const sent = new Uint8Array(gzipSync(bytesOf(noise(2 * said))));
    new DataView(sent.buffer).setUint32(sent.length - 4, said, true);
    const read = await readBody(post(sent, { ...gzip, "content-length": `${sent.length}` }), 3 * MAX, PACE);
    expect(read).toEqual(badGzip);
  });

  it.each(bodies)("is read to its end, gzip or not: %s", async (_what, bytes) => {
    for (const [sent, encoding] of [
      [bytes, null],
      [bytes, "identity"],
      [gzipSync(bytes), "gzip"],
      [gzipSync(bytes), " GZip "],
    ] as const) {
      const read = await readBody(post(sent, encoding === null ? {} : { "content-encoding": encoding }), MAX, PACE);
      // Texts are compared faster than bytes.
      expect(read.ok && new TextDecoder().decode(read.bytes)).toBe(new TextDecoder().decode(bytes));
    }
  });

  it("may be absent", async () => {
    expect(await readBody(post(null), MAX, PACE)).toEqual({ ok: true, bytes: new Uint8Array() });
  });

  it("is refused by the length it announces, before a byte is read", async () => {
    let pulls = 0;
    const pull = (controller: ReadableStreamDefaultController): void => {
      pulls += 1;
      controller.enqueue(new Uint8Array(10));
    };
    const source = new ReadableStream({ pull }, { highWaterMark: 0 });
    expect(await readBody(post(source, { "content-length": `${MAX + 1}` }), MAX, PACE)).toEqual(tooLarge);
    expect(pulls).toBe(0);
  });

  it("is read no further than the limit when it never ends, and let go of with what nobody wants of it", async () => {
    const { body, seen } = endless();
    const request = post(body);
    expect(await readBody(request, MAX, PACE)).toEqual(tooLarge);
    expect(seen).toEqual({ sent: expect.toSatisfy((sent: number) => sent <= 2 * MAX), cancelled: false });
    await discardRest(request);
    expect(seen).toEqual({ sent: expect.toSatisfy((sent: number) => sent <= REST + 4 * MAX), cancelled: true });
  });

  it("is let go of at the limit when it is a bomb", async () => {
    let inflated = 0;
    const bomb = gzipSync(new Uint8Array(20_000_000));
    const source = new ReadableStream({
      pull(controller) {
        // Not a repeated chunk: the source counts how much is read.
        if (inflated >= bomb.length) return controller.close();
        controller.enqueue(bomb.subarray(inflated, inflated + 100));
        inflated += 100;
      },
    });
    const request = post(source, gzip);
    expect(await readBody(request, MAX, PACE)).toEqual(tooLarge);
    expect(inflated).toBeLessThan(bomb.length / 4);
    // Else the answer might not arrive: the rest has to be read.
    await discardRest(request);
    expect(inflated).toBeGreaterThanOrEqual(bomb.length);
  });

  it("is inflated no further than it is read, though all of it has come at once", async () => {
    const bomb = new Uint8Array(gzipSync(new Uint8Array(60_000_000), { level: 1 }));
    let taken = 0;
    const slice = (start?: number, end?: number) => {
      const part = Uint8Array.prototype.slice.call(bomb, start, end);
      taken += part.length;
      return part;
    };
    async function* once(): Pieces {
      yield Object.assign(bomb, { slice });
    }
    const pieces = inflated(once());
    await pieces.next();
    await pieces.return();
    expect(taken).toBeGreaterThan(0);
    expect(taken).toBeLessThan(bomb.length / 2);
  });

  const whole = gzipSync(bytesOf('{"event":null}'));
  const flipped = (at: number) =>
    whole.map((byte, i) => (i === (at + whole.length) % whole.length ? byte ^ 0x55 : byte));
  const broken: [what: string, bytes: Uint8Array][] = [
    ["not gzip at all", bytesOf('{"event":null}')],
    ["empty", new Uint8Array()],
    ["without its trailer", whole.subarray(0, -8)],
    ["of another checksum", flipped(-5)],
    ["of another length", flipped(-1)],
    ["followed by something else", concat([whole, bytesOf("more")])],
  ];

  it.each(broken)("is refused when it should be gzip and is %s", async (_what, bytes) => {
    expect(await readBody(post(bytes, gzip), MAX, PACE)).toEqual(badGzip);
    const sized = { ...gzip, "content-length": `${bytes.length}` };
    expect(await readBody(post(bytes, sized), MAX, PACE)).toEqual(badGzip);
  });

  it.each([
    ["unsized", {}],
    ["sized", { "content-length": `${2 * whole.length}` }],
  ])("is read as what its two members hold, %s", async (_how, length) => {
    const both = { ok: true, bytes: bytesOf('{"event":null}{"event":null}') };
    expect(await readBody(post(concat([whole, whole]), { ...gzip, ...length }), MAX, PACE)).toEqual(both);
  });

  it("is refused when it says a length and is longer", async () => {
    const long = new Uint8Array(2_100_000);
    expect(await readBody(post(long, { ...gzip, "content-length": "20" }), MAX, PACE)).toEqual(badGzip);
  });

  it("is refused when it breaks off", async () => {
    const source = new ReadableStream({
      start(controller) {
        controller.enqueue(bytesOf("{"));
        controller.error(new Error("the client went away"));
      },
    });
    expect(await readBody(post(source), MAX, PACE)).toEqual({
      ok: false,
      fault: { status: 400, message: "the body broke off" },
    });
  });

  it.each<[what: string, headers: Record<string, string>, begins: string]>([
    ["", {}, "{"],
    [", with a length", { "content-length": "100" }, "{"],
    [" in the middle of gzip", gzip, "\u001f"],
  ])("is cancelled when it falls silent%s", async (_what, headers, begins) => {
    const { body, seen } = stalled(begins);
    const { value, seconds } = await onFakeClock(() =>
      readBody(post(body, headers), MAX, { silenceMs: 3_000, ms: 60_000 }),
    );
    expect([value, seconds, seen.cancelled]).toEqual([
      { ok: false, fault: { status: 408, message: expect.stringContaining("nothing of it came for 3000 ms") } },
      3,
      true,
    ]);
  });

  it("is cancelled when all of it takes too long, however steadily it comes", async () => {
    let cancelled = false;
    const dribble = () =>
      new ReadableStream({
        async pull(controller) {
          await new Promise((resolve) => setTimeout(resolve, 1_000));
          if (!cancelled) controller.enqueue(new Uint8Array(1));
        },
        cancel() {
          cancelled = true;
        },
      });
    const { value, seconds } = await onFakeClock(() => readBody(post(dribble()), MAX, { silenceMs: 3_000, ms: 8_000 }));
    expect([value.ok, seconds, cancelled]).toEqual([false, 8, true]);
  });

  it.each(["br", "deflate", "gzip, gzip", "x-gzip", "zstd"])("is refused in the encoding %s", async (encoding) => {
    const answer = await readBody(post(bytesOf("{}"), { "content-encoding": encoding }), MAX, PACE);
    expect(answer).toEqual({ ok: false, fault: { status: 415, message: "Content-Encoding must be gzip or absent" } });
  });
});

describe("what nobody wants of a body", () => {
  it("is read to its end, none or some of it having been read before", async () => {
    for (const limit of [null, MAX]) {
      const { body, seen } = endless(2_000_000);
      const request = post(body);
      if (limit !== null) expect(await readBody(request, limit, PACE)).toEqual(tooLarge);
      await discardRest(request);
      expect(seen).toEqual({ sent: 2_000_000, cancelled: false });
    }
  });

  it("is nothing where there is no body, where it was read, where it broke off, or where somebody else reads it", async () => {
    await discardRest(post(null));
    const whole = post(bytesOf("{}"));
    await readBody(whole, MAX, PACE);
    await discardRest(whole);
    const broken = new ReadableStream({ pull: (controller) => controller.error(new Error("gone")) });
    await discardRest(post(broken));
    const { body, seen } = endless();
    const request = post(body);
    const reader = request.body?.getReader();
    await discardRest(request);
    expect([seen.cancelled, (await reader?.read())?.done]).toEqual([false, false]);
  });

  it("is waited for two seconds and no longer", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      let isOver = false;
      const request = post(new ReadableStream({ pull: () => new Promise(() => {}) }));
      const discarded = discardRest(request).then(() => {
        isOver = true;
      });
      await vi.advanceTimersByTimeAsync(1_999);
      expect(isOver).toBe(false);
      await vi.advanceTimersByTimeAsync(1);
      await discarded;
    } finally {
      vi.useRealTimers();
    }
  });
});
