/**
 * Makes pictures of pages small: of the few colours that these have, the most frequent ones are
 * kept. https://www.w3.org/TR/png-3/
 */
import { crc32, deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** As many as an index of one byte tells apart. */
const COLOURS_MAX = 256;

interface Image {
  width: number;
  height: number;
  /** 0xRRGGBB of each pixel, row by row. */
  pixels: Uint32Array;
}

/**
 * The same picture with a palette: colours beyond the 256 most frequent ones become the nearest of
 * these. @throws Error if it is none that Chromium makes.
 */
export function shrink(png: Buffer): Buffer {
  const { width, height, pixels } = decode(png);
  const counts = new Map<number, number>();
  for (const colour of pixels) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const palette = [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, COLOURS_MAX)
    .map(([colour]) => colour);
  const indexes = new Map([...counts.keys()].map((colour) => [colour, nearest(colour, palette)]));
  const rows = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) rows[y * (width + 1) + 1 + x] = indexes.get(pixels[y * width + x] ?? 0) ?? 0;
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 0xff, colour & 0xff]));
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", header),
    chunk("PLTE", colours),
    chunk("IDAT", deflateSync(rows, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function nearest(colour: number, palette: readonly number[]): number {
  let [best, least] = [0, Number.POSITIVE_INFINITY];
  for (const [i, each] of palette.entries()) {
    const [r, g, b] = [
      (colour >> 16) - (each >> 16),
      ((colour >> 8) & 0xff) - ((each >> 8) & 0xff),
      (colour & 0xff) - (each & 0xff),
    ];
    const distance = r * r + g * g + b * b;
    if (distance < least) [best, least] = [i, distance];
    if (distance === 0) break;
  }
  return best;
}

/** @throws Error of anything but 8 bits a channel, RGB with or without alpha, not interlaced. */
export function decode(png: Buffer): Image {
  if (!png.subarray(0, 8).equals(SIGNATURE)) throw new Error("this is no PNG");
  const data: Buffer[] = [];
  let header = Buffer.alloc(13);
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const type = png.toString("latin1", at + 4, at + 8);
    const body = png.subarray(at + 8, at + 8 + length);
    if (type === "IHDR") header = Buffer.from(body);
    if (type === "IDAT") data.push(body);
    at += 12 + length;
  }
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const [depth, kind, , , interlaced] = header.subarray(8);
  if (depth !== 8 || (kind !== 2 && kind !== 6) || interlaced !== 0)
    throw new Error(`a PNG of depth ${depth}, kind ${kind}`);
  const size = kind === 6 ? 4 : 3;
  const raw = unfiltered(inflateSync(Buffer.concat(data)), width * size, height, size);
  const pixels = new Uint32Array(width * height);
  for (let i = 0; i < pixels.length; i++) pixels[i] = raw.readUIntBE(i * size, 3);
  return { width, height, pixels };
}

/** @param stride bytes of a row, without that of its filter. */
function unfiltered(filtered: Buffer, stride: number, height: number, size: number): Buffer {
  const raw = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y++) {
    const filter = filtered[y * (stride + 1)];
    for (let x = 0; x < stride; x++) {
      const left = x < size ? 0 : (raw[y * stride + x - size] ?? 0);
      const above = y === 0 ? 0 : (raw[(y - 1) * stride + x] ?? 0);
      const corner = x < size || y === 0 ? 0 : (raw[(y - 1) * stride + x - size] ?? 0);
      raw[y * stride + x] = (filtered[y * (stride + 1) + 1 + x] ?? 0) + predicted(filter, left, above, corner);
    }
  }
  return raw;
}

function predicted(filter: number | undefined, left: number, above: number, corner: number): number {
  switch (filter) {
    case 0:
      return 0;
    case 1:
      return left;
    case 2:
      return above;
    case 3:
      return (left + above) >> 1;
    case 4: {
      const [a, b, c] = [Math.abs(above - corner), Math.abs(left - corner), Math.abs(left + above - 2 * corner)];
      return a <= b && a <= c ? left : b <= c ? above : corner;
    }
    default:
      throw new Error(`a PNG with the filter ${filter}`);
  }
}

function chunk(type: string, body: Buffer): Buffer {
  const whole = Buffer.alloc(12 + body.length);
  whole.writeUInt32BE(body.length, 0);
  whole.write(type, 4, "latin1");
  body.copy(whole, 8);
  whole.writeUInt32BE(crc32(whole.subarray(4, 8 + body.length)), 8 + body.length);
  return whole;
}
