/** An object of which the parts are read that some fields are in. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { concat, decodeUtf8 } from "../../../../src/base/bytes.ts";
import type { Parts } from "../../../../src/formats/object/encoder.ts";
import { partLines } from "../../../../src/formats/object/parquet/parts.ts";
import { recordLine } from "../../../../src/formats/record/encode.ts";
import { FIELD_NAMES, type TraceRecord } from "../../../../src/formats/record/fields.ts";
import { fileOf, linesIn } from "../../../support/parquet-files.ts";
import { anyRecord, traceRecord } from "../../record/samples.ts";

const lineOf = (record: TraceRecord): string => `${recordLine(record)}\n`;

/** As only a sender of its own makes it: the line is kept beside the columns. */
const ODD = lineOf(traceRecord()).replace(/"CPUTimeMs":\d+/, '"CPUTimeMs":1e3');

/** @param asked is told each part. */
function partsOf(file: Uint8Array, firstBytes: number, asked: (from: number, to: number) => void = () => {}): Parts {
  return {
    ...{ bytes: file.length, first: file.slice(0, firstBytes) },
    read: async (from, to) => {
      if (!(from >= 0 && from < to && to <= file.length)) throw new Error(`no part: from ${from} to ${to}`);
      asked(from, to);
      return file.slice(from, to);
    },
  };
}

async function textIn(parts: Parts, fields: ReadonlySet<string>, gapBytes?: number): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of partLines(parts, fields, gapBytes)) pieces.push(piece.slice());
  return decodeUtf8(concat(pieces));
}

describe("lines of some fields, part by part", () => {
  it("are those of the whole object, whatever the bytes are that were not asked for", async () => {
    const records = fc.array(anyRecord, { minLength: 1, maxLength: 30 });
    const property = fc.asyncProperty(
      fc.subarray<string>([...FIELD_NAMES, "Source"]),
      fc.array(records, { minLength: 1, maxLength: 3 }),
      fc.integer({ min: 16, max: 5_000 }),
      fc.constantFrom(-1, 0, 50, 1e9),
      fc.boolean(),
      async (names, groups, firstBytes, gapBytes, hasOdd) => {
        const fields = new Set(names);
        const file = fileOf([...groups.map((group) => group.map(lineOf)), [lineOf(traceRecord()), hasOdd ? ODD : ""]]);
        const isRead = new Uint8Array(file.length).fill(1, 0, firstBytes);
        const whole = await linesIn(file, 100, fields);
        const parts = partsOf(file, firstBytes, (from, to) => isRead.fill(1, from, to));
        expect(await textIn(parts, fields, gapBytes)).toBe(whole);
        const other = file.map((byte, i) => (isRead[i] === 1 ? byte : byte ^ 0xff));
        expect(await textIn(partsOf(other, firstBytes), fields, gapBytes)).toBe(whole);
      },
    );
    await fc.assert(property, { numRuns: 60 });
  });

  it("leave out the chunks of other columns", async () => {
    const noise = (n: number) =>
      Array.from({ length: 400 }, (_, i) => Math.imul(i + 1, 2_654_435_761 + n) >>> 0).join();
    const lines = Array.from({ length: 200 }, (_, n) =>
      lineOf(traceRecord({ WallTimeMs: n, Logs: [{ Level: "log", Message: [noise(n)], TimestampMs: n }] })),
    );
    const file = fileOf([lines.slice(0, 100), lines.slice(100)]);
    let bytes = 0;
    let requests = 0;
    const parts = partsOf(file, 4_096, (from, to) => {
      bytes += to - from;
      requests += 1;
    });
    const wanted = lines.map((_, n) => `{"WallTimeMs":${n}}\n`).join("");
    expect(await textIn(parts, new Set(["WallTimeMs"]))).toBe(wanted);
    expect(bytes).toBeLessThan(file.length / 20);
    expect(requests).toBe(2);
  });

  it.each<[string, (file: Uint8Array) => Uint8Array]>([
    ["another beginning", (file) => file.fill(0, 0, 4)],
    ["another end", (file) => file.fill(0, file.length - 4)],
    ["a footer of another length", (file) => concat([file.slice(0, -8), new Uint8Array(9), file.slice(-8)])],
    ["a group that goes on behind the end", (file) => file.fill(0xff, 4 + 8, 4 + 10)],
    ["no end", (file) => file.slice(0, -700)],
  ])("are refused: %s", async (_what, damaged) => {
    const lines = [lineOf(traceRecord()), lineOf(traceRecord())];
    const fields = new Set(["WallTimeMs"]);
    const file = fileOf([lines, lines]);
    expect(await textIn(partsOf(file, 100), fields)).not.toBe("");
    await expect(textIn(partsOf(damaged(file), 100), fields)).rejects.toThrow(Error);
  });
});
