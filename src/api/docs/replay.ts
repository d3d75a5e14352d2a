/** What the API's description says of replays. */
import * as z from "zod";
import { CreateJob, DestinationConf } from "../../job/schema.ts";
import { REPLAY_OBJECTS_MAX, REPLAY_PROBLEMS_MAX, REPLAYS_MAX, REPLAYS_UNDER_WAY_MAX } from "../../limits.ts";
import { paging } from "../query.ts";
import type { RouteDoc } from "../route.ts";
import { Count, EXAMPLE_DESTINATION, Time } from "./common.ts";

const AskedTime = z.iso.datetime({ offset: true }).max(64).meta({ pattern: undefined });

export const AskReplay = z
  .strictObject({
    since: AskedTime.describe("RFC 3339. Objects whose last event is at this time or later…"),
    until: AskedTime.describe("…and whose first event is before this one."),
    destination_conf: DestinationConf.optional().describe(
      "Where the copies go; the job's own destination where it is not sent. Never returned with its secrets.",
    ),
    ownership_challenge: CreateJob.shape.ownership_challenge,
  })
  .meta({ id: "AskReplay" });

export const Amount = z
  .strictObject({ objects: Count, records: Count, bytes: Count.describe("As they are stored.") })
  .meta({ id: "ReplayAmount" });

const fields = {
  id: z.string().regex(/^[0-9a-f]{32}$/),
  job_id: z.int().min(1),
  since: Time,
  until: Time,
  destination_conf: z.string().nullable().describe("Its secrets are `****` for everybody. null: the job's own."),
  state: z
    .enum(["running", "waiting", "done", "cancelled", "failed"])
    .describe("`waiting`: an error, and it is tried again by itself. The last three are ends."),
  planned: Amount.describe("What was found; the sum of all that follow."),
  done: Amount.describe("Copies that stand at the destination, each whole and as it was delivered."),
  missing: Amount.describe("What is not where it was delivered to."),
  damaged: Amount.describe("What is there, and is not what was delivered: it was read twice."),
  failed: Amount.describe("What the destination refuses for itself."),
  left: Amount.describe("What is still to be done; of a replay that is over, what it did not get to."),
  error_message: z.string().nullable().describe("Why it waits, or has failed."),
  next_attempt: Time.nullable().describe("When it is tried again; null: it does not wait."),
  started_at: Time,
  ended_at: Time.nullable(),
};

export const Replay = z.strictObject(fields).meta({ id: "Replay", description: "How a replay is." });

export const ReplayDetail = z
  .strictObject({
    ...fields,
    problems: z
      .array(
        z.strictObject({
          object: z.int().min(1).describe("Its number in the job's list of objects."),
          key: z.string().describe("Where it was delivered, below the bucket."),
          kind: z.enum(["missing", "damaged", "failed"]),
          why: z.string(),
        }),
      )
      .max(REPLAY_PROBLEMS_MAX)
      .describe(`What was not shipped again, and why: the first ${REPLAY_PROBLEMS_MAX}. All of them are counted.`),
  })
  .meta({ id: "ReplayDetail" });

export const ReplaysPage = paging(REPLAYS_MAX);

export const BEGIN_REPLAY: RouteDoc = {
  summary: "Ship delivered objects again",
  description:
    "Whole objects that have events in that time, read where the job delivered them, and written under keys of their own. " +
    `At most ${REPLAY_OBJECTS_MAX} objects, and ${REPLAYS_UNDER_WAY_MAX} replays at once (429). The same replay twice at once is a 409. ` +
    "Nothing to ship is no failure: the replay is `done`, and `messages` says so.",
  body: AskReplay,
  result: Replay,
  status: 202,
  errors: [409, 429],
  examples: [
    {
      name: "One hour, to where the job ships",
      body: { since: "2026-11-20T12:00:00Z", until: "2026-11-20T13:00:00Z" },
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
};

export const LIST_REPLAYS: RouteDoc = {
  summary: "List the replays of a job",
  description: "The newest first. They are kept for 30 days.",
  query: ReplaysPage,
  result: Replay,
  list: true,
  examples: [{ name: "All of them" }],
};

export const READ_REPLAY: RouteDoc = {
  summary: "Show how a replay is",
  result: ReplayDetail,
  examples: [{ name: "Its progress" }],
};

export const CANCEL_REPLAY: RouteDoc = {
  summary: "Cancel a replay",
  description:
    "It begins no object any more; those under way end, and are counted. One that is over stays as it is. Copies that stand are not removed.",
  result: Replay,
  examples: [{ name: "Cancel" }],
};
