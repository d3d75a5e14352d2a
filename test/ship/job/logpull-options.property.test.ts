import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FIELD_NAMES } from "../../../src/formats/record/fields.ts";
import { CreateJob, type JobBody, type OutputOptions, TIMESTAMP_FORMATS } from "../../../src/ship/job/job-schema.ts";
import { parseLogpullOptions } from "../../../src/ship/job/output-rules.ts";
import { readJob } from "../../../src/ship/job/rules.ts";

/** A percent-encoded text; the generator chooses whether to encode what need not be. */
const encoded = (text: string): fc.Arbitrary<string> =>
  fc.array(fc.boolean(), { minLength: text.length, maxLength: text.length }).map((forced) =>
    [...text]
      .map((char, i) => {
        if (char === "+" && !forced[i]) return char;
        const plain = encodeURIComponent(char);
        return forced[i] && plain === char ? `%${char.charCodeAt(0).toString(16).padStart(2, "0")}` : plain;
      })
      .join(""),
  );

const options: fc.Arbitrary<OutputOptions> = fc.record(
  {
    field_names: fc.oneof(
      fc.shuffledSubarray([...FIELD_NAMES]),
      fc.array(
        fc.string({ unit: "grapheme", minLength: 1 }).filter((name) => !name.includes(",")),
        { minLength: 1 },
      ),
    ),
    sample_rate: fc.double({ min: 0, minExcluded: true, max: 1, noNaN: true }),
    timestamp_format: fc.constantFrom(...TIMESTAMP_FORMATS),
    "CVE-2021-44228": fc.boolean(),
  },
  { requiredKeys: [] },
);

const NAMES = {
  field_names: "fields",
  sample_rate: "sample",
  timestamp_format: "timestamps",
  "CVE-2021-44228": "CVE-2021-44228",
} as const;

/** The same options as a query, in any order. */
const written = options.chain((meant) => {
  const pairs = (Object.keys(meant) as (keyof typeof NAMES)[]).map((key) =>
    fc.tuple(encoded(NAMES[key]), encoded(`${meant[key]}`)).map(([name, value]) => `${name}=${value}`),
  );
  const query = fc
    .tuple(...pairs)
    .chain((texts) => fc.shuffledSubarray(texts, { minLength: texts.length }))
    .chain((texts) => fc.constantFrom(texts.join("&"), `&${texts.join("&&")}&`));
  return fc.record({ meant: fc.constant(meant), query });
});

const hostile = fc
  .array(
    fc.constantFrom(
      ..."fields|sample|timestamps|CVE-2021-44228|=|=|&|,|%|%2|%2C|%zz|%ff|%00|+|0.5|1|1e-3|1e999|-0|true|unix".split(
        "|",
      ),
      "__proto__",
      "constructor",
      "hasOwnProperty",
      "Outcome",
      "\ud800",
      "\u2028",
      "\n",
      "x".repeat(90),
    ),
    { maxLength: 14 },
  )
  .map((pieces) => pieces.join(""));

describe("logpull_options", () => {
  it("are read as what they were written from, however they are percent-encoded and ordered", () => {
    fc.assert(
      fc.property(written, ({ meant, query }) => {
        expect(parseLogpullOptions(query)).toEqual({ options: meant, faults: [] });
      }),
      { numRuns: 1_000 },
    );
  });

  it("that are taken say what the platform's own reader of queries finds in them", () => {
    const answers = { taken: 0, refused: 0 };
    fc.assert(
      fc.property(fc.oneof(hostile, fc.string({ unit: "binary" })), (query) => {
        const read = parseLogpullOptions(query);
        answers[read.faults.length === 0 ? "taken" : "refused"] += 1;
        for (const fault of read.faults) {
          expect(fault).toMatch(/^logpull_options: [^\n]+$/);
          expect(fault.isWellFormed()).toBe(true);
          expect(fault.length).toBeLessThan(500);
        }
        // The two treat half of a surrogate pair differently, but it is no field name to either.
        if (read.faults.length > 0 || !query.isWellFormed()) return;
        // URLSearchParams reads a plus sign as a space.
        const pairs = new Map(new URLSearchParams(query.replaceAll("+", "%2B")));
        const expected: { [name: string]: unknown } = {};
        for (const [name, value] of pairs) {
          if (name === "fields") expected.field_names = value === "" ? [] : value.split(",");
          else if (name === "sample") expected.sample_rate = Number(value);
          else if (name === "timestamps") expected.timestamp_format = value;
          else expected[name] = value === "true";
        }
        expect(read.options).toEqual(expected);
        expect([...pairs.keys()].filter((name) => !Object.values<string>(NAMES).includes(name))).toEqual([]);
        const { sample_rate: rate = 1 } = read.options;
        expect(rate !== null && rate > 0 && rate <= 1).toBe(true);
      }),
      { numRuns: 2_000 },
    );
    expect(Math.min(answers.taken, answers.refused)).toBeGreaterThan(20);
  });
});

describe("the body of a job", () => {
  const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null });
  const text = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 20 }),
    fc.constantFrom("{{.Outcome}}", "{{.Outcome", "{{.Event}}".repeat(5), "x".repeat(4_096), "{", "${"),
  );
  const output = fc.record(
    {
      field_names: maybe(
        fc.array(fc.constantFrom(...FIELD_NAMES, ...FIELD_NAMES, "constructor", "__proto__"), { maxLength: 3 }),
      ),
      output_type: maybe(fc.constantFrom("ndjson" as const, "csv" as const)),
      batch_prefix: maybe(text),
      batch_suffix: maybe(text),
      record_prefix: maybe(text),
      record_suffix: maybe(text),
      record_delimiter: maybe(text),
      field_delimiter: maybe(text),
      record_template: maybe(text),
      timestamp_format: maybe(fc.constantFrom(...TIMESTAMP_FORMATS)),
      sample_rate: maybe(fc.double({ min: 0, minExcluded: true, max: 1, noNaN: true })),
      "CVE-2021-44228": maybe(fc.boolean()),
    },
    { requiredKeys: [] },
  );
  const body = fc.record(
    {
      output_options: maybe(output),
      logpull_options: maybe(fc.oneof(hostile, fc.constant("fields=Outcome"))),
      filter: maybe(
        fc.oneof(
          fc.constantFrom("", '{"where":{"key":"Outcome","operator":"eq","value":"ok"}}', '{"where":'),
          fc.json(),
        ),
      ),
      max_upload_bytes: maybe(fc.oneof(fc.constant(0), fc.integer({ min: 5_000_000, max: 1_000_000_000 }))),
      max_upload_records: maybe(fc.oneof(fc.constant(0), fc.integer({ min: 1_000, max: 1_000_000 }))),
      max_upload_interval_seconds: maybe(fc.oneof(fc.constant(0), fc.integer({ min: 30, max: 300 }))),
    },
    { requiredKeys: [] },
  );

  it("of the right shape is a meaning within every limit, or faults that each name a part of it, and never a throw", () => {
    const answers = { taken: 0, refused: 0 };
    fc.assert(
      fc.property(body, (sent) => {
        const parsed = CreateJob.safeParse({ destination_conf: "s3://b", ...sent });
        fc.pre(parsed.success);
        const read = readJob({ ...parsed.data, dataset: "functions_trace_events" } as JobBody);
        answers[read.ok ? "taken" : "refused"] += 1;
        if (!read.ok) {
          expect(read.faults.length).toBeGreaterThan(0);
          for (const { pointer, message } of read.faults) {
            expect(pointer).toMatch(/^\/(?:filter|logpull_options|output_options(?:\/[a-z_]+(?:\/\d+)?)?)$/);
            expect(message).not.toBe("");
          }
          return;
        }
        const { limits, sampleRate, filter } = read.value;
        expect(sampleRate > 0 && sampleRate <= 1).toBe(true);
        expect(filter).toBe(sent.filter || null);
        expect(limits).toEqual({
          bytes: sent.max_upload_bytes || 100_000_000,
          records: sent.max_upload_records || 100_000,
          intervalMs: 1_000 * (sent.max_upload_interval_seconds || 30),
        });
      }),
      { numRuns: 1_000 },
    );
    expect(Math.min(answers.taken, answers.refused)).toBeGreaterThan(20);
  });
});
