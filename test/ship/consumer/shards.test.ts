/** Batches whose messages belong to several shards of the log. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { retryDelayS } from "../../../src/formats/queue/retries.ts";
import { consumeDead, consumeEvents } from "../../../src/ship/consumer/consume.ts";
import { deliver, id, job, one, record, shipped, type World, world } from "./scripted.ts";

const AGAIN = `retry after ${retryDelayS(1)} s`;
const inSecond = (n: number, fields: Parameters<typeof one>[1] = {}) => one(n, { shards: 2, shard: 1, ...fields });

/** Numbers of the parts in each append, by shard. */
const appends = (it_: World) =>
  it_.appends.map(({ shard, append }) => [shard, append.parts.map((part) => Number.parseInt(part.id.slice(4), 16))]);

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  vi.spyOn(console, "warn").mockImplementation(() => {});
});

describe("a batch of two shards", () => {
  it("is appended to each with its own messages, and to one of them as a batch", async () => {
    const it_ = world([job(1)]);
    const delivered = deliver([one(1), inSecond(2), one(3)]);
    await consumeEvents(delivered.batch, it_);
    expect(delivered.fates()).toEqual(["ack", "ack", "ack"]);
    expect(appends(it_)).toEqual([
      [0, [1, 3]],
      [1, [2]],
    ]);
    expect(it_.appends.map(({ append }) => append.work)).toEqual([
      { batches: 1, entries: 1, offered: 2 },
      { batches: 0, entries: 1, offered: 1 },
    ]);
    expect(shipped(it_)).toEqual([
      [1, ["event 1", "event 3"]],
      [1, ["event 2"]],
    ]);
  });

  it("belongs where each part's own number of shards says, whatever that of others is", async () => {
    const it_ = world([job(1)]);
    await consumeEvents(
      deliver([one(1, { shard: 1, shards: 1 }), inSecond(2), one(3, { shard: 3, shards: 4 })]).batch,
      it_,
    );
    expect(appends(it_)).toEqual([
      [0, [1]],
      [1, [2]],
      [3, [3]],
    ]);
  });

  it("holds no more in memory than one of a single shard: the larger group goes first", async () => {
    const it_ = world([job(1)]);
    const fat = (n: number, shard: number) =>
      one(n, { shards: 2, shard, records: [record(`${n}`.padEnd(900_000, "x"))] });
    await consumeEvents(deliver([fat(1, 0), fat(2, 0), fat(3, 0), fat(4, 1), fat(5, 1)]).batch, it_);
    expect(appends(it_)).toEqual([
      [0, [1, 2, 3]],
      [1, [4, 5]],
    ]);
  });

  it("that come again are asked for in their own shard; what one knows says nothing of the other's", async () => {
    const it_ = world([job(1)]);
    it_.done.add(id(1)).add(id(2, 1));
    const known = vi.fn(it_.known);
    it_.known = known;
    const delivered = deliver([one(1), inSecond(2), inSecond(3)], { attempts: 2 });
    await consumeEvents(delivered.batch, it_);
    expect(delivered.fates()).toEqual(["ack", "ack", "ack"]);
    expect(known.mock.calls.map(([shard, parts]) => [shard, parts.map((part) => part.id)])).toEqual([
      [0, [id(1)]],
      [1, [id(2, 1), id(3, 1)]],
    ]);
    expect(appends(it_)).toEqual([[1, [3]]]);
  });

  it("with messages of killed ones is parted by what both know of them, and each is told of its own", async () => {
    const it_ = world([job(1)]);
    const notes: string[] = [];
    it_.expectAgain = async (shard, parts, how) => {
      notes.push(`${shard} ${how} ${parts.map((part) => Number.parseInt(part.id.slice(4), 16))}`);
      return how === "begun" && shard === 1 ? [{ id: id(2, 1), deaths: 1 }] : undefined;
    };
    const delivered = deliver([one(1), inSecond(2), inSecond(3)], { attempts: 3 });
    await consumeEvents(delivered.batch, it_);
    expect(delivered.fates()).toEqual(["ack", AGAIN, "ack"]);
    expect(notes).toEqual(["0 begun 1", "1 begun 2,3", "1 untried 2"]);
  });
});

it("a message is put on hold in its shard, and one without a head in the first", async () => {
  const it_ = world([job(1)]);
  const holds: number[] = [];
  it_.hold = async (shard) => void holds.push(shard);
  await consumeDead(deliver([inSecond(1), "no message", one(2)], { queue: "logship-events-dead" }).batch, it_);
  expect(holds).toEqual([1, 0, 0]);
});
