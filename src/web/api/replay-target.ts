/** Where a replay writes, and what would be there twice. */

import type * as z from "zod";
import { counted } from "../../base/counted.ts";
import { type ApiError, badValue, CODE, faultsError, oneError } from "../../base/errors.ts";
import type { Platform } from "../../base/platform.ts";
import { dayOf } from "../../base/time.ts";
import type { Config } from "../../config.ts";
import { fillOf, leadsTo, stampedMs } from "../../formats/object/keys.ts";
import { decrypt, destinationPurpose } from "../../formats/secrets/encrypted.ts";
import type { ReplayStatus } from "../../operate/replay/replay-status.ts";
import { replays } from "../../operate/replay/replays.ts";
import type { Destination } from "../../ship/destinations/destination.ts";
import { openDestination } from "../../ship/destinations/kinds.ts";
import { maskDestination, parseDestination, parsePlace, sameFolderOn } from "../../ship/destinations/parse.ts";
import { readWithin } from "../../ship/destinations/read-small.ts";
import { jobReplayable } from "../../ship/reader/all-readers.ts";
import type { Amount, Replayable, ReplaySpan } from "../../ship/reader/replayed.ts";
import { controlPlane, type StoredJob } from "../../state/control/plane.ts";
import type { AskReplay } from "./docs/replay.ts";
import { badDestination, withStoredSecrets } from "./jobs.ts";
import { requireProof } from "./ownership.ts";
import type { AppContext } from "./route.ts";
import { sentDestination } from "./validation.ts";

type Asked = Pick<z.infer<typeof AskReplay>, "destination_conf" | "destination_of_job" | "ownership_challenge">;

/** How long a store may take to answer a test read, in ms. */
export const READ_WAIT_MS = 15_000;

/** A destination with its keys. */
export interface Opened {
  conf: string;
  destination: Destination;
}

/** Where the job ships. @throws ApiError 400 if no key opens it, or it is not allowed any more. */
export function ownDestination({ config: job }: StoredJob, config: Config, not: string): Opened {
  const conf = decrypt(job.destination, destinationPurpose(config.accountId), config.keys);
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
  const conf = decrypt(job.config.destination, destinationPurpose(config.accountId), config.keys);
  const read = conf === null ? null : parseDestination(conf, config.destinations);
  if (conf === null || read?.ok !== true) throw badJob(not, "the destination of that job cannot be used now");
  return { conf, destination: read.value };
}

function badJob(not: string, message: string): ApiError {
  return badValue("destination_of_job", message, CODE.notAllowed, not);
}

/** What is asked for, and where it would go. */
interface Copies {
  span: ReplaySpan;
  own: Opened;
  target: Opened | null;
  planned: Replayable;
  not: string;
}

/**
 * Refuses to ship records into a folder that holds them: the job's own, or one where an earlier
 * replay wrote some of the same objects.
 * @returns the newest replay of the job that was looked at; null: there is none.
 * @throws ApiError 400 that names `allow_duplicates`.
 */
export async function requireNoDuplicates(
  c: AppContext,
  job: number,
  { span, own, target, planned, not }: Copies,
  config: Config,
  platform: Platform,
): Promise<string | null> {
  const known: ReplayStatus[] = await replays(c.env.REPLAYS).list(job);
  const newest = known[0]?.id ?? null;
  if (planned.objects === 0) return newest;
  const into = (target ?? own).destination;
  const refuse = (twice: Pick<Amount, "records" | "objects">, why: string): ApiError => {
    const words = `${counted(twice.records, "records")} in ${counted(twice.objects, "objects")} would be in that folder twice, the second time under new keys: ${why}`;
    const advice = "name another path or destination, or send allow_duplicates: true";
    return faultsError(400, CODE.notAllowed, [{ pointer: "/allow_duplicates", message: `${words}; ${advice}` }], not);
  };
  const days = { from: dayOf(span.sinceMs), to: dayOf(span.untilMs - 1) };
  if (sameFolderOn(into, own.destination, days)) throw refuse(planned, "the job ships there");
  const shown = target === null ? null : maskDestination(target.conf);
  for (const { destination, sinceMs: from, untilMs: to, askedMs, done, endedMs, state, id } of known) {
    if (destination === null || (endedMs !== null && done.objects === 0)) continue;
    // The same once more is another refusal, while it is under way.
    if (endedMs === null && destination === shown && from === span.sinceMs && to === span.untilMs) continue;
    const place = parsePlace(destination, config.destinations);
    if (!place.ok || !sameFolderOn(place.value, into, days)) continue;
    // Objects are copied whole: one that reaches into both times is in both, though they may not
    // overlap.
    const [sinceMs, untilMs] = [Math.max(from, span.sinceMs), Math.min(to, span.untilMs)];
    // No object has events of two days.
    if (dayOf(sinceMs) > dayOf(untilMs)) continue;
    const both = await jobReplayable(c.env, job, {
      sinceMs,
      untilMs,
      askedMs: Math.min(askedMs, span.askedMs),
    });
    if (both.objects === 0) continue;
    const has = endedMs === null ? "ships them" : state === "done" ? "has shipped them" : "has shipped some of them";
    throw refuse(both, `replay ${id} ${has} there`);
  }
  const there = target === null ? null : await standingThere(target.destination, planned.keys, platform);
  if (there !== null) throw refuse(planned, `the store already has the job's ${there} there`);
  return newest;
}

/**
 * The key of an object of the job that stands in the folder of its copy: the store is the job's,
 * under another host name. null: none is seen, or these keys may not read.
 */
async function standingThere(target: Destination, keys: readonly string[], platform: Platform): Promise<string | null> {
  const store = openDestination(target, platform);
  const ends = [...new Set([keys[0], keys.at(-1)])].flatMap((key) => {
    if (key === undefined) return [];
    const at = key.lastIndexOf("/");
    const firstMs = stampedMs(key.slice(at + 1));
    if (firstMs === null) return [];
    return leadsTo(target.path, fillOf(dayOf(firstMs), firstMs, ""), key.slice(0, Math.max(0, at))) ? [key] : [];
  });
  const stands = ends.map(async (key): Promise<string | null> => {
    const asked = await readWithin(store, key, READ_WAIT_MS);
    if (asked?.ok !== true) return null;
    asked.body.cancel().catch(() => {});
    return key;
  });
  return (await Promise.all(stands)).find((key) => key !== null) ?? null;
}
