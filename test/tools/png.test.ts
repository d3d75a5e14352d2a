import { readFileSync } from "node:fs";
import { deflateSync, inflateSync } from "node:zlib";
import { it } from "vitest";
import { decode, shrink } from "../../tools/pictures/png.ts";

/** A PNG with 8 bits a channel, each row with a filter of its own, as a simple writer makes it. */
function png(width: number, rows: readonly (readonly [filter: number, ...bytes: number[]])[], kind: 2 | 6): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(rows.length, 4);
  header.set([8, kind, 0, 0, 0], 8);
  const chunk = (type: string, body: Buffer): Buffer => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(body.length);
    // The checksum is not read here.
    return Buffer.concat([length, Buffer.from(type, "latin1"), body, Buffer.alloc(4)]);
  };
  const signature = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
  return Buffer.concat([signature, chunk("IHDR", header), chunk("IDAT", deflateSync(Buffer.from(rows.flat())))]);
}

it("reads what each filter has left of a row", ({ expect }) => {
  const rows: [number, ...number[]][] = [
    [0, 10, 20, 30, 40, 50, 60],
    [1, 1, 2, 3, 4, 5, 6],
    [2, 1, 1, 1, 1, 1, 1],
    [3, 2, 2, 2, 2, 2, 2],
    [4, 255, 0, 1, 0, 0, 0],
  ];
  const { width, height, pixels } = decode(png(2, rows, 2));
  expect({ width, height }).toEqual({ width: 2, height: 5 });
  expect([...pixels].map((pixel) => pixel.toString(16).padStart(6, "0"))).toEqual([
    ...["0a141e", "28323c"],
    ...["010203", "050709"],
    ...["020304", "06080a"],
    ...["030304", "060709"],
    ...["020305", "060709"],
  ]);
});

it("keeps every colour of a picture that has few", ({ expect }) => {
  const rows = Array.from({ length: 40 }, (_, y): [number, ...number[]] => [0, y, 0, 255, 255, 255, y * 6, 7, 255]);
  const before = png(2, rows, 6);
  const after = shrink(before);
  expect([...readPalette(after)]).toEqual([...decode(before).pixels]);
});

it("takes the nearest of the most frequent colours where there are more", ({ expect }) => {
  // 300 grays that are a hair apart in blue; the first 44 are there once, all others twice.
  const row = (i: number): [number, ...number[]] => [0, i >> 1, 0, i & 1];
  const rows = [
    ...Array.from({ length: 300 }, (_, i) => row(i)),
    ...Array.from({ length: 256 }, (_, i) => row(i + 44)),
  ];
  const pixels = [...readPalette(shrink(png(1, rows, 2)))];
  expect(pixels[0]).toBe(22 << 16);
  expect(pixels[299]).toBe((149 << 16) + 1);
});

it("makes nothing out of anything else", ({ expect }) => {
  expect(() => shrink(readFileSync(import.meta.filename))).toThrow("this is no PNG");
});

/** Colours by their places, of a PNG with a palette, row by row. */
function* readPalette(picture: Buffer): Generator<number> {
  const at = (type: string): Buffer => {
    const start = picture.indexOf(type, 0, "latin1");
    return picture.subarray(start + 4, start + 4 + picture.readUInt32BE(start - 4));
  };
  const [width, palette] = [at("IHDR").readUInt32BE(0), at("PLTE")];
  const rows = inflateSync(at("IDAT"));
  for (let i = 0; i < rows.length; i++) if (i % (width + 1) !== 0) yield palette.readUIntBE((rows[i] ?? 0) * 3, 3);
}
