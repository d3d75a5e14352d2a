/** Which messages intake compresses for objects to take over, and how it knows that one would. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import {
  FRAGMENT_MAX_RAW_BYTES,
  FRAGMENT_MAX_RECORDS,
  FRAGMENT_MIN_DEFLATE_BYTES,
  QUEUE_MESSAGE_MAX_BYTES,
} from "../../../src/base/limits.ts";
import { NDJSON } from "../../../src/formats/output/format.ts";
import { macKeyOf } from "../../../src/formats/queue/mac.ts";
import { decodeMessage } from "../../../src/formats/queue/message.ts";
import { entryOf } from "../../../src/formats/record/extras.ts";
import { randomIds } from "../../../src/ship/intake/ids.ts";
import { type PackedMessage, packRecords } from "../../../src/ship/intake/packing.ts";
import { Takeovers } from "../../../src/ship/intake/takeovers.ts";
import type { JobConfig } from "../../../src/ship/job/config.ts";
import { NOON, noise, TAKEN } from "../../formats/record/samples.ts";
import { job, snapshot } from "../consumer/scripted.ts";
import { unpacked } from "./scripted.ts";

const KEY = macKeyOf(new Uint8Array(32));

/** So many lines of so many bytes, newlines included. */
const lines = (records: number, bytes: number): string[] =>
  Array.from(
    { length: records },
    (_, i) =>
      `"${noise(20, i)
        .replaceAll('"', "'")
        .padEnd(bytes - 3, "x")}"`,
  );

function packed(entries: readonly string[], forTakeover?: () => boolean, isSealed = true): PackedMessage[] {
  const result = packRecords(entries, {
    ...{ takenInMs: TAKEN, idOf: randomIds(1), keyed: false, shards: 1 },
    ...(isSealed && { seal: KEY }),
    ...(forTakeover && { forTakeover }),
  });
  if (!result.ok) throw new Error("too large");
  return result.messages;
}

const isTakenOver = ({ body }: Pick<PackedMessage, "body">): boolean => {
  const decoded = decodeMessage(body.slice().buffer, [KEY]);
  if (!decoded.ok) throw new Error(decoded.why);
  return decoded.value.takeover !== undefined;
};

describe("a message", () => {
  const yes = () => true;

  it.each([
    ["of the least that an object takes at once", 1, FRAGMENT_MIN_DEFLATE_BYTES, true],
    ["of a byte less", 1, FRAGMENT_MIN_DEFLATE_BYTES - 1, false],
    ["of the largest fragment", 1, FRAGMENT_MAX_RAW_BYTES, true],
    ["of a byte more", 1, FRAGMENT_MAX_RAW_BYTES + 1, false],
    ["of the most records of one", FRAGMENT_MAX_RECORDS, 200, true],
    ["of a record more", FRAGMENT_MAX_RECORDS + 1, 200, false],
  ])("%s: %i times %i bytes", (_what, records, bytes, expected) => {
    const entries = lines(records, bytes);
    const [only, ...others] = packed(entries, yes);
    expect([only && isTakenOver(only), others]).toEqual([expected, []]);
    expect(only && unpacked(only).lines).toEqual(entries);
  });

  it("is compressed as ever where no job takes it over, or none is sealed", () => {
    const entries = lines(200, 1_000);
    expect(packed(entries, () => false).map(isTakenOver)).toEqual([false]);
    expect(packed(entries).map(isTakenOver)).toEqual([false]);
    expect(packed(entries, yes, false).map(isTakenOver)).toEqual([false]);
  });

  it("too small to matter asks nothing", () => {
    const asked = vi.fn(yes);
    expect(packed(lines(100, 1_000), asked).map(isTakenOver)).toEqual([false]);
    expect(asked).not.toHaveBeenCalled();
    packed(lines(600, 1_000), asked);
    expect(asked).toHaveBeenCalledTimes(1);
  });

  it("that does not fit the queue becomes several, each of which is taken over if it is large enough", () => {
    const entries = Array.from({ length: 40 }, (_, i) => `"${noise(7_000, i).replaceAll('"', "'")}"`);
    const messages = packed(entries, yes);
    expect(messages.every(({ body }) => body.length <= QUEUE_MESSAGE_MAX_BYTES)).toBe(true);
    expect(messages.map(isTakenOver)).toEqual([true, true]);
    expect(messages.flatMap((message) => unpacked(message).lines)).toEqual(entries);
  });

  it("keeps extra fields beside records that are taken over", () => {
    const extra = '{"Truncated":true}';
    const entries = lines(200, 1_000).map((line, i) => (i === 7 ? entryOf(line, extra) : line));
    const [only] = packed(entries, yes);
    if (only === undefined) throw new Error("no message");
    expect(isTakenOver(only)).toBe(true);
    expect(unpacked(only).extras?.filter((each) => each !== "")).toEqual([extra]);
  });
});

describe("what an isolate knows of its jobs", () => {
  let nowMs = NOON;
  let answer: () => Promise<unknown> = async () => snapshot("e.1.m", []);
  const configSince = vi.fn((_state: string) => answer());
  const CONTROL = { getByName: () => ({ configSince }) } as unknown as Env["CONTROL"];
  let asking: Promise<void>[] = [];
  const way = {
    env: { CONTROL },
    waitUntil: (promise: Promise<void>) => void asking.push(promise),
    platform: { now: () => nowMs },
  };
  const answered = async (): Promise<void> => {
    await Promise.all(asking);
    asking = [];
  };
  beforeEach(() => {
    nowMs = NOON;
    asking = [];
    configSince.mockClear();
    vi.spyOn(console, "warn").mockImplementation(() => {});
  });

  /** Whether it is wanted, after an answer. */
  async function wantedBy(...jobs: JobConfig[]): Promise<boolean> {
    answer = async () => snapshot("e.1.m", jobs);
    const isWanted = new Takeovers().by(way);
    expect(isWanted()).toBe(false);
    await answered();
    return isWanted();
  }

  it.each<[string, Partial<JobConfig>, boolean]>([
    ["one that ships everything as it came", {}, true],
    ["one in hours apart", { path: "{DATE}/{HOUR}" }, true],
    ["one that is disabled", { windows: [{ fromMs: NOON - 9_000, untilMs: NOON - 1 }] }, false],
    ["one with a filter", { filter: '{"where":{"key":"Outcome","operator":"eq","value":"ok"}}' }, false],
    ["one with a sample", { sampleRate: 0.5 }, false],
    ["one of some fields", { output: { ...NDJSON, fieldNames: ["Outcome"] } }, false],
    ["one in scripts apart", { path: "{SCRIPT}" }, false],
  ])("is no at first, and then what an answer says: %s", async (_what, fields, expected) => {
    expect(await wantedBy(job(1, fields))).toBe(expected);
  });

  it("is yes if one job of several takes over, and no without jobs", async () => {
    expect(await wantedBy(job(1, { sampleRate: 0.5 }), job(2))).toBe(true);
    expect(await wantedBy()).toBe(false);
  });

  it("is asked for once a minute at most, by all ways of intake together", async () => {
    answer = async () => snapshot("e.1.m", [job(1)]);
    const takeovers = new Takeovers();
    for (let i = 0; i < 5; i++) takeovers.by(way)();
    await answered();
    nowMs += 59_999;
    expect(takeovers.by(way)()).toBe(true);
    expect(configSince.mock.calls).toEqual([[""]]);
    answer = async () => snapshot("e.2.m", []);
    nowMs += 1;
    expect(takeovers.by(way)()).toBe(true);
    await answered();
    expect(takeovers.by(way)()).toBe(false);
    expect(configSince.mock.calls).toEqual([[""], ["e.1.m"]]);
  });

  it("is asked for again after a clock was set back", async () => {
    const isWanted = new Takeovers().by(way);
    isWanted();
    nowMs -= 3_600_000;
    isWanted();
    isWanted();
    await answered();
    expect(configSince).toHaveBeenCalledTimes(2);
  });

  it("stays what it was where the control plane fails, and where there is none", async () => {
    const takeovers = new Takeovers();
    const isWanted = takeovers.by(way);
    answer = () => Promise.reject(new Error("down"));
    isWanted();
    await answered();
    expect(isWanted()).toBe(false);
    const absent = takeovers.by({ ...way, env: {} as Pick<Env, "CONTROL"> });
    nowMs += 60_000;
    expect(absent()).toBe(false);
    await answered();
    nowMs += 60_000;
    answer = async () => snapshot("e.1.m", [job(1)]);
    isWanted();
    await answered();
    answer = () => Promise.reject(new Error("down"));
    nowMs += 60_000;
    isWanted();
    await answered();
    expect(isWanted()).toBe(true);
  });

  it("delays nothing: a question without an answer ends after a while", async () => {
    vi.useFakeTimers();
    try {
      answer = () => new Promise(() => {});
      const isWanted = new Takeovers().by(way);
      expect(isWanted()).toBe(false);
      await vi.advanceTimersByTimeAsync(5_000);
      await answered();
      expect(isWanted()).toBe(false);
    } finally {
      vi.useRealTimers();
    }
  });
});
