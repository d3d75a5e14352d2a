/** What the API answers about a job: the types of the API's own schemas. */
import type * as z from "zod";
import type { Job, JobLedger } from "../../api/docs/jobs.ts";
import type { ObjectEntry, ObjectLines } from "../../api/docs/objects.ts";
import type { Replay, ReplayDetail, ReplayEstimate } from "../../api/docs/replay.ts";
import type { Hour } from "../../api/health.ts";

export type JobView = z.infer<typeof Job>;
export type LedgerView = z.infer<typeof JobLedger>;
export type HourView = z.infer<typeof Hour>;
export type ObjectView = z.infer<typeof ObjectEntry>;
export type LinesView = z.infer<typeof ObjectLines>;
export type EstimateView = z.infer<typeof ReplayEstimate>;
export type ReplayView = z.infer<typeof Replay>;
export type ReplayDetailView = z.infer<typeof ReplayDetail>;
