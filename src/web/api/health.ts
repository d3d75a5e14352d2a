import * as z from "zod";
import { CODE, oneError } from "../../base/errors.ts";
import type { Platform } from "../../base/platform.ts";
import { HOUR_MS } from "../../base/time.ts";
import type { Config } from "../../config.ts";
import { jobHealth } from "../../ship/reader/all-readers.ts";
import { HEALTH_HOURS, type HealthHour, seriesOf } from "../../ship/reader/upload-health.ts";
import { AskedTime, Count, exactly, OF_HOURS, Time } from "./docs/common.ts";
import { isoTime, listed } from "./envelope.ts";
import { requireJob } from "./jobs.ts";
import type { AppContext, Resources, RouteDoc } from "./route.ts";

/** Hours shown by default. */
const HOURS_SHOWN = 24;

export const Hour = exactly("HealthHour", {
  hour: Time.describe("Start of the hour."),
  uploads: z
    .strictObject({
      ok: Count.describe("The object was delivered."),
      retried: Count.describe("The upload failed and is retried automatically."),
      failed: Count.describe("Needs you: delivery is paused, or the object is on hold."),
    })
    .describe("Upload attempts that ended in this hour, by result."),
  errors: z.record(z.string(), Count).describe("The `retried` and `failed` attempts, counted by HTTP status or cause."),
  records: Count.describe("Records delivered."),
  bytes_raw: Count.describe("Bytes delivered, before compression."),
  bytes_compressed: Count.describe("Bytes delivered, compressed."),
  duration_ms: z
    .strictObject({ sum: Count, max: Count })
    .describe("Duration of the `ok` attempts; `sum / ok` is the mean."),
});

const READ_HEALTH = {
  summary: "Show a job's uploads by the hour",
  description:
    "The last 24 hours, or whole hours from `since` to `until`, in UTC, oldest first. Hours without uploads are included with zeros. " +
    "Hours older than 30 days or in the future are left out. An upload belongs to the hour in which it ended.",
  ...OF_HOURS,
  result: Hour,
  list: true,
} satisfies RouteDoc;

export const healthRoutes: Resources = {
  "/jobs/:job_id/health": { GET: { permission: "logs:read", doc: READ_HEALTH, handle: readHealth } },
};

async function readHealth(c: AppContext, _config: Config, platform: Platform): Promise<Response> {
  const { config } = await requireJob(c);
  const nowMs = platform.now();
  const { since, until } = hoursAsked(c, nowMs);
  const found = await jobHealth(c.env, config.id, since, until);
  const hours = seriesOf(found, since, until, nowMs).map(present);
  return listed(c, hours, { page: 1, perPage: HEALTH_HOURS, total: hours.length });
}

/** @returns hours since the epoch; `until` is exclusive. @throws ApiError 400. */
export function hoursAsked(c: AppContext, nowMs: number): { since: number; until: number } {
  return spanAsked(c, nowMs, HOUR_MS, HOURS_SHOWN);
}

/**
 * Which whole pieces of time are asked for.
 * @param stepMs how long one is. @param shown so many by default.
 * @returns their numbers since the epoch; `until` is exclusive.
 * @throws ApiError 400.
 */
export function spanAsked(
  c: AppContext,
  nowMs: number,
  stepMs: number,
  shown: number,
): { since: number; until: number } {
  const sinceMs = timeAsked(c, "since");
  const untilMs = timeAsked(c, "until") ?? nowMs;
  if (sinceMs !== null && sinceMs >= untilMs) throw oneError(400, CODE.invalid, "since must be before until");
  const until = Math.ceil(untilMs / stepMs);
  return { since: sinceMs === null ? until - shown : Math.floor(sinceMs / stepMs), until };
}

/** In ms; null: not sent. @throws ApiError 400 for a malformed time. */
function timeAsked(c: AppContext, name: string): number | null {
  const text = c.req.query(name);
  if (text === undefined) return null;
  // In a query, "+" reads as a space; in a time, a space can only be the "+" of its offset.
  const read = AskedTime.safeParse(text.replace(/ (?=\d\d:\d\d$)/, "+"));
  if (!read.success) throw oneError(400, CODE.invalid, `${name} must be a time as in RFC 3339: 2026-11-20T10:00:00Z`);
  return Date.parse(read.data);
}

function present({ hour, ok, retried, failed, causes, ...of }: HealthHour): z.infer<typeof Hour> {
  return {
    hour: isoTime(hour * HOUR_MS),
    uploads: { ok, retried, failed },
    errors: causes,
    records: of.records,
    bytes_raw: of.rawBytes,
    bytes_compressed: of.bytes,
    duration_ms: { sum: of.totalMs, max: of.longestMs },
  };
}
