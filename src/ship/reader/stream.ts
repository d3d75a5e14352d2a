/** A body of known length that reads each piece when it can be sent, and frees it afterwards. */
export function streamed(
  bytes: number,
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): ReadableStream<Uint8Array> {
  const { readable, writable } = new FixedLengthStream(bytes);
  const writer = writable.getWriter();
  const write = async (): Promise<void> => {
    for await (const piece of pieces) {
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

/** A body of unknown length, each piece of which is read when it is asked for. */
export function piecewise(pieces: Iterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = pieces[Symbol.iterator]();
  return new ReadableStream({
    type: "bytes",
    pull(controller) {
      for (;;) {
        const next = iterator.next();
        if (next.done) {
          controller.close();
          controller.byobRequest?.respond(0);
          return;
        }
        if (next.value.length === 0) continue;
        controller.enqueue(next.value);
        return;
      }
    },
    cancel() {
      iterator.return?.();
    },
  });
}
