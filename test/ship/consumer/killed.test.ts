/** Messages whose earlier deliveries were killed, as the log tells of them. */
import { describe, expect, it, vi } from "vitest";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import { encodeParts, type Part } from "../../../src/formats/queue/message.ts";
import { retryDelayS } from "../../../src/formats/queue/retries.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { consumeEvents } from "../../../src/ship/consumer/consume.ts";
import { ALONE_DEATHS, type Noted } from "../../../src/ship/log/redeliveries.ts";
import { NOON } from "../../formats/record/samples.ts";
import { deliver, id, job, one, record, shipped, type World, world } from "./scripted.ts";

const AGAIN = `retry after ${retryDelayS(1)} s`;
const ALONE = "batches died with it, and so it did alone";
const HOPELESS = ALONE_DEATHS + 3;

/** Notes of a batch, in order: why, and the last digits of the ids. */
type Notes = [Noted, number[]][];

/** A world in which batches are noted at once, and the log knows these deaths, by number. */
function knowing(deaths: Record<number, number>): { it_: World; notes: Notes } {
  const it_ = world([job(1)]);
  it_.nowMs = NOON + 60_000;
  const notes: Notes = [];
  it_.expectAgain = async (_shard, parts, how) => {
    notes.push([how, parts.map((part) => Number.parseInt(part.id, 16))]);
    it_.log.push(how);
    return Object.entries(deaths).map(([n, count]) => ({ id: id(Number(n)), deaths: count }));
  };
  vi.spyOn(console, "warn").mockImplementation(() => {});
  return { it_, notes };
}

describe("a batch with messages of killed ones", () => {
  it("gives those back that are not tried, and notes that before anything is committed", async () => {
    const { it_, notes } = knowing({ 2: 1, 3: 1 });
    const delivered = deliver([one(1), one(2), one(3)], { attempts: 3 });
    await consumeEvents(delivered.batch, it_);
    expect(delivered.fates()).toEqual(["ack", AGAIN, AGAIN]);
    expect(shipped(it_)).toEqual([[1, ["event 1"]]]);
    expect(notes).toEqual([
      ["begun", [1, 2, 3]],
      ["untried", [2, 3]],
    ]);
    expect(it_.log).toEqual(["begun", "untried", "append 0"]);
  });

  it("tries a message alone, and says so before", async () => {
    const { it_, notes } = knowing({ 2: 1, 3: 1 });
    const delivered = deliver([one(1), one(2), one(3)], { attempts: 4 });
    await consumeEvents(delivered.batch, it_);
    expect(delivered.fates()).toEqual([AGAIN, "ack", AGAIN]);
    expect(notes.slice(1)).toEqual([
      ["untried", [1, 3]],
      ["alone", [2]],
    ]);
    expect(it_.log.indexOf("alone")).toBeLessThan(it_.log.indexOf("append 0"));
  });

  it.each([[undefined], [null], ["dead"], [[{}]], [[null, { id: 7, deaths: 1 }, { id: id(1), deaths: "2" }]]])(
    "is tried whole where the log does not tell: %j",
    async (answer: unknown) => {
      const { it_ } = knowing({});
      it_.expectAgain = async () => answer;
      const delivered = deliver([one(1), one(2)], { attempts: 4 });
      await consumeEvents(delivered.batch, it_);
      expect(delivered.fates()).toEqual(["ack", "ack"]);
    },
  );

  it("does not take for tried what it gives back for want of calls", async () => {
    const { it_, notes } = knowing({});
    // A tenth is in reserve; the configuration and the first note take one each.
    it_.callsMax = 5;
    const fat = (n: number) => one(n, { records: [record(`${n}`.padEnd(3_000_000, "x"))] });
    const delivered = deliver([fat(1), fat(2), fat(3)]);
    await consumeEvents(delivered.batch, it_);
    expect(delivered.fates()).toEqual(["ack", "ack", AGAIN]);
    expect(notes).toEqual([
      ["begun", [1, 2, 3]],
      ["untried", [3]],
    ]);
  });
});

describe("a message that died alone, again and again", () => {
  it("is put on hold whole, its records unread, and its neighbours come next", async () => {
    const { it_ } = knowing({ 2: HOPELESS });
    const part = (n: number) => ({ id: id(n), takenInMs: NOON, keyed: false });
    const heads = [2, 4].map((n) => ({ ...part(n), shards: 1, records: 1 })) as [Part, ...Part[]];
    const lines = `${recordLine(record("a"))}\n${recordLine(record("b"))}\n`;
    const poison = encodeParts(heads, encodeUtf8(lines)).buffer;
    const delivered = deliver([one(1), poison, one(3)], { attempts: 9 });
    await consumeEvents(delivered.batch, it_);
    expect([delivered.fates(), shipped(it_)]).toEqual([[AGAIN, "ack", AGAIN], []]);
    const parts = [2, 4].map((n) => ({ ...part(n), records: 1 }));
    expect(it_.held).toEqual([
      { why: ALONE, queue: "logship-events", parts, message: poison, hash: expect.anything() },
    ]);
  });

  it("goes back to the queue where it cannot be kept, for longer than its neighbours", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const { it_ } = knowing({ 1: HOPELESS });
    it_.holdFails = () => true;
    const delivered = deliver([one(1), one(2)], { attempts: 9 });
    await consumeEvents(delivered.batch, it_);
    expect(delivered.fates()).toEqual([`retry after ${retryDelayS(9)} s`, AGAIN]);
  });
});
