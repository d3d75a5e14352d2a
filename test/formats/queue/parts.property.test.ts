import { crc32 } from "node:zlib";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import { decodeEnvelope, encodeParts, headOf, type Part } from "../../../src/formats/queue/message.ts";
import { decodeBlocks, encodeBlocks } from "../../../src/formats/queue/sections.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { httpSource } from "../../../src/formats/record/source.ts";
import { linesOfParts, type ReadMessage, readMessage } from "../../support/read-message.ts";
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
    keyed: fc.boolean(),
    source: fc.option(fc.constantFrom("tail", "rpc", "http:ci", `http:${"ü".repeat(254)}`), { nil: undefined }),
    lines: fc.array(anyLine, { maxLength: 3 }),
  })
  .map(({ lines, source, ...part }) => ({
    part: { ...part, ...(source && { source }), records: lines.length },
    lines,
  }));

const anyShards = fc.constantFrom(1, 2, 4, 8, 16, 32, 64);

/** An id that lies in a shard, however many there are. */
const idIn = (id: string, byte: number): string =>
  `${id.slice(0, 2)}${byte.toString(16).padStart(2, "0")}${id.slice(4)}`;

const anyGiven: fc.Arbitrary<Given> = fc
  .record({
    parts: fc.uniqueArray(anyPart, { minLength: 1, maxLength: 4, selector: ({ part }) => idIn(part.id, 0) }),
    byte: fc.nat(255),
    shards: anyShards,
  })
  .map(({ parts, byte, shards }) => ({
    parts: parts.map(({ part, lines }) => ({ part: { ...part, shards, id: idIn(part.id, byte) }, lines })),
  }));

type More = Parameters<typeof encodeParts>[2];

function encode({ parts }: Given, more?: More): Uint8Array<ArrayBuffer> {
  const raw = rawOf(parts.flatMap(({ lines }) => lines));
  return encodeParts(parts.map(({ part }) => part) as [Part, ...Part[]], raw, more);
}

function messageOf({ parts }: Given): ReadMessage {
  const lines = parts.flatMap((part) => part.lines);
  return { parts: parts.map(({ part }) => part), lines };
}

const SMALL: Given = {
  parts: [1, 2].map((n) => ({
    part: { id: `${n}`.repeat(32), takenInMs: NOON + n, keyed: n === 2, shards: 1, records: n },
    lines: Array.from({ length: n }, () => JSON.stringify({ n, text: "x".repeat(40) })),
  })),
};

describe("a message of parts", () => {
  it("comes out as it went in, each part with its own lines", () => {
    fc.assert(
      fc.property(anyGiven, (given) => {
        const decoded = readMessage(encode(given).buffer);
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
        const head = { id: first?.part.id, keyed: first?.part.keyed, shards: first?.part.shards, takenInMs };
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
        expect(readMessage(bytes.buffer)).toEqual({ ok: true, value: messageOf(given) });
      }),
    );
  });

  it("is refused when any bit of it was changed", () => {
    const bytes = encode(SMALL, { head: [[200, Uint8Array.of(1, 2, 3)]], body: [[201, Uint8Array.of(4, 5)]] });
    expect(readMessage(bytes.buffer)).toEqual({ ok: true, value: messageOf(SMALL) });
    const passed: number[] = [];
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = bytes.slice();
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      if (readMessage(changed.buffer).ok) passed.push(bit);
    }
    expect(passed).toEqual([]);
  });

  it("is refused when any byte of it was changed, and when it was cut anywhere or goes on", () => {
    fc.assert(
      fc.property(anyGiven, fc.nat(), fc.integer({ min: 1, max: 255 }), (given, where, change) => {
        const bytes = encode(given);
        const at = where % bytes.length;
        expect(readMessage(bytes.slice(0, at).buffer).ok).toBe(false);
        const longer = new Uint8Array(bytes.length + 1);
        longer.set(bytes);
        expect(readMessage(longer.buffer).ok).toBe(false);
        bytes[at] = (bytes[at] ?? 0) ^ change;
        expect(readMessage(bytes.buffer).ok).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  it("is refused where two parts have one id, and where there is none", () => {
    const [first] = SMALL.parts as [Given["parts"][0]];
    expect(readMessage(encode({ ...SMALL, parts: [first, first] }).buffer)).toEqual({
      ok: false,
      why: "does not say what its parts are",
    });
    const bytes = encode(SMALL);
    const blocks = decodeBlocks(bytes.subarray(40, new DataView(bytes.buffer).getUint32(28)));
    const without = encodeBlocks([...(blocks ?? [])].filter(([type]) => type !== 1));
    expect(readMessage(reheaded(bytes, without)).ok).toBe(false);
  });

  it("is refused where its parts belong to several shards, or to one that there cannot be", () => {
    const of = (...parts: readonly (readonly [byte: number, shards: number])[]): Given => ({
      parts: parts.map(([byte, shards], n) => ({
        part: { id: idIn(`${n}`.repeat(32), byte), takenInMs: NOON, keyed: n === 1, shards, records: 0 },
        lines: [],
      })),
    });
    const isRead = (given: Given): boolean => readMessage(encode(given).buffer).ok;
    // Whatever number each of them states.
    expect([isRead(of([5, 4], [9, 4])), isRead(of([5, 4], [1, 64])), isRead(of([4, 4], [77, 1]))]).toEqual(
      Array(3).fill(true),
    );
    expect([isRead(of([5, 4], [6, 4])), isRead(of([5, 4], [5, 8])), isRead(of([1, 2], [1, 1]))]).toEqual(
      Array(3).fill(false),
    );
    expect(isRead(of([0, 128]))).toBe(false);
  });

  it("survives anything at all", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (noise) => {
        const bytes = new Uint8Array(noise);
        bytes.set([0x4c, 0x53, 1, 1].slice(0, bytes.length));
        expect(readMessage(bytes.buffer).ok).toBe(false);
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
      ...{ id: i.toString(16).padStart(32, "0"), takenInMs: NOON, keyed: false, shards: 1, records: 0 },
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
    const bytes = encodeParts(parts(undefined), rawOf([]), { head: [[3, Uint8Array.from(block)]] });
    expect(sourcesOf(bytes)).toEqual([undefined]);
    expect(readMessage(bytes.buffer).ok).toBe(true);
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
