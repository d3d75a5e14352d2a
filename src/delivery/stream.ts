/** A body of known length that reads each piece when it can be sent, and frees it afterwards. */
export function streamed(bytes: number, pieces: Iterable<Uint8Array>): ReadableStream<Uint8Array> {
  const { readable, writable } = new FixedLengthStream(bytes);
  const writer = writable.getWriter();
  const write = async (): Promise<void> => {
    for (const piece of pieces) {
      await writer.write(piece);
      // Rows read from SQLite are collected late; without this a large object is held whole.
      if (piece.buffer instanceof ArrayBuffer) piece.buffer.transfer(0);
    }
    await writer.close();
  };
  // A store that closes the connection breaks the stream, and the fetch reports that; a piece that
  // cannot be read must end it, too.
  write().catch((error: unknown) => writer.abort(error).catch(() => {}));
  return readable;
}
