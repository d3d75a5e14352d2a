import type * as z from "zod";
import {
  ApiError,
  CODE,
  type Fault,
  faultsError,
  notFound,
  notInForce,
  oneError,
  unavailable,
} from "../../base/errors.ts";
import type { Platform } from "../../base/platform.ts";
import { PRICES } from "../../base/prices.ts";
import { DAY_MS, MINUTE_MS } from "../../base/time.ts";
import type { Config } from "../../config.ts";
import { readQuery } from "../../formats/query/meaning.ts";
import { nameOf } from "../../formats/query/names.ts";
import { searchSums, waitsMs } from "../../operate/status/search-facts.ts";
import { factOf } from "../../operate/status/search-rules.ts";
import type { SearchAlert } from "../../ship/job/searches.ts";
import { addedSums } from "../../ship/log/search-counts.ts";
import { controlPlane, type SearchChange } from "../../state/control/plane.ts";
import { type SavedSearch as Saved, SEARCHES_MAX, type SearchDraft } from "../../state/control/saved-searches.ts";
import { bodyOf } from "./body.ts";
import {
  type AskSavedSearch,
  type CountedSearch,
  CREATE_SEARCH,
  DELETE_SEARCH,
  LIST_SEARCHES,
  READ_SEARCH,
  type SavedSearch,
  UPDATE_SEARCH,
} from "./docs/searches.ts";
import { isoTime, listed, success } from "./envelope.ts";
import type { AppContext, Resources } from "./route.ts";
import { queryError } from "./search.ts";

export const savedSearchRoutes: Resources = {
  "/searches": {
    GET: { permission: "logs:read", doc: LIST_SEARCHES, handle: listSearches },
    POST: { permission: "logs:read", action: "search.create", doc: CREATE_SEARCH, handle: createSearch },
  },
  "/searches/:search_id": {
    GET: { permission: "logs:read", doc: READ_SEARCH, handle: readSearch },
    PUT: { permission: "logs:read", action: "search.update", doc: UPDATE_SEARCH, handle: updateSearch },
    DELETE: { permission: "logs:read", action: "search.delete", doc: DELETE_SEARCH, handle: deleteSearch },
  },
};

async function listSearches(c: AppContext, _config: Config, platform: Platform): Promise<Response> {
  const all: Saved[] = await controlPlane(c.env.CONTROL).savedSearches();
  const open = all.filter((search) => isOpenTo(c, search));
  const own = await withCounts(c, open, platform);
  return listed(c, own, { page: 1, perPage: SEARCHES_MAX, total: own.length });
}

async function createSearch(c: AppContext): Promise<Response> {
  const draft = draftOf(await bodyOf(c, CREATE_SEARCH));
  return success(c, present(await put(c, null, draft)), { status: 201 });
}

async function readSearch(c: AppContext, _config: Config, platform: Platform): Promise<Response> {
  const search = await requireSearch(c);
  return success(c, (await withCounts(c, [search], platform))[0]);
}

async function withCounts(c: AppContext, all: readonly Saved[], platform: Platform): Promise<CountedSearch[]> {
  const alerted = all.flatMap(({ alert, ...rest }) => (alert === null ? [] : [{ ...rest, alert }]));
  const { shards, silent, queue } = await searchSums(c.env, alerted, platform);
  const nowMs = platform.now();
  const counts = new Map(
    alerted.map((search) => {
      const { total } = addedSums(search, shards, nowMs);
      const { value, standing } = factOf(search, shards, {}, { nowMs, waitsMs: waitsMs(queue, nowMs) });
      const known = { since: isoTime(search.sinceMs), total, value, silent_shards: [...silent] };
      return [search.id, { ...known, standing: silent.length > 0 ? "unknown" : standing }];
    }),
  );
  return all.map((search) => ({ ...present(search), counts: counts.get(search.id) ?? null }));
}

async function updateSearch(c: AppContext): Promise<Response> {
  const draft = draftOf(await bodyOf(c, UPDATE_SEARCH));
  const { id } = await requireSearch(c);
  return success(c, present(await put(c, id, draft)));
}

async function deleteSearch(c: AppContext): Promise<Response> {
  const { id } = await requireSearch(c);
  await controlPlane(c.env.CONTROL).removeSearch(id);
  return success(c, { id });
}

/** @throws ApiError 404 if there is none, or it is that of another caller. */
async function requireSearch(c: AppContext): Promise<Saved> {
  const all: Saved[] = await controlPlane(c.env.CONTROL).savedSearches();
  const found = all.find(({ id }) => `${id}` === c.req.param("search_id"));
  if (found !== undefined && isOpenTo(c, found)) return found;
  throw notFound("there is no such saved search");
}

/** Its owner, and who may edit what is logged. */
function isOpenTo(c: AppContext, { owner }: Saved): boolean {
  return owner === ownerOf(c) || c.var.caller.permissions.has("logs:edit");
}

function ownerOf({ var: { caller } }: AppContext): string {
  return `${caller.kind} ${caller.id}`;
}

/** @throws ApiError 409 if there are too many; 503 while a shard of the log does not know it. */
async function put(c: AppContext, id: number | null, draft: SearchDraft): Promise<Saved> {
  const by = { owner: ownerOf(c), ownerName: c.var.caller.name };
  const change: SearchChange = await controlPlane(c.env.CONTROL).putSearch(id, draft, by);
  if (change.kind === "gone") throw notFound("there is no such saved search");
  if (change.kind === "refused") throw oneError(409, CODE.conflict, change.why);
  if (change.missing.length > 0) throw unavailable(`search ${change.search.id} is ${notInForce(change.missing)}`, 60);
  return change.search;
}

/** @throws ApiError 400 with the place of the query's fault, and every other one. */
function draftOf({ name, query, alert = null }: z.infer<typeof AskSavedSearch>): SearchDraft {
  const read = readQuery(query);
  if (!read.ok) throw new ApiError(400, [queryError(read.fault)]);
  return { name: name.toWellFormed(), query: query.toWellFormed(), alert: alert && alertOf(alert) };
}

function alertOf(sent: NonNullable<z.infer<typeof AskSavedSearch>["alert"]>): SearchAlert {
  const { measure, threshold, when, severity } = sent;
  const faults: Fault[] = [];
  const fault = (key: string, message: string): void => void faults.push({ pointer: `/alert/${key}`, message });
  const [overMs, forMs] = [spanOf(sent.over, MINUTE_MS), spanOf(sent.for, 0)];
  if (overMs === null) fault("over", "over: minutes or hours, 1m to 24h");
  if (forMs === null) fault("for", "for: minutes or hours, 0m to 24h");
  if (measure.of === undefined && measure.op !== "count")
    fault("measure/of", `of: ${measure.op} needs the name of a field`);
  if (measure.of !== undefined && nameOf(measure.of) === null)
    fault("measure/of", `unknown name ${JSON.stringify(measure.of)}: see "Counts" in docs/search.md`);
  if (overMs === null || forMs === null || faults.length > 0) throw faultsError(400, CODE.invalid, faults);
  return { measure, threshold, when, overMs, forMs, severity };
}

/** `5m`, `2h`, at most a day, in ms; null: it is none of these. */
function spanOf(text: string, leastMs: number): number | null {
  const [, amount, unit] = /^(\d{1,4})([mh])$/.exec(text) ?? [];
  const ms = Number(amount) * (unit === "h" ? 60 : 1) * MINUTE_MS;
  return ms >= leastMs && ms <= DAY_MS ? ms : null;
}

function spanText(ms: number): string {
  const minutes = ms / MINUTE_MS;
  return minutes > 0 && minutes % 60 === 0 ? `${minutes / 60}h` : `${minutes}m`;
}

/** As docs/costs.md has measured it, on average over ten. */
const CPU_US_PER_RECORD = 0.3;
const COST = {
  cpu_us_per_record: CPU_US_PER_RECORD,
  // A million records take a thousand times as many milliseconds; prices are of a million units.
  usd_per_million_events: (CPU_US_PER_RECORD * 1_000 * PRICES.cpuMs.dollars) / 1e6,
};

function present({ id, name, query, alert, ownerName, createdMs, modifiedMs }: Saved): SavedSearch {
  return {
    ...{ id, name, query, owner: ownerName },
    alert: alert && {
      ...{ measure: alert.measure, threshold: alert.threshold, when: alert.when },
      ...{ over: spanText(alert.overMs), for: spanText(alert.forMs), severity: alert.severity },
    },
    created_at: isoTime(createdMs),
    modified_at: isoTime(modifiedMs),
    cost: alert && COST,
  };
}
