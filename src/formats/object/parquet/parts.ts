import { concat, isEqual } from "../../../base/bytes.ts";
import type { Pieces } from "../../../base/streams.ts";
import type { Parts } from "../encoder.ts";
import { FOOTER_END_BYTES, PARQUET_MAGIC, requireEnd } from "./footer.ts";
import { decodeGroup, GROUP_MAX_BYTES, type Place, placesOf } from "./read-group.ts";
import { GROUP_HEAD_BYTES, GROUP_MAGIC, readHead, readTable } from "./table.ts";

/** So much is read of the beginning of a group: most have their table in it, of 1,300 bytes. */
const BEGUN_BYTES = 4_096;

/** What is not needed is read along if it is no longer: a request takes as much CPU, about. */
const GAP_BYTES = 65_536;

/**
 * The lines of a file of ours with these fields alone: the chunks of other columns are not read.
 * The beginning of the next group is read together with the chunks of one.
 * @param gapBytes as above; for tests.
 * @throws Error for what is no file of ours.
 */
export async function* partLines(file: Parts, fields: ReadonlySet<string>, gapBytes = GAP_BYTES): Pieces {
  let at = PARQUET_MAGIC.length;
  if (!isEqual(file.first.subarray(0, at), PARQUET_MAGIC)) throw new Error("no Parquet");
  let begun = file.first.subarray(at);
  while (isEqual(begun.subarray(0, GROUP_MAGIC.length), GROUP_MAGIC)) {
    const { tableBytes, payloadBytes } = readHead(begun.subarray(0, GROUP_HEAD_BYTES));
    const from = at + GROUP_HEAD_BYTES + tableBytes;
    const left = file.bytes - from - payloadBytes;
    if (payloadBytes > GROUP_MAX_BYTES || left < FOOTER_END_BYTES) throw new Error("a row group is too long");
    const has = at + begun.length;
    if (has < from) begun = concat([begun, await file.read(has, from)]);
    const table = readTable(begun.subarray(GROUP_HEAD_BYTES, from - at));
    // What is not read stays 0: nothing looks at it.
    const bytes = new Uint8Array(payloadBytes + Math.min(left, BEGUN_BYTES));
    const places = [...placesOf(table, payloadBytes, fields), [payloadBytes, bytes.length]] as const;
    const read = together(places, gapBytes).map(async ([start, end]) => {
      bytes.set(await file.read(from + start, from + end), start);
    });
    await Promise.all(read);
    yield* decodeGroup(table, bytes.subarray(0, payloadBytes), fields);
    at = from + payloadBytes;
    begun = bytes.subarray(payloadBytes);
  }
  const { bytes } = file;
  const end = at + begun.length === bytes ? begun : await file.read(bytes - FOOTER_END_BYTES, bytes);
  requireEnd(end.slice(-FOOTER_END_BYTES), bytes - at);
}

/** Places in order, those near to each other as one. */
function together(places: readonly Place[], gapBytes: number): Place[] {
  const joined: Place[] = [];
  for (const [from, to] of places) {
    const [start, end] = joined.at(-1) ?? [0, Number.NEGATIVE_INFINITY];
    if (from - end > gapBytes) joined.push([from, to]);
    else joined[joined.length - 1] = [start, Math.max(end, to)];
  }
  return joined;
}
