/** Row groups in a log: what waits raw is gathered into few of them, and rows hold any of them. */
import { createHash } from "node:crypto";
import { describe, it } from "vitest";
import { utf8Length } from "../../../src/base/bytes.ts";
import { PARQUET_FRAGMENT, ROW_MAX_BYTES, TAIL_MAX_BYTES } from "../../../src/base/limits.ts";
import type { Fragment } from "../../../src/formats/object/encoder.ts";
import { encoderOf } from "../../../src/formats/object/encoders.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { RecordLine } from "../../../src/formats/record/line.ts";
import { Chunks } from "../../../src/ship/reader/chunks.ts";
import type { BatchRow } from "../../../src/ship/reader/reader-rows.ts";
import { noise, traceRecord } from "../../formats/record/samples.ts";
import { linesIn, metadataOf, PARQUET } from "../../support/parquet-files.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { append, configure, cutObjects, inLog, jobInto } from "./direct.ts";

/** A record of a number, whose name has so many bytes that compress badly. */
const lineOf = (n: number, bytes: number): string =>
  recordLine(traceRecord({ CPUTimeMs: n, ScriptName: noise(bytes, n + 1) }));

function fragmentsOf(lines: readonly string[]): Fragment[] {
  const gatherer = encoderOf(PARQUET).gather();
  for (const line of lines) gatherer.add(RecordLine.read(line) as RecordLine, NOON);
  return gatherer.finish();
}

interface Shape {
  /** Sizes of the records of each append. */
  appends: readonly (readonly number[])[];
  /** Of the object's groups, in records. */
  groups: readonly number[];
}

const times = (count: number, bytes: number): number[] => Array.from({ length: count }, () => bytes);

const SHAPES: { [name: string]: Shape } = {
  "one record": { appends: [[10]], groups: [1] },
  "many small appends": { appends: Array.from({ length: 30 }, () => times(5, 500)), groups: [150] },
  "appends that are groups by themselves": { appends: [times(2_600, 10), times(2_500, 10)], groups: [2_600, 2_500] },
  "both, mixed": { appends: [[9, 9], times(2_500, 10), [9], times(2_500, 10), [9, 9, 9]], groups: [6, 2_500, 2_500] },
  "one that is larger than a row": { appends: [[9], [2_600_000], [9]], groups: [2, 1] },
  "so much raw that a group of it is larger than a row": { appends: [[1_700_000], [1_700_000], [9]], groups: [2, 1] },
};

describe("an object of Parquet", () => {
  it.for(Object.entries(SHAPES))("out of %s has all of their lines, in few groups", async ([, shape], { expect }) => {
    setClock(NOON);
    const job = jobInto("nowhere", { output: PARQUET });
    const owed: string[] = [];
    const { row, bytes } = await inLog(job, async (_log, storage) => {
      await configure(job);
      for (const sizes of shape.appends) {
        const lines = sizes.map((size, i) => lineOf(owed.length + i, size));
        owed.push(...lines);
        await append(job, fragmentsOf(lines));
      }
      const stored = storage.sql.exec<{ bytes: number }>("SELECT length(body) AS bytes FROM chunk").toArray();
      expect(Math.max(...stored.map(({ bytes }) => bytes))).toBeLessThanOrEqual(ROW_MAX_BYTES);
      await configure({ ...job, version: 2, outputVersion: 2 });
      const [object, ...others] = cutObjects(storage);
      expect(others).toEqual([]);
      return object as NonNullable<typeof object>;
    });
    expect(row.name).toMatch(/\.parquet$/);
    expect(row.content_type).toBe("application/vnd.apache.parquet");
    const groups = metadataOf(bytes).row_groups.map(({ num_rows }) => Number(num_rows));
    expect(groups.toSorted()).toEqual(shape.groups.toSorted());
    const lines = await linesIn(bytes);
    expect(lines.split("\n").toSorted()).toEqual([...owed, ""].toSorted());
    expect(row).toMatchObject({
      records: owed.length,
      raw_bytes: utf8Length(lines),
      bytes: bytes.length,
      sha256: createHash("sha256").update(bytes).digest("hex"),
    });
  });

  it("is read by a search while it is open, whatever waits raw and what does not", async ({ expect }) => {
    setClock(NOON);
    const job = jobInto("nowhere", { output: PARQUET });
    const owed = [...times(3, 9), ...times(2_500, 9), ...times(4, 9)].map((size, n) => lineOf(n, size));
    const bytes = await inLog(job, async (log) => {
      await configure(job);
      for (const lines of [owed.slice(0, 3), owed.slice(3, 2_503), owed.slice(2_503)])
        await append(job, fragmentsOf(lines));
      const [open] = log.searchable({ sinceMs: 0, untilMs: 2 ** 50, order: "oldest", limit: 9, without: [] }).objects;
      expect(open).toMatchObject({ number: null, records: owed.length });
      const stream = log.batchBytes(open?.batch ?? 0);
      return new Uint8Array(await new Response(stream).arrayBuffer());
    });
    expect((await linesIn(bytes)).split("\n").toSorted()).toEqual([...owed, ""].toSorted());
  });

  it("waits raw in less than a group and one more append", ({ expect }) => {
    const { compactBytes, finishBytes, bytes, rawRowBytes } = PARQUET_FRAGMENT;
    expect(compactBytes + finishBytes).toBeLessThanOrEqual(bytes);
    expect(Math.max(finishBytes, rawRowBytes)).toBeLessThanOrEqual(ROW_MAX_BYTES);
  });

  it("may end in more than its own row holds", async ({ expect }) => {
    const job = jobInto("nowhere", { output: PARQUET });
    await inLog(job, async (_log, { sql }) => {
      await configure(job);
      const chunks = new Chunks(sql);
      const batch = { id: 7, next_chunk: 0, small_bytes: 0 } as BatchRow;
      const tail = Uint8Array.from({ length: TAIL_MAX_BYTES + 2 * ROW_MAX_BYTES }, (_, i) => i * 7);
      const rest = chunks.addTail(batch, tail.slice());
      expect(rest.length).toBe(TAIL_MAX_BYTES);
      const parts = [...chunks.of(7)].map(({ body }) => new Uint8Array(body));
      expect(parts.map(({ length }) => length)).toEqual([ROW_MAX_BYTES, ROW_MAX_BYTES]);
      const hash = createHash("sha256");
      for (const part of [...parts, rest]) hash.update(part);
      expect(hash.digest("hex")).toBe(createHash("sha256").update(tail).digest("hex"));
      // No words of its own: they are those of the chunks before.
      expect([...chunks.words(7)]).toEqual([]);
    });
  });
});
