import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { PutRequest, StoreAnswer, StoreClient } from "../../../../src/ship/destinations/store/client.ts";
import { openStore } from "../../../../src/ship/destinations/store/open.ts";
import {
  type Probed,
  persistently,
  tryCondition,
  writeChallenge,
  writeFault,
  writeProbe,
} from "../../../../src/ship/destinations/store/probe.ts";
import { fixed, answer as storeAnswer } from "../objects.ts";

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

describe("writes of one key", () => {
  /** It takes one write a second of a key, as Google's does, and refuses the next with 429. */
  function google(script: readonly number[] = []) {
    let nowMs = 0;
    const left = [...script];
    const puts: { key: string; atMs: number; status: number }[] = [];
    const stood = new Map<string, number>();
    const store: StoreClient = {
      put: async ({ key, conditional }) => {
        nowMs += 50;
        const last = stood.get(key);
        const isSoon = last !== undefined && nowMs - last < 1_000;
        const status = left.shift() ?? (isSoon ? 429 : conditional && last !== undefined ? 412 : 200);
        if (status === 200) stood.set(key, nowMs);
        puts.push({ key, atMs: nowMs, status });
        return { ...accepted, status, etag: null };
      },
      head: async () => ({ ...accepted, status: 403 }),
      get: noBody,
    };
    const later = (ms: number): void => {
      nowMs += ms;
    };
    const platform = { now: () => nowMs, sleep: async (ms: number) => later(ms) };
    const opened = openStore(store, { path: "logs", platform, why: async () => null });
    return { opened, puts, later };
  }

  /** The shortest time between two PUTs of one key, in ms. */
  const shortest = (puts: readonly { key: string; atMs: number }[]): number =>
    Math.min(
      ...[...Map.groupBy(puts, ({ key }) => key).values()].flatMap((own) =>
        own.slice(1).map(({ atMs }, i) => atMs - (own[i]?.atMs ?? 0)),
      ),
    );

  const object = fixed(new TextEncoder().encode("an object\n"));
  const write = (opened: ReturnType<typeof google>["opened"]) =>
    opened.write({ ...object, key: "a" }, () => new Uint8Array(10), { doubtful: false, leaveOut: 0 });

  it.each<[what: string, run: (opened: ReturnType<typeof google>["opened"]) => Promise<unknown>, script: number[]]>([
    ["a probe that stands there", (opened) => opened.probe().then(() => opened.probe()), []],
    ["a probe after a 503", (opened) => opened.probe(), [503]],
    ["a challenge that is asked for twice", (o) => o.challenge("c", "1").then(() => o.challenge("c", "1")), []],
    ["a trial of the condition", write, []],
    ["a trial, and a probe for an object that is refused", write, [200, 412, 400]],
    ["a canary", (o) => o.overwrite(object, new Uint8Array(1)).then(() => o.overwrite(object, new Uint8Array(1))), []],
  ])("have a second between them: %s", async (_what, run, script) => {
    const { opened, puts } = google(script);
    await run(opened);
    expect(puts.length).toBeGreaterThan(1);
    expect(puts.filter(({ status }) => status === 429)).toEqual([]);
    expect(shortest(puts.filter(({ key }) => key !== "a"))).toBeGreaterThanOrEqual(1_000);
  });

  it("come again after a second where another one's probe was in time before them", async () => {
    const { opened, puts } = google([429]);
    expect(await opened.probe()).toBeNull();
    expect(puts.map(({ status }) => status)).toEqual([429, 200]);
    expect(shortest(puts)).toBeGreaterThanOrEqual(1_000);
  });

  it("do not wait for what was refused for a header: nothing was written", async () => {
    const { opened, puts } = google([501, 501]);
    expect(await opened.probe()).toBeNull();
    expect(puts.map(({ atMs }) => atMs)).toEqual([50, 100, 150]);
  });

  it("wait a second at most, whatever a clock does", async () => {
    const { opened, puts, later } = google();
    await opened.probe();
    later(-3_600_000);
    await opened.probe();
    expect(puts.map(({ atMs }) => atMs + 3_600_000 * Number(atMs < 0)).at(1)).toBe(1_100);
  });
});
