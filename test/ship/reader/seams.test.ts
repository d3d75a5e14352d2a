import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FRAGMENT_MIN_DEFLATE_BYTES } from "../../../src/base/limits.ts";
import { contentType, NDJSON, type OutputFormat } from "../../../src/formats/output/format.ts";
import { noise } from "../../formats/record/samples.ts";
import { freshBucket, NOON, setClock } from "../../support/runtime/pipeline.ts";
import {
  append,
  configure,
  cutObjects,
  forgetJobs,
  format,
  fragmentsOf,
  inLog,
  isShipped,
  jobInto,
  recordsIn,
  textOfMember,
} from "./direct.ts";

/** As the vendor's documentation has them, but for the last three. */
const FORMATS: { [name: string]: OutputFormat } = {
  defaults: NDJSON,
  "csv with a header": format({ type: "csv", recordPrefix: "", recordSuffix: "\n", batchPrefix: "n,noise\n" }),
  tsv: format({
    type: "csv",
    recordPrefix: "",
    recordSuffix: "\n",
    batchPrefix: "n\tnoise\n",
    fieldDelimiter: "\t",
  }),
  "nested JSON": format({
    batchPrefix: '{"events":[',
    batchSuffix: "\n]}\n",
    recordPrefix: '\n  {"info":{',
    recordSuffix: "}}",
    recordDelimiter: ",",
  }),
  "a delimiter alone": format({ recordSuffix: "}", recordDelimiter: "\n" }),
  "texts as long as they may be": format({
    batchPrefix: "€".repeat(4_096),
    batchSuffix: "ß".repeat(4_096),
    recordDelimiter: "😀".repeat(2_048),
  }),
  "texts with what is escaped in them": format({
    batchPrefix: "${jndi:",
    batchSuffix: "${",
    recordDelimiter: "${,",
    escapeDollarBrace: true,
  }),
};

/** How the records of a test are brought: appends of fragments of records, each so many bytes. */
type Shape = number[][][];

const SMALL = 300;
const LARGE = FRAGMENT_MIN_DEFLATE_BYTES;

const SHAPES: { [name: string]: Shape } = {
  "one record": [[[SMALL]]],
  "one fragment that is deflated": [[[SMALL, LARGE, SMALL]]],
  "small fragments in one append": [[[SMALL, SMALL], [SMALL], [SMALL, SMALL]]],
  "deflated fragments in one append": [[[LARGE], [LARGE, SMALL], [LARGE]]],
  "both, in several appends": [[[SMALL]], [[LARGE]], [[SMALL], [SMALL, SMALL], [LARGE], [SMALL]], [[LARGE], [LARGE]]],
  "a deflated one first": [[[LARGE]], [[SMALL]], [[SMALL], [SMALL]], [[LARGE]], [[SMALL]]],
  "so many small ones that they are deflated on the way": [
    [[SMALL], [LARGE]],
    ...Array.from({ length: 12 }, () => [[LARGE / 5], [SMALL]]),
    [[LARGE], [SMALL]],
  ],
};

/**
 * The value that a record is about, of its number and that many characters, as each kind of format
 * writes it.
 */
function recordOf(output: OutputFormat, n: number, size: number): string {
  const fields = output.type === "csv" ? [`${n}`, `"${value(n, size)}"`] : [`"n":${n}`, `"noise":"${value(n, size)}"`];
  return output.recordPrefix + fields.join(output.fieldDelimiter) + output.recordSuffix;
}

const value = (n: number, size: number): string => noise(size, n + 1).replaceAll(/["$]/g, "_");

/** The records of an object's text, by number, as a reader of its format finds them. */
function read(output: OutputFormat, text: string): { n: number; noise: string }[] {
  if (output.type === "csv") {
    const [header, ...lines] = text.split("\n");
    expect(`${header}\n`).toBe(output.batchPrefix);
    expect(lines.pop()).toBe("");
    return lines.map((line) => {
      const [n, noise] = line.split(output.fieldDelimiter);
      return { n: Number(n), noise: JSON.parse(noise ?? "") as string };
    });
  }
  if (output.batchPrefix.startsWith("{")) {
    return (JSON.parse(text) as { events: { info: { n: number; noise: string } }[] }).events.map(({ info }) => info);
  }
  const escaped = (wanted: string): string => (output.escapeDollarBrace ? wanted.replaceAll("${", "x{") : wanted);
  const [before, between, after] = [output.batchPrefix, output.recordDelimiter, output.batchSuffix].map(escaped) as [
    string,
    string,
    string,
  ];
  expect([text.slice(0, before.length), text.slice(text.length - after.length)]).toEqual([before, after]);
  const inside = text.slice(before.length, text.length - after.length);
  const lines = between === "" ? inside.slice(0, -1).split("\n") : inside.split(between);
  return lines.map((line) => JSON.parse(line) as { n: number; noise: string });
}

describe.each(Object.entries(FORMATS))("an object with %s", (_format, output) => {
  it.each(Object.entries(SHAPES))(
    "out of %s is delivered with every text where it belongs, and nowhere else",
    async (_shape, shape) => {
      setClock(NOON);
      const { name, control } = freshBucket();
      const job = jobInto(name, { output });
      const owed: { n: number; noise: string }[] = [];
      await inLog(job, async (log) => {
        await configure(job);
        for (const fragments of shape) {
          const built = fragments.flatMap((sizes) => {
            const records = sizes.map((size) => {
              const n = owed.length;
              owed.push({ n, noise: value(n, size) });
              return recordOf(output, n, size);
            });
            return fragmentsOf(output, records);
          });
          await append(job, built);
        }
        await log.drive("manual", 10_000);
      });
      const [object, ...others] = (await control.objects()).filter(isShipped);
      expect(others).toEqual([]);
      expect(object?.contentType).toBe(contentType(output));
      const text = textOfMember((await control.object(object?.key ?? "")) ?? new Uint8Array());
      const found = read(output, text);
      expect(found.toSorted((a, b) => a.n - b.n)).toEqual(owed);
      // In the order in which they stand, nothing but the texts is between them.
      const texts = [output.batchPrefix, output.recordDelimiter, output.batchSuffix].map((each) =>
        output.escapeDollarBrace ? each.replaceAll("${", "x{") : each,
      );
      const records = found.map(({ n, noise }) => recordOf(output, n, noise.length));
      expect(text).toBe(texts[0] + records.join(texts[1]) + texts[2]);
      await inLog(job, (log) => {
        expect(log.objects(0, 2).entries).toMatchObject([
          {
            state: "delivered",
            records: owed.length,
            raw_bytes: new TextEncoder().encode(text).length,
            bytes: object?.size,
          },
        ]);
      });
    },
  );
});

describe("however records are split into fragments and appends", () => {
  const text = fc.oneof(
    { weight: 1, arbitrary: fc.constant("") },
    { weight: 3, arbitrary: fc.string({ unit: "binary", maxLength: 20 }) },
    // Larger than a stored block, and a byte order mark, which decoders like to swallow.
    { weight: 1, arbitrary: fc.constantFrom("\ufeff", "x".repeat(70_000), "\n") },
  );
  const size = fc.oneof(
    { weight: 6, arbitrary: fc.nat({ max: 3_000 }) },
    { weight: 1, arbitrary: fc.integer({ min: 3_000, max: 300_000 }) },
  );
  const appends = fc.array(fc.array(fc.array(size, { minLength: 1, maxLength: 6 }), { maxLength: 5 }), {
    maxLength: 8,
  });
  let jobs = 0;

  it("objects hold every record once, between the right texts, and are what their rows say of them", async () => {
    setClock(NOON);
    const property = fc.asyncProperty(
      fc.record({ batchPrefix: text, batchSuffix: text, recordDelimiter: text, escapeDollarBrace: fc.boolean() }),
      fc.oneof(fc.constant(100_000_000), fc.integer({ min: 1, max: 1_000_000 })),
      fc.oneof(fc.constant(95_000_000), fc.integer({ min: 1, max: 300_000 })),
      fc.oneof(fc.constant(100_000), fc.integer({ min: 1, max: 20 })),
      appends,
      async (texts, maxBytes, storedMaxBytes, maxRecords, shape) => {
        const output = format(texts);
        const limits = { bytes: maxBytes, records: maxRecords, intervalMs: 30_000 };
        jobs += 1;
        forgetJobs();
        const job = { ...jobInto("nowhere", { output, limits }), id: jobs };
        const owed = new Map<string, string>();
        /** Which fragment a record came in. */
        const cameIn = new Map<string, object>();
        await inLog(job, async (log, storage) => {
          log.storedMaxBytes = () => storedMaxBytes;
          await configure(job);
          for (const fragments of shape) {
            const built = fragments.flatMap((sizes) => {
              const records = sizes.map((each) => {
                const id = `<${owed.size}>`;
                const record = id + noise(each, owed.size);
                owed.set(id, record);
                return record;
              });
              const made = fragmentsOf(output, records);
              for (const fragment of made)
                for (const record of records.splice(0, fragment.records)) cameIn.set(record, fragment);
              return made;
            });
            await append(job, built);
          }
          // A change of the format cuts what waits, under the old one, and begins no upload.
          await configure({ ...job, version: 2, outputVersion: 2, output: NDJSON });
          const found: string[] = [];
          for (const { row, bytes } of cutObjects(storage)) {
            const text = textOfMember(bytes);
            const records = recordsIn(text, output, owed);
            found.push(...records);
            expect(row).toMatchObject({
              bytes: bytes.length,
              raw_bytes: new TextEncoder().encode(text).length,
              records: records.length,
              sha256: createHash("sha256").update(bytes).digest("hex"),
              md5: createHash("md5").update(bytes).digest("hex"),
            });
            if (row.raw_bytes > maxBytes || row.bytes > storedMaxBytes || row.records > maxRecords) {
              expect(new Set(records.map((record) => cameIn.get(record))).size).toBe(1);
            }
          }
          expect(found.toSorted()).toEqual([...owed.values()].toSorted());
        });
      },
    );
    await fc.assert(property, { numRuns: 20 });
  });
});
