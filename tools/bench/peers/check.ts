/** Reads objects back and compares them with what was sent: pure. */
import { gunzipSync } from "node:zlib";
import { canonical } from "./input.ts";

export interface Checked {
  /** Lines in the objects. */
  found: number;
  missing: number;
  /** Copies beyond the first. */
  doubled: number;
  /** Of no record that had to be shipped. */
  unexpected: number;
  /** The id is right, and anything else is not. */
  different: number;
  /** The first record that is different, as it had to be and as it is. */
  example: { expected: string; found: string } | null;
}

/** Lines of gzipped NDJSON; the last one may have no end. @throws if it is no gzip. */
export function linesOf(object: Uint8Array): string[] {
  return gunzipSync(object)
    .toString()
    .split("\n")
    .filter((line) => line !== "");
}

/**
 * Compares each record: its id (`EventTimestampMs`), how often it is there, and all its values.
 * Only the order of keys is ignored.
 * @throws if a line is no JSON.
 */
export function check(objects: readonly Uint8Array[], expected: ReadonlyMap<number, string>): Checked {
  const checked: Checked = { found: 0, missing: 0, doubled: 0, unexpected: 0, different: 0, example: null };
  const seen = new Set<number>();
  for (const object of objects) {
    for (const line of linesOf(object)) {
      checked.found += 1;
      const record = JSON.parse(line) as { EventTimestampMs: number };
      const id = record.EventTimestampMs;
      const wanted = expected.get(id);
      if (wanted === undefined) checked.unexpected += 1;
      else if (seen.has(id)) checked.doubled += 1;
      else if (canonical(record) !== wanted) {
        checked.different += 1;
        checked.example ??= { expected: wanted, found: canonical(record) };
      }
      seen.add(id);
    }
  }
  for (const id of expected.keys()) checked.missing += seen.has(id) ? 0 : 1;
  return checked;
}

/** Whether each record is there once, and as it was. */
export function isWhole({ missing, doubled, unexpected, different }: Checked): boolean {
  return missing + doubled + unexpected + different === 0;
}

/** In words, for the table. */
export function verdict(checked: Checked): string {
  if (isWhole(checked)) return "each once, alike";
  const { missing, doubled, unexpected, different } = checked;
  return Object.entries({ missing, doubled, unexpected, different })
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${count} ${what}`)
    .join(", ");
}
