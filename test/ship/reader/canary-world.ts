/** A job with a canary, whose bucket is to be scripted. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { readConfig } from "../../../src/config.ts";
import { destinationPurpose, encrypt } from "../../../src/formats/secrets/encrypted.ts";
import type { JobConfig } from "../../../src/ship/job/config.ts";
import { jobCanary } from "../../../src/ship/reader/all-readers.ts";
import type { CanaryReport } from "../../../src/ship/reader/canary.ts";
import { canaryAfter } from "../../../src/ship/reader/canary-object.ts";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import type { CanaryStatus } from "../../../src/ship/reader/statuses.ts";
import { ACCOUNT } from "../../support/constants.ts";
import { destinationConf } from "../../support/runtime/api.ts";
import { freshBucket, logStatus, NOON, runAlarm, setClock } from "../../support/runtime/pipeline.ts";
import type { Match, SeenRequest } from "../../support/s3-script.ts";
import { configure, jobInto } from "./direct.ts";

export const CANARY_PUT: Match = { method: "PUT", keyIncludes: "canary/" };
export const CANARY_GET: Match = { method: "GET", keyIncludes: "canary/" };

/** Waits for the try that is under way, if one is. */
export function ended(jobId: number, segment = 0): Promise<void> {
  return runInDurableObject(nodeAt(env.READERS, jobId, segment), async (log) => {
    await log.canary.running;
  });
}

/** Runs the alarm, and waits for the canary that it began. @returns whether the alarm was set. */
export async function tick(jobId: number, segment = 0): Promise<boolean> {
  const ran = await runAlarm(jobId, segment);
  await ended(jobId, segment);
  return ran;
}

/** A destination in a bucket, sealed. */
export function sealed(bucket: string, path: string, conf = destinationConf): string {
  const config = readConfig(env);
  if (!config.ok) throw new Error(config.faults.join("; "));
  return encrypt(conf(bucket, path), destinationPurpose(ACCOUNT), config.config.keys);
}

/** @param fields of the job. @param path and @param conf of its destination. */
export async function canaryWorld(fields: Partial<JobConfig> = {}, path = "logs/{DATE}", conf = destinationConf) {
  const clock = setClock(NOON);
  const { name, control } = freshBucket();
  const job = jobInto(name, { canary: true, destination: sealed(name, path, conf), path, ...fields });
  await configure(job);
  const requests = async (): Promise<SeenRequest[]> =>
    (await control.requests()).filter(({ key }) => key.includes("canary/"));
  const state = async (): Promise<CanaryStatus | null> => (await logStatus(job.id)).canary;
  return {
    clock,
    name,
    control,
    job,
    state,
    report: (): Promise<CanaryReport | null> => jobCanary(env, job.id),
    /** Requests about canaries, as `METHOD status`, in order of arrival. */
    asked: async (): Promise<string[]> => (await requests()).map(({ method, status }) => `${method} ${status}`),
    configure: (change: Partial<JobConfig>): Promise<void> =>
      configure(Object.assign(job, { version: job.version + 1 }, change)),
    tick: () => tick(job.id),
    /** The next canary's time, and that it is sent then. @returns what is said of it. */
    nextHour: async (): Promise<CanaryStatus | null> => {
      clock.advance(canaryAfter(job.id, clock.nowMs()) - clock.nowMs());
      await tick(job.id);
      return state();
    },
    /** Lets all tries of a run be made. */
    untilDecided: async (): Promise<CanaryStatus | null> => {
      for (let tries = 0; tries < 10; tries++) {
        const report = await jobCanary(env, job.id);
        const decided = report === null || report.nextRunMs >= canaryAfter(job.id, clock.nowMs());
        if (decided) return state();
        clock.advance(Math.max(0, report.nextRunMs - clock.nowMs()));
        await tick(job.id);
      }
      throw new Error("the run is never decided");
    },
    evict: () => evictDurableObject(nodeAt(env.READERS, job.id, 0)),
  };
}
