import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { retryDelayS } from "../../../src/formats/queue/retries.ts";
import { consumeDead, consumeEvents } from "../../../src/ship/consumer/consume.ts";
import { NOON } from "../../formats/record/samples.ts";
import { type Delivered, deliver, id, job, one, record, type World, world as worldLater } from "./scripted.ts";

/** A world in which messages are delivered at their time of intake. */
const world = (config: Parameters<typeof worldLater>[0]): World => Object.assign(worldLater(config), { nowMs: NOON });
const never = <T>(): Promise<T> => new Promise<T>(() => {});
const again = (attempts = 1): string => `retry after ${retryDelayS(attempts)} s`;

/** A message of which four make a group. */
const fat = (n: number) => one(n, { records: [record(`${n}`.padEnd(900_000, "x"))] });
const many = (length: number): ArrayBuffer[] => Array.from({ length }, (_, n) => fat(n));

/** Runs a batch to its end. @returns its duration, in ms. */
async function lasts(under: Promise<unknown>): Promise<number> {
  const began = Date.now();
  let ended: number | null = null;
  under.finally(() => {
    ended = Date.now() - began;
  });
  for (let s = 0; s < 900 && ended === null; s++) await vi.advanceTimersByTimeAsync(1_000);
  if (ended === null) throw new Error("still under way when the platform ends it");
  return ended;
}

const consumed = ({ batch }: Delivered, it_: World): Promise<number> => lasts(consumeEvents(batch, it_));
const returned = (it_: World): string[] => it_.noted.filter(({ how }) => how === "returned").map((note) => note.id);

let errors: ReturnType<typeof vi.spyOn>;
beforeEach(() => {
  vi.useFakeTimers();
  errors = vi.spyOn(console, "error").mockImplementation(() => {});
  vi.spyOn(console, "warn").mockImplementation(() => {});
});

afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

describe("a shard that does not answer", () => {
  it("an append holds a batch for ten seconds, however many groups it is; all comes again, and is noted as that", async () => {
    const it_ = world([job(1)]);
    const append = vi.fn(never);
    it_.append = append;
    const delivered = deliver(many(12));
    expect(await consumed(delivered, it_)).toBe(10_000);
    expect(delivered.fates()).toEqual(Array(12).fill(again()));
    // It hung once and is not asked again.
    expect(append).toHaveBeenCalledOnce();
    expect(returned(it_)).toEqual(Array.from({ length: 12 }, (_, n) => id(n)));
  });

  it("the question what it knows holds a batch for five seconds; nothing is appended to it, and all comes again", async () => {
    const it_ = world([job(1)]);
    it_.known = never;
    const delivered = deliver([one(1), one(2)], { attempts: 3 });
    expect(await consumed(delivered, it_)).toBe(5_000);
    expect([delivered.fates(), it_.tries]).toEqual([[again(3), again(3)], 0]);
  });

  it("what it is to put on hold, holds all of these for ten seconds together, and their neighbours no longer", async () => {
    const it_ = world([job(1)]);
    const hold = vi.fn(never<void>);
    it_.hold = hold;
    const delivered = deliver(["bad", one(1), "worse", "worst", one(2, { shards: 2, shard: 1 })]);
    expect(await consumed(delivered, it_)).toBe(10_000);
    // What is of the same shard is not appended either: it timed out.
    expect(delivered.fates()).toEqual([again(), again(), again(), again(), "ack"]);
    expect(hold).toHaveBeenCalledOnce();
  });

  it("dead letters, holds these for ten seconds; they come again", async () => {
    const it_ = world([job(1)]);
    it_.hold = never;
    const delivered = deliver(Array.from({ length: 10 }, (_, n) => one(n)));
    expect(await lasts(consumeDead(delivered.batch, it_))).toBe(10_000);
    expect(delivered.fates()).toEqual(Array(10).fill(again()));
  });

  it("a note of what comes again, delays the end by five seconds, and changes nothing", async () => {
    const it_ = world([job(1)]);
    it_.script = ["fail"];
    it_.expectAgain = never;
    const delivered = deliver([one(1), one(2)]);
    expect(await consumed(delivered, it_)).toBe(5_000);
    expect(delivered.fates()).toEqual([again(), again()]);
  });
});

describe("a queue that does not answer", () => {
  it("a message that is sent anew, holds a batch for five seconds; it comes again as it is", async () => {
    const it_ = world([job(1)]);
    it_.script = ["fail"];
    it_.sendAnew = never;
    const delivered = deliver([one(1), one(2)], { attempts: 90 });
    expect(await consumed(delivered, it_)).toBe(5_000);
    expect(delivered.fates()).toEqual([again(90), again(90)]);
  });
});

describe("a shard that answers nonsense", () => {
  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["an empty object", {}],
    ["yes", true],
    ["ids that are none", { fresh: [1], tooOld: [] }],
    ["a text instead of ids", { fresh: "secret-of-a-customer", tooOld: [] }],
  ])("has taken nothing, as far as is known: %s", async (_what, answer) => {
    const it_ = world([job(1)]);
    it_.append = async () => answer;
    const delivered = deliver([one(1)]);
    await consumed(delivered, it_);
    expect([delivered.fates(), returned(it_)]).toEqual([[again()], [id(1)]]);
    expect(JSON.stringify(errors.mock.calls)).not.toContain("secret-of-a-customer");
  });
});

describe("a batch", () => {
  it("is given back after four minutes, as far as it is not done: the platform would end it, and believe nothing of it", async () => {
    const it_ = world([]);
    const append = it_.append.bind(it_);
    it_.append = async (...args) => {
      await new Promise((resolve) => setTimeout(resolve, 9_900));
      return append(...args);
    };
    const delivered = deliver(many(100));
    expect(await consumed(delivered, it_)).toBe(240_000);
    expect(delivered.fates()).toEqual([...Array(96).fill("ack"), ...Array(4).fill(again())]);
    expect(returned(it_)).toEqual([96, 97, 98, 99].map((n) => id(n)));
    // The append under way.
    await vi.advanceTimersByTimeAsync(9_900);
  });
});
