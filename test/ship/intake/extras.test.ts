/** Extra fields on the way into messages: by HTTP and RPC, directly and by way of the packer. */
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import { MESSAGE_RAW_MAX_BYTES, PACKER_PART_MAX_BYTES, QUEUE_MESSAGE_MAX_BYTES } from "../../../src/base/limits.ts";
import { readIntakeConfig } from "../../../src/config.ts";
import { macKeyOf, macOfLines } from "../../../src/formats/queue/mac.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { entryOf, splitEntry } from "../../../src/formats/record/extras.ts";
import { type BatchedPart, messagesOf, sizeOf } from "../../../src/ship/intake/batcher.ts";
import { acceptEvents } from "../../../src/ship/intake/events.ts";
import { keyedIds, randomIds } from "../../../src/ship/intake/ids.ts";
import { type HandedPart, readPart } from "../../../src/ship/intake/packer.ts";
import { type PackedMessage, type PackingContext, packRecords } from "../../../src/ship/intake/packing.ts";
import { partOf } from "../../../src/ship/intake/submit.ts";
import { noise, TAKEN, traceRecord } from "../../formats/record/samples.ts";
import { readMessage } from "../../support/read-message.ts";
import { unpacked } from "./scripted.ts";

const KEY = macKeyOf(new Uint8Array(32).fill(1));
const random = (): PackingContext => ({
  ...{ takenInMs: TAKEN, idOf: randomIds(1), keyed: false, shards: 1 },
  seal: KEY,
});
const keyed = (): PackingContext => ({ ...random(), idOf: keyedIds("key", encodeUtf8("body")), keyed: true });

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
  const message = readMessage(body.slice().buffer, [KEY]);
  if (!message.ok) throw new Error(message.why);
  const { lines, extras = [] } = message.value;
  return lines.map((each, i) => entryOf(each, extras[i] ?? ""));
}

describe("packing records with extra fields", () => {
  it("puts each with its own", () => {
    const those = entries(700, 300);
    const messages = packed(those, random());
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

  it("leaves a part of a request with a key as it is cut, though it fits no message of the queue with them", () => {
    const [with_, ...others] = packed(entries(100, 3_000), keyed());
    const [without] = packed(
      entries(100).map((each) => splitEntry(each).line),
      keyed(),
    );
    expect(others).toEqual([]);
    expect(with_?.id).toBe(without?.id);
    expect(entriesOf(with_?.body ?? new Uint8Array())).toEqual(entries(100, 3_000));
    expect((with_?.body.length ?? 0) > QUEUE_MESSAGE_MAX_BYTES).toBe(true);
    expect((without?.body.length ?? 0) > QUEUE_MESSAGE_MAX_BYTES).toBe(false);
  });

  it("changes nothing where there are none, to the byte", () => {
    const those = entries(300).map((each) => splitEntry(each).line);
    const [a, b] = [packed(those, keyed()), packed(entries(300), keyed())];
    expect(a.map(({ body }) => entriesOf(body))).toEqual([those]);
    expect(b[0]?.body).not.toEqual(a[0]?.body);
  });
});

describe("a part with extra fields for the packer", () => {
  const HEAD = { takenInMs: TAKEN, source: "tail", shards: 1 };
  const handed = (those: readonly string[], seal = KEY) => partOf(those, { ...HEAD, id: "a".repeat(32) }, seal);
  const good = handed(entries(6)) as HandedPart;
  const read = (part: unknown, keys = [KEY]) => readPart(part, keys) as BatchedPart | null;

  it("is read as it was made, and shares a message with parts that have none", () => {
    const part = read(good) as BatchedPart;
    expect(part.extras).toEqual(entries(6).map((each) => splitEntry(each).extra));
    expect(sizeOf(part)).toBeGreaterThan(part.raw.length);
    const plain = read(partOf([line(9)], { ...HEAD, id: "b".repeat(32) }, KEY)) as BatchedPart;
    expect(plain).not.toHaveProperty("extras");
    for (const group of [
      [part, plain],
      [plain, part],
    ]) {
      const [{ message } = { message: { body: new Uint8Array() } }] = messagesOf(group, KEY);
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
    expect(macOfLines(raw, KEY)).not.toEqual(seal);
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
    const tooLarge = { ...large, raw, seal: macOfLines(raw, KEY, large.extras ?? null) };
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
