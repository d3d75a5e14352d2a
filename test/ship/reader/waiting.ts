/** A job whose store misbehaves: ten records wait in its log, and its bucket is to be scripted. */
import { assertClean, Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import { deliver, freshBucket, jobObjects, NOON, pack, setClock } from "../../support/runtime/pipeline.ts";
import type { Match, PutSummary, SeenRequest } from "../../support/s3-script.ts";

/** PUTs of objects, but not of the probe; and what asks for them. */
export const PUTS: Match = { method: "PUT", keyIncludes: ".log.gz" };
export const HEADS: Match = { method: "HEAD", keyIncludes: ".log.gz" };

export async function waitingJob() {
  const clock = setClock(NOON);
  const { name, control } = freshBucket();
  const job = await createJob(name);
  const oracle = new Oracle({ at: NOON });
  const events = oracle.mint(10);
  oracle.acknowledged("job", events);
  await deliver(pack(events, clock.nowMs()));
  const isOfObject = ({ key }: { key: string }): boolean => key.endsWith(".log.gz");
  return {
    clock,
    control,
    job,
    oracle,
    /** Requests about objects, as `METHOD status`, in order of arrival. */
    asked: async (): Promise<string[]> =>
      (await control.requests()).filter(isOfObject).map(({ method, status }: SeenRequest) => `${method} ${status}`),
    written: async (): Promise<PutSummary[]> => (await control.puts()).filter(isOfObject),
    /**
     * The bucket holds each record once, in whole objects, under the keys that the log names, and
     * nothing else. @returns the log's objects.
     */
    expectWhole: async () => {
      assertClean(oracle.audit("job", await control.contents(), { path: "logs/{DATE}" }));
      const objects = await jobObjects(job);
      const keys = (await control.objects()).filter(isOfObject).map(({ key }) => key);
      if (JSON.stringify(keys) !== JSON.stringify(objects.map(({ key }) => key)))
        throw new Error(`the bucket holds ${keys.join(", ")}`);
      return objects;
    },
  };
}
