import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { encodeUtf8 } from "../../src/bytes.ts";
import { type Copy, firstCopy, type Keys, REGISTER_MS, RegisterError } from "../../src/intake/first-copy.ts";
import { PACKING, requestHash } from "../../src/intake/ids.ts";
import { TAKEN } from "../record/samples.ts";
import { scriptedPlatform } from "./scripted.ts";

const REQUEST = { key: "k", body: encodeUtf8("{}"), settings: "unnamed", nowMs: TAKEN };
const FIRST = { takenInMs: TAKEN - 1_000, packing: PACKING, settings: "before", keyed: false };

/** A register that gives these answers, one after the other; a function makes one. */
function scripted(...answers: unknown[]): Keys & { asked: [hash: string, copy: Copy][] } {
  const asked: [string, Copy][] = [];
  return {
    asked,
    async first(hash, copy) {
      asked.push([hash, copy]);
      const answer = answers.shift();
      return typeof answer === "function" ? answer() : answer;
    },
  };
}

const fails = () => Promise.reject(new Error("the shard is restarted"));
const never = () => new Promise(() => {});
const outcome = (keys: Keys, platform = scriptedPlatform(TAKEN)) =>
  firstCopy(REQUEST, { keys, platform }).catch((error: unknown) => error);

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

describe("what the first copy of a request was", () => {
  it("is what the register says", async () => {
    const keys = scripted(FIRST);
    expect(await outcome(keys)).toEqual(FIRST);
    expect(keys.asked).toEqual([
      [requestHash("k", REQUEST.body), { takenInMs: TAKEN, packing: PACKING, settings: "unnamed" }],
    ]);
  });

  it("is asked again, twice, where the register fails", async () => {
    const platform = scriptedPlatform(TAKEN);
    expect(await outcome(scripted(fails, fails, FIRST), platform)).toEqual(FIRST);
    expect(platform.slept).toEqual([100, 400]);
    const error = await outcome(scripted(fails, fails, fails, FIRST));
    expect(error).toBeInstanceOf(RegisterError);
    expect((error as Error).cause).toMatchObject({ message: "the shard is restarted" });
  });

  it("is unknown after five seconds where the register does not answer, in whichever try", async () => {
    for (const answers of [[never], [fails, never], [fails, fails, never]]) {
      const keys = scripted(...answers);
      const asked = outcome(keys);
      await vi.advanceTimersByTimeAsync(REGISTER_MS - 1);
      await vi.advanceTimersByTimeAsync(1);
      expect(await asked).toBeInstanceOf(RegisterError);
      expect(keys.asked.length).toBe(answers.length);
    }
  });

  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["text", "yes"],
    ["no time", { ...FIRST, takenInMs: undefined }],
    ["a time that is none", { ...FIRST, takenInMs: -1 }],
    ["a time beyond numbers", { ...FIRST, takenInMs: 1e300 }],
    ["no packing", { ...FIRST, packing: null }],
    ["other settings than text", { ...FIRST, settings: 5 }],
    ["no word on ids", { ...FIRST, keyed: 1 }],
  ])("is unknown where the answer is nonsense: %s", async (_what, answer) => {
    expect(await outcome(scripted(answer))).toBeInstanceOf(RegisterError);
  });

  it("cannot be followed where newer code packed it", async () => {
    const error = await outcome(scripted({ ...FIRST, packing: PACKING + 1 }));
    expect(error).toMatchObject({ message: "a newer version of this service took the first copy of the request" });
    expect(error).toBeInstanceOf(RegisterError);
  });
});
