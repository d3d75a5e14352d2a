import type * as z from "zod";
import type { Fault } from "../../base/errors.ts";
import { CODE, faultsError, notInForce, oneError, requireStored, unavailable } from "../../base/errors.ts";
import type { Platform } from "../../base/platform.ts";
import type { Config } from "../../config.ts";
import { DATASETS, type ExtraField, VENDORS_DATASETS } from "../../formats/record/fields.ts";
import { decrypt, destinationPurpose, encrypt } from "../../formats/secrets/encrypted.ts";
import { rerunAmount } from "../../operate/replay/reruns.ts";
import type { Destination } from "../../ship/destinations/destination.ts";
import { openDestination, termsOf } from "../../ship/destinations/kinds.ts";
import {
  isMasked,
  parseDestination,
  parseNewDestination,
  sameStore,
  unmaskDestination,
} from "../../ship/destinations/parse.ts";
import type { JobDraft } from "../../ship/job/change.ts";
import {
  type JobBody,
  READ_ONLY_KEYS,
  respelled,
  spareAfter,
  spareIn,
  type UpdateJob,
} from "../../ship/job/job-schema.ts";
import { lossesOf } from "../../ship/job/losses.ts";
import { parseLogpullOptions } from "../../ship/job/output-rules.ts";
import { extraFieldsOf, fitDestination, readJob } from "../../ship/job/rules.ts";
import { readJobConfig } from "../../ship/job/snapshot.ts";
import { LogShards } from "../../ship/log/log-shards.ts";
import { added } from "../../ship/log/sums.ts";
import { driveNodes } from "../../ship/reader/all-readers.ts";
import { controlPlane, type JobChange, type StoredJob } from "../../state/control/plane.ts";
import { bodyOf } from "./body.ts";
import {
  CREATE_JOB,
  DELETE_JOB,
  FLUSH_JOB,
  JOB_LEDGER,
  type Job,
  LIST_DATASET_JOBS,
  LIST_JOBS,
  READ_JOB,
  UPDATE_JOB,
} from "./docs/jobs.ts";
import { isoTime, listed, type Message, success } from "./envelope.ts";
import {
  answerOf,
  guaranteeOfJob,
  logStatus,
  presentJob,
  SILENT,
  shardsOfLog,
  UNCONFIRMED,
  UNREADABLE,
} from "./job-view.ts";
import { badTime, requireKept } from "./kept.ts";
import { requireProof } from "./ownership.ts";
import { pageOf, queryOf } from "./query.ts";
import { type AppContext, isDataset, pathName, type Resources, requireDataset } from "./route.ts";
import { remarks } from "./validation.ts";

/** Attempts at a change while others change the job concurrently. */
const UPDATE_TRIES = 3;

/** How long a flush waits for its uploads, in ms; after that they continue in the background. */
const FLUSH_WAIT_MS = 20_000;

export const jobRoutes: Resources = {
  "/jobs": {
    GET: { permission: "logs:read", doc: LIST_JOBS, handle: listJobs },
    POST: { permission: "logs:edit", action: "job.create", doc: CREATE_JOB, handle: createJob },
  },
  "/datasets/:dataset/jobs": { GET: { permission: "logs:read", doc: LIST_DATASET_JOBS, handle: listDatasetJobs } },
  "/jobs/:job_id": {
    GET: { permission: "logs:read", doc: READ_JOB, handle: readJobView },
    PUT: { permission: "logs:edit", action: "job.update", doc: UPDATE_JOB, handle: updateJob },
    DELETE: { permission: "logs:edit", action: "job.delete", doc: DELETE_JOB, handle: deleteJob },
  },
  "/jobs/:job_id/ledger": { GET: { permission: "logs:read", doc: JOB_LEDGER, handle: readLedger } },
  "/jobs/:job_id/flush": { POST: { permission: "logs:edit", action: "job.flush", doc: FLUSH_JOB, handle: flushJob } },
};

/** A dataset of the vendor's that is not ours has no jobs. */
async function listDatasetJobs(c: AppContext, config: Config): Promise<Response> {
  if (!VENDORS_DATASETS.has(c.req.param("dataset") ?? "")) {
    requireDataset(c);
    return listJobs(c, config);
  }
  const { shown, info } = pageOf(queryOf(c, LIST_DATASET_JOBS), []);
  return listed(c, shown, info);
}

async function readJobView(c: AppContext, config: Config): Promise<Response> {
  return success(c, await viewOf(c, await requireJob(c), config));
}

async function deleteJob(c: AppContext): Promise<Response> {
  const { discard } = queryOf(c, DELETE_JOB);
  // Not `requireJob`: a deleted job whose log still drains can be discarded.
  const id = jobId(c);
  const change: JobChange = await controlPlane(c.env.CONTROL).remove(id, discard);
  requireInForce(change);
  return success(c, { id });
}

async function readLedger(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const job = await requireJob(c);
  const { id } = job.config;
  const status = await logStatus(c.env, id, await shardsOfLog(c.env, [id]));
  if (status === undefined) throw unavailable(SILENT);
  if (status === null) throw unavailable(UNCONFIRMED);
  const oldest = status.oldestPendingTakenMs;
  const rerun = await rerunAmount(c.env, job.reruns ?? [], platform.now());
  if (rerun === null) throw unavailable(SILENT);
  return success(c, {
    ...status.counts,
    pending_objects: status.pendingObjects,
    oldest_pending_seconds: oldest === null ? null : Math.max(0, Math.round((platform.now() - oldest) / 1_000)),
    next_try: (status.resumeMs ?? 0) > platform.now() ? isoTime(status.resumeMs ?? null) : null,
    bytes_raw: status.deliveredRawBytes,
    bytes_compressed: status.deliveredBytes,
    replayed: added({ ...status.replayed }, rerun),
    unread: {
      records: status.unread.records,
      bytes: status.unread.bytes,
      oldest: isoTime(status.unread.oldestMs),
    },
    guarantee: guaranteeOfJob(job, config),
    resent_in_doubt: status.resentInDoubt,
  });
}

async function flushJob(c: AppContext): Promise<Response> {
  const { config } = await requireJob(c);
  await answerOf(new LogShards(c.env).drive([config.id]), "the log");
  const pending = await driveNodes(c.env, config.id, "manual", FLUSH_WAIT_MS);
  return success(c, { id: config.id, pending_objects: pending });
}

async function listJobs(c: AppContext, config: Config): Promise<Response> {
  const jobs: StoredJob[] = await controlPlane(c.env.CONTROL).list();
  const { shown, info } = pageOf(queryOf(c, LIST_JOBS), jobs);
  const shards = await shardsOfLog(
    c.env,
    shown.map(({ config: { id } }) => id),
  );
  const views = await Promise.all(shown.map((job) => presentJob(c, job, config, shards)));
  return listed(c, views, info);
}

async function viewOf(c: AppContext, job: StoredJob, config: Config): Promise<Job> {
  return presentJob(c, job, config, await shardsOfLog(c.env, [job.config.id]));
}

async function createJob(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const sent = await bodyOf(c, CREATE_JOB);
  const messages = spareMessages(sent);
  const not = "creating a new job is not allowed: ";
  const body = {
    ...withoutReadOnly(sent),
    ...respelled({ dataset: DATASETS[0], spelled: {} }, sent.dataset, pathName(c)),
  } as JobBody;
  if (isMasked(body.destination_conf))
    throw badDestination(not, "a masked secret cannot be used here; send the secret itself");
  const { draft, destination } = readDraft(body, parseNewDestination, config, config.extraFields, not);
  const asked = sent.since ?? parseLogpullOptions(sent.logpull_options ?? "").since;
  const key = sent.since == null ? "logpull_options" : "since";
  if (asked !== undefined) {
    if (body.enabled !== true) throw badTime(key, "since: only an enabled job starts then");
    draft.since = Date.parse(asked);
  }
  requireProof(sent.ownership_challenge, destination, config, platform);
  const control = controlPlane(c.env.CONTROL);
  const refused = (why: string) => oneError(403, CODE.notAllowed, not + why);
  const why: string | null = await control.creationRefusal();
  if (why !== null) throw refused(why);
  await requireWritable(destination, platform, not);
  if (draft.since !== undefined) await requireKept(c, draft.since, platform, key);
  const change: JobChange = await control.create(draft);
  if (change.kind === "refused") throw refused(change.why);
  if (change.kind === "changed" && !isWhole(change.job, draft)) {
    // The same request, sent again, would make a second job beside it.
    await control.remove(change.job.config.id, true);
  }
  return success(c, await viewOf(c, requireInForce(change, draft), config), {
    status: 201,
    messages: [...messages, ...(await remarks(destination, platform))],
  });
}

async function updateJob(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const sent = await bodyOf(c, UPDATE_JOB);
  const messages = spareMessages(sent);
  const control = controlPlane(c.env.CONTROL);
  for (let tries = 0; tries < UPDATE_TRIES; tries++) {
    const job = await requireJob(c);
    const not = `updating job ${job.config.id} is not allowed: `;
    // Written back, it would lose what only the newer version knows of it.
    if (readJobConfig(job.config) === null) throw oneError(409, CODE.conflict, not + UNREADABLE);
    requireUnchanged(sent);
    const stored = decrypt(job.config.destination, destinationPurpose(config.accountId), config.keys);
    const conf =
      sent.destination_conf === undefined ? stored : withStoredSecrets(sent.destination_conf, stored, config, not);
    if (conf === null) throw badDestination(not, "no key opens the stored destination; send destination_conf again");
    const own = { ...respelled(job.body, sent.dataset, pathName(c)), destination_conf: conf };
    const body = { ...job.body, ...withoutReadOnly(sent), ...own } as JobBody;
    const faults = spareAfter(job.body, body);
    if (faults.length > 0) throw faultsError(400, CODE.invalid, faults);
    // What it has it keeps, though EXTRA_FIELDS may name it no more.
    const extra = [...config.extraFields, ...extraFieldsOf(job.config)];
    const moved = conf !== stored;
    const { draft, destination } = readDraft(body, moved ? parseNewDestination : parseDestination, config, extra, not);
    if (moved) requireProof(sent.ownership_challenge, destination, config, platform, stored);
    if (moved) await requireWritable(destination, platform, not);
    const change: JobChange = await control.update(job.config.id, job.config.modifiedVersion, draft, moved);
    if (change.kind === "conflict") continue;
    if (!moved && isSame(draft.body, job.body)) c.set("unchanged", true);
    const lost = lossesOf(
      { ...job.config, enabled: job.body.enabled },
      { ...draft.meaning, enabled: draft.body.enabled },
    );
    const notes = [...messages, ...lost.map((message) => ({ code: CODE.note, message }))];
    return success(c, await viewOf(c, requireInForce(change, draft), config), {
      messages: moved ? [...notes, ...(await remarks(destination, platform))] : notes,
    });
  }
  throw oneError(409, CODE.conflict, "the job is being changed concurrently; try again");
}

/** Says which keys have no effect. @throws ApiError 400 for one that is a slip of a known key. */
function spareMessages(sent: z.infer<typeof UpdateJob>): Message[] {
  const { names, faults } = spareIn(sent);
  if (faults.length > 0) throw faultsError(400, CODE.invalid, faults);
  return names.map((name) => ({
    code: CODE.note,
    message: `the key ${JSON.stringify(name)} is kept and echoed, and has no effect`,
  }));
}

/** Whether two bodies say the same: a missing value is as `""`, `0`, `false` and null. */
function isSame(a: StoredJob["body"], b: StoredJob["body"]): boolean {
  const [one, other] = [a, b].map((body) => new Map(Object.entries(body)));
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].every(
    (key) => JSON.stringify(one?.get(key) || null) === JSON.stringify(other?.get(key) || null),
  );
}

/** @throws ApiError 400 if a body would change an immutable field. */
function requireUnchanged(sent: z.infer<typeof UpdateJob>): void {
  const faults: Fault[] = [];
  if (sent.dataset != null && !isDataset(sent.dataset)) {
    faults.push({ pointer: "/dataset", message: "dataset: cannot be changed" });
  }
  if (sent.kind != null && sent.kind !== "") faults.push({ pointer: "/kind", message: "kind: cannot be changed" });
  if (faults.length > 0) throw faultsError(400, CODE.invalid, faults);
}

/**
 * A sent destination, its masked secrets replaced by the stored ones. @throws ApiError if the store
 * is not the same.
 */
export function withStoredSecrets(sent: string, stored: string | null, config: Config, not: string): string {
  if (!isMasked(sent)) return sent;
  if (stored === null) throw badDestination(not, "no key opens the stored secret; send it again");
  const conf = unmaskDestination(sent, stored);
  if (isMasked(conf)) throw badDestination(not, "no secret is stored for the masked one; send it");
  const after = parseDestination(conf, config.destinations);
  const before = parseDestination(stored, config.destinations);
  if (!after.ok) throw badDestination(not, after.why);
  if (!before.ok || !sameStore(before.value, after.value)) {
    throw badDestination(
      not,
      "a masked secret is kept only for the same scheme, endpoint, account and bucket, or host and path; send it again",
    );
  }
  return conf;
}

/** Checks a body and parses its destination. @throws ApiError 400 with every fault. */
function readDraft(
  body: JobBody,
  parse: typeof parseDestination,
  config: Config,
  extra: readonly ExtraField[],
  not: string,
): { draft: JobDraft; destination: Destination } {
  const { destination_conf, ...rest } = body;
  const meaning = readJob(body, extra);
  const destination = parse(destination_conf, config.destinations);
  const faults = meaning.ok ? [] : [...meaning.faults];
  if (!destination.ok) faults.push({ pointer: "/destination_conf", message: destination.why });
  if (!meaning.ok || !destination.ok) throw faultsError(400, CODE.notAllowed, faults, not);
  const { faults: unfit, ...fitted } = fitDestination(meaning.value, body, termsOf(destination.value));
  if (unfit.length > 0) throw faultsError(400, CODE.notAllowed, unfit, not);
  return {
    destination: destination.value,
    draft: {
      body: rest,
      meaning: { ...meaning.value, ...fitted },
      destination: encrypt(destination_conf, destinationPurpose(config.accountId), config.keys),
      path: destination.value.path,
    },
  };
}

/**
 * Writes a test object. @throws ApiError 400 with the store's status and code if the store refuses
 * it.
 */
export async function requireWritable(destination: Destination, platform: Platform, not: string): Promise<void> {
  const fault = await openDestination(destination, platform).probe();
  if (fault !== null) throw badDestination(not, `error validating destination: ${fault}`);
}

export function badDestination(not: string, why: string) {
  return faultsError(400, CODE.notAllowed, [{ pointer: "/destination_conf", message: why }], not);
}

/** @throws ApiError 404 for a malformed id. */
function jobId(c: AppContext): number {
  const id = c.req.param("job_id") ?? "";
  if (/^[1-9]\d{0,14}$/.test(id)) return Number(id);
  throw oneError(404, CODE.jobNotFound, "job not found");
}

/** @throws ApiError 404. */
export async function requireJob(c: AppContext): Promise<StoredJob> {
  const job: StoredJob | null = await controlPlane(c.env.CONTROL).get(jobId(c));
  if (job === null) throw oneError(404, CODE.jobNotFound, "job not found");
  return job;
}

/**
 * @throws ApiError 404; or 503 for a change that is stored and not in force, or is not what was
 *   sent.
 */
function requireInForce(change: JobChange, draft?: JobDraft): StoredJob {
  if (change.kind !== "changed") throw oneError(404, CODE.jobNotFound, "job not found");
  if (draft !== undefined) requireWhole(change.job, draft);
  if (change.missing.length > 0) throw unavailable(`job ${change.job.config.id} is ${notInForce(change.missing)}`, 60);
  return change.job;
}

/** @throws ApiError as {@link requireStored}. */
function requireWhole({ body, config }: StoredJob, draft: JobDraft): void {
  const { meaning, destination, path, since } = draft;
  requireStored(`job ${config.id}`, draft.body, body);
  requireStored(`job ${config.id}`, { ...meaning, destination, path, ...(since !== undefined && { since }) }, config);
}

function isWhole(job: StoredJob, draft: JobDraft): boolean {
  try {
    requireWhole(job, draft);
    return true;
  } catch {
    return false;
  }
}

function withoutReadOnly(sent: z.infer<typeof UpdateJob>): Partial<JobBody> {
  const omitted = new Set([...READ_ONLY_KEYS, "ownership_challenge", "since"]);
  return Object.fromEntries(
    Object.entries(sent).filter(([name, value]) => !omitted.has(name) && value !== undefined),
  ) as Partial<JobBody>;
}
