/** Messages whose earlier deliveries were killed, as the ledger tells of them. */
import { describe, expect, it, vi } from "vitest";
import { encodeUtf8 } from "../../src/bytes.ts";
import { consumeEvents } from "../../src/pipeline/consume.ts";
import { retryDelayS } from "../../src/queue/delivery.ts";
import { encodeParts, splitMessage } from "../../src/queue/message.ts";
import { recordLine } from "../../src/record/encode.ts";
import { ALONE_DEATHS, type Noted } from "../../src/trace-log/trace-log.ts";
import { NOON } from "../record/samples.ts";
import { deliver, id, job, one, record, shipped, type World, world } from "./scripted.ts";

const AGAIN = `retry after ${retryDelayS(1)} s`;
const ALONE = "batches died with it, and so it did alone";
const HOPELESS = ALONE_DEATHS + 3;

/** Notes of a batch, in order: why, and the last digits of the ids. */
type Notes = [Noted, number[]][];

/** A world in which batches are noted at once, and the ledger knows these deaths, by number. */
function knowing(deaths: Record<number, number>): { it_: World; notes: Notes } {
  const it_ = world([job(1)]);
  it_.nowMs = NOON + 60_000;
  const notes: Notes = [];
  it_.expectAgain = async (messages, _shard, _known, how = "coming") => {
    notes.push([how, messages.map((message) => Number.parseInt(message.id, 16))]);
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
    expect(it_.log).toEqual(["begun", "untried", "commit 1", "count"]);
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
    expect(it_.log.indexOf("alone")).toBeLessThan(it_.log.indexOf("commit 1"));
  });

  it.each([[undefined], [null], ["dead"], [[{}]], [[null, { id: 7, deaths: 1 }, { id: id(1), deaths: "2" }]]])(
    "is tried whole where the ledger does not tell: %j",
    async (answer: unknown) => {
      const { it_ } = knowing({});
      it_.expectAgain = async () => answer;
      const delivered = deliver([one(1), one(2)], { attempts: 4 });
      await consumeEvents(delivered.batch, it_);
      expect(delivered.fates()).toEqual(["ack", "ack"]);
    },
  );

  it("does not take for tried what it gives back for want of a configuration or of calls", async () => {
    const { it_, notes } = knowing({});
    it_.config = null;
    await consumeEvents(deliver([one(1)]).batch, it_);
    expect(notes).toEqual([
      ["begun", [1]],
      ["untried", [1]],
    ]);
    const few = knowing({});
    // A tenth is in reserve; a group takes two.
    few.it_.callsMax = 5;
    const fat = (n: number) => one(n, { records: [record(`${n}`.padEnd(3_000_000, "x"))] });
    const delivered = deliver([fat(1), fat(2)]);
    await consumeEvents(delivered.batch, few.it_);
    expect(delivered.fates()).toEqual(["ack", AGAIN]);
    expect(few.notes).toEqual([
      ["begun", [1, 2]],
      ["untried", [2]],
    ]);
  });
});

describe("a message that died alone, again and again", () => {
  const last = (it_: World) => new Uint8Array(it_.aside[0]?.message ?? new ArrayBuffer(0));

  it("is set aside whole, its records unread, and its neighbours come next", async () => {
    const { it_ } = knowing({ 2: HOPELESS });
    const poison = one(2, { records: [record("a"), record("b")] });
    const delivered = deliver([one(1), poison, one(3)], { attempts: 9 });
    await consumeEvents(delivered.batch, it_);
    expect([delivered.fates(), shipped(it_)]).toEqual([[AGAIN, "ack", AGAIN], []]);
    expect(it_.aside).toMatchObject([{ why: ALONE, queue: "logship-events", events: 2, taken: { id: id(2) } }]);
    expect(it_.aside[0]).not.toHaveProperty("unreadable");
    expect(last(it_)).toEqual(new Uint8Array(poison));
  });

  it("is kept as bytes, under an id of their own, where it has several parts", async () => {
    const parts = [1, 2].map((n) => ({ id: id(n), takenInMs: NOON, keyed: false, records: 1 }));
    const [first, ...others] = parts;
    if (first === undefined) throw new Error("no part");
    const lines = `${recordLine(record("a"))}\n${recordLine(record("b"))}\n`;
    const message = encodeParts([first, ...others], encodeUtf8(lines));
    const { it_ } = knowing({ 2: HOPELESS });
    await consumeEvents(deliver([message.slice().buffer], { attempts: 9 }).batch, it_);
    expect(it_.aside).toMatchObject([
      { why: ALONE, unreadable: ALONE, events: 1, noted: { id: id(1) }, alsoNoted: [{ id: id(2) }] },
    ]);
    expect(it_.aside[0]?.taken.id).not.toBe(id(1));
    expect(last(it_)).toEqual(message);
  });

  it("is kept with the records that it refers to, or as it is where they are gone", async () => {
    const { reference, key, body } = splitMessage(new Uint8Array(one(1)));
    const { it_ } = knowing({ 1: HOPELESS });
    it_.blobs.bodies.set(key, body);
    await consumeEvents(deliver([reference.slice().buffer], { attempts: 9 }).batch, it_);
    expect(last(it_)).toEqual(new Uint8Array(one(1)));
    const gone = knowing({ 1: HOPELESS }).it_;
    await consumeEvents(deliver([reference.slice().buffer], { attempts: 9 }).batch, gone);
    expect(gone.aside).toMatchObject([{ unreadable: ALONE, noted: { id: id(1) } }]);
    expect(last(gone)).toEqual(reference);
  });

  it("goes back to the queue where it cannot be kept, for longer than its neighbours", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const { it_ } = knowing({ 1: HOPELESS });
    it_.asideFails = () => true;
    const delivered = deliver([one(1), one(2)], { attempts: 9 });
    await consumeEvents(delivered.batch, it_);
    expect(delivered.fates()).toEqual([`retry after ${retryDelayS(9)} s`, AGAIN]);
  });
});
