import * as z from "zod";
import { chainHealth } from "../delivery/chain.ts";
import { HEALTH_HOURS, type HealthHour, hourOf, hourStartMs, seriesOf } from "../delivery/health.ts";
import { CODE, oneError } from "../errors.ts";
import { listed } from "./envelope.ts";
import { requireJob } from "./jobs.ts";
import type { AppContext, Resource } from "./route.ts";

/** Hours that are shown where nobody says which. */
const HOURS_SHOWN = 24;

const Time = z.iso.datetime({ offset: true }).max(64);

const count = z.int().min(0);

const Hour = z.strictObject({
  hour: z.iso.datetime().describe("when it begins"),
  uploads: z
    .strictObject({ ok: count, retried: count, failed: count })
    .describe("attempts: delivered; tried again by themselves; waiting for somebody to change something, or to decide"),
  errors: z
    .record(z.string(), count)
    .describe("of the attempts that were retried or failed, how many ended on which HTTP status, or word"),
  records: count.describe("delivered, as all that follows"),
  bytes_raw: count,
  bytes_compressed: count,
  duration_ms: z.strictObject({ sum: count, max: count }).describe("of the uploads that were ok: sum / ok is the mean"),
});

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
          query: z.object({ since: Time.optional(), until: Time.optional() }),
          result: Hour,
          list: true,
          examples: [
            { name: "the last day" },
            { name: "since then", query: { since: "2026-11-20T00:00:00Z", until: "2100-01-01T00:00:00Z" } },
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
  const read = Time.safeParse(text.replace(/ (?=\d\d:\d\d$)/, "+"));
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
