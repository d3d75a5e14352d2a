import { constants, crc32, deflateRawSync } from "node:zlib";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { concat, isAscii } from "../../src/bytes.ts";
import { EVENT_MAX_BYTES } from "../../src/limits.ts";
import {
  type Decoded,
  decodeMessage as decodeAny,
  decodeEnvelope as decodeHead,
  type Envelope,
  headOf,
  isNewer,
  joinMessage,
  type Message,
  type Part,
  splitMessage,
} from "../../src/queue/message.ts";
import { recordLine } from "../../src/record/encode.ts";
import { anyRecord, noise, TAKEN } from "../record/samples.ts";
import { encodeMessage } from "../support/message-v1.ts";

/** A message of version 1, which has one part and says nothing of its records. */
type One = Omit<Message, "parts" | "facts"> & Part;

function ofOne<T extends Envelope>(decoded: Decoded<T>): Decoded<Omit<T, "parts" | "facts"> & Part> {
  if (!decoded.ok) return decoded;
  const { parts, facts, ...rest } = decoded.value as T & { facts?: null };
  const [part, ...others] = parts;
  if (part === undefined || others.length > 0 || facts) throw new Error("not of version 1");
  return { ok: true, value: { ...rest, ...part } };
}

const decodeMessage = (body: unknown) => ofOne(decodeAny(body));
const decodeEnvelope = (body: unknown) => ofOne(decodeHead(body));

const ID = "00112233445566778899aabbccddeeff";
const encoder = new TextEncoder();

const rawOf = (lines: readonly string[]): Uint8Array => encoder.encode(lines.map((line) => `${line}\n`).join(""));

const hexId = fc
  .uint8Array({ minLength: 16, maxLength: 16 })
  .map((bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join(""));

/** Messages as packing makes them: short ones stay raw, longer ones are deflated. */
const anyMessage: fc.Arbitrary<One> = fc
  .record({
    id: hexId,
    takenInMs: fc.nat({ max: Number.MAX_SAFE_INTEGER }),
    keyed: fc.boolean(),
    elsewhere: fc.constant(null),
    lines: fc.array(anyRecord.map(recordLine), { maxLength: 5 }),
  })
  .map((message) => ({ ...message, records: message.lines.length, ascii: isAscii(message.lines.join()) }));

const encode = (message: One): Uint8Array<ArrayBuffer> => encodeMessage(message, rawOf(message.lines));

/** A message of one record, deflated or not. */
function example(kind: "deflated" | "raw"): { message: One; bytes: Uint8Array<ArrayBuffer> } {
  const lines = [kind === "deflated" ? JSON.stringify({ a: "a".repeat(300) }) : '{"a":1}'];
  const message = { id: ID, takenInMs: TAKEN, keyed: false, elsewhere: null, records: 1, lines, ascii: true };
  const bytes = encode(message);
  if ((bytes[3] === 1) !== (kind === "deflated")) throw new Error("the example is not what it should be");
  return { message, bytes };
}

/** A message with a forged header. */
function forged(
  fields: { flags?: number; records?: number; rawLength?: number; crc?: number },
  payload: Uint8Array,
): ArrayBuffer {
  const bytes = new Uint8Array(40 + payload.length);
  bytes.set(
    encode({ id: ID, takenInMs: TAKEN, keyed: false, elsewhere: null, records: 0, lines: [], ascii: true }).subarray(
      0,
      40,
    ),
  );
  const view = new DataView(bytes.buffer);
  view.setUint8(3, fields.flags ?? 0);
  view.setUint32(28, fields.records ?? 1);
  view.setUint32(32, fields.rawLength ?? payload.length);
  view.setUint32(36, fields.crc ?? crc32(payload, crc32(bytes.subarray(0, 36))));
  bytes.set(payload, 40);
  return bytes.buffer;
}

describe("a queue message", () => {
  it("comes out as it went in", () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        expect(decodeMessage(encode(message).buffer)).toEqual({ ok: true, value: message });
      }),
    );
  });

  it("tells its envelope without its records", () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        const { lines: _lines, ascii: _ascii, ...envelope } = message;
        expect(decodeEnvelope(encode(message).buffer.slice(0, 40))).toEqual({
          ok: true,
          value: envelope,
        });
      }),
    );
  });

  it("is deflated where that is shorter, and never longer than its records and a header", () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        const bytes = encode(message);
        expect(bytes.length).toBeLessThanOrEqual(40 + rawOf(message.lines).length);
      }),
    );
    expect(example("deflated").bytes.length).toBeLessThan(120);
  });

  const sizes = [2, 100, 16_383, 16_384, 16_385, 65_535, 65_536, 119_999, 262_144, 479_999, 600_000, EVENT_MAX_BYTES];

  it.each(sizes)("holds a record of %i bytes, however well it compresses", (size) => {
    const kinds = {
      noise: noise(size - 2).replaceAll('"', "'"),
      letters: "x".repeat(size - 2),
      words: "the same words ".repeat(size).slice(0, size - 2),
    };
    for (const [kind, text] of Object.entries(kinds)) {
      const message = {
        id: ID,
        takenInMs: TAKEN,
        keyed: true,
        elsewhere: null,
        records: 1,
        lines: [`"${text}"`],
        ascii: true,
      };
      const result = decodeMessage(encode(message).buffer);
      // Not toEqual: it would print a megabyte.
      expect(result.ok && result.value.lines[0] === message.lines[0], kind).toBe(true);
    }
  });

  it("is refused when any byte of its records was changed, or means what it meant", () => {
    fc.assert(
      fc.property(anyMessage, fc.nat(), fc.integer({ min: 1, max: 255 }), (message, where, change) => {
        const bytes = encode(message);
        if (bytes.length === 40) return;
        const at = 40 + (where % (bytes.length - 40));
        bytes[at] = (bytes[at] ?? 0) ^ change;
        const result = decodeMessage(bytes.buffer);
        // The last byte of a deflate stream has unused bits.
        if (result.ok) expect(result.value).toEqual(message);
      }),
      { numRuns: 300 },
    );
  });

  it.each(["deflated", "raw"] as const)("is refused when any bit of its header was changed (%s)", (kind) => {
    const { message, bytes } = example(kind);
    const passed: number[] = [];
    for (let bit = 0; bit < 40 * 8; bit++) {
      const changed = bytes.slice();
      const at = bit >> 3;
      changed[at] = (changed[at] ?? 0) ^ (1 << (bit & 7));
      const result = decodeMessage(changed.buffer);
      if (result.ok) passed.push(at);
    }
    expect(decodeMessage(bytes.buffer)).toEqual({ ok: true, value: message });
    expect([...new Set(passed)]).toEqual([]);
  });

  it.each(["deflated", "raw"] as const)("is refused when it was cut anywhere (%s)", (kind) => {
    const { bytes } = example(kind);
    for (let length = 0; length < bytes.length; length++) {
      expect(decodeMessage(bytes.slice(0, length).buffer).ok, `cut at ${length} of ${bytes.length}`).toBe(false);
    }
  });

  it("is refused when bytes follow a raw one, or means what it meant", () => {
    for (const kind of ["raw", "deflated"] as const) {
      const { message, bytes } = example(kind);
      const longer = new Uint8Array(bytes.length + 3);
      longer.set(bytes);
      const result = decodeMessage(longer.buffer);
      if (result.ok) expect([kind, result.value]).toEqual(["deflated", message]);
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
    ["a time beyond all integers", forgedTime(2n ** 53n), "has no time of intake"],
    [
      "another number of records than it says",
      forged({ records: 2 }, rawOf(["{}"])),
      "holds another number of records than it says",
    ],
    ["another checksum", forged({ crc: 1 }, rawOf(["{}"])), "fails its checksum"],
    ["another length", forged({ rawLength: 4 }, rawOf(["{}"])), "fails its checksum"],
    ["a deflate stream that is none", forged({ flags: 1 }, encoder.encode("\xff\xff\xff\xff")), "does not inflate"],
  ];

  it.each(bodies)("is refused in words, never with a throw, when it is %s", (_what, body, why) => {
    expect(decodeMessage(body)).toEqual({ ok: false, why });
  });

  it("survives anything at all", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.boolean(), (noise, magic) => {
        const bytes = new Uint8Array(noise);
        if (magic) bytes.set([0x4c, 0x53, 1, 1].slice(0, bytes.length));
        expect(decodeMessage(bytes.buffer).ok).toBe(false);
      }),
      { numRuns: 500 },
    );
  });
});

describe("a message of a newer version", () => {
  it("is told from one that is unreadable, and still says what it is noted by", () => {
    const { message, bytes } = example("deflated");
    expect([isNewer(bytes.buffer), isNewer(forgedVersion(0)), isNewer(forgedVersion(200))]).toEqual([
      false,
      false,
      true,
    ]);
    expect([isNewer("LS"), isNewer(null), isNewer(new ArrayBuffer(40)), isNewer(new ArrayBuffer(2))]).toEqual([
      false,
      false,
      false,
      false,
    ]);
    expect(headOf(forgedVersion(200))).toEqual({ id: message.id, takenInMs: TAKEN, keyed: false });
    expect(headOf(forgedTime(2n ** 53n))).toBeNull();
    expect([headOf("LS"), headOf(new ArrayBuffer(40)), headOf(new ArrayBuffer(3))]).toEqual([null, null, null]);
  });
});

describe("a reference", () => {
  it("says of itself what its message said, and is no message on its own", () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        const { lines: _lines, ascii: _ascii, ...envelope } = message;
        const { reference, key } = splitMessage(encode(message));
        expect(decodeEnvelope(reference.buffer)).toEqual({ ok: true, value: { ...envelope, elsewhere: key } });
        expect(key).toMatch(new RegExp(`^${message.id}[0-9a-f]{8}$`));
        expect(decodeMessage(reference.buffer)).toMatchObject({ ok: false });
      }),
    );
  });

  it("together with what was kept is the message again, byte for byte", () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        const bytes = encode(message);
        const { reference, body } = splitMessage(bytes);
        expect(new Uint8Array(joinMessage(reference.buffer, body))).toEqual(bytes);
      }),
    );
  });

  it("leads elsewhere when what it holds is something else, though its id is the same", () => {
    const { message } = example("deflated");
    const keys = [message, { ...message, takenInMs: TAKEN + 1 }, { ...message, lines: ['{"a":2}'] }].map(
      (each) => splitMessage(encode(each)).key,
    );
    expect(new Set(keys).size).toBe(3);
  });

  it("with what was kept for another fails the checksum", () => {
    const ours = splitMessage(example("deflated").bytes);
    const other = splitMessage(
      encode({ ...example("deflated").message, lines: [JSON.stringify({ b: "b".repeat(300) })] }),
    );
    expect(decodeMessage(joinMessage(ours.reference.buffer, other.body))).toEqual({
      ok: false,
      why: "fails its checksum",
    });
  });

  it("is nothing that has records: a message whose flag was flipped is unreadable", () => {
    const { bytes } = example("raw");
    bytes[3] = 4;
    expect(decodeEnvelope(bytes.buffer)).toEqual({ ok: false, why: "is neither a message nor a reference" });
  });
});

describe("a message that is a bomb", () => {
  // 400 MB, more than the isolate has: a repeated megabyte of zeros, and a last, empty block.
  const megabyte = deflateRawSync(new Uint8Array(1_000_000), { finishFlush: constants.Z_SYNC_FLUSH });
  const bomb = concat([...Array.from({ length: 400 }, () => megabyte), Uint8Array.of(3, 0)]);

  it("is refused by what it announces, before anything is inflated", () => {
    expect(decodeMessage(forged({ flags: 1, rawLength: 200_000_000 }, bomb))).toEqual({
      ok: false,
      why: "announces 200000000 bytes of records",
    });
    expect(decodeMessage(forged({ flags: 1, rawLength: 0xffffffff }, bomb)).ok).toBe(false);
    expect(decodeMessage(forged({ rawLength: EVENT_MAX_BYTES + 2 }, new Uint8Array(EVENT_MAX_BYTES + 2))).ok).toBe(
      false,
    );
  });

  it.each([0, 1, 1_000, EVENT_MAX_BYTES])(
    "is inflated no further than any message is long, when it announces %i bytes",
    (rawLength) => {
      expect(decodeMessage(forged({ flags: 1, rawLength }, bomb))).toEqual({ ok: false, why: "does not inflate" });
    },
  );

  it("is refused when it is a small one that announces less than it is", () => {
    for (const rawLength of [0, 1, 999_999]) {
      const body = forged({ flags: 1, rawLength, crc: 0 }, concat([megabyte, Uint8Array.of(3, 0)]));
      expect(decodeMessage(body)).toEqual({
        ok: false,
        // Not even inflated where it would be far longer than announced.
        why: rawLength < 2 ? "does not inflate" : "fails its checksum",
      });
    }
  });
});

function forgedVersion(version: number): ArrayBuffer {
  const { bytes } = example("raw");
  bytes[2] = version;
  return bytes.buffer;
}

function forgedTime(takenInMs: bigint): ArrayBuffer {
  const { bytes } = example("raw");
  new DataView(bytes.buffer).setBigUint64(20, takenInMs);
  return bytes.buffer;
}
