import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { PutRequest, StoreAnswer } from "../../../src/destinations/store/client.ts";
import { tryCondition, writeChallenge, writeFault, writeProbe } from "../../../src/destinations/store/probe.ts";

const accepted: StoreAnswer = {
  kind: "answer",
  status: 200,
  code: null,
  retryAfterS: null,
  etag: null,
  bytes: null,
  sha256: null,
};
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
