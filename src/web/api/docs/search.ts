import * as z from "zod";
import {
  COUNT_TOP_MAX,
  FACETS_MAX,
  QUERY_MAX_UNITS,
  SEARCH_CURSOR_MAX,
  SEARCH_HITS_MAX,
  SEARCH_TEXT_MAX,
} from "../../../base/limits.ts";
import { OPS } from "../../../formats/measures/measures.ts";
import { NAME_MAX } from "../../../formats/query/names.ts";
import { JOB_FIELDS } from "../../../ship/job/job-schema.ts";
import type { RouteDoc } from "../route.ts";
import { AskedTime, Count, exactly, JobId } from "./common.ts";

const CountedName = z.string().min(1).max(NAME_MAX);

export const AskCount = exactly("AskCount", {
  by: z
    .array(CountedName)
    .max(3)
    .optional()
    .describe("Names whose values make a group: `status`, `path`, `worker`, `Event.Queue`, `Fields.customer`."),
  every: z.string().max(5).optional().describe("`1s` to `1d`: groups for each such slot of time, by UTC."),
  measures: z
    .array(z.strictObject({ op: z.enum(OPS), of: CountedName.optional().describe("For all but `count`.") }))
    .min(1)
    .max(10)
    .optional()
    .describe("Of each group; by default, how many records it has."),
  facets: z
    .array(CountedName)
    .max(FACETS_MAX)
    .optional()
    .describe("Names whose values are counted in the same pass, each for itself: how many records have which."),
  top: z
    .int()
    .min(1)
    .max(COUNT_TOP_MAX)
    .default(100)
    .describe(
      "Groups that are told, those with the most records; the slots of one group count as one. And values of each facet.",
    ),
});

export const AskSearch = exactly("AskSearch", {
  since: AskedTime.optional().describe("RFC 3339. Events at or after this time; by default an hour before `until`."),
  until: AskedTime.optional().describe("Events before this time; by default now."),
  job_id: JobId.optional().describe("One job; by default all of them."),
  query: z
    .string()
    .max(QUERY_MAX_UNITS)
    .optional()
    .describe(
      'Words, `"phrases"`, `-not`, `OR`, `(…)`, `field:value`: `status:5xx checkout -worker:billing`. docs/search.md has the language. A fault is code 1004, with its place in `source.at`.',
    ),
  filter: JOB_FIELDS.filter.optional().describe("As a job's `filter`, on the record as it was shipped."),
  text: z.string().max(SEARCH_TEXT_MAX).optional().describe("As a phrase of `query`."),
  ray_id: z
    .string()
    .max(64)
    .optional()
    .describe("As `ray:` of `query`. What follows a `-`, as in the header `cf-ray`, does not count."),
  order: z.enum(["newest", "oldest"]).default("newest"),
  limit: z.int().min(1).max(SEARCH_HITS_MAX).default(100).describe("Hits of one answer."),
  cursor: z.string().max(SEARCH_CURSOR_MAX).optional().describe("Of the answer before, with the same question."),
  count: AskCount.optional().describe("Counts the records, and tells none of them."),
  dry_run: z.boolean().default(false).describe("Answers with what the search would read, and reads no object."),
});
export type AskSearch = z.infer<typeof AskSearch>;

export const SearchEstimate = exactly("SearchEstimate", {
  objects: Count.describe("With records of that time, what waits for its upload included."),
  skipped: Count.describe("Of these, those that cannot hold a hit, as their sketches say."),
  bytes: Count.describe("Of the others, as they are stored."),
  raw_bytes: Count.describe("The same before compression."),
  records: Count.describe("In them."),
  sketch_bytes: Count.describe("Of sketches and manifests, that were read for this answer."),
  not_searched: z.array(
    z.strictObject({
      what: z.string().describe("In words: `2 objects of job 3 (1, 2)`."),
      why: z.string(),
      job: JobId.nullable().describe("null: `what` says it."),
      objects: z.array(z.int()).optional().describe("Their numbers; absent: what has none."),
      manifests: z.array(z.string()).optional().describe("Their names."),
    }),
  ),
});

export const SEARCH = {
  summary: "Search what was shipped",
  description:
    "Finds records in the objects of the store and in what waits for its upload, and streams them as NDJSON, the newest first. " +
    '`{"type":"hit","job_id","object","line","also_in","record"}`: a record; `object` is null while it waits to be cut. A record that several jobs shipped is one hit, the copy with most fields; `also_in` has the ids of the other jobs. ' +
    '`{"type":"progress","objects","read","skipped","copies","bytes_read","sketch_bytes","records","reached"}`: at least once a second; `skipped` objects cannot hold a hit, as their sketches say, or hold `copies` of records that are in objects of other jobs alone. ' +
    'Last, `{"type":"end","complete","cursor","not_searched":[{"what","why","job","objects","manifests"}]}`: with a `cursor` there is more; `complete` says that all of the question was searched; what was not is named, all that a job has in common for one reason together. ' +
    'With `count`, lines `{"type":"groups","rows":[{"by","time","values","state"}],"facets":[{"name","values":[{"value","records"}],"other","overflow"}],"at"}` take the place of hits, each that of those before it: `values` are those of `measures`, `time` is there with `every`, all later than `at` is counted; `end` has `other`, the sum of the groups that the rows lack, and `overflow`. A count of several answers is the sum of theirs; `state` is what they are merged by. ' +
    "What a job has not read from the log is read first; what it has not read by then, and what is set aside, is named. " +
    "An answer without an `end` broke off. One answer reads for half a minute, or 2 GB before compression, or up to `limit` hits; two run at once for one caller, and further ones get 429. docs/search.md",
  body: AskSearch,
  result: SearchEstimate.describe("With `dry_run`."),
  files: ["application/x-ndjson"],
  examples: [
    { name: "One request", body: { ray_id: "8f14e45fceea167a", since: "2026-11-20T00:00:00Z" } },
    {
      name: "Failures with a text, of one job",
      body: {
        job_id: 1,
        text: "customer 4711",
        filter: '{"where":{"key":"Outcome","operator":"!eq","value":"ok"}}',
        since: "2026-11-20T12:00:00Z",
        until: "2026-11-20T18:00:00Z",
      },
    },
    { name: "In the language of searches", body: { query: "status:5xx path:/checkout/* -worker:billing" } },
    {
      name: "How often each path fails, and how slow it is",
      body: {
        query: "status:5xx",
        count: { by: ["path"], every: "5m", measures: [{ op: "count" }, { op: "p95", of: "took" }] },
      },
    },
    { name: "What it would read", body: { query: "declined", dry_run: true } },
  ],
} satisfies RouteDoc;
