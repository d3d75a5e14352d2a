import type * as z from "zod";
import {
  type ApiError,
  badValue,
  CODE,
  faultsError,
  notFound,
  notInForce,
  oneError,
  unavailable,
} from "../../base/errors.ts";
import { OBJECT_HISTORY_MS, REPLAY_OBJECTS_MAX, REPLAYS_UNDER_WAY_MAX } from "../../base/limits.ts";
import type { Platform } from "../../base/platform.ts";
import { PRICES, type PriceName } from "../../base/prices.ts";
import type { Config } from "../../config.ts";
import { NDJSON } from "../../formats/output/format.ts";
import { encrypt, replayPurpose } from "../../formats/secrets/encrypted.ts";
import { placeName } from "../../operate/replay/places.ts";
import type { Problem, ReplayAsk, ReplayBegun, ReplayStatus } from "../../operate/replay/replay-status.ts";
import { replays } from "../../operate/replay/replays.ts";
import { rerunNumber, rerunProblems, rerunStates } from "../../operate/replay/reruns.ts";
import { left } from "../../operate/replay/rows.ts";
import type { Destination } from "../../ship/destinations/destination.ts";
import { openDestination, termsOf } from "../../ship/destinations/kinds.ts";
import { maskDestination } from "../../ship/destinations/parse.ts";
import { readWithin } from "../../ship/destinations/read-small.ts";
import { fitDestination } from "../../ship/job/rules.ts";
import { jobReplayable } from "../../ship/reader/all-readers.ts";
import type { Amount } from "../../ship/reader/replayed.ts";
import { controlPlane, type JobChange, type StoredJob } from "../../state/control/plane.ts";
import type { Rerun } from "../../state/control/rerun-rows.ts";
import { bodyOf } from "./body.ts";
import {
  type AskSpan,
  BEGIN_REPLAY,
  CANCEL_REPLAY,
  ESTIMATE_REPLAY,
  LIST_REPLAYS,
  READ_REPLAY,
  type Replay,
} from "./docs/replay.ts";
import { isoTime, listed, type Message, success } from "./envelope.ts";
import { requireJob, requireWritable } from "./jobs.ts";
import { pageOf, queryOf } from "./query.ts";
import { ownDestination, READ_WAIT_MS, requireNoDuplicates, targetOf } from "./replay-target.ts";
import type { AppContext, Resources } from "./route.ts";

/** Attempts at beginning while other replays of the job begin. */
const BEGIN_TRIES = 3;

export const replayRoutes: Resources = {
  "/jobs/:job_id/replay": {
    GET: { permission: "logs:read", doc: LIST_REPLAYS, handle: listReplays },
    POST: { permission: "logs:edit", action: "job.replay", doc: BEGIN_REPLAY, handle: beginReplay },
  },
  // Before the next: no replay has that id.
  "/jobs/:job_id/replay/estimate": { GET: { permission: "logs:read", doc: ESTIMATE_REPLAY, handle: estimateReplay } },
  "/jobs/:job_id/replay/:replay_id": {
    GET: { permission: "logs:read", doc: READ_REPLAY, handle: readReplay },
    DELETE: { permission: "logs:edit", action: "job.replay_cancel", doc: CANCEL_REPLAY, handle: cancelReplay },
  },
};

async function listReplays(c: AppContext, _config: Config, platform: Platform): Promise<Response> {
  const { config, reruns = [] } = await requireJob(c);
  const copies: ReplayStatus[] = await replays(c.env.REPLAYS).list(config.id);
  const all = [...copies, ...reruns].sort((a, b) => b.askedMs - a.askedMs);
  const { shown, info } = pageOf(queryOf(c, LIST_REPLAYS), all);
  const asked = shown.filter((each) => "isCancelled" in each);
  const states = await rerunStates(c.env, asked, platform.now());
  const views = shown.map((each) => ("isCancelled" in each ? (states[asked.indexOf(each)] as ReplayStatus) : each));
  return listed(c, views.map(presentReplay), info);
}

async function readReplay(c: AppContext, _config: Config, platform: Platform): Promise<Response> {
  const job = await requireJob(c);
  const rerun = askedRerun(c, job);
  const found =
    rerun === null ? await replays(c.env.REPLAYS).get(job.config.id, replayId(c)) : await stateOf(c, rerun, platform);
  if (found === null) throw notFound("no such replay");
  const problems = found.problems.map(({ number, key, kind, why }) => ({ object: number, key, kind, why }));
  return success(c, { ...presentReplay(found.replay), problems });
}

async function cancelReplay(c: AppContext, _config: Config, platform: Platform): Promise<Response> {
  const job = await requireJob(c);
  const rerun = askedRerun(c, job);
  if (rerun === null) {
    const after: ReplayStatus | null = await replays(c.env.REPLAYS).cancel(job.config.id, replayId(c));
    if (after === null) throw notFound("no such replay");
    return success(c, presentReplay(after));
  }
  const { replay } = await stateOf(c, rerun, platform);
  if (replay.endedMs !== null && !rerun.isCancelled) return success(c, presentReplay(replay));
  const change: JobChange = await controlPlane(c.env.CONTROL).remove(rerun.id, true, true);
  if (change.kind === "changed" && change.missing.length > 0)
    throw unavailable(`the end of ${replay.id} is ${notInForce(change.missing)}`, 60);
  return success(c, presentReplay((await stateOf(c, { ...rerun, isCancelled: true }, platform)).replay));
}

/** null: the id is that of no rerun. @throws ApiError 404 if the job has no such rerun. */
function askedRerun(c: AppContext, { reruns = [] }: StoredJob): Rerun | null {
  const number = rerunNumber(c.req.param("replay_id") ?? "");
  if (number === null) return null;
  const rerun = reruns.find(({ id }) => id === number);
  if (rerun === undefined) throw notFound("no such replay");
  return rerun;
}

async function stateOf(
  c: AppContext,
  rerun: Rerun,
  platform: Platform,
): Promise<{ replay: ReplayStatus; problems: Problem[] }> {
  const [replay] = (await rerunStates(c.env, [rerun], platform.now())) as [ReplayStatus];
  return { replay, problems: replay.failed.objects === 0 ? [] : await rerunProblems(c.env, rerun.id) };
}

async function estimateReplay(c: AppContext, _config: Config, platform: Platform): Promise<Response> {
  const { config } = await requireJob(c);
  const now = platform.now();
  const span = spanOf(queryOf(c, ESTIMATE_REPLAY));
  const { keys: _, ...planned } = await jobReplayable(c.env, config.id, { ...span, askedMs: now });
  const estimate = {
    since: isoTime(span.sinceMs),
    until: isoTime(span.untilMs),
    planned,
    list_price_usd: replayDollars(planned),
  };
  return success(c, estimate, { messages: notes(planned.objects, span.sinceMs, now) });
}

async function beginReplay(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const job = await requireJob(c);
  const { id } = job.config;
  const sent = await bodyOf(c, BEGIN_REPLAY);
  const not = `replaying job ${id} is not allowed: `;
  const now = platform.now();
  const span = { ...spanOf(sent), askedMs: now };
  const own = ownDestination(job, config, not);
  const source = own.destination;
  if (!termsOf(source).isReadable) throw oneError(400, CODE.notAllowed, `${not}its destination cannot be read back`);
  const target = await targetOf(c, sent, { job: id, own, not }, config, platform);

  if (target !== null) requireFit(job.config, target.destination, not);

  const found = await jobReplayable(c.env, id, span);
  const { keys, ...planned } = found;
  if (planned.objects > REPLAY_OBJECTS_MAX) throw oneError(400, CODE.notAllowed, not + tooMany(planned.objects));
  const newest = async (): Promise<string | null | undefined> =>
    sent.allow_duplicates === true
      ? undefined
      : requireNoDuplicates(c, id, { span, own, target, planned: found, not }, config, platform);
  let after = await newest();
  await requireReadable(source, keys, platform, not);
  if (target !== null) await requireWritable(target.destination, platform, not);
  const ask: ReplayAsk = {
    job: id,
    ...span,
    source: job.config.destination,
    target: target && {
      sealed: encrypt(target.conf, replayPurpose(config.accountId), config.keys),
      shown: maskDestination(target.conf),
      elsewhere: placeName(target.destination),
    },
    path: (target ?? own).destination.path,
    place: job.config.destinationVersion,
    planned,
    modified: job.config.modifiedVersion,
  };
  let begun: ReplayBegun = await replays(c.env.REPLAYS).begin({ ...ask, after });
  for (let tries = 1; begun.kind === "others" && tries < BEGIN_TRIES; tries++) {
    after = await newest();
    begun = await replays(c.env.REPLAYS).begin({ ...ask, after });
  }
  switch (begun.kind) {
    case "others":
      throw oneError(409, CODE.conflict, "other replays of the job are being started; try again");
    case "same":
      throw oneError(409, CODE.conflict, `the same replay is in progress: ${begun.id}`);
    case "full": {
      const words = `${REPLAYS_UNDER_WAY_MAX} replays are in progress; wait for one, or cancel it`;
      throw oneError(429, CODE.tooMany, words, { "Retry-After": "60" });
    }
    case "begun":
      return success(c, presentReplay(begun.replay), {
        status: 202,
        messages: notes(planned.objects, span.sinceMs, now),
      });
  }
}

/** @throws ApiError 400 for records that the target does not take as the job writes them. */
export function requireFit(config: StoredJob["config"], target: Destination, not: string): void {
  const terms = termsOf(target);
  const { output } = config;
  // A receiver gets the lines that objects of Parquet are decoded to.
  const isDecoded = output.type === "parquet" && !terms.isReadable;
  const shown = isDecoded ? { ...output, type: NDJSON.type } : output;
  const { faults } = fitDestination({ ...config, output: shown }, {}, terms);
  if (faults.length > 0)
    throw faultsError(
      400,
      CODE.notAllowed,
      faults.map(({ message }) => ({ pointer: "/destination_conf", message })),
      not,
    );
}

/** @throws ApiError 400 for an empty span. */
export function spanOf({ since, until }: z.infer<typeof AskSpan>): { sinceMs: number; untilMs: number } {
  const [sinceMs, untilMs] = [Date.parse(since), Date.parse(until)];
  if (sinceMs < untilMs) return { sinceMs, untilMs };
  throw badValue("until", "must be later than since");
}

/**
 * Tests with a GET of the first and the last object, without reading them, that the credentials may
 * read. A missing object proves it as well as an existing one.
 * @throws ApiError 400 if the store refuses these credentials; 503 if it does not answer.
 */
async function requireReadable(
  source: Destination,
  keys: readonly string[],
  platform: Platform,
  not: string,
): Promise<void> {
  const store = openDestination(source, platform);
  let refused: ApiError | null = null;
  for (const key of new Set([keys[0], keys.at(-1)])) {
    if (key === undefined) return;
    const asked = await readWithin(store, key, READ_WAIT_MS);
    if (asked?.ok === true) {
      asked.body.cancel().catch(() => {});
      return;
    }
    const { why, words } = asked ?? { why: "unreachable", words: "no answer in time" };
    if (why === "unreachable" || why === "busy")
      throw unavailable(`the job's destination cannot be read now: ${words}`, 60);
    if (why === "gone") return;
    // Without the right to list, a store answers 403 for a missing object, too: try another one.
    refused = oneError(
      400,
      CODE.notAllowed,
      `${not}these credentials cannot read the job's destination: ${words}; a replay reads what was delivered, so the job needs credentials that may read`,
    );
  }
  if (refused !== null) throw refused;
}

function notes(objects: number, sinceMs: number, nowMs: number): Message[] {
  const known = nowMs - OBJECT_HISTORY_MS;
  const texts: string[] = [];
  if (objects > REPLAY_OBJECTS_MAX) texts.push(tooMany(objects));
  if (objects === 0) texts.push("nothing to replay: no delivered object has events in that time");
  if (sinceMs < known)
    texts.push(`delivered objects are listed for 30 days: those cut before ${isoTime(known)} are not included`);
  return texts.map((message) => ({ code: CODE.note, message }));
}

function tooMany(objects: number): string {
  return `${objects} objects match, and a replay takes at most ${REPLAY_OBJECTS_MAX}; choose a shorter time`;
}

function replayId(c: AppContext): string {
  const id = c.req.param("replay_id") ?? "";
  if (/^[0-9a-f]{32}$/.test(id)) return id;
  throw notFound("no such replay");
}

export function presentReplay(replay: ReplayStatus): Replay {
  return {
    id: replay.id,
    kind: replay.kind,
    job_id: replay.job,
    since: isoTime(replay.sinceMs),
    until: isoTime(replay.untilMs),
    destination_conf: replay.destination,
    state: replay.state,
    planned: replay.planned,
    done: replay.done,
    missing: replay.missing,
    damaged: replay.damaged,
    failed: replay.failed,
    left: left(replay),
    filtered: replay.filtered,
    sampled_out: replay.sampledOut,
    error_message: replay.error,
    next_attempt: isoTime(replay.resumeMs),
    started_at: isoTime(replay.askedMs),
    ended_at: isoTime(replay.endedMs),
  };
}

/** Of each object, as docs/costs.md counts; a row for each sixteen is progress. */
const PER_OBJECT: readonly (readonly [PriceName, number])[] = [
  ["storeClassA", 1],
  ["storeClassB", 1],
  ["rowsWritten", 6 + 1 / 16],
  ["objectRequests", 2],
];

/** What a replay costs at list prices, in US dollars: its requests and rows, without traffic. */
function replayDollars({ objects }: Pick<Amount, "objects">): number {
  const each = PER_OBJECT.reduce((sum, [price, units]) => sum + (units * PRICES[price].dollars) / 1e6, 0);
  return objects * each;
}
