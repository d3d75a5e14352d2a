/**
 * The fields of a protobuf message, in their order. Pure; the bytes are a stranger's.
 * @returns integers as `int64`; all else as its bytes. null: it is no message.
 * https://protobuf.dev/programming-guides/encoding/
 */
export function fieldsOf(bytes: Uint8Array): [number: number, value: bigint | Uint8Array][] | null {
  const fields: [number: number, value: bigint | Uint8Array][] = [];
  let at = 0;
  const varint = (): bigint | null => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) return null;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, value);
    }
    return null;
  };
  while (at < bytes.length) {
    const tag = varint();
    const type = tag === null ? null : Number(tag & 7n);
    const size = type === 1 ? 8n : type === 5 ? 4n : type === 0 || type === 2 ? varint() : null;
    if (tag === null || tag < 8n || size === null) return null;
    if (type !== 0 && (size < 0n || size > BigInt(bytes.length - at))) return null;
    const value = type === 0 ? size : bytes.subarray(at, at + Number(size));
    if (value instanceof Uint8Array) at += value.length;
    fields.push([Number(tag >> 3n), value]);
  }
  return fields;
}
