import { describe, it } from "vitest";
import { deflateFragment } from "../../../src/base/deflate.ts";
import { FRAGMENT_MAX_RAW_BYTES, ROW_MAX_BYTES } from "../../../src/base/limits.ts";
import { contentOf, GZIP_HEADER, gzipTrailer } from "../../../src/formats/object/gzip.ts";
import { NDJSON, type OutputFormat } from "../../../src/formats/output/format.ts";
import { noise } from "../../formats/record/samples.ts";
import { freshBucket, logStatus, NOON, runAlarm, setClock, settle } from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import {
  append,
  configure,
  cutObjects,
  format,
  fragmentsOf,
  inLog,
  isShipped,
  jobInto,
  recordsIn,
  textOfMember,
} from "./direct.ts";

const CSV = format({ type: "csv", recordPrefix: "", recordSuffix: "\n", batchPrefix: "a,b\n" });
const LIST = format({ batchPrefix: "[", recordDelimiter: ",", batchSuffix: "]" });

/** The record of a number, at least four bytes long. */
const record = (n: number, bytes: number): string => `<${n}>${noise(bytes, n).slice(`<${n}>`.length)}`;

const owedOf = (records: readonly string[]): Map<string, string> =>
  new Map(records.map((text) => [text.slice(0, text.indexOf(">") + 1), text]));

describe("the bytes of an object", () => {
  const around = {
    batchPrefix: "p".repeat(4_096),
    batchSuffix: "😀".repeat(2_048),
    recordDelimiter: "€".repeat(4_096),
  };
  const [prefix, suffix, delimiter] = [4_096, 4 * 2_048, 3 * 4_096] as const;
  const delimiterOf = ({ recordDelimiter }: OutputFormat): number => (recordDelimiter === "" ? 0 : delimiter);

  it.for([
    ["the records", {}, 0],
    ["the prefix", { batchPrefix: around.batchPrefix }, prefix],
    ["the suffix", { batchSuffix: around.batchSuffix }, suffix],
    ["the delimiters in a fragment and between two", { recordDelimiter: around.recordDelimiter }, 3 * delimiter],
    ["all of them", around, prefix + suffix + 3 * delimiter],
  ] satisfies [string, Partial<OutputFormat>, number][])(
    "that a job bounds are those of %s",
    async ([_what, texts, more], { expect }) => {
      const output = format(texts);
      const four = [0, 1, 2, 3].map((n) => record(n, 1_000));
      const size = 4_000 + more;
      /**
       * What becomes of two fragments of two records each: why they were cut, their records, and
       * the bytes of the first object.
       */
      const cut = (id: number, bytes: number) => {
        const limits = { bytes, records: 1_000, intervalMs: 30_000 };
        const job = { ...jobInto("nowhere", { output, limits }), id };
        return inLog(job, async (_log, storage) => {
          await configure(job);
          await append(job, fragmentsOf(output, four.slice(0, 2)));
          await append(job, fragmentsOf(output, four.slice(2)));
          await configure({ ...job, version: 2, outputVersion: 2 });
          const rows = cutObjects(storage).map(({ row }) => row);
          return { cuts: rows.map(({ reason, records }) => [reason, records]), bytes: rows[0]?.raw_bytes };
        });
      };
      expect(await cut(1, size + 1), "there is room for a byte").toEqual({ cuts: [["config", 4]], bytes: size });
      expect(await cut(2, size), "it is full").toEqual({ cuts: [["bytes", 4]], bytes: size });
      const half = {
        cuts: [["bytes", 2] as const, ["config", 2] as const],
        bytes: size - 2_000 - 2 * delimiterOf(output),
      };
      expect(await cut(3, size - 1), "the second fragment is a byte too large").toEqual(half);
    },
  );

  it("are more than the job allows where one record alone is", async ({ expect }) => {
    const job = jobInto("nowhere", { output: LIST, limits: { bytes: 50_000, records: 1_000, intervalMs: 30_000 } });
    const records = [record(0, 400), record(1, 60_000), record(2, 400)];
    await inLog(job, async (_log, storage) => {
      await configure(job);
      await append(
        job,
        records.flatMap((text) => fragmentsOf(LIST, [text])),
      );
      const objects = cutObjects(storage);
      expect(objects.map(({ row }) => [row.reason, row.raw_bytes])).toEqual([
        ["bytes", 402],
        ["bytes", 60_002],
      ]);
      expect(objects.map(({ bytes }) => textOfMember(bytes))).toEqual([`[${records[0]}]`, `[${records[1]}]`]);
    });
  });

  it("are, without any text around the records, header, deflated records and trailer", async ({ expect }) => {
    const job = jobInto("nowhere");
    const raw = new TextEncoder().encode(record(0, 500));
    await inLog(job, async (_log, storage) => {
      await configure(job);
      await append(job, fragmentsOf(NDJSON, [record(0, 500)]));
      await configure({ ...job, version: 2, outputVersion: 2 });
      const wanted = [...GZIP_HEADER, ...deflateFragment(raw), ...gzipTrailer(contentOf(raw))];
      expect(cutObjects(storage).map(({ bytes }) => [...bytes])).toEqual([wanted]);
    });
  });
});

describe("a record that is larger than a fragment, deflated even than a row", () => {
  it("is delivered whole, with the texts where they belong, and no row is too large", async ({ expect }) => {
    const clock = setClock(NOON);
    const { name, control } = freshBucket();
    const job = jobInto(name, { output: LIST });
    const sizes = [400, 3_000_000, 150_000, 400];
    const records = sizes.map((bytes, n) => record(n, bytes));
    await inLog(job, async (_log, { sql }) => {
      await configure(job);
      for (const text of records) await append(job, fragmentsOf(LIST, [text]));
      await append(job, fragmentsOf(LIST, [record(5, 2_700_000), record(6, FRAGMENT_MAX_RAW_BYTES)]));
      const rows = sql.exec<{ bytes: number }>("SELECT length(body) AS bytes FROM chunk").toArray();
      expect(rows.length).toBeGreaterThan(sizes.length + 2);
      expect(Math.max(...rows.map(({ bytes }) => bytes))).toBe(ROW_MAX_BYTES);
    });
    await settle(job.id, clock);
    const [object] = (await control.contents()).filter(isShipped);
    const owed = owedOf([...records, record(5, 2_700_000), record(6, FRAGMENT_MAX_RAW_BYTES)]);
    const text = textOfMember(object?.bytes ?? new Uint8Array());
    expect(recordsIn(text, LIST, owed).toSorted()).toEqual([...owed.values()].toSorted());
  });
});

describe("small fragments", () => {
  it("of one append, megabytes of them, are deflated together in rows that are not too large", async ({ expect }) => {
    const job = jobInto("nowhere", { output: LIST });
    const records = Array.from({ length: 40 }, (_, n) => record(n, 100_000));
    await inLog(job, async (_log, storage) => {
      await configure(job);
      await append(job, fragmentsOf(LIST, ["<40>", "<41>"]));
      await append(
        job,
        records.flatMap((text) => fragmentsOf(LIST, [text])),
      );
      const rows = storage.sql
        .exec<{ deflated: number; raw: number; bytes: number }>(
          "SELECT deflated, raw_bytes AS raw, length(body) AS bytes FROM chunk",
        )
        .toArray();
      expect(rows.map(({ deflated }) => deflated)).toEqual(rows.map(() => 1));
      expect(rows.length).toBeLessThan(7);
      for (const { raw, bytes } of rows) expect(Math.max(raw, bytes)).toBeLessThanOrEqual(FRAGMENT_MAX_RAW_BYTES);
      await configure({ ...job, version: 2, outputVersion: 2 });
      const owed = owedOf([...records, "<40>", "<41>"]);
      const found = cutObjects(storage).flatMap(({ bytes }) => recordsIn(textOfMember(bytes), LIST, owed));
      expect(found.toSorted()).toEqual([...owed.values()].toSorted());
    });
  });

  it("that hold records of no bytes at all have their delimiters all the same", async ({ expect }) => {
    const job = jobInto("nowhere", { output: LIST });
    await inLog(job, async (_log, storage) => {
      await configure(job);
      await append(job, [...fragmentsOf(LIST, [""]), ...fragmentsOf(LIST, [""])]);
      await append(job, fragmentsOf(LIST, [""]));
      await append(job, fragmentsOf(LIST, ["", ""]));
      await configure({ ...job, version: 2, outputVersion: 2 });
      expect(cutObjects(storage).map(({ bytes, row }) => [textOfMember(bytes), row.records])).toEqual([["[,,,,]", 5]]);
    });
  });
});

describe("an object that waits while its job's format changes", () => {
  it("keeps its bytes and its type; the next one has the new", async ({ expect }) => {
    const clock = setClock(NOON);
    const { name, control } = freshBucket();
    await control.script([rule({ do: "answer", status: 503 }, { method: "PUT" })]);
    const job = jobInto(name, { output: CSV });
    await configure(job);
    await append(job, fragmentsOf(CSV, ["1,2\n", "3,4\n"]));
    clock.advance(30_000);
    await runAlarm(job.id);
    await append(job, fragmentsOf(CSV, ["5,6\n"]));
    await configure({ ...job, version: 2, outputVersion: 2, output: LIST });
    await append(job, fragmentsOf(LIST, ["{7}"]));
    await append(job, fragmentsOf(LIST, ["{8}"]));
    expect((await logStatus(job.id)).counts).toMatchObject({ pending: 5, delivered: 0 });
    await control.script([]);
    await settle(job.id, clock);
    const objects = (await control.objects()).filter(isShipped);
    const texts = await Promise.all(
      objects.map(async ({ key, contentType }) => {
        return [contentType, textOfMember((await control.object(key)) ?? new Uint8Array())];
      }),
    );
    expect(texts.toSorted()).toEqual([
      ["application/x-ndjson", "[{7},{8}]"],
      ["text/csv", "a,b\n1,2\n3,4\n"],
      ["text/csv", "a,b\n5,6\n"],
    ]);
  });
});
