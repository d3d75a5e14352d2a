import { beforeEach, describe, expect, it, vi } from "vitest";
import type { DedupId } from "../../../src/base/storage/dedup-index.ts";
import { TraceLog } from "../../../src/ship/log/trace-log.ts";
import { createJob } from "../../support/runtime/api.ts";
import { freshBucket, NOON, redeliver, setClock } from "../../support/runtime/pipeline.ts";
import { damaged, id } from "../consumer/scripted.ts";
import { control, message, open, rowsWritten, shard } from "./shard.ts";

const taken = (n: number): DedupId => ({ id: id(n), takenInMs: NOON + n, keyed: false });
const queue = { backlog: 0, backlogBytes: 0, doneMs: 0 };
const append = (n: number) => shard().append(open([message(n, { takenInMs: NOON + n })], { queue }));
const note = (...notes: number[]) => shard().expectAgain(notes.map(taken), "returned");

beforeEach(() => {
  setClock(NOON);
  vi.spyOn(console, "error").mockImplementation(() => {});
});

describe("what a shard knows to come again", () => {
  beforeEach(() => void control());

  it("is forgotten when it is taken", async () => {
    await note(1, 2);
    expect(await shard().oldestUnfinishedMs()).toBe(NOON + 1);
    await append(1);
    expect(await shard().oldestUnfinishedMs()).toBe(NOON + 2);
  });

  it("is not what is taken by now: the note was late", async () => {
    await append(1);
    await note(1);
    expect(await shard().oldestUnfinishedMs()).toBeNull();
  });
});

it("an old message that cannot be read holds up nothing: it is noted as it comes, and that is taken back", async () => {
  const clock = setClock(NOON);
  await createJob(freshBucket().name);
  clock.advance(100_000);
  const sent = (n: number, body: ArrayBuffer) => ({ id: id(n), body: new Uint8Array(body) }) as never;
  const noted = vi.spyOn(TraceLog.prototype, "expectAgain");
  const batch = [sent(1, damaged(message(1))), sent(2, message(2))];
  expect(await redeliver(batch, 1)).toMatchObject({ acked: [id(1), id(2)], retried: [] });
  expect(noted.mock.calls.map(([parts]) => parts)).toMatchObject([[{ id: id(1) }, { id: id(2) }]]);
  const { counts, oldestUnfinishedMs } = await shard(0).accountStatus();
  expect([counts.processed, counts.set_aside, oldestUnfinishedMs]).toEqual([2, 1, null]);
});

describe("what a shard knows of deliveries that died", () => {
  beforeEach(() => void control());

  const begun = (n: number, attempts: number) => shard().expectAgain([{ ...taken(n), attempts }], "begun");
  const died = async (n: number, attempts: number) => (await begun(n, attempts)).map(({ deaths }) => deaths);

  it("is how many began in a row, and ended without a word", async () => {
    expect([await died(1, 1), await died(1, 2), await died(1, 4)]).toEqual([[], [1], [2]]);
    expect(await died(2, 7)).toEqual([]);
  });

  it("is nothing where the same delivery is noted twice, or comes later than the next", async () => {
    expect([await died(1, 2), await died(1, 2), await died(1, 1)]).toEqual([[], [], []]);
    expect(await died(1, 3)).toEqual([1]);
  });

  it("is over when one was tried and went back, and stays when it was not tried", async () => {
    await begun(1, 1);
    await begun(1, 2);
    await shard().expectAgain([taken(1)], "untried");
    expect([await died(1, 3), await died(1, 4)]).toEqual([[1], [2]]);
    await shard().expectAgain([taken(1)], "returned");
    expect([await died(1, 5), await died(1, 6)]).toEqual([[], [1]]);
  });

  it("counts from a hundred for one that is tried alone, while others get through", async () => {
    const alone = async (n: number, attempts: number) => {
      const deaths = await died(n, attempts);
      await shard().expectAgain([{ ...taken(n), attempts }], "alone");
      return deaths;
    };
    // Nothing was taken yet.
    expect([await died(1, 1), await alone(1, 2), await alone(1, 3), await alone(1, 4)]).toEqual([
      [],
      [1],
      [100],
      [100],
    ]);
    const clock = setClock(NOON);
    await append(9);
    clock.advance(20 * 60_000);
    expect([await alone(1, 5), await alone(1, 6)]).toEqual([[101], [102]]);
    clock.advance(1);
    expect([await alone(1, 7), await died(2, 1), await died(2, 2), await died(2, 3)]).toEqual([[102], [], [1], [2]]);
    await append(8);
    expect(await alone(1, 8)).toEqual([103]);
  });

  it("is what it was before the message was tried alone, and a hundred more", async () => {
    await append(9);
    await begun(1, 1);
    await begun(1, 2);
    for (const attempts of [3, 4]) {
      await begun(1, attempts);
      await shard().expectAgain([{ ...taken(1), attempts }], "alone");
    }
    expect(await died(1, 5)).toEqual([102]);
  });

  it("is forgotten when it is taken, and what was taken is not noted", async () => {
    await begun(1, 1);
    await append(1);
    expect([await died(1, 2), await died(1, 3)]).toEqual([[], []]);
    expect(await shard().oldestUnfinishedMs()).toBeNull();
  });

  it("writes nothing that it knows already", async () => {
    await begun(1, 1);
    const note = (how: "begun" | "returned", attempts: number) => (log: TraceLog) =>
      log.expectAgain([{ ...taken(1), attempts }], how);
    const written = await rowsWritten(note("begun", 1), note("returned", 1), note("returned", 1), note("begun", 2));
    expect(written).toEqual([0, 1, 0, 1]);
  });
});
