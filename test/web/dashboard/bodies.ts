/** Valid bodies of jobs, of every kind. */
import * as fc from "fast-check";
import { resolveKey } from "../../../src/formats/filter/fields.ts";
import { OPERATORS, operatorsOn } from "../../../src/formats/filter/operators.ts";
import { parseFilter } from "../../../src/formats/filter/parse.ts";
import { FIELD_NAMES } from "../../../src/formats/record/fields.ts";
import type { JobBody } from "../../../src/ship/job/job-schema.ts";
import { CreateJob, TIMESTAMP_FORMATS } from "../../../src/ship/job/job-schema.ts";
import { readJob } from "../../../src/ship/job/rules.ts";
import type { ShippingBody } from "../../../src/web/dashboard/pages/shipping/body.ts";
import type { Node } from "../../formats/filter/support.ts";

/** Texts that form fields, browsers and HTML parsers may change. */
export const hostile = fc.oneof(
  fc.constantFrom(
    ...[
      "",
      " ",
      "ok",
      "30",
      "true",
      "-0",
      "1e3",
      "null",
      '"',
      '"a"',
      '"30"',
      "a\nb",
      "a\r\nb\r",
      "\n",
      "\t",
      "\\",
      "\\n",
    ],
    ...["\\u0041", "</textarea><script>alert(1)</script>", "&amp;", "<b>", "'", "\u0000", "\u202e", "\ufeff", "\ud800"],
    ...["\u2028", "👩‍🚀", "$\u007bjndi:x}", "é", " 5", "5 ", "\u00a0x", "}\n"],
  ),
  fc.string({ unit: "binary", maxLength: 8 }),
  fc.string({ maxLength: 8 }),
);

const key = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom("Outcome", "CPUTimeMs", "ScriptTags", "Logs", "ScriptVersion.ID", "Event.Cron"),
  },
  { weight: 1, arbitrary: hostile.filter((text) => text !== "" && !text.includes(".")).map((text) => `Event.${text}`) },
);
const number = fc.oneof(
  fc.constantFrom(0, -0, 30, 0.5, 1e21, -1, 2 ** 53 - 1),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);

function valueFor(operator: string): fc.Arbitrary<unknown> {
  const scalar = fc.oneof(hostile, number);
  switch (OPERATORS.get(operator)?.test) {
    case "eq":
      return fc.oneof(scalar, fc.boolean());
    case "in":
      return fc.array(scalar, { minLength: 1, maxLength: 4 });
    case "startsWith":
    case "endsWith":
    case "contains":
      return hostile;
    default:
      return fc.oneof(number, number.map(String));
  }
}

const condition: fc.Arbitrary<Node> = key
  .chain((name) => {
    const resolved = resolveKey(name);
    const operators = typeof resolved === "string" ? ["eq"] : operatorsOn(resolved.type);
    return fc.record({ key: fc.constant(name), operator: fc.constantFrom(...operators) });
  })
  .chain((made) => valueFor(made.operator).map((value) => ({ ...made, value })));

const { node } = fc.letrec<{ node: Node }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 4 },
    { weight: 2, arbitrary: condition },
    { weight: 1, arbitrary: fc.record({ and: fc.array(tie("node"), { minLength: 1, maxLength: 3 }) }) },
    { weight: 1, arbitrary: fc.record({ or: fc.array(tie("node"), { minLength: 1, maxLength: 3 }) }) },
  ),
}));

/** The same JSON with spaces, another order of keys, and nulls for missing values. */
function respelled(value: unknown, spelling: number): string {
  if (Array.isArray(value))
    return `[ ${value.map((each) => respelled(each, spelling)).join(spelling % 2 ? ",\r\n" : " ,\n")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const pairs = Object.entries(value).map(([name, each]) => `${JSON.stringify(name)} :${respelled(each, spelling)}`);
  if (spelling % 3 === 0 && ("and" in value || "or" in value)) pairs.push('"key": null');
  return `{${pairs.reverse().join(",\t")} }`;
}

/** A valid filter. */
export const validFilter: fc.Arbitrary<string> = fc
  .tuple(node, fc.nat({ max: 11 }))
  .map(([where, spelling]) => (spelling < 6 ? JSON.stringify({ where }) : respelled({ where }, spelling)))
  .filter((text) => parseFilter(text).ok && new TextEncoder().encode(text).length <= 8_192);

const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null });
const written = hostile.filter((text) => text.isWellFormed());
const bounded = (min: number, max: number) => maybe(fc.oneof(fc.constant(0), fc.integer({ min, max })));

const options = fc.record(
  {
    field_names: maybe(fc.shuffledSubarray([...FIELD_NAMES])),
    output_type: maybe(fc.constantFrom("ndjson" as const, "csv" as const)),
    batch_prefix: maybe(written),
    batch_suffix: maybe(written),
    record_prefix: maybe(written),
    record_suffix: maybe(written),
    record_delimiter: maybe(written),
    field_delimiter: maybe(written),
    record_template: maybe(fc.oneof(written, fc.constantFrom("{{ .Outcome }}\n", '{{ "a" }}\r\n{{ .Logs }}'))),
    timestamp_format: maybe(fc.constantFrom(...TIMESTAMP_FORMATS)),
    sample_rate: maybe(fc.oneof(fc.constantFrom(1, 0.1, 1e-7), fc.double({ min: 1e-300, max: 1, noNaN: true }))),
    truncate: maybe(fc.boolean()),
    rows: maybe(fc.constantFrom("invocation" as const, "log" as const)),
    "CVE-2021-44228": maybe(fc.boolean()),
    merge_subrequests: maybe(fc.boolean()),
  },
  { requiredKeys: [] },
);

/** A valid body with any of its keys. */
export const validBody: fc.Arbitrary<ShippingBody> = fc
  .record(
    {
      dataset: fc.constantFrom("functions_trace_events" as const, "workers_trace_events" as const),
      name: maybe(hostile),
      enabled: maybe(fc.boolean()),
      filter: maybe(fc.oneof(fc.constant(""), validFilter)),
      output_options: maybe(options),
      logpull_options: maybe(fc.constantFrom("", "fields=Outcome,ScriptName&sample=0.1", "CVE-2021-44228=true")),
      frequency: maybe(fc.constantFrom("", "high")),
      max_upload_bytes: bounded(5_000_000, 1_000_000_000),
      max_upload_records: bounded(1_000, 1_000_000),
      max_upload_interval_seconds: bounded(30, 300),
      canary: maybe(fc.boolean()),
    },
    { requiredKeys: [] },
  )
  .filter((body) => isTaken(body));

/** Whether the API accepts it, apart from the destination. */
export function isTaken(body: ShippingBody): boolean {
  const whole = { ...body, destination_conf: "s3://bucket" };
  return CreateJob.safeParse(whole).success && readJob(whole as JobBody).ok;
}
