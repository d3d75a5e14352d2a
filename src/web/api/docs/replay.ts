import * as z from "zod";
import { REPLAY_OBJECTS_MAX, REPLAY_PROBLEMS_MAX, REPLAYS_MAX, REPLAYS_UNDER_WAY_MAX } from "../../../base/limits.ts";
import { CreateJob, DestinationConf } from "../../../ship/job/job-schema.ts";
import { paging } from "../query.ts";
import type { RouteDoc } from "../route.ts";
import { AskedTime, Count, EXAMPLE_DESTINATION, exactly, HexId, JobId, Time } from "./common.ts";

export const AskSpan = z.object({
  since: AskedTime.describe("RFC 3339. Objects whose last event is at or after this time…"),
  until: AskedTime.describe("…and whose first event is before this time."),
});

export const AskReplay = exactly("AskReplay", {
  ...AskSpan.shape,
  destination_conf: DestinationConf.optional().describe(
    "Where the copies go. `****` stands for a secret of the job, in the job's bucket. Its secrets are never returned. Without this and the next, the job's own folder.",
  ),
  destination_of_job: JobId.optional().describe("The same as another job's destination, with its keys."),
  allow_duplicates: z
    .boolean()
    .optional()
    .describe(
      "Required to ship records into a folder that holds them already: the job's own, or that of an earlier replay of the same objects. They are there twice then, under new keys.",
    ),
  ownership_challenge: CreateJob.shape.ownership_challenge,
});

const AskRerun = exactly("AskRerun", {
  since: AskedTime.describe("RFC 3339. What was taken in at or after this time…"),
  until: AskedTime.describe("…and before this time, which is not in the future."),
  destination_conf: DestinationConf.optional().describe(
    "Where the objects go; the job's own destination by default. `****` stands for a secret of the job, in the job's bucket.",
  ),
  ownership_challenge: CreateJob.shape.ownership_challenge,
});

export const Amount = exactly("ReplayAmount", { objects: Count, records: Count, bytes: Count.describe("Compressed.") });

/** A rerun's id is part of its objects' names: `…_r57`. */
const ReplayId = z.union([HexId, z.string().regex(/^r[1-9][0-9]{0,14}$/)]);

const fields = {
  id: ReplayId.describe("Of a rerun: `r` and a number, which the names of its objects have, too."),
  kind: z
    .enum(["replay", "rerun"])
    .describe("`replay`: copies delivered objects. `rerun`: makes objects anew from what the log keeps."),
  job_id: JobId,
  since: Time,
  until: Time,
  destination_conf: z.string().nullable().describe("Its secrets are always `****`. null: the job's own."),
  state: z
    .enum(["running", "waiting", "done", "cancelled", "failed"])
    .describe("`waiting`: after an error, before the next automatic attempt. The last three are final."),
  planned: Amount.describe(
    "What was found: the sum of the following, `filtered` and `sampled_out`. Of a rerun, objects and bytes grow as it goes on.",
  ),
  done: Amount.describe("Copies at the destination, identical to what was delivered."),
  missing: Amount.describe("Objects that are no longer where they were delivered."),
  damaged: Amount.describe("Objects that are not what was delivered, in two reads."),
  failed: Amount.describe("Objects that the destination refuses."),
  left: Amount.describe("Not done yet; of an ended replay, what it did not reach."),
  filtered: Count.describe("Records that a rerun does not ship, as the job's filter drops them."),
  sampled_out: Count,
  error_message: z.string().nullable().describe("Why it waits or has failed."),
  next_attempt: Time.nullable().describe("When it is tried again; null: not waiting."),
  started_at: Time,
  ended_at: Time.nullable(),
};

export const Replay = exactly("Replay", fields, "A replay and its progress.");
export type Replay = z.infer<typeof Replay>;

export const ReplayDetail = exactly("ReplayDetail", {
  ...fields,
  problems: z
    .array(
      z.strictObject({
        object: z.int().min(1).describe("Its number in the job's list of objects."),
        key: z.string().describe("Where it was delivered: key in the bucket."),
        kind: z.enum(["missing", "damaged", "failed"]),
        why: z.string(),
      }),
    )
    .max(REPLAY_PROBLEMS_MAX)
    .describe(`The first ${REPLAY_PROBLEMS_MAX} objects that were not shipped again, and why. The counts include all.`),
});

export const BEGIN_REPLAY = {
  summary: "Ship delivered objects again",
  description:
    "Copies whole objects that have events in that time, from where the job delivered them to new keys. " +
    "Records that would be in one folder twice are a 400 at `/allow_duplicates`. " +
    `At most ${REPLAY_OBJECTS_MAX} objects, and ${REPLAYS_UNDER_WAY_MAX} replays at once (429). The same replay twice at once is a 409. ` +
    "With nothing to ship the replay is `done`, and `messages` says so.",
  body: AskReplay,
  result: Replay,
  status: 202,
  errors: [409],
  examples: [
    {
      name: "One hour, to where the job ships: the records are there twice",
      body: { since: "2026-11-20T12:00:00Z", until: "2026-11-20T13:00:00Z", allow_duplicates: true },
    },
    {
      name: "One day, to another destination",
      body: {
        since: "2026-11-20T00:00:00+01:00",
        until: "2026-11-21T00:00:00+01:00",
        destination_conf: EXAMPLE_DESTINATION.replace("traces/logs", "traces/again"),
      },
    },
  ],
} satisfies RouteDoc;

export const BEGIN_RERUN = {
  summary: "Ship the past again",
  description:
    "Makes and ships again what the log keeps of that time (`LOG_KEEP_HOURS`), by time of intake, whether the job was enabled then or not, " +
    "under its present filter and format. Names of objects end in `_r` and a number; counts are apart from the job's. " +
    "The answer, its progress and its end are those of a replay, in the same list. A time that is not kept is a 400 that says since when all is. " +
    "At most two at once of a job, the `since` that it was created with included (409).",
  body: AskRerun,
  result: Replay,
  status: 202,
  errors: [409],
  examples: [
    {
      name: "The last hour of a job whose filter was wrong",
      body: { since: "2026-11-20T12:00:00Z", until: "2026-11-20T13:00:00Z" },
    },
  ],
} satisfies RouteDoc;

export const ReplayEstimate = exactly("ReplayEstimate", {
  since: Time,
  until: Time,
  planned: Amount.describe("What a replay would ship now."),
  list_price_usd: z
    .number()
    .min(0)
    .describe(
      "Estimated, at public list prices: requests to the store and rows written. Not included: traffic, and what another store charges.",
    ),
});

export const ESTIMATE_REPLAY = {
  summary: "Count what a replay would ship",
  description: "Starts nothing. `messages` says what a replay would not take.",
  query: AskSpan,
  result: ReplayEstimate,
  examples: [{ name: "One hour", query: { since: "2026-11-20T12:00:00Z", until: "2026-11-20T13:00:00Z" } }],
} satisfies RouteDoc;

export const LIST_REPLAYS = {
  summary: "List the replays and reruns of a job",
  description: "Newest first; kept for 30 days, reruns for 15.",
  query: paging(REPLAYS_MAX),
  result: Replay,
  list: true,
} satisfies RouteDoc;

export const READ_REPLAY = {
  summary: "Read a replay or a rerun",
  result: ReplayDetail,
} satisfies RouteDoc;

export const CANCEL_REPLAY = {
  summary: "Cancel a replay or a rerun",
  description:
    "Objects in progress are finished and counted; no more are started. What a rerun has not shipped is dropped. An ended replay stays as it is. Existing copies are not removed.",
  result: Replay,
} satisfies RouteDoc;
