import { gunzipSync, inflateRawSync } from "node:zlib";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { concat } from "../../../src/base/bytes.ts";
import { deflateFragment } from "../../../src/base/deflate.ts";
import {
  contentOf,
  GZIP_HEADER,
  gzipTrailer,
  joinContents,
  STORED_BLOCK_MAX_BYTES,
  storedBlocks,
} from "../../../src/formats/object/gzip.ts";
import { readSingleMember } from "../../support/gzip-member.ts";

/**
 * Bytes that compress, and bytes that do not; now and then as many as a stored block may hold, or
 * nearly so.
 */
const bytes = fc.oneof(
  { weight: 6, arbitrary: fc.uint8Array({ maxLength: 200 }).map((array) => new Uint8Array(array)) },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.nat({ max: 255 }), fc.nat({ max: 5_000 })).map(([b, n]) => new Uint8Array(n).fill(b)),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom(1, 2), fc.integer({ min: -1, max: 1 }))
      .map(([blocks, more]) => new Uint8Array(blocks * STORED_BLOCK_MAX_BYTES + more).map((_, i) => i * 7)),
  },
);
const piece = fc.record({ raw: bytes, stored: fc.boolean() });
const pieces = fc.array(piece, { maxLength: 8 });

const written = (all: readonly { raw: Uint8Array; stored: boolean }[]): Uint8Array =>
  concat([
    GZIP_HEADER,
    ...all.map(({ raw, stored }) => (stored ? storedBlocks(raw) : deflateFragment(raw))),
    gzipTrailer(joinContents(all.map(({ raw }) => contentOf(raw)))),
  ]);

describe("a gzip member of fragments and stored blocks", () => {
  it("is one member to zlib and to the strictest reader, in whatever order they come, with nothing but their bytes", () => {
    fc.assert(
      fc.property(pieces, (all) => {
        const raw = concat(all.map((each) => each.raw));
        const member = written(all);
        const read = readSingleMember(member);
        expect(read.ok ? "one member" : read.reason).toBe("one member");
        if (read.ok) expect(Buffer.compare(read.raw, raw)).toBe(0);
        expect(Buffer.compare(gunzipSync(member), raw)).toBe(0);
      }),
      { numRuns: 200 },
    );
  });
});

describe("stored blocks", () => {
  it("are as few as their bytes take, five bytes more for each, and inflate to them alone", () => {
    fc.assert(
      fc.property(bytes, (raw) => {
        const stored = storedBlocks(raw);
        const blocks = Math.ceil(raw.length / STORED_BLOCK_MAX_BYTES);
        expect(stored.length).toBe(raw.length + 5 * blocks);
        expect(Buffer.compare(inflateRawSync(concat([stored, Uint8Array.of(3, 0)])), raw)).toBe(0);
        expect(stored.buffer.byteLength).toBe(stored.length);
      }),
      { numRuns: 200 },
    );
  });
});

describe("what is known of contents", () => {
  it("is the same however they are grouped before they are joined, and may be more than bytes in memory", () => {
    const content = fc.record({
      rawBytes: fc.oneof(fc.nat({ max: 100 }), fc.integer({ min: 0, max: 2 ** 45 })),
      crc: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    });
    fc.assert(
      fc.property(fc.array(content, { maxLength: 12 }), fc.nat(), fc.nat(), (all, a, b) => {
        const [from, to] = [a % (all.length + 1), b % (all.length + 1)].sort((x, y) => x - y) as [number, number];
        const grouped = [...all.slice(0, from), joinContents(all.slice(from, to)), ...all.slice(to)];
        expect(joinContents(grouped)).toEqual(joinContents(all));
        expect(joinContents(all).rawBytes).toBe(all.reduce((sum, { rawBytes }) => sum + rawBytes, 0));
      }),
    );
  });

  it("stands at the end of a member: CRC-32, and the length modulo 2^32, least significant byte first", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.maxSafeNat(), (crc, rawBytes) => {
        const trailer = gzipTrailer({ crc, rawBytes });
        const bytesOf = (value: bigint) => [0n, 8n, 16n, 24n].map((shift) => Number((value >> shift) & 0xffn));
        expect([...trailer]).toEqual([3, 0, ...bytesOf(BigInt(crc)), ...bytesOf(BigInt(rawBytes))]);
      }),
    );
  });
});
