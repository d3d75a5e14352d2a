/**
 * Objects that wait: what a job ships of some messages is appended again and again, under new ids.
 */
import { nodeAt, type Reader } from "../../../src/delivery/job-nodes.ts";
import { Uploads } from "../../../src/delivery/uploads.ts";
import { randomIds } from "../../../src/intake/ids.ts";
import type { JobConfig } from "../../../src/job/config.ts";
import type { Loaded } from "../../../src/object/load.ts";
import { prepareAll } from "../../../src/pipeline/prepare-all.ts";
import { headOf } from "../../../src/trace-log/heads.ts";
import { traceLog } from "../../../src/trace-log/trace-log.ts";

/** @param isEnough of what the job's reader has cut. */
export async function stackObjects(
  env: Env,
  job: JobConfig,
  messages: readonly Loaded[],
  isEnough: (reader: Reader) => Promise<boolean>,
): Promise<void> {
  const shard = traceLog(env.TRACE_LOG, 0);
  const idOf = randomIds(1);
  const { run } = Uploads.prototype;
  // What is cut waits.
  Uploads.prototype.run = async () => {};
  try {
    while (!(await isEnough(nodeAt(env.READERS, job.id, 0)))) {
      const renamed = messages.map((each) => ({ ...each, message: { ...each.message, id: idOf(0) } }));
      const { prepared, offered } = prepareAll(renamed, { jobs: [job], optOuts: [] });
      await shard.append({
        ...{ v: 1, parts: renamed.map((each) => headOf(each)), records: [], prepared, queue: null },
        ...{ work: { batches: 0, entries: 1, offered }, state: "" },
      });
      await shard.drive([job.id]);
    }
  } finally {
    Uploads.prototype.run = run;
  }
}
