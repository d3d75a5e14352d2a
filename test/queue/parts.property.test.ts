import { crc32 } from "node:zlib";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeUtf8, isAscii } from "../../src/bytes.ts";
import { decodeBlocks, encodeBlocks } from "../../src/queue/blocks.ts";
import {
  blobKey,
  decodeEnvelope,
  decodeMessage,
  encodeParts,
  headOf,
  joinMessage,
  type Message,
  type Part,
  splitMessage,
} from "../../src/queue/message.ts";
import { linesOfParts } from "../../src/queue/parts.ts";
import { recordLine } from "../../src/record/encode.ts";
import { httpSource } from "../../src/record/source.ts";
import { anyRecord, NOON } from "../record/samples.ts";

const rawOf = (lines: readonly string[]): Uint8Array => encodeUtf8(lines.map((line) => `${line}\n`).join(""));

interface Given {
  parts: { part: Part; lines: string[] }[];
}

const anyTime = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const anyLine = fc.oneof(anyRecord.map(recordLine), fc.constant(`"${"a".repeat(300)}"`), fc.constant("{}"));

const anyPart = fc
  .record({
    id: fc.stringMatching(/^[0-9a-f]{32}$/),
    takenInMs: anyTime,
    /** How long before it the first copy of its request came. */
    afterMs: fc.option(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), { nil: undefined }),
    keyed: fc.boolean(),
    source: fc.option(fc.constantFrom("tail", "rpc", "http:ci", `http:${"ü".repeat(254)}`), { nil: undefined }),
    lines: fc.array(anyLine, { maxLength: 3 }),
  })
  .map(({ lines, source, afterMs = Number.POSITIVE_INFINITY, ...part }) => {
    const isRepeat = afterMs <= part.takenInMs;
    const first = isRepeat ? { firstMs: part.takenInMs - afterMs } : {};
    return { part: { ...part, ...first, ...(source && { source }), records: lines.length }, lines };
  });

const anyGiven: fc.Arbitrary<Given> = fc
  .uniqueArray(anyPart, { minLength: 1, maxLength: 4, selector: ({ part }) => part.id })
  .map((parts) => ({ parts }));

type More = Parameters<typeof encodeParts>[2];

function encode({ parts }: Given, more?: More): Uint8Array<ArrayBuffer> {
  const raw = rawOf(parts.flatMap(({ lines }) => lines));
  return encodeParts(parts.map(({ part }) => part) as [Part, ...Part[]], raw, more);
}

function messageOf({ parts }: Given): Message {
  const lines = parts.flatMap((part) => part.lines);
  return { parts: parts.map(({ part }) => part), elsewhere: null, lines, ascii: isAscii(lines.join("")) };
}

const SMALL: Given = {
  parts: [1, 2].map((n) => ({
    part: { id: `${n}`.repeat(32), takenInMs: NOON + n, keyed: n === 2, records: n },
    lines: Array.from({ length: n }, () => JSON.stringify({ n, text: "x".repeat(40) })),
  })),
};

describe("a message of parts", () => {
  it("comes out as it went in, each part with its own lines", () => {
    fc.assert(
      fc.property(anyGiven, (given) => {
        const decoded = decodeMessage(encode(given).buffer);
        expect(decoded).toEqual({ ok: true, value: messageOf(given) });
        if (decoded.ok) expect(linesOfParts(decoded.value)).toEqual(given.parts);
      }),
    );
  });

  it("says of itself, to code of any version, the id of its first part and the time of its oldest", () => {
    fc.assert(
      fc.property(anyGiven, (given) => {
        const bytes = encode(given);
        const [first] = given.parts;
        const takenInMs = Math.min(...given.parts.map(({ part }) => part.takenInMs));
        const head = { id: first?.part.id, keyed: first?.part.keyed, takenInMs };
        expect(headOf(bytes.buffer)).toEqual(head);
        bytes[2] = 77;
        expect(headOf(bytes.buffer)).toEqual(head);
      }),
    );
  });

  it("is read by code that does not know all of its blocks", () => {
    const block = fc.tuple(fc.integer({ min: 10, max: 255 }), fc.uint8Array({ maxLength: 40 }));
    const blocks = fc.uniqueArray(block, { maxLength: 3, selector: ([type]) => type });
    fc.assert(
      fc.property(anyGiven, blocks, blocks, (given, head, body) => {
        const bytes = encode(given, { head, body });
        expect(decodeMessage(bytes.buffer)).toEqual({ ok: true, value: messageOf(given) });
        const split = splitMessage(bytes);
        expect(new Uint8Array(joinMessage(split.reference.buffer, split.body))).toEqual(bytes);
      }),
    );
  });

  it("is refused when any bit of it was changed", () => {
    const bytes = encode(SMALL, { head: [[200, Uint8Array.of(1, 2, 3)]], body: [[201, Uint8Array.of(4, 5)]] });
    expect(decodeMessage(bytes.buffer)).toEqual({ ok: true, value: messageOf(SMALL) });
    const passed: number[] = [];
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = bytes.slice();
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      if (decodeMessage(changed.buffer).ok) passed.push(bit);
    }
    expect(passed).toEqual([]);
  });

  it("is refused when any byte of it was changed, and when it was cut anywhere or goes on", () => {
    fc.assert(
      fc.property(anyGiven, fc.nat(), fc.integer({ min: 1, max: 255 }), (given, where, change) => {
        const bytes = encode(given);
        const at = where % bytes.length;
        expect(decodeMessage(bytes.slice(0, at).buffer).ok).toBe(false);
        const longer = new Uint8Array(bytes.length + 1);
        longer.set(bytes);
        expect(decodeMessage(longer.buffer).ok).toBe(false);
        bytes[at] = (bytes[at] ?? 0) ^ change;
        expect(decodeMessage(bytes.buffer).ok).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  it("is refused where two parts have one id, and where there is none", () => {
    const [first] = SMALL.parts as [Given["parts"][0]];
    expect(decodeMessage(encode({ ...SMALL, parts: [first, first] }).buffer)).toEqual({
      ok: false,
      why: "does not say what its parts are",
    });
    const bytes = encode(SMALL);
    const blocks = decodeBlocks(bytes.subarray(40, new DataView(bytes.buffer).getUint32(28)));
    const without = encodeBlocks([...(blocks ?? [])].filter(([type]) => type !== 1));
    expect(decodeMessage(reheaded(bytes, without)).ok).toBe(false);
  });

  it("is refused where a first copy came after its repeat, or not each part has one", () => {
    const bytes = encode(SMALL);
    const end = new DataView(bytes.buffer).getUint32(28);
    const with_ = (...firsts: number[]): boolean => {
      const block = new Uint8Array(8 * firsts.length);
      for (const [i, ms] of firsts.entries()) new DataView(block.buffer).setBigUint64(8 * i, BigInt(ms));
      const blocks = [...(decodeBlocks(bytes.subarray(40, end)) ?? []), [3, block] as const];
      return decodeMessage(reheaded(bytes, encodeBlocks(blocks))).ok;
    };
    expect([with_(NOON, NOON), with_(NOON + 1, NOON + 2)]).toEqual([true, true]);
    expect([with_(NOON, NOON + 3), with_(NOON + 2, NOON), with_(NOON), with_(), with_(NOON, NOON, NOON)]).toEqual(
      Array(5).fill(false),
    );
  });

  it("survives anything at all", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (noise) => {
        const bytes = new Uint8Array(noise);
        bytes.set([0x4c, 0x53, 1, 1].slice(0, bytes.length));
        expect(decodeMessage(bytes.buffer).ok).toBe(false);
      }),
      { numRuns: 500 },
    );
  });
});

/** The same message with other blocks in its head, and a checksum that fits. */
function reheaded(bytes: Uint8Array, blocks: Uint8Array): ArrayBuffer {
  const before = new DataView(bytes.buffer).getUint32(28);
  const changed = new Uint8Array(40 + blocks.length + bytes.length - before);
  changed.set(bytes.subarray(0, 40));
  changed.set(blocks, 40);
  changed.set(bytes.subarray(before), 40 + blocks.length);
  const view = new DataView(changed.buffer);
  view.setUint32(28, 40 + blocks.length);
  view.setUint32(36, crc32(blocks, crc32(changed.subarray(0, 36))));
  return changed.buffer;
}

describe("a reference to a message of parts", () => {
  it("names the same parts, and the message is whole again with what was kept", () => {
    fc.assert(
      fc.property(anyGiven, (given) => {
        const bytes = encode(given);
        const { reference, key, body } = splitMessage(bytes);
        const { parts } = messageOf(given);
        expect(decodeEnvelope(reference.buffer)).toEqual({ ok: true, value: { parts, elsewhere: key } });
        expect(decodeMessage(reference.buffer).ok).toBe(false);
        expect([key, blobKey(bytes)]).toEqual([blobKey(reference), key]);
        expect(new Uint8Array(joinMessage(reference.buffer, body))).toEqual(bytes);
      }),
    );
  });

  it("leads elsewhere when what it holds is something else, and with that fails the checksum", () => {
    const other = { ...SMALL, parts: SMALL.parts.map((part) => ({ ...part, lines: part.lines.map(() => '{"n":9}') })) };
    const [ours, theirs] = [splitMessage(encode(SMALL)), splitMessage(encode(other))];
    expect(ours.key).not.toBe(theirs.key);
    expect(decodeMessage(joinMessage(ours.reference.buffer, theirs.body)).ok).toBe(false);
  });
});

describe("blocks", () => {
  it("are refused when they do not end where the bytes do, or two are of one type", () => {
    const blocks = encodeBlocks([
      [1, Uint8Array.of(1, 2)],
      [2, new Uint8Array()],
    ]);
    expect([...(decodeBlocks(blocks)?.keys() ?? [])]).toEqual([1, 2]);
    for (let length = 1; length < blocks.length; length++)
      if (length !== 7) expect(decodeBlocks(blocks.subarray(0, length)), `${length}`).toBeNull();
    expect(decodeBlocks(encodeBlocks([...[1, 1].map((type) => [type, new Uint8Array()] as const)]))).toBeNull();
  });
});

describe("where the parts of a message came from", () => {
  const parts = (...sources: (string | undefined)[]): [Part, ...Part[]] =>
    sources.map((source, i) => ({
      ...{ id: i.toString(16).padStart(32, "0"), takenInMs: NOON, keyed: false, records: 0 },
      ...(source !== undefined && { source }),
    })) as [Part, ...Part[]];
  const sourcesOf = (bytes: Uint8Array<ArrayBuffer>): (string | undefined)[] | null => {
    const decoded = decodeEnvelope(bytes.buffer);
    return decoded.ok ? decoded.value.parts.map(({ source }) => source) : null;
  };
  const written = (...sources: (string | undefined)[]) => encodeParts(parts(...sources), new Uint8Array());

  it("takes at most 30 bytes of what tail() sends, and none where it is unknown", () => {
    expect(written("tail").length - written(undefined).length).toBeLessThanOrEqual(30);
    expect(written("").length).toBe(written(undefined).length);
  });

  it("is named once, however many parts came from there", () => {
    const [one, ten] = [written("http:ci"), written(...Array<string>(10).fill("http:ci"))];
    const without = written(...Array<undefined>(10).fill(undefined)).length - written(undefined).length;
    expect(ten.length - one.length - without).toBe(9);
    expect(sourcesOf(ten)).toEqual(Array(10).fill("http:ci"));
  });

  it("is told of 255 sources, and unknown of further ones", () => {
    const many = Array.from({ length: 300 }, (_, i) => `http:${i}`);
    expect(sourcesOf(written(...many))).toEqual([...many.slice(0, 255), ...Array(45).fill(undefined)]);
  });

  it.for<[string, number[]]>([
    ["nothing", []],
    ["a source that is cut off", [1, 0, 5, 116, 97]],
    ["a part too few", [1, 0, 4, 116, 97, 105, 108]],
    ["a part too many", [1, 0, 4, 116, 97, 105, 108, 1, 1]],
    ["no UTF-8", [1, 0, 1, 0xff, 1]],
    ["a control character", [1, 0, 2, 116, 10, 1]],
    ["a text turned around", [1, 0, 4, 116, 0xe2, 0x80, 0xae, 1]],
    ["a number that stands for none", [1, 0, 4, 116, 97, 105, 108, 2]],
  ])("costs no record where it is malformed: %s", ([, block]) => {
    const bytes = encodeParts(parts(undefined), rawOf([]), { head: [[4, Uint8Array.from(block)]] });
    expect(sourcesOf(bytes)).toEqual([undefined]);
    expect(decodeMessage(bytes.buffer).ok).toBe(true);
  });

  it("has no more of a name than an address may be long, and nothing that is not shown", () => {
    expect(httpSource("a\u202eb\nc\ud800")).toBe("http:abc");
    for (const name of ["x".repeat(1_000), "😀".repeat(500), "tail"]) {
      const source = httpSource(name);
      expect(sourcesOf(written(source))).toEqual([source]);
      expect(source).toMatch(/^http:/);
    }
  });
});
