import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  EVENT_MAX_BYTES,
  MESSAGE_RAW_MAX_BYTES,
  QUEUE_MESSAGE_MAX_BYTES,
  QUEUE_SEND_BATCH_MAX_BYTES,
  QUEUE_SEND_BATCH_MAX_MESSAGES,
  RECORD_MAX_BYTES,
  ROW_MAX_BYTES,
} from "../../../src/base/limits.ts";
import { shardOf } from "../../../src/formats/queue/shard.ts";
import { cutsOf, keyedIds, randomIds } from "../../../src/ship/intake/ids.ts";
import {
  type Packed,
  type PackedMessage,
  type PackingContext,
  packRecords,
  RecordPacker,
  sendGroups,
} from "../../../src/ship/intake/packing.ts";
import { noise, TAKEN } from "../../formats/record/samples.ts";
import { decoded, unpacked } from "./scripted.ts";

const body = new TextEncoder().encode("body");
const open = (shards = 1): PackingContext => ({ takenInMs: TAKEN, idOf: randomIds(shards), keyed: false, shards });
const keyed = (shards = 1): PackingContext => ({ takenInMs: TAKEN, idOf: keyedIds("key", body), keyed: true, shards });

/** A line of exactly `bytes` bytes without newline: noise, or one letter repeated. */
function line(bytes: number, kind: "noise" | "plain", seed: number): string {
  const inside = bytes - 2;
  const text = kind === "plain" ? "x".repeat(inside) : noise(inside, seed).replaceAll('"', "'");
  return `"${text}"`;
}

interface Shape {
  bytes: number;
  kind: "noise" | "plain";
}

const linesOf = (shapes: readonly Shape[]): string[] => shapes.map(({ bytes, kind }, i) => line(bytes, kind, i + 1));

/** Many small lines, some that fill much of a message, a few that are larger than one. */
const size = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 2, max: 3_000 }) },
  { weight: 3, arbitrary: fc.integer({ min: 3_000, max: 60_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 60_000, max: 119_999 }) },
);
const shapes = fc.array(fc.record({ bytes: size, kind: fc.constantFrom<"noise" | "plain">("noise", "plain") }), {
  maxLength: 40,
});

/** Packs lines, with a key as if they were the events as sent. */
function packed(lines: readonly string[], context: PackingContext): Packed {
  if (!context.keyed) return packRecords(lines, context);
  const cuts = cutsOf(lines.map(({ length }) => length));
  const packer = new RecordPacker(context);
  for (const [i, text] of lines.entries()) packer.add(text, cuts.has(i));
  return packer.finish();
}

function messagesOf(lines: readonly string[], context: PackingContext): PackedMessage[] {
  const result = packed(lines, context);
  if (!result.ok) throw new Error(`too large: ${result.tooLarge}`);
  return result.messages;
}

describe.each([
  ["at random", open],
  ["by key", keyed],
] as const)("packing with ids given %s", (_name, context) => {
  it("puts every record into the messages, once and in order", () => {
    fc.assert(
      fc.property(shapes, (wanted) => {
        const lines = linesOf(wanted);
        const messages = messagesOf(lines, context());
        const contents = messages.map(({ body }) => decoded(body));
        expect(contents.flatMap((message) => message.lines)).toEqual(lines);
        expect(contents.map(({ id, records }) => ({ id, records }))).toEqual(
          messages.map(({ id, records }) => ({ id, records })),
        );
        for (const message of contents) expect(message).toMatchObject({ takenInMs: TAKEN, keyed: context().keyed });
        expect(new Set(contents.map(({ id }) => id)).size).toBe(contents.length);
      }),
      { numRuns: 40 },
    );
  });

  it("takes one event of the largest size that compresses", () => {
    const lines = [line(EVENT_MAX_BYTES, "plain", 1)];
    const messages = messagesOf(lines, context());
    expect(messages.map((message) => [message.body.length < 10_000, unpacked(message).lines])).toEqual([[true, lines]]);
  });

  it("makes a message of any size of an event that fits none of the queue's, and of no other", () => {
    const lines = [line(10, "plain", 1), line(400_000, "noise", 2), line(20, "plain", 3), line(1_000_000, "noise", 4)];
    const messages = messagesOf(lines, context());
    expect(messages.map(({ records, body }) => [records, body.length > QUEUE_MESSAGE_MAX_BYTES])).toEqual([
      [1, false],
      [1, true],
      [1, false],
      [1, true],
    ]);
    expect(messages.flatMap((message) => unpacked(message).lines)).toEqual(lines);
    for (const message of messages) expect(message.body.length).toBeLessThanOrEqual(ROW_MAX_BYTES);
  });

  it.each([1, 2, 8, 64])("says that there are %d shards, and which is each message's", (shards) => {
    const lines = linesOf(Array.from({ length: 6 }, () => ({ bytes: 90_000, kind: "noise" as const })));
    const messages = messagesOf(lines, context(shards));
    for (const message of messages) {
      expect(unpacked(message)).toMatchObject({ shards });
      expect(message.shard).toBe(shardOf(unpacked(message)));
    }
  });

  it("names the records that are too large altogether, and only those", () => {
    const lines = [
      line(10, "plain", 1),
      line(2_600_000, "noise", 2),
      line(20, "plain", 3),
      line(RECORD_MAX_BYTES + 1, "plain", 4),
      line(RECORD_MAX_BYTES, "plain", 5),
    ];
    expect(packed(lines, context())).toEqual({ ok: false, tooLarge: [1, 3] });
  });
});

describe("packing by key", () => {
  it("puts into a message what lies between two cuts, whatever the records became", () => {
    const packer = new RecordPacker(keyed());
    const lines = ["a", line(300_000, "plain", 1), line(600_000, "plain", 2), line(130_000, "noise", 3), "b"];
    for (const [i, text] of lines.entries()) packer.add(text, i === 0 || i === 3);
    const result = packer.finish();
    expect(result.ok && result.messages.map((message) => unpacked(message).lines)).toEqual([
      lines.slice(0, 3),
      lines.slice(3),
    ]);
  });

  it("names all records of a part that is too large altogether", () => {
    const packer = new RecordPacker(keyed());
    const large = line(1_400_000, "noise", 1);
    for (const [i, text] of ["a", large, large, "b"].entries()) packer.add(text, i !== 2);
    expect(packer.finish()).toEqual({ ok: false, tooLarge: [1, 2] });
  });

  it("gives the same messages under the same ids when the same lines come again at another time", () => {
    fc.assert(
      fc.property(shapes, (wanted) => {
        const lines = linesOf(wanted);
        const first = messagesOf(lines, keyed());
        const again = messagesOf(lines, { ...keyed(), takenInMs: TAKEN + 86_400_000 });
        expect(again.map((message) => [message.id, unpacked(message).lines])).toEqual(
          first.map((message) => [message.id, unpacked(message).lines]),
        );
      }),
      { numRuns: 20 },
    );
  });
});

describe("packing at random", () => {
  it("never passes a limit of the queue, nor that of the bytes a consumer has to inflate", () => {
    fc.assert(
      fc.property(shapes, (wanted) => {
        for (const { body } of messagesOf(linesOf(wanted), open())) {
          expect(body.length).toBeLessThanOrEqual(QUEUE_MESSAGE_MAX_BYTES);
          const raw = decoded(body).lines.reduce((sum, text) => sum + text.length + 1, 0);
          expect(raw).toBeLessThanOrEqual(MESSAGE_RAW_MAX_BYTES);
        }
      }),
      { numRuns: 40 },
    );
  });

  it("fills messages, as each costs: no two neighbours would have fitted into one", () => {
    const lines = linesOf(Array.from({ length: 3_000 }, () => ({ bytes: 399, kind: "plain" as const })));
    expect(messagesOf(lines, open()).map(({ records }) => records)).toEqual([1_200, 1_200, 600]);
  });

  it("counts bytes, not characters", () => {
    const lines = Array.from({ length: 10 }, (_, i) => `"${"€".repeat(20_000)}${i}"`);
    expect(messagesOf(lines, open()).map(({ records }) => records)).toEqual([7, 3]);
  });

  it("halves what does not compress until it fits", () => {
    const lines = linesOf(Array.from({ length: 96 }, () => ({ bytes: 4_999, kind: "noise" as const })));
    expect(messagesOf(lines, open()).map(({ records }) => records)).toEqual([24, 24, 24, 24]);
  });

  it("puts all of one call into one shard, and each call into another", () => {
    const lines = linesOf(Array.from({ length: 3 }, () => ({ bytes: 400_000, kind: "plain" as const })));
    const calls = Array.from({ length: 100 }, () => {
      const shards = messagesOf(lines, open(4)).map(({ shard }) => shard);
      expect(shards).toEqual(Array(3).fill(shards[0]));
      return shards[0];
    });
    expect(new Set(calls)).toEqual(new Set([0, 1, 2, 3]));
  });
});

describe("groups of messages for the queue", () => {
  const message = (bytes: number, n: number): PackedMessage => ({
    id: `${n}`,
    shard: 0,
    takenInMs: TAKEN,
    records: 1,
    body: new Uint8Array(bytes),
  });
  const sizes = fc.array(
    fc.oneof(fc.integer({ min: 41, max: 1_000 }), fc.integer({ min: 1_000, max: QUEUE_MESSAGE_MAX_BYTES })),
    { maxLength: 300 },
  );
  const sum = (group: readonly PackedMessage[]) => group.reduce((total, { body }) => total + body.length, 0);

  it("hold every message, in order, and never more than one call may carry", () => {
    fc.assert(
      fc.property(sizes, (wanted) => {
        const messages = wanted.map(message);
        const groups = sendGroups(messages);
        expect(groups.flat()).toEqual(messages);
        groups.forEach((group, i) => {
          expect(group.length).toBeGreaterThan(0);
          expect(group.length).toBeLessThanOrEqual(QUEUE_SEND_BATCH_MAX_MESSAGES);
          expect(sum(group)).toBeLessThanOrEqual(QUEUE_SEND_BATCH_MAX_BYTES);
          const next = groups[i + 1]?.[0];
          if (next !== undefined) {
            const full =
              group.length === QUEUE_SEND_BATCH_MAX_MESSAGES ||
              sum(group) + next.body.length > QUEUE_SEND_BATCH_MAX_BYTES;
            expect(full, "closed before it was full").toBe(true);
          }
        });
      }),
    );
  });

  const edges: [what: string, sizes: number[], groups: number[]][] = [
    ["nothing", [], []],
    ["exactly the bytes of one call", [128_000, 128_000], [2]],
    ["one byte more", [128_000, 127_960, 41], [2, 1]],
    ["exactly the messages of one call", Array(100).fill(41), [100]],
    ["one message more", Array(101).fill(41), [100, 1]],
  ];

  it.each(edges)("close where the limit is: %s", (_what, wanted, groups) => {
    expect(sendGroups(wanted.map(message)).map((group) => group.length)).toEqual(groups);
  });
});
