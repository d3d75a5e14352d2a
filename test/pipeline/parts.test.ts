/** Messages of several parts: each part is committed, counted and set aside on its own. */
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../src/bytes.ts";
import { consumeDead, consumeEvents } from "../../src/pipeline/consume.ts";
import { decodeMessage, encodeParts, type Part, splitMessage } from "../../src/queue/message.ts";
import { recordLine } from "../../src/record/encode.ts";
import type { TraceRecord } from "../../src/record/fields.ts";
import { NOON } from "../record/samples.ts";
import { deliver, id, job, outcomes, record, shipped, world } from "./scripted.ts";

const DAY_MS = 86_400_000;

/** A message of parts `n`, each with these records. */
function message(parts: readonly { n: number; records: TraceRecord[]; takenInMs?: number }[]): Uint8Array<ArrayBuffer> {
  const lines = parts.flatMap(({ records }) => records.map((each) => `${recordLine(each)}\n`));
  const heads = parts.map(({ n, records, takenInMs = NOON }) => ({
    ...{ id: id(n), takenInMs, keyed: false, records: records.length },
  }));
  return encodeParts(heads as [Part, ...Part[]], encodeUtf8(lines.join("")));
}

const TWO = [
  { n: 1, records: [record("a"), record("b")] },
  { n: 2, records: [record("c")] },
];

describe("a message of parts", () => {
  it("is acknowledged when all of them are committed, and counted part by part", async () => {
    const it_ = world([job(1)]);
    const { batch, fates } = deliver([message(TWO).buffer]);
    await consumeEvents(batch, it_);
    expect(shipped(it_)).toEqual([[1, ["a", "b", "c"]]]);
    expect(it_.commits[0]?.append.messages.map((part) => [part.id, part.received])).toEqual([
      [id(1), 2],
      [id(2), 1],
    ]);
    expect(it_.counts[0]?.done.map((part) => [part.id, part.events, (part.bytes ?? 0) > 0])).toEqual([
      [id(1), 2, true],
      [id(2), 1, false],
    ]);
    expect(fates()).toEqual(["ack"]);
  });

  it("ships of each part what was not there before, in whatever message that was", async () => {
    const it_ = world([job(1)]);
    it_.script = { 1: [{ known: [id(1)] }] };
    const { batch, fates } = deliver([message(TWO).buffer]);
    await consumeEvents(batch, it_);
    expect(shipped(it_)).toEqual([[1, ["c"]]]);
    expect(fates()).toEqual(["ack"]);
    const twice = world([job(1)]);
    const both = deliver([message(TWO).buffer, message([...TWO.slice(1), { n: 3, records: [record("d")] }]).buffer]);
    await consumeEvents(both.batch, twice);
    expect(shipped(twice)).toEqual([[1, ["a", "b", "c", "d"]]]);
    expect(both.fates()).toEqual(["ack", "ack"]);
  });

  it("comes again where one part was taken in for a job that cannot take it, and only that part waits", async () => {
    const later = job(2, { windows: [{ fromMs: NOON + 5_000, untilMs: null }] });
    const it_ = world([job(1), later]);
    it_.script = { 2: ["fail"] };
    const { batch, fates } = deliver([message([TWO[0], { ...TWO[1], takenInMs: NOON + 9_000 }] as never).buffer]);
    await consumeEvents(batch, it_);
    expect(shipped(it_)).toEqual([[1, ["a", "b", "c"]]]);
    expect(it_.counts[0]?.done.map((part) => part.id)).toEqual([id(1)]);
    expect(it_.counts[0]?.failed.map((part) => part.id)).toEqual([id(2)]);
    expect(fates()).toEqual(["retry after 2 s"]);
  });

  it("is set aside part by part, each as a message that can be read", async () => {
    for (const consume of ["late", "dead"] as const) {
      const it_ = world([job(1)]);
      it_.script = { 1: ["fail"] };
      it_.nowMs = NOON + 11 * DAY_MS;
      const { batch, fates } = deliver([message(TWO).buffer]);
      await (consume === "late" ? consumeEvents(batch, it_) : consumeDead(batch, it_));
      expect(it_.aside.map((aside) => [aside.taken.id, aside.events])).toEqual([
        [id(1), 2],
        [id(2), 1],
      ]);
      const kept = it_.aside.map((aside) => decodeMessage(aside.message));
      expect(kept.map((each) => each.ok && outcomes(each.value.lines))).toEqual([["a", "b"], ["c"]]);
      expect(fates()).toEqual(["ack"]);
    }
  });

  it("that cannot be read is set aside whole, and every part of it is finished", async () => {
    const it_ = world([job(1)]);
    const bytes = message(TWO);
    const last = bytes.length - 1;
    bytes[last] = (bytes[last] ?? 0) ^ 255;
    const { batch, fates } = deliver([bytes.buffer]);
    await consumeEvents(batch, it_);
    expect(it_.aside).toMatchObject([
      { events: 1, unreadable: "fails its checksum", noted: { id: id(1) }, alsoNoted: [{ id: id(2) }] },
    ]);
    expect(fates()).toEqual(["ack"]);
  });

  it("whose records lie elsewhere is loaded whole, and done when all of its parts were counted", async () => {
    const { reference, key, body } = splitMessage(message(TWO));
    const it_ = world([job(1)]);
    await it_.blobs.put(key, body);
    const first = deliver([reference.buffer]);
    await consumeEvents(first.batch, it_);
    expect(shipped(it_)).toEqual([[1, ["a", "b", "c"]]]);
    expect(it_.blobs.bodies.size).toBe(0);
    it_.done.add(id(1)).add(id(2));
    const again = deliver([reference.buffer]);
    await consumeEvents(again.batch, it_);
    expect(again.fates()).toEqual(["ack"]);
    it_.done.delete(id(2));
    const lost = deliver([reference.buffer]);
    await consumeEvents(lost.batch, it_);
    expect(it_.aside).toMatchObject([{ events: 1, noted: { id: id(1) }, alsoNoted: [{ id: id(2) }] }]);
    expect(lost.fates()).toEqual(["ack"]);
  });
});
