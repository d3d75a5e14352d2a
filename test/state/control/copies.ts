/** What shards and readers have of the configuration. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { vi } from "vitest";
import { TraceLog } from "../../../src/index.ts";
import type { JobConfig, JobsSnapshot } from "../../../src/ship/job/config.ts";
import { JobsCopy } from "../../../src/ship/log/jobs-copy.ts";
import { traceLog } from "../../../src/ship/log/trace-log.ts";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import { controlPlane } from "../../../src/state/control/plane.ts";
import { Oracle } from "../../support/oracle.ts";
import { api } from "../../support/runtime/api.ts";
import { NOON, pack } from "../../support/runtime/pipeline.ts";

export const control = () => controlPlane(env.CONTROL);

/** Switches logging of a function; null: unsets it. */
export const set = (name: string, logship: boolean | null) =>
  api("PATCH", `/functions/scripts/${name}/script-settings`, { logship });

/** Five events of one function, taken in at one time. */
export const events = (scriptName: string, takenInMs: number) =>
  pack(new Oracle({ at: NOON, name: `${scriptName}-${takenInMs}` }).mint(5, { scriptName }), takenInMs);

/** What is in force. */
export async function snapshot(): Promise<JobsSnapshot> {
  const all = await control().configSince("");
  if (all.jobs === null) throw new Error("there is a state that is none");
  return all;
}

/** What a shard of the log decides by. */
export const copyOf = (shard = 0): Promise<Omit<JobsSnapshot, "shards">> =>
  runInDurableObject(traceLog(env.TRACE_LOG, shard), (_log, { storage: { sql } }) => {
    const { state, jobs, optOuts, searches } = new JobsCopy(sql).all();
    return { state, jobs: jobs.map(({ config }) => config), optOuts, searches };
  });

/** The job as its reader has it. */
export const readerJob = (id: number): Promise<JobConfig> =>
  runInDurableObject(
    nodeAt(env.READERS, id, 0),
    (_log, { storage: { sql } }) => JSON.parse(String(sql.exec("SELECT job FROM reader").one().job)) as JobConfig,
  );

/** Has further shards of the log come into being. */
export async function joinShards(...shards: number[]): Promise<void> {
  for (const shard of shards) await control().join(shard, "");
}

/** Does something before a shard takes a change. @param before is given the number of the shard. */
export function beforeChanges(before: (shard: number) => unknown) {
  const { configure } = TraceLog.prototype;
  return vi.spyOn(TraceLog.prototype, "configure").mockImplementation(async function (this: TraceLog, change) {
    const { id } = (this as unknown as { ctx: DurableObjectState }).ctx;
    await before(Number(id.name?.split(" ")[1]));
    return configure.call(this, change);
  });
}
