import { expect, it } from "vitest";
import { type Pieces, piecesOf, streamOf } from "../../src/base/streams.ts";

async function sizesOf(stream: ReadableStream<Uint8Array>): Promise<number[]> {
  const sizes: number[] = [];
  for await (const { length } of piecesOf(stream)) sizes.push(length);
  return sizes;
}

async function* made(pieces: Uint8Array[]): Pieces {
  yield* pieces;
}

it("reads what the runtime streams in pieces of 64 KiB, though it offers 4 KiB", async () => {
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  const written = writer.write(new Uint8Array(200_000)).then(() => writer.close());
  expect(await sizesOf(readable)).toEqual([65_536, 65_536, 65_536, 3_392]);
  await written;
});

it("reads a stream that is made of pieces as it comes", async () => {
  const pieces = streamOf(made([new Uint8Array(3), new Uint8Array(100_000), new Uint8Array(1)]));
  expect(await sizesOf(pieces)).toEqual([3, 100_000, 1]);
});

it("refuses a stream that somebody else reads, in words of the runtime", async () => {
  const stream = streamOf(made([new Uint8Array(3)]));
  stream.getReader();
  await expect(sizesOf(stream)).rejects.toThrow(TypeError);
});
