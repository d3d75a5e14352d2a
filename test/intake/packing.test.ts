import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keyedIds, randomIds } from "../../src/intake/ids.ts";
import { type PackedMessage, type PackingContext, packRecords, sendGroups } from "../../src/intake/packing.ts";
import {
  EVENT_MAX_BYTES,
  MESSAGE_RAW_MAX_BYTES,
  MESSAGE_RAW_MAX_BYTES_KEYED,
  QUEUE_MESSAGE_MAX_BYTES,
  QUEUE_SEND_BATCH_MAX_BYTES,
  QUEUE_SEND_BATCH_MAX_MESSAGES,
  RECORD_MAX_BYTES,
  ROW_MAX_BYTES,
} from "../../src/limits.ts";
import { encodeParts } from "../../src/queue/message.ts";
import { noise, TAKEN } from "../record/samples.ts";
import { decoded, unpacked } from "./scripted.ts";

const key = new TextEncoder().encode("body");
const open = (): PackingContext => ({ takenInMs: TAKEN, idOf: randomIds(), keyed: false });
const keyed = (): PackingContext => ({ takenInMs: TAKEN, idOf: keyedIds("key", key, ""), keyed: true });

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

function messagesOf(lines: readonly string[], context: PackingContext): PackedMessage[] {
  const packed = packRecords(lines, context);
  if (!packed.ok) throw new Error(`too large: ${packed.tooLarge}`);
  return packed.messages;
}

describe("packing a request with a key", () => {
  const lines = linesOf(Array.from({ length: 30 }, () => ({ bytes: 20_000, kind: "noise" as const })));
  const partsOf = (context: PackingContext) => messagesOf(lines, context).map((message) => unpacked(message).parts[0]);

  it("marks its ids as the register says, and a repeat by the time of its first copy; all else is the same", () => {
    const first = { takenInMs: TAKEN, keyed: false };
    const before = partsOf(keyed());
    const fresh = partsOf({ ...keyed(), first });
    const repeat = partsOf({ ...keyed(), takenInMs: TAKEN + 5, first });
    const old = partsOf({ ...keyed(), takenInMs: TAKEN + 5, first: { ...first, keyed: true } });
    expect(before.length).toBeGreaterThan(3);
    expect(fresh).toEqual(before.map((part) => ({ ...part, keyed: false })));
    expect(repeat).toEqual(fresh.map((part) => ({ ...part, takenInMs: TAKEN + 5, firstMs: TAKEN })));
    expect(old).toEqual(repeat.map((part) => ({ ...part, keyed: true })));
  });

  it("says nothing of a first copy that came later, as clocks differ", () => {
    const parts = partsOf({ ...keyed(), first: { takenInMs: TAKEN + 5, keyed: false } });
    for (const part of parts) expect(part).not.toHaveProperty("firstMs");
  });
});

describe.each([
  ["at random", open, MESSAGE_RAW_MAX_BYTES],
  ["by key", keyed, MESSAGE_RAW_MAX_BYTES_KEYED],
] as const)("packing with ids given %s", (_name, context, rawMax) => {
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
      }),
      { numRuns: 40 },
    );
  });

  it("never passes a limit of the queue, nor that of the bytes a consumer has to inflate", () => {
    fc.assert(
      fc.property(shapes, (wanted) => {
        for (const { body } of messagesOf(linesOf(wanted), context())) {
          expect(body.length).toBeLessThanOrEqual(QUEUE_MESSAGE_MAX_BYTES);
          const raw = decoded(body).lines.reduce((sum, text) => sum + text.length + 1, 0);
          expect(raw).toBeLessThanOrEqual(rawMax);
        }
      }),
      { numRuns: 40 },
    );
  });

  it("gives every message an id of its own", () => {
    fc.assert(
      fc.property(shapes, (wanted) => {
        const ids = messagesOf(linesOf(wanted), context()).map(({ id }) => id);
        expect(new Set(ids).size).toBe(ids.length);
        for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/);
      }),
      { numRuns: 20 },
    );
  });

  it("fills messages, as each costs: no two neighbours would have fitted into one", () => {
    const lines = linesOf(Array.from({ length: 3_000 }, () => ({ bytes: 399, kind: "plain" as const })));
    const counts = messagesOf(lines, context()).map(({ records }) => records);
    expect(counts).toEqual(
      Array.from({ length: Math.ceil(3_000 / (rawMax / 400)) }, (_, i) =>
        Math.min(rawMax / 400, 3_000 - i * (rawMax / 400)),
      ),
    );
  });

  it("makes no message of nothing", () => {
    expect(packRecords([], context())).toEqual({ ok: true, messages: [] });
  });

  it("takes one event of the largest size that compresses", () => {
    const lines = [line(EVENT_MAX_BYTES, "plain", 1)];
    expect(messagesOf(lines, context()).map((message) => [message.blob, unpacked(message).lines])).toEqual([
      [null, lines],
    ]);
  });

  it("makes a reference of an event that fits no message, and of no other", () => {
    const lines = [line(10, "plain", 1), line(400_000, "noise", 2), line(20, "plain", 3), line(1_000_000, "noise", 4)];
    const messages = messagesOf(lines, context());
    expect(messages.map(({ records, body, blob }) => [records, body.length < 200, blob !== null])).toEqual([
      [1, true, false],
      [1, true, true],
      [1, true, false],
      [1, true, true],
    ]);
    expect(messages.flatMap((message) => unpacked(message).lines)).toEqual(lines);
    for (const { blob } of messages) expect(blob?.body.length ?? 0).toBeLessThanOrEqual(ROW_MAX_BYTES);
  });

  it("names the records that are too large altogether, and only those", () => {
    const lines = [
      line(10, "plain", 1),
      line(2_600_000, "noise", 2),
      line(20, "plain", 3),
      line(RECORD_MAX_BYTES + 1, "plain", 4),
      line(RECORD_MAX_BYTES, "plain", 5),
    ];
    expect(packRecords(lines, context())).toEqual({ ok: false, tooLarge: [1, 3] });
  });

  it("takes a message of exactly the bytes that the queue takes, and none of one more", () => {
    const sizes = Array.from({ length: 60 }, (_, i) => 167_000 + i * 100);
    const outcomes = sizes.map((bytes) => {
      const text = line(bytes, "noise", 1);
      const { length } = encodeParts(
        [{ id: "0".repeat(32), takenInMs: TAKEN, keyed: false, records: 1 }],
        new TextEncoder().encode(`${text}\n`),
      );
      const [message] = messagesOf([text], context());
      expect(message?.blob === null, `${length} bytes`).toBe(length <= QUEUE_MESSAGE_MAX_BYTES);
      return message?.blob === null;
    });
    // Both kinds have occurred.
    expect(new Set(outcomes)).toEqual(new Set([true, false]));
  });

  it("counts bytes, not characters", () => {
    const lines = Array.from({ length: 10 }, (_, i) => `"${"€".repeat(20_000)}${i}"`);
    const messages = messagesOf(lines, context());
    for (const { body } of messages) {
      const bytes = new TextEncoder().encode(decoded(body).lines.join("\n")).length + 1;
      expect(bytes).toBeLessThanOrEqual(rawMax);
    }
    expect(messages.length).toBe(Math.ceil(10 / Math.floor(rawMax / 60_004)));
  });
});

describe("packing by key", () => {
  it("draws its boundaries from the lines' lengths alone, whatever a compressor makes of them", () => {
    fc.assert(
      fc.property(shapes, (wanted) => {
        const counts = (kind: "noise" | "plain") =>
          messagesOf(linesOf(wanted.map(({ bytes }) => ({ bytes, kind }))), keyed()).map(({ records }) => records);
        expect(counts("noise")).toEqual(counts("plain"));
      }),
      { numRuns: 40 },
    );
  });

  it("gives the same messages under the same ids when the same lines come again at another time", () => {
    fc.assert(
      fc.property(shapes, (wanted) => {
        const lines = linesOf(wanted);
        const first = messagesOf(lines, keyed());
        const again = messagesOf(lines, { ...keyed(), takenInMs: TAKEN + 86_400_000 });
        expect(again.map(({ id, body }) => [id, decoded(body).lines])).toEqual(
          first.map(({ id, body }) => [id, decoded(body).lines]),
        );
      }),
      { numRuns: 20 },
    );
  });
});

describe("packing at random", () => {
  it("halves what does not compress until it fits", () => {
    const lines = linesOf(Array.from({ length: 96 }, () => ({ bytes: 4_999, kind: "noise" as const })));
    expect(messagesOf(lines, open()).map(({ records }) => records)).toEqual([24, 24, 24, 24]);
  });
});

describe("ids", () => {
  const body = new TextEncoder().encode('{"event":null}');

  it("by key are a function of key, body and part", () => {
    const of = (name: string, bytes: Uint8Array, part: number, settings = "") => keyedIds(name, bytes, settings)(part);
    expect(of("a", body, 0)).toBe(of("a", body.slice(), 0));
    expect(of("a", body, 0)).toMatch(/^[0-9a-f]{32}$/);
    const others = [
      of("a", body, 1),
      of("b", body, 0),
      of("a", body.slice(1), 0),
      of("a", new Uint8Array(), 0),
      of("", body, 0),
      of("a", body, 0, "unnamed"),
    ];
    expect(new Set([of("a", body, 0), ...others]).size).toBe(7);
  });

  it("by key do not confuse where the key ends and the body begins", () => {
    const bytes = (text: string) => new TextEncoder().encode(text);
    expect(keyedIds("ab", bytes("c"), "")(0)).not.toBe(keyedIds("a", bytes("bc"), "")(0));
    expect(keyedIds("a", bytes("x"), "b")(0)).not.toBe(keyedIds("ab", bytes("x"), "")(0));
  });

  it("by key do not depend on the order in which they are asked for", () => {
    const one = keyedIds("k", body, "");
    const other = keyedIds("k", body, "");
    expect([one(2), one(1), one(0)].reverse()).toEqual([other(0), other(1), other(2)]);
  });

  it("at random are 16 bytes, and new each time", () => {
    const idOf = randomIds();
    const ids = Array.from({ length: 1_000 }, () => idOf(0));
    expect(new Set(ids).size).toBe(1_000);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/);
  });
});

describe("groups of messages for the queue", () => {
  const message = (bytes: number, n: number): PackedMessage => ({
    id: `${n}`,
    takenInMs: TAKEN,
    records: 1,
    body: new Uint8Array(bytes),
    blob: null,
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
