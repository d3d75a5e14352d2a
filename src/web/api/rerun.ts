import { CODE, notInForce, oneError, unavailable } from "../../base/errors.ts";
import type { Platform } from "../../base/platform.ts";
import type { Config } from "../../config.ts";
import { destinationPurpose, encrypt } from "../../formats/secrets/encrypted.ts";
import type { ReplayStatus } from "../../operate/replay/replay-status.ts";
import { rerunStates } from "../../operate/replay/reruns.ts";
import { maskDestination } from "../../ship/destinations/parse.ts";
import { rerunName } from "../../ship/job/config.ts";
import { readJobConfig } from "../../ship/job/snapshot.ts";
import { jobStatus } from "../../ship/reader/job-status.ts";
import { controlPlane, type RerunBegun } from "../../state/control/plane.ts";
import { bodyOf } from "./body.ts";
import { BEGIN_RERUN } from "./docs/replay.ts";
import { success } from "./envelope.ts";
import { answerOf, SILENT, UNREADABLE } from "./job-view.ts";
import { requireJob, requireWritable } from "./jobs.ts";
import { badTime, requireKept } from "./kept.ts";
import { presentReplay, requireFit, spanOf } from "./replay.ts";
import { ownDestination, targetOf } from "./replay-target.ts";
import type { AppContext, Resources } from "./route.ts";

/** Pasts of a job under way at once, the one that it starts in included. A refusal says "twice". */
const UNDER_WAY_MAX = 2;

export const rerunRoutes: Resources = {
  "/jobs/:job_id/rerun": {
    POST: { permission: "logs:edit", action: "job.rerun", doc: BEGIN_RERUN, handle: beginRerun },
  },
};

async function beginRerun(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const job = await requireJob(c);
  const { id } = job.config;
  const not = `a rerun of job ${id} is not allowed: `;
  const sent = await bodyOf(c, BEGIN_RERUN);
  if (readJobConfig(job.config) === null) throw oneError(409, CODE.conflict, not + UNREADABLE);
  const span = spanOf(sent);
  if (span.untilMs > platform.now()) throw badTime("until", "until: is in the future");
  const own = ownDestination(job, config, not);
  const target = await targetOf(c, sent, { job: id, own, not }, config, platform);
  if (target !== null) {
    requireFit(job.config, target.destination, not);
    await requireWritable(target.destination, platform, not);
  }
  await requireKept(c, span.sinceMs, platform);
  const control = controlPlane(c.env.CONTROL);
  const open = (job.reruns ?? []).filter(({ end }) => end === null);
  // Notes those that are over.
  await rerunStates(c.env, open, platform.now());
  const begun: RerunBegun = await control.rerun({
    ...{ job: id, ...span },
    target: target && {
      sealed: encrypt(target.conf, destinationPurpose(config.accountId), config.keys),
      path: target.destination.path,
      shown: maskDestination(target.conf),
    },
    room: UNDER_WAY_MAX - ((await hasPast(c, id, job.config.since)) ? 1 : 0),
  });
  switch (begun.kind) {
    case "gone":
      throw oneError(404, CODE.jobNotFound, "job not found");
    case "refused":
      throw oneError(403, CODE.notAllowed, not + begun.why);
    case "same":
      throw oneError(409, CODE.conflict, `the same rerun is in progress: ${rerunName(begun.id)}`);
    case "full": {
      const words = `job ${id} reads the past twice already: wait until one has ended, or cancel it`;
      throw oneError(409, CODE.conflict, words);
    }
    case "begun": {
      if (begun.missing.length > 0) {
        throw unavailable(`${rerunName(begun.rerun.id)} is ${notInForce(begun.missing)}`, 60);
      }
      const [state] = await rerunStates(c.env, [begun.rerun], platform.now());
      return success(c, presentReplay(state as ReplayStatus), { status: 202 });
    }
  }
}

/** Whether the job has not read all of the past that it starts in. @throws ApiError 503. */
async function hasPast(c: AppContext, id: number, since: number | undefined): Promise<boolean> {
  if (since === undefined) return false;
  const status = await answerOf(jobStatus(c.env, id), `job ${id}`);
  if (status === undefined) throw unavailable(SILENT);
  return status?.hasPast === true;
}
