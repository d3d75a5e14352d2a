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

it("reads larger and larger pieces, up to 64 KiB, though the runtime offers 4 KiB", async () => {
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  const written = writer.write(new Uint8Array(200_000)).then(() => writer.close());
  expect(await sizesOf(readable)).toEqual([4_096, 8_192, 16_384, 32_768, 65_536, 65_536, 7_488]);
  await written;
});

it("reads what trickles in with small buffers again", async () => {
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  const written = (async () => {
    await writer.write(new Uint8Array(130_000));
    for (let i = 0; i < 8; i++) await writer.write(new Uint8Array(1));
    await writer.close();
  })();
  const buffers: number[] = [];
  for await (const { buffer } of piecesOf(readable)) buffers.push(buffer.byteLength);
  await written;
  expect([Math.max(...buffers), buffers.at(-1)]).toEqual([65_536, 4_096]);
});

it("reads a stream that is made of pieces as it comes", async () => {
  const pieces = streamOf(made([new Uint8Array(3), new Uint8Array(100_000), new Uint8Array(1)]));
  expect(await sizesOf(pieces)).toEqual([3, 100_000, 1]);
});

it("throws the error of the runtime if the stream has another reader", async () => {
  const stream = streamOf(made([new Uint8Array(3)]));
  stream.getReader();
  await expect(sizesOf(stream)).rejects.toThrow(TypeError);
});
