/**
 * Objects that wait: what a job ships of some messages is appended again and again, under new ids.
 */

import type { Loaded } from "../../../src/formats/object/load.ts";
import { randomIds } from "../../../src/ship/intake/ids.ts";
import type { JobConfig } from "../../../src/ship/job/config.ts";
import { headOf } from "../../../src/ship/log/heads.ts";
import { traceLog } from "../../../src/ship/log/trace-log.ts";
import { prepareAll } from "../../../src/ship/pipeline/prepare-all.ts";
import { nodeAt, type Reader } from "../../../src/ship/reader/job-nodes.ts";
import { Uploads } from "../../../src/ship/reader/uploads.ts";

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
