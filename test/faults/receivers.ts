/** Jobs whose destination is a receiver, for the rows about these. */
import { variants } from "../support/matrix.ts";
import type { DialectName } from "../support/receiver.ts";
import { api } from "../support/runtime/api.ts";
import type { World } from "../support/runtime/world.ts";
import type { WorldJob } from "../support/runtime/world-jobs.ts";
import type { BucketControl } from "../support/s3-control.ts";
import type { Match } from "../support/s3-script.ts";
import { asideOf, resend } from "./aside.ts";

/** Hours after which a record is too old for it. */
export const AGES = { datadog: 18, newrelic: 48, loki: 168 } as const satisfies Partial<Record<DialectName, number>>;

/**
 * Every kind of receiver, the most telling first: one that takes what it is sent again as new, one
 * that tells records, one that takes nothing old.
 */
export const RECEIVERS = [
  ...["https", "elastic", "datadog", "splunkraw", "sumo", "loki", "otlp", "clickhouse", "axiom", "newrelic"],
  "splunkevent",
] as const satisfies DialectName[];

/** Those for which each row runs in `npm test`. */
export const SOME = variants(RECEIVERS, 3);

/** Those that take records of three days ago, and of any time. */
export const LASTING = RECEIVERS.filter((kind) => kind !== "datadog" && kind !== "newrelic");
export const TIMELESS = RECEIVERS.filter((kind) => !(kind in AGES));

/** Requests with records, and those that test whether it takes any. */
export const POSTS: Match = { method: "POST", keyExcludes: "/test-" };
/** All requests: the receiver is down. */
export const ALL: Match = { method: "POST" };
export const TESTS: Match = { method: "POST", keyIncludes: "/test-" };

/** Records that were sent again in doubt, as the API says. */
export async function resent(job: WorldJob): Promise<number> {
  const { result } = (await api<{ resent_in_doubt: number }>("GET", `/logship/jobs/${job.id}/ledger`)).body;
  return result.resent_in_doubt;
}

/** How many requests with records a receiver was sent. */
export async function posts(control: BucketControl): Promise<number> {
  return (await control.requests()).filter(({ key }) => !key.includes("/test-")).length;
}

/** Sends all that is set aside again, and lets it settle. @throws if it is refused. */
export async function sendAgain(world: World, job: WorldJob): Promise<void> {
  await world.settle();
  for (const { id } of await asideOf(job)) {
    const { status } = await resend(id);
    if (status !== 200) throw new Error(`${id} was not sent again: ${status}`);
  }
  await world.settle();
}
