const [STOP, TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, STRUCT] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12];

/**
 * What stands in a store may be anyone's, and the library makes room for as many elements as a list
 * says that it has, before it reads one.
 * https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
 * @param bytes begin with a struct of Thrift's compact protocol, read as the library does.
 * @returns where the struct ends.
 * @throws Error where its lists say that they have more elements than these are bytes.
 */
export function requireLists(bytes: Uint8Array): number {
  let at = 0;
  let elementsLeft = bytes.length;
  const byte = (): number => {
    const value = bytes[at++];
    if (value === undefined) throw new Error("a structure breaks off");
    return value;
  };
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const next = byte();
      value |= (next & 0x7f) << shift;
      if (next < 0x80) return value;
    }
  };
  const length = (value: number, most: number): number => {
    if (value < 0 || value > most) throw new Error("a structure of another length");
    return value;
  };
  const binary = (): void => {
    const count = length(varint(), bytes.length);
    at += count;
  };
  const list = (): void => {
    const head = byte();
    const count = length(head >> 4 === 15 ? varint() : head >> 4, elementsLeft);
    elementsLeft -= count;
    const type = head & 0xf;
    // Flags have a byte in lists alone.
    for (let i = 0; i < count; i++) element(type === TRUE || type === FALSE ? BYTE : type);
  };
  const struct = (): void => {
    for (let head = byte(); (head & 0xf) !== STOP; head = byte()) {
      if (head < 0x10) varint();
      element(head & 0xf);
    }
  };
  const element = (type: number | undefined): void => {
    if (type === BYTE) at += 1;
    else if (type === DOUBLE) at += 8;
    else if (type === I16 || type === I32 || type === I64) varint();
    else if (type === BINARY) binary();
    else if (type === LIST) list();
    else if (type === STRUCT) struct();
    else if (type !== TRUE && type !== FALSE) throw new Error("a structure of unknown type");
  };
  struct();
  return at;
}
