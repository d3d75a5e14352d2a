import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NDJSON } from "../../../src/formats/output/format.ts";
import { noise } from "../../formats/record/samples.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import {
  append,
  configure,
  cutObjects,
  forgetJobs,
  format,
  fragmentsOf,
  inLog,
  jobInto,
  recordsIn,
  textOfMember,
} from "./direct.ts";

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
