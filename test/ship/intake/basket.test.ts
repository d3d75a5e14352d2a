import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import { PACKED_MAX_PARTS, PACKER_PART_MAX_BYTES, QUEUE_MESSAGE_MAX_BYTES } from "../../../src/base/limits.ts";
import { macKeyOf } from "../../../src/formats/queue/mac.ts";
import { type BatchedPart, Batcher, type Group, messagesOf } from "../../../src/ship/intake/batcher.ts";
import { noisyLine, TAKEN } from "../../formats/record/samples.ts";
import { linesOfParts, readMessage } from "../../support/read-message.ts";

const id = (n: number): string => n.toString(16).padStart(32, "0");

function partOf(n: number, lines: readonly string[], takenInMs = TAKEN): BatchedPart {
  const part = { id: id(n), takenInMs, keyed: false, shards: 1, records: lines.length, source: "tail" };
  return { part, raw: encodeUtf8(lines.map((line) => `${line}\n`).join("")) };
}

/** One of so many bytes. */
const ofBytes = (n: number, bytes: number): BatchedPart => partOf(n, ["x".repeat(bytes - 1)]);

/** Adds parts. @returns their groups, in order. */
function groupsOf(batcher: Batcher, parts: readonly BatchedPart[]): Group[] {
  const groups: Group[] = [];
  for (const part of parts) {
    const { group, isNew } = batcher.add(part, TAKEN);
    expect(isNew).toBe(groups.at(-1) !== group);
    if (isNew) groups.push(group);
  }
  return groups;
}

const sizesOf = (groups: readonly Group[]): number[] => groups.map(({ parts }) => parts.length);

describe("gathering parts", () => {
  it("puts them into one group, until that is closed", () => {
    const batcher = new Batcher();
    const [group] = groupsOf(batcher, [ofBytes(1, 100), ofBytes(2, 100)]);
    batcher.close(group as Group);
    batcher.close(group as Group);
    const { isNew } = batcher.add(ofBytes(3, 100), TAKEN);
    expect([isNew, group?.parts.length, group?.openedMs]).toEqual([true, 2, TAKEN]);
  });

  it("closes one to which a part would add more than a billed unit, and says so", async () => {
    const batcher = new Batcher();
    // By the ratio of the beginning, 20 kB each.
    const groups = groupsOf(
      batcher,
      [1, 2, 3, 4].map((n) => ofBytes(n, 100_000)),
    );
    expect(sizesOf(groups)).toEqual([3, 1]);
    await groups[0]?.closed;
    expect(await Promise.race([groups[1]?.closed.then(() => "closed"), "open"])).toBe("open");
  });

  it("learns how well records compress, and never takes more than a message may hold", () => {
    const batcher = new Batcher();
    for (let n = 0; n < 100; n++) batcher.learn(100_000, 1_000);
    const parts = Array.from({ length: 5 }, (_, n) => ofBytes(n, 110_000));
    expect(sizesOf(groupsOf(batcher, parts))).toEqual([4, 1]);
    const noise = new Batcher();
    for (let n = 0; n < 100; n++) noise.learn(100_000, 80_000);
    expect(sizesOf(groupsOf(noise, parts))).toEqual([1, 1, 1, 1, 1]);
  });

  it("counts the heads of small parts, and ends at their largest number", () => {
    const batcher = new Batcher();
    const parts = Array.from({ length: PACKED_MAX_PARTS + 1 }, (_, n) => ofBytes(n, 10));
    expect(sizesOf(groupsOf(batcher, parts))).toEqual([PACKED_MAX_PARTS, 1]);
  });
});

describe("messages of a group", () => {
  it("hold every part with its own id, time, source and lines, whatever these are", () => {
    const line = fc.string({ unit: "grapheme", maxLength: 60 }).map((text) => JSON.stringify(text));
    const parts = fc.array(fc.tuple(fc.array(line, { minLength: 1, maxLength: 5 }), fc.nat(10_000)), {
      minLength: 1,
      maxLength: 30,
    });
    fc.assert(
      fc.property(parts, (drawn) => {
        const given = drawn.map(([lines, ms], n) => partOf(n, lines, TAKEN + ms));
        const found = messagesOf(given).flatMap(({ message, ids }) => {
          const decoded = readMessage(message.body.buffer);
          if (!decoded.ok) throw new Error(decoded.why);
          expect(decoded.value.parts.map((part) => part.id)).toEqual(ids);
          expect(message.takenInMs).toBe(Math.min(...decoded.value.parts.map(({ takenInMs }) => takenInMs)));
          return linesOfParts(decoded.value);
        });
        expect(found).toEqual(given.map(({ part }, n) => ({ part, lines: drawn[n]?.[0] })));
      }),
      { numRuns: 50 },
    );
  });

  it("are sealed with the key, all parts in one", () => {
    const seal = macKeyOf(new Uint8Array(32));
    const [one] = messagesOf([partOf(1, ["1"]), partOf(2, ["2"])], seal);
    expect(readMessage(one?.message.body.buffer, [seal])).toMatchObject({ ok: true, value: { isAuthentic: true } });
  });

  it("are several where one would be larger than the queue takes, each part whole in one of them", () => {
    const given = Array.from({ length: 4 }, (_, n) => partOf(n, [noisyLine(PACKER_PART_MAX_BYTES - 20, n)]));
    const messages = messagesOf(given);
    expect(messages.length).toBeGreaterThan(1);
    expect(messages.flatMap(({ ids }) => ids)).toEqual([0, 1, 2, 3].map(id));
    for (const { message } of messages) expect(message.body.length).toBeLessThanOrEqual(QUEUE_MESSAGE_MAX_BYTES);
  });

  it("fit the queue where the largest part is alone and does not compress", () => {
    const random = Array.from(crypto.getRandomValues(new Uint8Array(60_000)).subarray(), (byte) =>
      String.fromCharCode(33 + (byte % 90)),
    ).join("");
    const raw = `${random}${random.split("").reverse().join("")}`.slice(0, PACKER_PART_MAX_BYTES - 1);
    const [only] = messagesOf([partOf(1, [raw])]);
    expect(only?.message.body.length).toBeLessThanOrEqual(QUEUE_MESSAGE_MAX_BYTES);
  });

  it("of nothing are none", () => {
    expect(messagesOf([])).toEqual([]);
  });
});
