import { waitUntil } from "cloudflare:workers";
import type * as z from "zod";
import { ApiError, badValue, CODE, type ErrorEntry, faultsError, oneError, unavailable } from "../../base/errors.ts";
import {
  COUNT_HELD_BYTES,
  FACET_HELD_BYTES,
  OBJECT_HISTORY_MS,
  SEARCH_BODY_MAX_BYTES,
  SEARCH_HELD_BYTES,
  SEARCH_HITS_UNITS,
  SEARCH_MS,
  SEARCH_RAW_BYTES,
  SEARCH_READS_AT_ONCE,
  SEARCH_TAKEN_MS,
  SEARCHES_AT_ONCE,
} from "../../base/limits.ts";
import { errorText, log } from "../../base/logger.ts";
import { isolateMemory } from "../../base/memory.ts";
import { answered, type Platform } from "../../base/platform.ts";
import { type Config, publishedKeys, readSigning } from "../../config.ts";
import { type Filter, parseFilter, type Question } from "../../formats/filter/parse.ts";
import { rootOf } from "../../formats/manifest/place.ts";
import { readPublicKey } from "../../formats/manifest/signing.ts";
import { readTemplate } from "../../formats/object/keys.ts";
import { compileQuery } from "../../formats/query/compile-query.ts";
import { ofRay, part, readQuery } from "../../formats/query/meaning.ts";
import type { QueryFault } from "../../formats/query/parse.ts";
import { EXTRA_FIELDS } from "../../formats/record/fields.ts";
import { decrypt, destinationPurpose } from "../../formats/secrets/encrypted.ts";
import { answerLines } from "../../operate/search/answer.ts";
import { type Archive, beforeTheList } from "../../operate/search/archived.ts";
import { compareBreadth } from "../../operate/search/breadth.ts";
import { type CountPlan, countedFields, planCount } from "../../operate/search/count/plan.ts";
import { type BatchPlace, leftOf, readCursor, type Span, whollyDone } from "../../operate/search/cursor.ts";
import { type Estimate, estimate } from "../../operate/search/estimate.ts";
import { inWords, type NotSearched } from "../../operate/search/not-searched.ts";
import type { SearchedJob } from "../../operate/search/source.ts";
import { type Listed, listSources, type SearchedRerun } from "../../operate/search/sources.ts";
import { notReadYet } from "../../operate/search/waiting.ts";
import { openDestination, termsOf } from "../../ship/destinations/kinds.ts";
import { parseDestination } from "../../ship/destinations/parse.ts";
import { controlPlane, type StoredJob } from "../../state/control/plane.ts";
import { bodyOf } from "./body.ts";
import { type AskSearch, SEARCH, type SearchEstimate } from "./docs/search.ts";
import { success } from "./envelope.ts";
import type { AppContext, Resources } from "./route.ts";

export const searchRoutes: Resources = {
  "/search": { POST: { permission: "logs:read", action: null, doc: SEARCH, handle: searchRecords } },
};

/** How long before its end a search begins where the question does not say, in ms. */
const SINCE_DEFAULT_MS = 3_600_000;

/** A deadline of calls beside the search, in ms. */
const CALL_MS = 5_000;

async function searchRecords(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const sent = await bodyOf(c, SEARCH, SEARCH_BODY_MAX_BYTES);
  const { cursor: token, dry_run: isDry, limit, order } = sent;
  const question = questionOf(sent);
  const read = token === undefined ? null : readCursor(token, question);
  if (token !== undefined && read === null) throw badValue("cursor", "does not belong to this search");
  const span = read?.span ?? spanOf(sent, platform.now());
  const query = compileQuery({ ...span, all: askedIn(sent) });
  const plan = sent.count === undefined ? null : planOf(sent.count, span);
  const counted = plan === null ? [] : [query.fields, countedFields(plan, query.fields)];
  const { jobs, reruns, notSearched } = await searchedJobs(c, sent.job_id, read?.jobs, config, platform, counted);
  const listedFromMs = platform.now() - OBJECT_HISTORY_MS;
  const archive = await archiveOf(c.env, listedFromMs);
  if (span.sinceMs < listedFromMs && archive === null)
    notSearched.push({ job: null, object: null, why: beforeTheList(listedFromMs) });
  const from = read?.cursor.after?.[0];
  const list = (fromMs: number | undefined, without: readonly BatchPlace[]): Promise<Listed> =>
    listSources(c.env, jobs, reruns, { ...leftOf(span, order, fromMs ?? from), order, without }, query.needed, archive);
  const heldBytes = plan === null ? 0 : COUNT_HELD_BYTES + plan.facets.length * FACET_HELD_BYTES;
  const free = await takeSlot(c, SEARCH_HELD_BYTES + heldBytes);
  try {
    const ids = jobs.map(({ id }) => id);
    notSearched.push(...(await notReadYet(c.env, ids)));
    if (isDry) {
      const estimated = await estimate({ order, list, platform, maxMs: SEARCH_MS });
      await free();
      return success(c, presentEstimate(estimated, notSearched));
    }
    const all = read?.jobs ?? ids;
    const without = read === null ? [] : whollyDone(read.cursor, all.length > 1);
    const found = await list(from, without);
    const silent = [...(found.silent ?? []), ...all.filter((id) => !ids.includes(id))];
    const listed = { ...found, order: all, silent };
    const lines = answerLines({
      listed,
      notSearched,
      span,
      question,
      token: token ?? null,
      lacked: read?.lacks ?? false,
      count: plan && { plan, top: sent.count?.top ?? 0 },
      asked: {
        query,
        order,
        cursor: read?.cursor ?? null,
        platform,
        bounds: {
          limit,
          hitUnits: SEARCH_HITS_UNITS,
          rawBytes: SEARCH_RAW_BYTES,
          ms: SEARCH_MS,
          atOnce: SEARCH_READS_AT_ONCE,
        },
      },
      takenMs: SEARCH_TAKEN_MS,
      gone: c.req.raw.signal,
      onEnd: free,
    });
    return new Response(lines, {
      headers: {
        "Content-Type": "application/x-ndjson",
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
      },
    });
  } catch (error) {
    await free();
    throw error;
  }
}

/** null: manifests are not signed. */
async function archiveOf(env: Env, listedFromMs: number): Promise<Archive | null> {
  if (!readSigning(env).isOn) return null;
  const keys = (await publishedKeys(env)).flatMap(({ public_key: text }) => readPublicKey(text) ?? []);
  return { keys: new Map(keys.map((key) => [key.id, key])), listedFromMs };
}

/** Everything that decides which records are hits, and in which order; and what is counted. */
function questionOf({ since, until, job_id, query, filter, text, ray_id, order, count }: AskSearch): string {
  // Without these as the release before had it: its cursors go on.
  const more = [...(query ? [query] : []), ...(count === undefined ? [] : [count])];
  return JSON.stringify([since, until, job_id, filter, text, ray_id, order, ...more]);
}

/** What every hit matches. @throws ApiError 400 */
function askedIn(sent: AskSearch): Question[] {
  const { query = "", text = "" } = sent;
  const rayId = rayIdOf(sent);
  const asked = [queryOf(query), filterOf(sent.filter ?? ""), ...(rayId === "" ? [] : [ofRay(rayId)])];
  if (text !== "") asked.push(part(text.toWellFormed()));
  return asked.filter((each) => each !== null);
}

/** @throws ApiError 400 with the place of the first fault. */
function queryOf(text: string): Question | null {
  const read = readQuery(text);
  if (read.ok) return read.question;
  throw new ApiError(400, [queryError(read.fault)]);
}

/** The fault of a query, with its place. */
export function queryError({ at, message }: QueryFault): ErrorEntry {
  const source = { pointer: "/query", at };
  return { code: CODE.notAllowed, message: `query, character ${at + 1}: ${message}`, source };
}

/** @throws ApiError 400 with every fault. */
function planOf(count: NonNullable<AskSearch["count"]>, { sinceMs, untilMs }: Span): CountPlan {
  const planned = planCount(count, untilMs - sinceMs);
  if (planned.ok) return planned.plan;
  throw faultsError(400, CODE.invalid, planned.faults);
}

/** @throws ApiError 400 if it ends before it begins. */
function spanOf({ since, until }: AskSearch, nowMs: number): Span {
  const untilMs = until === undefined ? nowMs : Date.parse(until);
  const sinceMs = since === undefined ? Math.max(0, untilMs - SINCE_DEFAULT_MS) : Date.parse(since);
  if (sinceMs < untilMs) return { sinceMs, untilMs };
  throw badValue("until", "must be later than since");
}

/** "": none is asked for. @throws ApiError 400 for one that would match every record. */
function rayIdOf({ ray_id: sent }: AskSearch): string {
  const rayId = (sent ?? "").trim().split("-", 1)[0] ?? "";
  if (sent !== undefined && rayId === "") throw badValue("ray_id", "is empty, or has nothing before its hyphen");
  return rayId;
}

/** @throws ApiError 400 with every fault. */
function filterOf(text: string): Filter | null {
  const read = parseFilter(text, EXTRA_FIELDS);
  if (read.ok) return read.filter;
  throw faultsError(
    400,
    CODE.invalid,
    read.faults.map((message) => ({ pointer: "/filter", message })),
  );
}

/**
 * The jobs that are searched, each with where its objects are; and why others are not.
 * @param before those of the pages before, in their order: what others have came since.
 * @param counted as of {@link compareBreadth}.
 */
async function searchedJobs(
  c: AppContext,
  wanted: number | undefined,
  before: readonly number[] | undefined,
  config: Config,
  platform: Platform,
  counted: Parameters<typeof compareBreadth>[2],
): Promise<{ jobs: SearchedJob[]; reruns: SearchedRerun[]; notSearched: NotSearched[] }> {
  const control = controlPlane(c.env.CONTROL);
  const [all, everyRerun]: [StoredJob[], SearchedRerun[]] = await Promise.all([control.list(), control.reruns(wanted)]);
  const stored = wanted === undefined ? all : all.filter(({ config: { id } }) => id === wanted);
  if (wanted !== undefined && stored.length === 0) throw oneError(404, CODE.jobNotFound, "job not found");
  const jobs: SearchedJob[] = [];
  const notSearched: NotSearched[] = [];
  const broadestFirst = stored.toSorted((a, b) => compareBreadth(a.config, b.config, counted));
  const byId = new Map(stored.map((each) => [each.config.id, each]));
  for (const id of before ?? [])
    if (!byId.has(id)) notSearched.push({ job: id, object: null, why: "it was deleted since the first page" });
  const inOrder = before?.flatMap((id) => byId.get(id) ?? []) ?? broadestFirst;
  for (const { config: job, createdMs } of inOrder) {
    const leave = (why: string): void => void notSearched.push({ job: job.id, object: null, why });
    const conf = decrypt(job.destination, destinationPurpose(config.accountId), config.keys);
    if (conf === null) {
      leave("no key opens its stored destination: enter it again");
      continue;
    }
    const destination = parseDestination(conf, config.destinations);
    if (!destination.ok) leave(`its destination: ${destination.why}`);
    else if (!termsOf(destination.value).isReadable)
      leave("its destination takes records and gives none back: search there");
    else {
      const root = rootOf(readTemplate(job.path));
      jobs.push({ id: job.id, store: openDestination(destination.value, platform), root, createdMs });
    }
  }
  const reruns = everyRerun.filter(({ job }) => stored.some(({ config: { id } }) => id === job));
  return { jobs, reruns, notSearched };
}

/**
 * @param heldBytes of memory. @returns ends it. @throws ApiError 429 if the caller has too many
 *   under way, 503 for memory.
 */
async function takeSlot(c: AppContext, heldBytes: number): Promise<() => Promise<void>> {
  const control = controlPlane(c.env.CONTROL);
  const { kind, id } = c.var.caller;
  const [caller, search] = [`${kind} ${id}`, crypto.randomUUID()];
  if (!(await control.beginSearch(caller, search))) {
    const words = `${SEARCHES_AT_ONCE} of your searches are running; repeat the request when one has ended`;
    throw oneError(429, CODE.tooMany, words, { "Retry-After": "5" });
  }
  const share = await isolateMemory.take(heldBytes);
  const ended = Promise.withResolvers<void>();
  // The platform would end this where the client leaves before its answer, and tell no end.
  waitUntil(ended.promise);
  const end = async (): Promise<void> => {
    share?.release();
    try {
      await answered("ControlPlane", CALL_MS, control.endSearch(caller, search));
    } catch (error) {
      log.warn("the end of a search was not told", { error: errorText(error) });
    }
    ended.resolve();
  };
  if (share !== null) return end;
  await end();
  throw unavailable("too many requests are being processed; repeat the request");
}

function presentEstimate(
  { rawBytes, sketchBytes, notSearched, ...sums }: Estimate,
  others: readonly NotSearched[],
): z.infer<typeof SearchEstimate> {
  const left = inWords([...others, ...notSearched]);
  return { ...sums, raw_bytes: rawBytes, sketch_bytes: sketchBytes, not_searched: left };
}
