import * as z from "zod";
import { chainHealth } from "../delivery/chain.ts";
import { HEALTH_HOURS, type HealthHour, hourOf, hourStartMs, seriesOf } from "../delivery/health.ts";
import { CODE, oneError } from "../errors.ts";
import { Count, Time } from "./docs/common.ts";
import { listed } from "./envelope.ts";
import { requireJob } from "./jobs.ts";
import type { AppContext, Resource } from "./route.ts";

/** Hours that are shown where nobody says which. */
const HOURS_SHOWN = 24;

const AskedTime = z.iso.datetime({ offset: true }).max(64).meta({ pattern: undefined });

export const Hour = z
  .strictObject({
    hour: Time.describe("When it begins."),
    uploads: z
      .strictObject({
        ok: Count.describe("The object is delivered."),
        retried: Count.describe("It is not, and is tried again by itself."),
        failed: Count.describe("Somebody has to do something: the job is parked, or the object was set aside."),
      })
      .describe("How the attempts went that ended in this hour. Each is one of the three."),
    errors: z
      .record(z.string(), Count)
      .describe("How many of those that were `retried` or `failed` ended on which HTTP status, or word."),
    records: Count.describe("Records in what was delivered."),
    bytes_raw: Count.describe("Bytes delivered, before compression."),
    bytes_compressed: Count.describe("Bytes delivered, as they are stored."),
    duration_ms: z
      .strictObject({ sum: Count, max: Count })
      .describe("How long the attempts took that were `ok`; `sum / ok` is the mean."),
  })
  .meta({ id: "HealthHour" });

export const healthRoutes: readonly Resource[] = [
  {
    path: "/jobs/:job_id/health",
    methods: {
      GET: {
        permission: "logs:read",
        doc: {
          summary: "Show how a job's uploads went, by the hour",
          description:
            "The last 24 hours, or those from `since` to `until`, whole hours both; in UTC, the oldest first. Hours in which nothing ended are there with " +
            "zeros; left out are those that are older than 30 days, and those yet to come. An upload belongs to the hour in which it ended.",
          query: z.object({
            since: AskedTime.optional().describe(
              "Goes down to its full hour. 24 hours are shown where it is not sent.",
            ),
            until: AskedTime.optional().describe("Goes up to its full hour; now, where it is not sent."),
          }),
          result: Hour,
          list: true,
          examples: [
            { name: "The last day" },
            { name: "Since a day", query: { since: "2026-11-20T00:00:00Z", until: "2100-01-01T00:00:00Z" } },
          ],
        },
        async handle(c, _config, platform) {
          const { config } = await requireJob(c);
          const nowMs = platform.now();
          const { since, until } = hoursAsked(c, nowMs);
          const found = await chainHealth(c.env.LOG, config.id, since, until);
          const hours = seriesOf(found, since, until, nowMs).map(present);
          return listed(c, hours, { page: 1, perPage: HEALTH_HOURS, total: hours.length });
        },
      },
    },
  },
];

/** @returns hours since the epoch; `until` is the first one that is not asked for. @throws ApiError 400. */
function hoursAsked(c: AppContext, nowMs: number): { since: number; until: number } {
  const sinceMs = timeAsked(c, "since");
  const untilMs = timeAsked(c, "until") ?? nowMs;
  if (sinceMs !== null && sinceMs >= untilMs) throw oneError(400, CODE.invalid, "since must be before until");
  // The last ms that is asked for, and the hour after that of it.
  const until = hourOf(untilMs - 1) + 1;
  return { since: sinceMs === null ? until - HOURS_SHOWN : hourOf(sinceMs), until };
}

/** In ms; null: it was not sent. @throws ApiError 400 for what is no time. */
function timeAsked(c: AppContext, name: string): number | null {
  const text = c.req.query(name);
  if (text === undefined) return null;
  // A query has a plus sign for a space; of a time it can only have been that of its offset.
  const read = AskedTime.safeParse(text.replace(/ (?=\d\d:\d\d$)/, "+"));
  if (!read.success) throw oneError(400, CODE.invalid, `${name} must be a time as in RFC 3339: 2026-11-20T10:00:00Z`);
  return Date.parse(read.data);
}

function present({ hour, ok, retried, failed, causes, ...of }: HealthHour): z.infer<typeof Hour> {
  return {
    hour: new Date(hourStartMs(hour)).toISOString(),
    uploads: { ok, retried, failed },
    errors: causes,
    records: of.records,
    bytes_raw: of.rawBytes,
    bytes_compressed: of.bytes,
    duration_ms: { sum: of.totalMs, max: of.longestMs },
  };
}
