/** Extra fields on the way into messages: by HTTP and RPC, directly and by way of the packer. */
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../src/bytes.ts";
import { readIntakeConfig } from "../../src/config.ts";
import { type BasketPart, messagesOf, sizeOf } from "../../src/intake/basket.ts";
import { acceptEvents } from "../../src/intake/events.ts";
import type { Keys } from "../../src/intake/first-copy.ts";
import { partOf } from "../../src/intake/hand-over.ts";
import { keyedIds, randomIds } from "../../src/intake/ids.ts";
import { type HandedPart, readPart } from "../../src/intake/packer.ts";
import { type PackedMessage, type PackingContext, packRecords } from "../../src/intake/packing.ts";
import { takeEvents } from "../../src/intake/take.ts";
import {
  EXTRAS_MAX_BYTES,
  MESSAGE_RAW_MAX_BYTES,
  PACKER_PART_MAX_BYTES,
  QUEUE_MESSAGE_MAX_BYTES,
  STACK_MAX_UNITS,
} from "../../src/limits.ts";
import { Memory } from "../../src/memory.ts";
import { decodeMessage } from "../../src/queue/message.ts";
import { sealKeyOf, sealLines } from "../../src/queue/seal.ts";
import { recordLine } from "../../src/record/encode.ts";
import { entryOf, splitEntry } from "../../src/record/extras.ts";
import { noise, TAKEN, traceRecord } from "../record/samples.ts";
import { scriptedBlobs, scriptedQueue, unpacked } from "./scripted.ts";

const KEY = sealKeyOf(new Uint8Array(32).fill(1));
const random = (): PackingContext => ({ takenInMs: TAKEN, idOf: randomIds(), keyed: false, form: { seal: KEY } });
const keyed = (): PackingContext => ({ ...random(), idOf: keyedIds("key", encodeUtf8("body"), ""), keyed: true });

const line = (n: number): string => recordLine(traceRecord({ Outcome: `${n}` }));
const extra = (n: number, units = 20): string => JSON.stringify({ ExceptionStacks: [noise(units, n)] });
const entries = (count: number, units?: number): string[] =>
  Array.from({ length: count }, (_, n) => entryOf(line(n), n % 5 === 4 ? "" : extra(n, units)));

function packed(those: readonly string[], context: PackingContext): PackedMessage[] {
  const result = packRecords(those, context);
  if (!result.ok) throw new Error(`too large: ${result.tooLarge}`);
  return result.messages;
}

/** The entries of a message, as a consumer has them. */
function entriesOf(body: Uint8Array): string[] {
  const message = decodeMessage(body.slice().buffer, [KEY]);
  if (!message.ok) throw new Error(message.why);
  const { lines, extras = [] } = message.value;
  return lines.map((each, i) => entryOf(each, extras[i] ?? ""));
}
const lined = (message: PackedMessage) => unpacked(message).lines;

describe("packing records with extra fields", () => {
  it.each([
    ["at random", random],
    ["by key", keyed],
  ])("puts each with its own, whatever the ids: %s", (_how, context) => {
    const those = entries(700, 300);
    const messages = packed(those, context());
    expect(messages.length).toBeGreaterThan(1);
    const whole = messages.flatMap((message) => {
      const { lines, extras = [] } = unpacked(message);
      return lines.map((each, i) => entryOf(each, extras[i] ?? ""));
    });
    expect(whole).toEqual(those);
    for (const { body } of messages) expect(body.length).toBeLessThanOrEqual(QUEUE_MESSAGE_MAX_BYTES);
  });

  it("counts them for what a message may hold", () => {
    const stack = JSON.stringify({ ExceptionStacks: ["x".repeat(1_000)] });
    const those = Array.from({ length: 2_000 }, (_, n) => entryOf(line(n), stack));
    const sizes = packed(those, random()).map((message) => {
      const { lines, extras = [] } = unpacked(message);
      return [...lines, ...extras].reduce((sum, each) => sum + each.length, 0);
    });
    for (const size of sizes) expect(size).toBeLessThanOrEqual(MESSAGE_RAW_MAX_BYTES);
    const all = sizes.reduce((sum, size) => sum + size, 0);
    expect(sizes.length).toBe(Math.ceil(all / (MESSAGE_RAW_MAX_BYTES - 2_000)));
  });

  it("gives a repeated request the same ids and records, though other extra fields are on by then", () => {
    const with_ = packed(entries(900, 2_000), keyed());
    const without = packed(
      entries(900).map((each) => splitEntry(each).line),
      keyed(),
    );
    expect(with_.map(({ id }) => id)).toEqual(without.map(({ id }) => id));
    expect(with_.map(lined)).toEqual(without.map(lined));
    // Where they do not fit beside the records, the body lies in the blob store.
    expect(with_.map(({ blob }) => blob !== null)).toContain(true);
    expect(without.every(({ blob }) => blob === null)).toBe(true);
  });

  it("refuses a request with a key of which one message has too many of them", () => {
    const those = Array.from({ length: 500 }, (_, n) => entryOf(line(n), extra(n, 20_000)));
    const result = packRecords(those, keyed());
    expect(result.ok).toBe(false);
    const most = (bytes: number) => [entryOf(line(1), "x".repeat(bytes)), entryOf(line(2), "")];
    expect(packRecords(most(EXTRAS_MAX_BYTES - 1), keyed()).ok).toBe(false);
    const [whole] = packed(most(EXTRAS_MAX_BYTES - 2), keyed());
    expect(entriesOf(whole?.body ?? new Uint8Array())).toEqual(most(EXTRAS_MAX_BYTES - 2));
    expect(packRecords(those.slice(0, 60), keyed()).ok).toBe(true);
  });

  it("changes nothing where there are none, to the byte", () => {
    const those = entries(300).map((each) => splitEntry(each).line);
    const [a, b] = [packed(those, keyed()), packed(entries(300), keyed())];
    expect(a.map(({ body }) => entriesOf(body))).toEqual([those]);
    expect(b[0]?.body).not.toEqual(a[0]?.body);
  });
});

it("a request with a key and too many extra fields is told to send fewer, not that an event is too large", async () => {
  const events = Array.from({ length: 200 }, (_, n) => ({
    ...{ event: null, scriptName: "shop", eventTimestamp: TAKEN },
    exceptions: [0, 1, 2, 3].map((i) => ({ name: "E", message: "", stack: noise(STACK_MAX_UNITS, 4 * n + i) })),
  }));
  const bytes = encodeUtf8(JSON.stringify(events));
  const blobs = scriptedBlobs();
  const platform = { now: () => TAKEN, sleep: () => Promise.reject(new Error("nothing fails")) };
  const keys: Keys = { first: async (_hash, copy) => ({ ...copy, takenInMs: TAKEN, keyed: false }) };
  const taken = await takeEvents(
    { room: bytes.length, read: async () => bytes, ndjson: false, idempotencyKey: "k" },
    {
      ...{ queue: scriptedQueue(undefined, blobs), blobs, keys, platform },
      ...{ memory: new Memory(platform), defaultScriptName: "x", source: "rpc", extraFields: ["ExceptionStacks"] },
    },
  );
  expect(taken).toMatchObject({ status: 413 });
  if (taken.ok || taken.status === 503) throw new Error("it was taken");
  expect(taken.faults).toContainEqual({ pointer: "/7", message: expect.stringContaining("send fewer at once") });
});

describe("a part with extra fields for the packer", () => {
  const handed = (those: readonly string[], seal = KEY) => partOf(those, TAKEN, "tail", "a".repeat(32), seal);
  const good = handed(entries(6)) as HandedPart;
  const read = (part: unknown, keys = [KEY]) => readPart(part, keys) as BasketPart | null;

  it("is read as it was made, and shares a message with parts that have none", () => {
    const part = read(good) as BasketPart;
    expect(part.extras).toEqual(entries(6).map((each) => splitEntry(each).extra));
    expect(sizeOf(part)).toBeGreaterThan(part.raw.length);
    const plain = read(partOf([line(9)], TAKEN, "tail", "b".repeat(32), KEY)) as BasketPart;
    expect(plain).not.toHaveProperty("extras");
    for (const group of [
      [part, plain],
      [plain, part],
    ]) {
      const [{ message } = { message: { body: new Uint8Array() } }] = messagesOf(group, { seal: KEY });
      const expected = group.flatMap((each) => (each === plain ? [line(9)] : entries(6)));
      expect(entriesOf(message.body)).toEqual(expected);
    }
  });

  it("has a seal over both, so that neither moves into the other; a packer that knows none refuses it", () => {
    const { raw, extras = new Uint8Array(), seal } = good;
    const moved = { ...good, raw: new Uint8Array([...raw, ...extras]), records: 12 };
    for (const each of [
      { ...good, extras: undefined },
      { ...moved, extras: undefined },
      { ...good, extras: raw },
    ])
      expect(read(each)).toBeNull();
    expect(sealLines(raw, KEY)).not.toEqual(seal);
    expect(read({ ...good, extras: "text" })).toBeNull();
    expect(read({ ...good, extras: encodeUtf8("\n") }, [])).toBeNull();
    expect(read({ ...good, extras: encodeUtf8("\n".repeat(6)) }, [])?.extras).toEqual(Array(6).fill(""));
  });

  it("is no larger with them than fits a message", () => {
    const wide = (units: number) => handed([entryOf(line(1), extra(1, units))]);
    expect(wide(PACKER_PART_MAX_BYTES - 1_000)).not.toBeNull();
    expect(wide(PACKER_PART_MAX_BYTES)).toBeNull();
    const large = wide(PACKER_PART_MAX_BYTES - 1_000) as HandedPart;
    const raw = encodeUtf8(`${"x".repeat(2_000)}\n`);
    const tooLarge = { ...large, raw, seal: sealLines(raw, KEY, large.extras ?? null) };
    expect(read(tooLarge)).toBeNull();
  });
});

describe("intake", () => {
  const context = { takenInMs: TAKEN, defaultScriptName: "x", lenient: false };
  const accept = (value: object, more: object = {}) =>
    acceptEvents([{ pointer: "/0", value }], { ...context, ...more });

  it("takes the extra fields that EXTRA_FIELDS names, and nothing of a malformed one", () => {
    const on = (EXTRA_FIELDS: string) => readIntakeConfig({ EXTRA_FIELDS }).extraFields;
    expect(on("Source, Truncated,RequestCF")).toEqual(["RequestCF", "Truncated"]);
    for (const none of ["", "Source", "Truncated;RequestCF", "truncated"]) expect(on(none)).toBeUndefined();
    expect(readIntakeConfig({})).not.toHaveProperty("extraFields");
  });

  it("drops and names a record's extra field that is off, and takes one that is on", () => {
    const record = { ScriptName: "shop", Truncated: true, DurableObjectID: "abc", Source: "tail" };
    const off = accept(record);
    expect(off).toMatchObject({ ok: true, unknownKeys: ["DurableObjectID", "Source", "Truncated"] });
    const on = accept(record, { extraFields: ["Truncated"] });
    expect(on).toMatchObject({ ok: true, unknownKeys: ["DurableObjectID", "Source"] });
    expect(on.ok && splitEntry(on.lines[0] ?? "").extra).toBe('{"Truncated":true}');
    expect(on.ok && off.ok && splitEntry(on.lines[0] ?? "").line).toBe(off.ok && off.lines[0]);
  });

  it("refuses one of another type, and says where it is", () => {
    expect(accept({ event: null, truncated: 1 }, { extraFields: ["Truncated"] })).toMatchObject({
      ok: false,
      faults: [{ pointer: "/0/truncated", message: "must be a boolean" }],
    });
    expect(accept({ event: null, truncated: 1 })).toMatchObject({ ok: true });
  });
});
