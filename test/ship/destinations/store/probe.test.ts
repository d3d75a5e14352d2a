import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { PutRequest, StoreAnswer, StoreClient } from "../../../../src/ship/destinations/store/client.ts";
import {
  type Probed,
  persistently,
  tryCondition,
  writeChallenge,
  writeFault,
  writeProbe,
} from "../../../../src/ship/destinations/store/probe.ts";
import { answer as storeAnswer } from "../objects.ts";

const accepted = storeAnswer(200);
const noBody = async () => ({ answer: accepted, body: null });
const never = () => new Promise<StoreAnswer>(() => {});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a small object that shows what a destination does", () => {
  it("is refused by a store that never answers, in words, before the request itself is given up", async () => {
    const answer = writeProbe({ put: never, head: never, get: noBody }, "logs", 0);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(writeFault(await answer)).toBe("error writing object: error uploading: no answer in time");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is taken for written where the store took it and then shows nothing, before the request is given up", async () => {
    const answer = writeProbe({ put: async () => accepted, head: never, get: noBody }, "logs", 0);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(writeFault(await answer)).toBeNull();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("holds a challenge's token and nothing else, as text", async () => {
    const puts: PutRequest[] = [];
    const put = async (request: PutRequest) => {
      puts.push(request);
      return accepted;
    };
    const head = async (): Promise<StoreAnswer> => ({ ...accepted, status: 403 });
    expect(writeFault(await writeChallenge({ put, head, get: noBody }, "a/b.txt", "1.2.three"))).toBeNull();
    expect(puts).toMatchObject([{ key: "a/b.txt", bytes: 9, contentType: "text/plain", conditional: true }]);
    expect(new TextDecoder().decode(puts[0]?.body as Uint8Array)).toBe("1.2.three");
  });
});

describe("a small object that somebody waits for", () => {
  const answering = (...statuses: readonly number[]) => {
    const left = [...statuses];
    const store: StoreClient = {
      put: async () => ({ ...accepted, status: left.shift() ?? 418, etag: null }),
      head: async () => ({ ...accepted, status: 403 }),
      get: noBody,
    };
    return { left, write: () => writeProbe(store, "logs", 0) };
  };

  it.for([
    [[500, 200], null],
    [[503, 200], null],
    // It was stored, though the store said that it was not.
    [[500, 412, 200], null],
    [[500, 502], "HTTP 502"],
    [[500, 403], "HTTP 403"],
    [[404], "HTTP 404"],
    [[429, 200], null],
    [[429, 429], "HTTP 429"],
  ] as const)("is written once more after a 5xx or 429, and after nothing else: %o", async ([statuses, words]) => {
    const { left, write } = answering(...statuses);
    const fault = writeFault(await persistently(write));
    expect(fault).toBe(words && `error writing object: error uploading: ${words}`);
    expect(left).toEqual([]);
  });

  it("is not written once more before the time that the store names", async () => {
    const put = vi.fn(async (): Promise<StoreAnswer> => ({ ...accepted, status: 503, retryAfterS: 1 }));
    expect(await persistently(() => writeProbe({ put, head: never, get: noBody }, "logs", 0))).toMatchObject({
      kind: "failed",
    });
    expect(put).toHaveBeenCalledTimes(1);
  });

  it("is refused for the first answer, if the second takes too long", async () => {
    const failed: Probed = {
      kind: "failed",
      failure: { kind: "busy", words: "HTTP 500", retryAfterS: null, cause: 500 },
    };
    const write = vi
      .fn<() => Promise<Probed>>()
      .mockResolvedValueOnce(failed)
      .mockReturnValue(new Promise(() => {}));
    const answer = persistently(write);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await answer).toBe(failed);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a trial of the condition", () => {
  it("sends other bytes, as a store may say of the same ones that it took them", async () => {
    const first = new Map<string, string>();
    const put = async ({ key, sha256, conditional }: PutRequest): Promise<StoreAnswer> => {
      expect(conditional).toBe(true);
      const before = first.get(key) ?? sha256;
      first.set(key, before);
      return before === sha256 ? accepted : { ...accepted, status: 412 };
    };
    expect(await tryCondition({ put, head: never, get: noBody }, "logs/{DATE}", 0)).toBe("honoured");
    expect([...first.keys()]).toEqual(["logs/00010101/test.txt.gz"]);
  });
});
