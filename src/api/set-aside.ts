import { accountLedger } from "../account/ledger.ts";
import type { AsideEntry, AsideMessage } from "../account/set-aside-messages.ts";
import { controlPlane } from "../control/plane.ts";
import { appendToChain } from "../delivery/chain.ts";
import { chainAside, segmentWith } from "../delivery/chain-aside.ts";
import type { DeliveryLog } from "../delivery/delivery-log.ts";
import type { AsideObject } from "../delivery/types.ts";
import { type ApiError, CODE, oneError, unavailable } from "../errors.ts";
import type { JobsSnapshot } from "../job/config.ts";
import { readSnapshot } from "../job/snapshot.ts";
import { errorText, log } from "../log.ts";
import { commitAndCount } from "../pipeline/commit.ts";
import { answered } from "../platform.ts";
import { blobStore } from "../queue/blob-store.ts";
import { type Resent, resendMessage } from "../set-aside/resend.ts";
import { contentOf, fileOf } from "./aside-content.ts";
import { AsidePage, AsideQuery, DELETE_ASIDE, LIST_ASIDE, READ_ASIDE, RESEND_ASIDE } from "./docs/set-aside.ts";
import { listed, success } from "./envelope.ts";
import { queryOf } from "./query.ts";
import type { AppContext, Resource } from "./route.ts";

/** How long the log of one job may take to say what it has set aside, in ms. */
const LOG_MS = 5_000;

export const setAsideRoutes: readonly Resource[] = [
  {
    path: "/set-aside",
    methods: {
      // Keys and causes tell of records, too.
      GET: { permission: "logs:edit", doc: LIST_ASIDE, handle: (c) => list(c) },
    },
  },
  {
    path: "/set-aside/:aside_id",
    methods: {
      GET: { permission: "logs:edit", doc: READ_ASIDE, handle: (c) => read(c) },
      DELETE: { permission: "logs:edit", action: "set-aside.delete", doc: DELETE_ASIDE, handle: (c) => discard(c) },
    },
  },
  {
    path: "/set-aside/:aside_id/resend",
    methods: {
      POST: {
        permission: "logs:edit",
        action: "set-aside.resend",
        doc: RESEND_ASIDE,
        handle: (c, _config, platform) => resend(c, platform),
      },
    },
  },
];

/** What a path names. */
type AsideId = { kind: "message"; id: number } | { kind: "object"; job: number; number: number };

/** @throws ApiError 404 for what is no id. */
function asideId(c: AppContext): AsideId {
  const text = c.req.param("aside_id") ?? "";
  const message = /^message-([1-9]\d{0,14})$/.exec(text);
  if (message !== null) return { kind: "message", id: Number(message[1]) };
  const object = /^object-([1-9]\d{0,14})-([1-9]\d{0,14})$/.exec(text);
  if (object !== null) return { kind: "object", job: Number(object[1]), number: Number(object[2]) };
  throw notFound();
}

function notFound(): ApiError {
  return oneError(404, CODE.noRoute, "nothing is set aside under this id, or not any more");
}

/** Every job, deleted ones included while their logs stand. */
async function jobsOf(c: AppContext): Promise<JobsSnapshot> {
  const ask = async (): Promise<unknown> => controlPlane(c.env.CONTROL).configSince("");
  const snapshot = readSnapshot(await answered("the control plane", LOG_MS, ask()));
  if (snapshot === null) throw new Error("the control plane's answer is no configuration");
  return snapshot;
}

async function list(c: AppContext): Promise<Response> {
  const { page, per_page: perPage } = queryOf(c, AsidePage);
  const first = (page - 1) * perPage;
  const messages: { entries: AsideEntry[]; total: number } = await accountLedger(c.env.ACCOUNT).asideList(
    first,
    perPage,
  );
  const entries: object[] = messages.entries.map(presentMessage);
  const unanswered: number[] = [];
  const part = async (job: number, offset: number, limit: number) => {
    try {
      return await answered(`the log of job ${job}`, LOG_MS, chainAside(c.env.LOG, job, offset, limit));
    } catch (error) {
      log.warn("no answer", { who: `the log of job ${job}`, error: errorText(error) });
      unanswered.push(job);
      return { entries: [], total: 0 };
    }
  };
  const jobs = (await jobsOf(c)).jobs.map(({ id }) => id).sort((a, b) => a - b);
  const totals = await Promise.all(jobs.map((job) => part(job, 0, 0)));
  let before = messages.total;
  for (const [i, job] of jobs.entries()) {
    const { total } = totals[i] ?? { total: 0 };
    const offset = Math.max(0, first - before);
    const wanted = perPage - entries.length;
    if (wanted > 0 && offset < total) entries.push(...(await part(job, offset, wanted)).entries.map(presentObject));
    before += total;
  }
  const info = { unanswered_jobs: [...new Set(unanswered)].sort((a, b) => a - b) };
  return listed(c, entries, { page, perPage, total: before }, info);
}

async function read(c: AppContext): Promise<Response> {
  const id = asideId(c);
  const { download } = queryOf(c, AsideQuery);
  if (id.kind === "message") {
    const message = await requireMessage(c, id.id);
    const content = await contentOf(message, blobStore(c.env.BLOBS));
    if (download) return fileOf(content.file, `message-${id.id}.${content.extension}`, content.mediaType);
    const { resendable, why_not, ...entry } = presentMessage(message);
    const whyNot = content.fault === null ? (message.forgotten.length > 0 ? why_not : null) : unreadable(content.fault);
    return success(c, { ...entry, resendable: whyNot === null, why_not: whyNot, content: content.shown });
  }
  const [object, segment] = await requireObject(c, id);
  if (download) {
    const bytes = (await segment.asideBytes(id.number)) as ReadableStream<Uint8Array> | null;
    if (bytes === null) throw notFound();
    return fileOf(bytes, object.key.split("/").at(-1) ?? "object.log.gz", "application/gzip");
  }
  const { raw_bytes: bytes_raw, first_event, last_event, cut_at } = object;
  return success(c, { ...presentObject(object), bytes_raw, first_event, last_event, cut_at });
}

async function resend(c: AppContext, platform: { now(): number }): Promise<Response> {
  const id = asideId(c);
  if (id.kind === "object") return resendObject(c, id);
  const message = await requireMessage(c, id.id);
  const ledger = accountLedger(c.env.ACCOUNT);
  const resent = await resendMessage(message, await jobsOf(c), {
    append: (job, build, suspects) => appendToChain(c.env.LOG, job, build, suspects),
    // Of the queue nothing is known: what is claimed to be complete stays as it is.
    commit: (loaded, jobs, within) =>
      commitAndCount([loaded], jobs, { backlog: null, doneMs: 0, isFirst: false }, within),
    count: (count, state) => ledger.asideSent(id.id, count, state),
    blobs: blobStore(c.env.BLOBS),
    platform,
  });
  if (resent.kind === "gone") throw notFound();
  if (resent.kind !== "sent") throw refusal(resent);
  const { events, routed, notEnabled, notRouted } = resent.count;
  return success(c, {
    id: `message-${id.id}`,
    kind: "message",
    jobs: resent.jobs,
    gone_jobs: resent.gone,
    events,
    routed,
    not_enabled: notEnabled,
    not_routed: notRouted,
  });
}

async function resendObject(c: AppContext, id: AsideId & { kind: "object" }): Promise<Response> {
  const [object, segment] = await requireObject(c, id);
  if (object.isDiscarded) throw oneError(409, CODE.conflict, DISCARDED);
  const resent = (await segment.asideResend(id.number)) as AsideObject | null;
  if (resent === null) throw notFound();
  const { job, number, key, records } = resent;
  return success(c, { id: `object-${job}-${number}`, kind: "object", job, number, key, records });
}

async function discard(c: AppContext): Promise<Response> {
  const id = asideId(c);
  if (id.kind === "message") {
    const events: number | null = await accountLedger(c.env.ACCOUNT).asideDiscarded(id.id);
    if (events === null) throw notFound();
    return success(c, { id: `message-${id.id}`, discarded: events });
  }
  const [, segment] = await requireObject(c, id);
  const object = (await segment.asideDiscard(id.number)) as AsideObject | null;
  if (object === null) throw notFound();
  return success(c, { id: `object-${id.job}-${id.number}`, discarded: object.records });
}

/** Why a message was not sent again. */
function refusal(resent: Exclude<Resent, { kind: "sent" | "gone" }>): ApiError {
  switch (resent.kind) {
    case "unreadable":
      return oneError(409, CODE.conflict, unreadable(resent.why));
    case "forgotten":
      return oneError(
        409,
        CODE.conflict,
        `${forgotten(resent.jobs)}: sent again, it might be there twice. Read it, and send what is missing as new events, or delete it`,
      );
    case "failed":
      return unavailable(
        `${resent.jobs.length === 0 ? "not all of it could be done" : `${jobsText(resent.jobs)} could not take it`}; it is still set aside, and may be sent again: nothing comes twice`,
      );
  }
}

/** @throws ApiError 404. */
async function requireMessage(c: AppContext, id: number): Promise<AsideMessage> {
  const message: AsideMessage | null = await accountLedger(c.env.ACCOUNT).asideMessage(id);
  if (message === null) throw notFound();
  return message;
}

/** An object, and the segment that has it. @throws ApiError 404. */
async function requireObject(
  c: AppContext,
  { job, number }: { job: number; number: number },
): Promise<[AsideObject, DurableObjectStub<DeliveryLog>]> {
  const { jobs } = await jobsOf(c);
  const segment = jobs.some(({ id }) => id === job) ? await segmentWith(c.env.LOG, job, number) : null;
  const object = segment === null ? null : ((await segment.asideObject(number)) as AsideObject | null);
  if (segment === null || object === null) throw notFound();
  return [object, segment];
}

const DISCARDED = "its job was deleted with all that it had not delivered; it can only be deleted";

function unreadable(why: string): string {
  return `its records cannot be read: ${why}`;
}

function forgotten(jobs: readonly number[]): string {
  return `nobody can tell any more whether ${jobsText(jobs)} has taken it before`;
}

function jobsText(jobs: readonly number[]): string {
  return `job ${jobs.join(", ")}`;
}

function presentMessage(entry: AsideEntry) {
  const { id, atMs, takenInMs, queue, why, events, bytes } = entry;
  const whyNot =
    entry.unreadable !== null
      ? unreadable(entry.unreadable)
      : entry.forgotten.length > 0
        ? forgotten(entry.forgotten)
        : null;
  return {
    id: `message-${id}`,
    kind: "message",
    set_aside_at: new Date(atMs).toISOString(),
    taken_in: takenInMs === null ? null : timeOrNull(takenInMs),
    queue,
    why,
    events,
    bytes,
    resendable: whyNot === null,
    why_not: whyNot,
  };
}

/** Of a header that anybody may have written. */
function timeOrNull(ms: number): string | null {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) || date.getUTCFullYear() > 9999 ? null : date.toISOString();
}

function presentObject({ job, number, key, records, bytes, error, asideMs, isDiscarded }: AsideObject) {
  return {
    id: `object-${job}-${number}`,
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
  };
}
