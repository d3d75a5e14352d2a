/** Where a replay writes, and what would be there twice. */
import type * as z from "zod";
import type { Config } from "../config.ts";
import { controlPlane, type StoredJob } from "../control/plane.ts";
import type { Destination } from "../destinations/destination.ts";
import { maskDestination, parseDestination, parsePlace, sameFolder } from "../destinations/parse.ts";
import { type ApiError, CODE, faultsError, oneError } from "../errors.ts";
import { destinationPurpose, unseal } from "../job/secrets.ts";
import type { Platform } from "../platform.ts";
import { replays } from "../replay/replays.ts";
import type { Amount, ReplayStatus } from "../replay/types.ts";
import { counted } from "../status/words.ts";
import type { AskReplay } from "./docs/replay.ts";
import { badDestination, withStoredSecrets } from "./jobs.ts";
import { requireProof } from "./ownership.ts";
import type { AppContext } from "./route.ts";
import { sentDestination } from "./validation.ts";

type Asked = z.infer<typeof AskReplay>;

/** A destination with its keys. */
export interface Opened {
  conf: string;
  destination: Destination;
}

/** Where the job ships. @throws ApiError 400 if no key opens it, or it is not allowed any more. */
export function ownDestination({ config: job }: StoredJob, config: Config, not: string): Opened {
  const conf = unseal(job.destination, destinationPurpose(config.accountId), config.keys);
  if (conf === null) throw oneError(400, CODE.notAllowed, `${not}no key opens the job's stored destination`);
  const read = parseDestination(conf, config.destinations);
  if (!read.ok) throw oneError(400, CODE.notAllowed, `${not}the job's destination: ${read.why}`);
  return { conf, destination: read.value };
}

/**
 * Where the copies go; null: where the job ships. Masked secrets stand for those of the job, in its
 * bucket alone.
 * @throws ApiError 400 if it cannot be used.
 */
export async function targetOf(
  c: AppContext,
  sent: Asked,
  { job, own, not }: { job: number; own: Opened; not: string },
  config: Config,
  platform: Platform,
): Promise<Opened | null> {
  const { destination_conf, destination_of_job: other, ownership_challenge } = sent;
  if (other !== undefined) {
    if (destination_conf !== undefined) throw badJob(not, "cannot be sent with destination_conf");
    return other === job ? null : ofJob(c, other, config, not);
  }
  if (destination_conf === undefined) return null;
  const conf = withStoredSecrets(destination_conf, own.conf, config, not);
  const read = sentDestination(conf, config);
  if (!read.ok) throw badDestination(not, read.why);
  requireProof(ownership_challenge, read.value, config, platform, own.conf);
  return { conf, destination: read.value };
}

/** Where another job ships, with its keys. It was proven for that job. */
async function ofJob(c: AppContext, id: number, config: Config, not: string): Promise<Opened> {
  const job: StoredJob | null = await controlPlane(c.env.CONTROL).get(id);
  if (job === null) throw badJob(not, "there is no such job");
  const conf = unseal(job.config.destination, destinationPurpose(config.accountId), config.keys);
  const read = conf === null ? null : parseDestination(conf, config.destinations);
  if (conf === null || read?.ok !== true) throw badJob(not, "the destination of that job cannot be used now");
  return { conf, destination: read.value };
}

function badJob(not: string, message: string): ApiError {
  return faultsError(
    400,
    CODE.notAllowed,
    [{ pointer: "/destination_of_job", message: `destination_of_job: ${message}` }],
    not,
  );
}

/**
 * Refuses to ship records into a folder that holds them: the job's own, or one where an earlier
 * replay of some of that time wrote.
 * @throws ApiError 400 that names `allow_duplicates`.
 */
export async function requireNoDuplicates(
  c: AppContext,
  job: number,
  { sinceMs, untilMs }: { sinceMs: number; untilMs: number },
  { own, target, planned, not }: { own: Opened; target: Opened | null; planned: Amount; not: string },
  config: Config,
): Promise<void> {
  if (planned.objects === 0) return;
  const into = (target ?? own).destination;
  const refuse = (why: string): ApiError => {
    const words = `${counted(planned.records, "records")} in ${counted(planned.objects, "objects")} would be in that folder twice, under new keys: ${why}`;
    const advice = "name another path or destination, or send allow_duplicates: true";
    return faultsError(400, CODE.notAllowed, [{ pointer: "/allow_duplicates", message: `${words}; ${advice}` }], not);
  };
  if (sameFolder(into, own.destination)) throw refuse("the job ships there");
  const shown = target === null ? null : maskDestination(target.conf);
  const known: ReplayStatus[] = await replays(c.env.REPLAYS).list(job);
  for (const { destination, sinceMs: from, untilMs: to, done, endedMs, id } of known) {
    if (destination === null || from >= untilMs || to <= sinceMs) continue;
    if (endedMs !== null && done.objects === 0) continue;
    // The same once more is another refusal, while it is under way.
    if (endedMs === null && destination === shown && from === sinceMs && to === untilMs) continue;
    const place = parsePlace(destination, config.destinations);
    if (place.ok && sameFolder(place.value, into)) throw refuse(`replay ${id} has shipped some of them there`);
  }
}
