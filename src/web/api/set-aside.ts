import { type ApiError, CODE, oneError } from "../../base/errors.ts";
import { answered, type Platform } from "../../base/platform.ts";
import type { Config } from "../../config.ts";
import { decoderOf } from "../../formats/object/encoders.ts";
import { elsewherePurpose, encrypt } from "../../formats/secrets/encrypted.ts";
import { termsOf } from "../../ship/destinations/kinds.ts";
import { maskDestination } from "../../ship/destinations/parse.ts";
import { type JobsSnapshot, rerunName } from "../../ship/job/config.ts";
import { readSnapshot } from "../../ship/job/snapshot.ts";
import { LogShards } from "../../ship/log/log-shards.ts";
import type { HeldEntry } from "../../ship/log/on-hold.ts";
import type { AsideObject } from "../../ship/reader/statuses.ts";
import { contentOf } from "../../ship/set-aside/content.ts";
import {
  type AsideEntry,
  type AsideId,
  type AsideStores,
  discardAside,
  findAside,
  findObject,
  listAside,
  setAside,
  sorted,
} from "../../ship/set-aside/list-aside.ts";
import { type NotResent, type Resent, resendAside } from "../../ship/set-aside/resend.ts";
import { resendAll } from "../../ship/set-aside/resend-all.ts";
import { controlPlane } from "../../state/control/plane.ts";
import { bodyOf } from "./body.ts";
import { DELETE_ASIDE, LIST_ASIDE, PUT_ASIDE, READ_ASIDE, RESEND_ALL, RESEND_ASIDE } from "./docs/set-aside.ts";
import { listed, success } from "./envelope.ts";
import { fileOf } from "./file.ts";
import { badDestination, requireWritable } from "./jobs.ts";
import { requireProof } from "./ownership.ts";
import { queryOf } from "./query.ts";
import type { AppContext, Resources } from "./route.ts";
import { sentDestination } from "./validation.ts";

/** Deadline for the control plane, in ms. */
const CONTROL_MS = 5_000;

export const setAsideRoutes: Resources = {
  "/set-aside": {
    // Keys and causes may contain parts of records.
    GET: { permission: "logs:edit", doc: LIST_ASIDE, handle: list },
  },
  "/set-aside/resend": {
    POST: { permission: "logs:edit", action: "set-aside.resend", doc: RESEND_ALL, handle: resendSome },
  },
  "/set-aside/:aside_id": {
    GET: { permission: "logs:edit", doc: READ_ASIDE, handle: read },
    PUT: { permission: "logs:edit", action: "set-aside.add", doc: PUT_ASIDE, handle: put },
    DELETE: { permission: "logs:edit", action: "set-aside.delete", doc: DELETE_ASIDE, handle: discard },
  },
  "/set-aside/:aside_id/resend": {
    POST: { permission: "logs:edit", action: "set-aside.resend", doc: RESEND_ASIDE, handle: resend },
  },
};

/** @throws ApiError 404 if the path's id has no such form. */
function asideId(c: AppContext): AsideId {
  const text = c.req.param("aside_id") ?? "";
  const message = /^message-([1-9]\d{0,14})$/.exec(text);
  if (message !== null) return { kind: "message", id: Number(message[1]) };
  const object = /^object-([1-9]\d{0,14})-([1-9]\d{0,14})$/.exec(text);
  if (object !== null) return { kind: "object", job: Number(object[1]), number: Number(object[2]) };
  const entry = /^entry-([1-9]\d{0,14})-(\d{1,9})-([1-9]\d{0,15})$/.exec(text);
  if (entry !== null) return { kind: "entry", job: Number(entry[1]), node: Number(entry[2]), n: Number(entry[3]) };
  throw notFound();
}

/** The reverse of {@link asideId}. */
function nameOf(id: AsideId): string {
  switch (id.kind) {
    case "message":
      return `message-${id.id}`;
    case "object":
      return `object-${id.job}-${id.number}`;
    case "entry":
      return `entry-${id.job}-${id.node}-${id.n}`;
  }
}

function notFound(): ApiError {
  return oneError(404, CODE.noRoute, "nothing is on hold under this id, or no longer");
}

function storesOf({ env }: AppContext): AsideStores {
  const ask = async (): Promise<JobsSnapshot> => {
    const asked = async (): Promise<unknown> => controlPlane(env.CONTROL).configSince("");
    const snapshot = readSnapshot(await answered("the control plane", CONTROL_MS, asked()));
    if (snapshot === null) throw new Error("the control plane's answer is not a configuration");
    return snapshot;
  };
  let known: Promise<JobsSnapshot> | null = null;
  return {
    log: new LogShards(env),
    env,
    jobs() {
      known ??= ask();
      return known;
    },
  };
}

async function list(c: AppContext): Promise<Response> {
  const { page, per_page: perPage } = queryOf(c, LIST_ASIDE);
  const stores = storesOf(c);
  const { messages, objects, entries, total, unanswered } = await listAside(stores, (page - 1) * perPage, perPage);
  const snapshot = await stores.jobs();
  const ofJobs = [...objects.map(presentObject), ...entries.map(presentEntry)].map((each) => ofJob(each, snapshot));
  const all = [...messages.map(presentMessage), ...ofJobs];
  return listed(c, all, { page, perPage, total }, { unanswered_jobs: jobsOf(unanswered, snapshot) });
}

async function read(c: AppContext): Promise<Response> {
  const id = asideId(c);
  const { download } = queryOf(c, READ_ASIDE);
  const stores = storesOf(c);
  const found = await findAside(stores, id);
  if (found === null) throw notFound();
  if (found.kind === "message") {
    const { message } = found;
    const content = contentOf(message);
    if (download) return fileOf(content.file, `${nameOf(id)}.${content.extension}`, content.mediaType);
    const entry = presentMessage(message);
    const whyNot = content.fault === null ? null : unreadable(content.fault);
    return success(c, { ...entry, resendable: whyNot === null, why_not: whyNot, content: content.shown });
  }
  if (found.kind === "entry") return success(c, ofJob(presentEntry(found.entry), await stores.jobs()));
  const { object, reader } = found;
  if (download) {
    const bytes = (await reader.asideBytes(object.number)) as ReadableStream<Uint8Array> | null;
    if (bytes === null) throw notFound();
    return fileOf(bytes, object.key.split("/").at(-1) ?? "object.log.gz", decoderOf(object.key).fileType);
  }
  const { raw_bytes: bytes_raw, first_event, last_event, cut_at } = object;
  const shown = ofJob(presentObject(object), await stores.jobs());
  return success(c, { ...shown, bytes_raw, first_event, last_event, cut_at });
}

async function put(c: AppContext): Promise<Response> {
  const id = asideId(c);
  const stores = storesOf(c);
  const object = id.kind === "object" ? await setAside(stores, id) : null;
  if (object === null) throw notFound();
  return success(c, ofJob(presentObject(object), await stores.jobs()));
}

async function resendSome(c: AppContext, _config: Config, platform: Platform): Promise<Response> {
  const { skip } = await bodyOf(c, RESEND_ALL);
  const stores = storesOf(c);
  const { unanswered, ...result } = await resendAll(stores, skip, (id) => resendAside(stores, id, platform), platform);
  return success(c, { ...result, unanswered_jobs: jobsOf(unanswered, await stores.jobs()) });
}

async function resend(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const id = asideId(c);
  const stores = storesOf(c);
  const { destination_conf, ownership_challenge } = await bodyOf(c, RESEND_ASIDE);
  if (destination_conf !== undefined) {
    const to = { conf: destination_conf, challenge: ownership_challenge };
    const sent = await sendTo(stores, id, to, config, platform);
    return presentSent(c, sent, maskDestination(destination_conf), await stores.jobs());
  }
  const resent: Resent = await resendAside(stores, id, platform);
  switch (resent.kind) {
    case "message": {
      const { events, routed, notEnabled: not_enabled, notRouted: not_routed } = resent.count;
      const counts = { events, routed, not_enabled, not_routed };
      return success(c, { id: nameOf(id), kind: "message", jobs: resent.jobs, gone_jobs: resent.gone, ...counts });
    }
    case "object":
      return presentSent(c, resent.object, null, await stores.jobs());
    case "entry":
      return success(c, { id: nameOf(id), kind: "entry", records: resent.records });
    default:
      throw refusal(resent);
  }
}

function presentSent(c: AppContext, object: AsideObject, sentTo: string | null, snapshot: JobsSnapshot): Response {
  const { job, number, key, records } = object;
  const id = nameOf({ kind: "object", job, number });
  return success(c, ofJob({ id, kind: "object", job, number, key, records, sent_to: sentTo }, snapshot));
}

/**
 * Sends an object to another destination than its job's, which is checked as that of a new job.
 * @throws ApiError 400 if it cannot be used, or does not take these records; 404, 409 as resending.
 */
async function sendTo(
  stores: AsideStores,
  id: AsideId,
  { conf, challenge }: { conf: string; challenge: string | null | undefined },
  config: Config,
  platform: Platform,
): Promise<AsideObject> {
  const not = `sending ${nameOf(id)} to another destination is not allowed: `;
  if (id.kind === "message") throw badDestination(not, "a message goes to the jobs that were enabled when it arrived");
  if (id.kind === "entry") throw badDestination(not, "records that logship could not prepare go to their job");
  const read = sentDestination(conf, config);
  if (!read.ok) throw badDestination(not, read.why);
  const { value: destination } = read;
  const found = await findObject(stores, id, true);
  if (found === null) throw notFound();
  if (found.object.isDiscarded) throw refusal({ kind: "discarded" });
  requireProof(challenge, destination, config, platform);
  const { plainRecords, fields, isReadable } = termsOf(destination);
  const { fileName, fileType } = decoderOf(found.object.key);
  if (!isReadable && fileType !== "application/gzip")
    throw badDestination(not, `it takes requests of text, and this object is a ${fileName}`);
  const lacks = await found.reader.asideLacks(id.number, [...fields]);
  if (lacks === null) throw notFound();
  if (plainRecords && !lacks.plain) throw badDestination(not, "it takes only NDJSON records, and this object has none");
  const [missing] = lacks.missing;
  if (missing !== undefined)
    throw badDestination(not, `it needs the field ${missing}, which the records of this object do not have`);
  await requireWritable(destination, platform, not);
  const target = {
    sealed: encrypt(conf, elsewherePurpose(config.accountId, id.job), config.keys),
    path: destination.path,
    host: destination.endpoint.host,
    leaveOut: 0,
  };
  const sending = found.reader.asideSendTo(id.number, target, maskDestination(conf));
  const object = (await sending) as AsideObject | "under_way" | null;
  if (object === null) throw notFound();
  if (object === "under_way") throw refusal({ kind: object });
  return object;
}

async function discard(c: AppContext): Promise<Response> {
  const id = asideId(c);
  const discarded = await discardAside(storesOf(c), id);
  if (discarded === null) throw notFound();
  return success(c, { id: nameOf(id), discarded });
}

/** Why nothing was sent again. */
function refusal(resent: NotResent): ApiError {
  switch (resent.kind) {
    case "gone":
      return notFound();
    case "discarded":
      return oneError(409, CODE.conflict, DISCARDED);
    case "unreadable":
      return oneError(409, CODE.conflict, unreadable(resent.why));
    case "under_way":
      return oneError(409, CODE.conflict, "it is being sent at this moment; try again in a while, or put it on hold");
    case "unmade":
      return oneError(409, CODE.conflict, "logship still cannot prepare its records");
  }
}

const DISCARDED = "its job was deleted together with its undelivered records; it can only be deleted";

function unreadable(why: string): string {
  return `its records cannot be read: ${why}`;
}

function presentMessage({ id, atMs, takenInMs, queue, why, events, bytes, unreadable: fault }: HeldEntry) {
  return {
    id: nameOf({ kind: "message", id }),
    kind: "message",
    set_aside_at: new Date(atMs).toISOString(),
    taken_in: takenInMs === null ? null : timeOrNull(takenInMs),
    queue,
    why,
    events,
    bytes,
    resendable: fault === null,
    why_not: fault === null ? null : unreadable(fault),
  };
}

/** To its users, what is of a rerun is of its job. */
function ofJob<T extends { job: number }>(it: T, { jobs }: JobsSnapshot): T & { rerun?: string } {
  const job = jobs.find(({ id }) => id === it.job)?.rerunOf;
  return job === undefined ? it : { ...it, job, rerun: rerunName(it.job) };
}

function jobsOf(ids: readonly number[], snapshot: JobsSnapshot): number[] {
  return sorted(new Set(ids.map((job) => ofJob({ job }, snapshot).job)));
}

function presentEntry({ job, node, n, atMs, takenMs, why, records }: AsideEntry) {
  return {
    id: nameOf({ kind: "entry", job, node, n }),
    kind: "entry",
    set_aside_at: new Date(atMs).toISOString(),
    taken_in: timeOrNull(takenMs),
    why,
    bytes: 0,
    resendable: true,
    why_not: null,
    job,
    records,
  };
}

/** The header may be forged, and its time out of range. */
function timeOrNull(ms: number): string | null {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) || date.getUTCFullYear() > 9999 ? null : date.toISOString();
}

function presentObject({ job, number, key, records, bytes, error, asideMs, isDiscarded, answer }: AsideObject) {
  return {
    id: nameOf({ kind: "object", job, number }),
    kind: "object",
    set_aside_at: new Date(asideMs).toISOString(),
    why: error ?? "",
    bytes,
    resendable: !isDiscarded,
    why_not: isDiscarded ? DISCARDED : null,
    job,
    number,
    key,
    records,
    answer,
  };
}
