/** Jobs whose destination is a receiver, for the rows about these. */
import { api } from "../support/runtime/api.ts";
import type { World } from "../support/runtime/world.ts";
import type { WorldJob } from "../support/runtime/world-jobs.ts";
import type { BucketControl } from "../support/s3-control.ts";
import type { Match } from "../support/s3-script.ts";

/** One that takes what it is sent again as new, one that tells it: of records of any time. */
export const TIMELESS = ["https", "elastic"] as const;
/** And one that takes records of the last 18 hours. */
export const RECEIVERS = [...TIMELESS, "datadog"] as const;

/** Requests with records, and those that test whether it takes any. */
export const POSTS: Match = { method: "POST", keyExcludes: "/test-" };
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

export interface Aside {
  id: string;
  job: number;
  records: number;
  why: string;
}

/** The objects of a job that are set aside. */
export async function asideOf(job: WorldJob): Promise<Aside[]> {
  const { result } = (await api<Aside[]>("GET", "/logship/set-aside")).body;
  return result.filter((aside) => aside.job === job.id);
}

/** Sends all that is set aside again, and lets it settle. @throws if it is refused. */
export async function sendAgain(world: World, job: WorldJob): Promise<void> {
  await world.settle();
  for (const { id } of await asideOf(job)) {
    const { status } = await api("POST", `/logship/set-aside/${id}/resend`);
    if (status !== 200) throw new Error(`${id} was not sent again: ${status}`);
  }
  await world.settle();
}
