import { createHash } from "node:crypto";
import type { JobView } from "../../views/job.ts";
import { isEqual, type ShippingBody, sorted } from "./body.ts";

/** What an owner says of a job, but for its destination. */
const KEYS = [
  ...["name", "enabled", "filter", "output_options", "logpull_options", "frequency"],
  ...["max_upload_bytes", "max_upload_records", "max_upload_interval_seconds", "canary"],
] as readonly (keyof ShippingBody)[];

/** A job as the forms know it. */
export function bodyOf(job: JobView): ShippingBody {
  const there = ["dataset", ...KEYS].filter((key) => job[key] !== undefined);
  return Object.fromEntries(there.map((key) => [key, job[key]]));
}

/** Two of the same job are the same digest unless somebody changed what the edit page shows of it. */
export function digestOf(job: JobView): string {
  const shown = { ...bodyOf(job), destination_conf: job.destination_conf };
  return createHash("sha256")
    .update(`${sorted(shown)}`)
    .digest("base64url");
}

/** What `PUT` is to change: what is different alone. What is not there any more is cleared. */
export function changes(before: ShippingBody, after: ShippingBody): Partial<Record<keyof ShippingBody, unknown>> {
  const changed = KEYS.filter((key) => !isEqual(before[key], after[key]));
  return Object.fromEntries(changed.map((key) => [key, after[key] ?? null]));
}
