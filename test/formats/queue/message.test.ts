import { constants, crc32, deflateRawSync } from "node:zlib";
import { describe, expect, it, vi } from "vitest";
import { concat, encodeUtf8 } from "../../../src/base/bytes.ts";
import { EVENT_MAX_BYTES } from "../../../src/base/limits.ts";
import { load } from "../../../src/formats/queue/load-records.ts";
import { decodeEnvelope, headOf, isNewer, type Part } from "../../../src/formats/queue/message.ts";
import { encodeBlocks } from "../../../src/formats/queue/sections.ts";
import { encodeMessage } from "../../support/message.ts";
import { readMessage } from "../../support/read-message.ts";
import { noise, TAKEN } from "../record/samples.ts";

const PART: Part = { id: "00112233445566778899aabbccddeeff", takenInMs: TAKEN, keyed: false, shards: 1, records: 1 };

const encode = (line: string, fields: Partial<Part> = {}) =>
  encodeMessage({ ...PART, ...fields }, encodeUtf8(`${line}\n`));

/** A message of one record, deflated or not. */
function example(kind: "deflated" | "raw"): Uint8Array<ArrayBuffer> {
  const bytes = encode(kind === "deflated" ? JSON.stringify({ a: "a".repeat(300) }) : '{"a":1}');
  if ((bytes[3] === 1) !== (kind === "deflated")) throw new Error("the example is not what it should be");
  return bytes;
}

/** A message whose checksums are right, whatever it says of its records. */
function forged(
  { flags = 0, records = 1, rawLength, crc }: { flags?: number; records?: number; rawLength?: number; crc?: number },
  payload: Uint8Array,
): ArrayBuffer {
  const empty = encodeMessage({ ...PART, records }, new Uint8Array());
  const body = encodeBlocks([[1, payload]]);
  const says = new DataView(new ArrayBuffer(12));
  for (const [i, value] of [rawLength ?? payload.length, crc ?? crc32(payload), crc32(body)].entries())
    says.setUint32(4 * i, value);
  const blocks = encodeBlocks([
    [1, empty.subarray(45, 74)],
    [2, new Uint8Array(says.buffer)],
  ]);
  const bytes = concat([empty.subarray(0, 40), blocks, body]);
  const view = new DataView(bytes.buffer);
  view.setUint8(3, flags);
  view.setUint32(28, 40 + blocks.length);
  view.setUint32(32, body.length);
  view.setUint32(36, crc32(blocks, crc32(bytes.subarray(0, 36))));
  return bytes.buffer;
}

function forgedVersion(version: number): ArrayBuffer {
  const bytes = example("raw");
  bytes[2] = version;
  return bytes.buffer;
}

function forgedTime(takenInMs: bigint): ArrayBuffer {
  const bytes = example("raw");
  new DataView(bytes.buffer).setBigUint64(20, takenInMs);
  return bytes.buffer;
}

function forgedFlags(flags: number): ArrayBuffer {
  const bytes = example("raw");
  bytes[3] = flags;
  return bytes.buffer;
}

describe("a queue message", () => {
  it("is deflated where that is shorter", () => {
    expect(example("deflated").length).toBeLessThan(170);
  });

  const sizes = [2, 100, 16_383, 16_384, 16_385, 65_535, 65_536, 119_999, 262_144, 479_999, 600_000, EVENT_MAX_BYTES];

  it.each(sizes)("holds a record of %i bytes, however well it compresses", (size) => {
    const kinds = {
      noise: noise(size - 2).replaceAll('"', "'"),
      letters: "x".repeat(size - 2),
      words: "the same words ".repeat(size).slice(0, size - 2),
    };
    for (const [kind, text] of Object.entries(kinds)) {
      const line = `"${text}"`;
      const result = readMessage(encode(line, { keyed: true }).buffer);
      // Not toEqual: it would print a megabyte.
      expect(result.ok && result.value.lines[0] === line, kind).toBe(true);
    }
  });

  const bodies: [what: string, body: unknown, why: string][] = [
    ["a text", "LS", "not a message of bytes"],
    ["an object", { id: 1 }, "not a message of bytes"],
    ["nothing", null, "not a message of bytes"],
    ["undefined", undefined, "not a message of bytes"],
    ["no bytes", new ArrayBuffer(0), "shorter than a header"],
    ["39 bytes", new ArrayBuffer(39), "shorter than a header"],
    ["40 zeros", new ArrayBuffer(40), "not a logship message"],
    ["a later version", forgedVersion(200), "of unknown version 200"],
    ["a time beyond all integers", forgedTime(2n ** 53n), "has no time of intake, or no shard"],
    ["of a shard that there cannot be", forgedFlags(0x70), "has no time of intake, or no shard"],
    [
      "another number of records than it says",
      forged({ records: 2 }, encodeUtf8("{}\n")),
      "holds another number of records than it says",
    ],
    ["another checksum", forged({ crc: 1 }, encodeUtf8("{}\n")), "fails its checksum"],
    ["another length", forged({ rawLength: 4 }, encodeUtf8("{}\n")), "fails its checksum"],
    ["a deflate stream that is none", forged({ flags: 1 }, encodeUtf8("\xff\xff\xff\xff")), "does not inflate"],
  ];

  it.each(bodies)("is refused in words, never with a throw, when it is %s", (_what, body, why) => {
    expect(readMessage(body)).toEqual({ ok: false, why });
  });
});

describe("a message of a newer version", () => {
  it("is told from one that is unreadable, and still says what it is noted by", () => {
    const [known, none, newer] = [example("deflated").buffer, forgedVersion(0), forgedVersion(200)];
    expect([known, none, newer, forgedVersion(2)].map(isNewer)).toEqual([false, false, true, true]);
    expect(["LS", null, new ArrayBuffer(40), new ArrayBuffer(2)].map(isNewer)).toEqual([false, false, false, false]);
    expect(headOf(newer)).toEqual({ id: PART.id, takenInMs: TAKEN, keyed: false, shards: 1 });
    expect(headOf(forgedFlags(0x62))).toMatchObject({ keyed: true, shards: 64 });
    expect(headOf(forgedFlags(0x70))).toBeNull();
    expect(headOf(forgedTime(2n ** 53n))).toBeNull();
    expect([headOf("LS"), headOf(new ArrayBuffer(40)), headOf(new ArrayBuffer(3))]).toEqual([null, null, null]);
  });
});

describe("a message that is a bomb", () => {
  // 400 MB, more than the isolate has: a repeated megabyte of zeros, and a last, empty block.
  const megabyte = deflateRawSync(new Uint8Array(1_000_000), { finishFlush: constants.Z_SYNC_FLUSH });
  const bomb = concat([...Array.from({ length: 400 }, () => megabyte), Uint8Array.of(3, 0)]);

  it("is refused by what it announces, before anything is inflated", () => {
    expect(readMessage(forged({ flags: 1, rawLength: 200_000_000 }, bomb))).toEqual({
      ok: false,
      why: "announces 200000000 bytes of records",
    });
    expect(readMessage(forged({ flags: 1, rawLength: 0xffffffff }, bomb)).ok).toBe(false);
    expect(readMessage(forged({ rawLength: EVENT_MAX_BYTES + 2 }, new Uint8Array(EVENT_MAX_BYTES + 2))).ok).toBe(false);
  });

  it.each([0, 1, 1_000, EVENT_MAX_BYTES])(
    "is inflated no further than any message is long, when it announces %i bytes",
    (rawLength) => {
      expect(readMessage(forged({ flags: 1, rawLength }, bomb))).toEqual({ ok: false, why: "does not inflate" });
    },
  );

  it("of millions of newlines takes no room for the fields of each", () => {
    const records = 200_000;
    const body = encodeMessage({ ...PART, records }, new Uint8Array(records).fill(0x0a)).buffer;
    const sizes: number[] = [];
    const construct = (list: typeof Int32Array, [size]: [number]) => {
      sizes.push(size);
      return new list(size);
    };
    vi.stubGlobal("Int32Array", new Proxy(Int32Array, { construct }));
    try {
      const loading = load({ body, envelope: decodeEnvelope(body) });
      expect(loading).toEqual({ kind: "unreadable", why: "holds a line that is no record" });
    } finally {
      vi.unstubAllGlobals();
    }
    // Where each line ends, and what as many bytes of records take.
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(1.2 * records);
  });

  it("is refused when it is a small one that announces less than it is", () => {
    for (const rawLength of [0, 1, 999_999]) {
      const body = forged({ flags: 1, rawLength, crc: 0 }, concat([megabyte, Uint8Array.of(3, 0)]));
      expect(readMessage(body)).toEqual({
        ok: false,
        // Not even inflated where it would be far longer than announced.
        why: rawLength < 2 ? "does not inflate" : "fails its checksum",
      });
    }
  });
});
