/** Messages of several parts: each part is taken on its own, and the message is one. */
import { beforeEach, expect, it, vi } from "vitest";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import { encodeParts, type Part } from "../../../src/formats/queue/message.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import type { TraceRecord } from "../../../src/formats/record/fields.ts";
import { consumeDead, consumeEvents } from "../../../src/ship/consumer/consume.ts";
import { NOON } from "../../formats/record/samples.ts";
import { damaged, deliver, id, job, record, shipped, type World, world } from "./scripted.ts";

/** A message of parts `n`, each with these records. */
function message(parts: readonly { n: number; records: TraceRecord[] }[]): ArrayBuffer {
  const lines = parts.flatMap(({ records }) => records.map((each) => `${recordLine(each)}\n`));
  const heads = parts.map(({ n, records }) => ({
    ...{ id: id(n), takenInMs: NOON, keyed: false, shards: 1, records: records.length },
  }));
  return encodeParts(heads as [Part, ...Part[]], encodeUtf8(lines.join(""))).buffer;
}

const TWO = [
  { n: 1, records: [record("a"), record("b")] },
  { n: 2, records: [record("c")] },
];

async function consumed(it_: World, bodies: ArrayBuffer[], attempts = 1): Promise<void> {
  const { batch, fates } = deliver(bodies, { attempts });
  await consumeEvents(batch, it_);
  expect(fates()).toEqual(bodies.map(() => "ack"));
}

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
});

it("all parts of a message are appended together, each counted on its own, and its size once", async () => {
  const it_ = world([job(1)]);
  const body = message(TWO);
  await consumed(it_, [body]);
  expect(shipped(it_)).toEqual([[1, ["a", "b", "c"]]]);
  const [{ append } = { append: null }] = it_.appends;
  expect(append?.parts.map((part) => [part.id, part.functions[0]?.records, part.bytes])).toEqual([
    [id(1), 2, body.byteLength],
    [id(2), 1, 0],
  ]);
  expect(append?.records).toEqual([{ body: new Uint8Array(body), parts: [id(1), id(2)] }]);
});

it("of a message that comes again only the parts are appended that the log does not have", async () => {
  const it_ = world([job(1)]);
  it_.done.add(id(1));
  await consumed(it_, [message(TWO)], 2);
  expect(shipped(it_)).toEqual([[1, ["c"]]]);
  expect(it_.appends[0]?.append.records.map(({ parts }) => parts)).toEqual([[id(2)]]);
});

it("a part that is in two messages of a batch is made once", async () => {
  const it_ = world([job(1)]);
  await consumed(it_, [message(TWO), message([...TWO.slice(1), { n: 3, records: [record("d")] }])]);
  expect(shipped(it_)).toEqual([[1, ["a", "b", "c", "d"]]]);
});

it("a message is put on hold whole, with all of its parts, whether its records can be read or not", async () => {
  const it_ = world([job(1)]);
  const body = damaged(message(TWO));
  await consumed(it_, [body]);
  await consumeDead(deliver([message(TWO)]).batch, it_);
  const parts = [id(1), id(2)].map((each, i) => ({ id: each, takenInMs: NOON, keyed: false, records: 2 - i }));
  expect(it_.held).toMatchObject([
    { message: body, parts, unreadable: "fails its checksum" },
    { message: message(TWO), parts },
  ]);
  expect(it_.held[1]).not.toHaveProperty("unreadable");
});
