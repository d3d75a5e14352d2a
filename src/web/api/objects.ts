import { type ApiError, CODE, notFound, oneError, unavailable } from "../../base/errors.ts";
import { OBJECT_TEXT_MAX_BYTES } from "../../base/limits.ts";
import type { Platform } from "../../base/platform.ts";
import { streamOf } from "../../base/streams.ts";
import type { Config } from "../../config.ts";
import { decoderOf } from "../../formats/object/encoders.ts";
import { decrypt, destinationPurpose } from "../../formats/secrets/encrypted.ts";
import type { OpenDestination } from "../../ship/destinations/destination.ts";
import { openDestination } from "../../ship/destinations/kinds.ts";
import { parseDestination } from "../../ship/destinations/parse.ts";
import { type Known, openObject, ReadFault, readLines } from "../../ship/destinations/read-object.ts";
import { jobObject, jobObjects, jobObjectsBefore } from "../../ship/reader/object-pages.ts";
import type { ObjectEntry } from "../../ship/reader/statuses.ts";
import { JOB_OBJECTS, OBJECT_LINES, READ_OBJECT } from "./docs/objects.ts";
import { listed, success } from "./envelope.ts";
import { fileOf } from "./file.ts";
import { requireJob } from "./jobs.ts";
import { queryOf } from "./query.ts";
import type { AppContext, Resources } from "./route.ts";

export const objectRoutes: Resources = {
  "/jobs/:job_id/objects": { GET: { permission: "logs:read", doc: JOB_OBJECTS, handle: list } },
  "/jobs/:job_id/objects/:number": { GET: { permission: "logs:read", doc: READ_OBJECT, handle: read } },
  "/jobs/:job_id/objects/:number/records": { GET: { permission: "logs:read", doc: OBJECT_LINES, handle: readRecords } },
};

async function list(c: AppContext): Promise<Response> {
  const { config } = await requireJob(c);
  const { after, before, limit, since, until } = queryOf(c, JOB_OBJECTS);
  const span = {
    sinceMs: since === undefined ? 0 : Date.parse(since),
    untilMs: until === undefined ? Number.MAX_SAFE_INTEGER : Date.parse(until),
  };
  const asked = since === undefined && until === undefined ? undefined : span;
  const { entries, total } =
    before === undefined
      ? await jobObjects(c.env, config.id, after, limit, asked)
      : await jobObjectsBefore(c.env, config.id, before, limit, asked);
  return listed(c, entries, { page: 1, perPage: limit, total });
}

async function read(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const { download } = queryOf(c, READ_OBJECT);
  if (!download) return success(c, await requireEntry(c));
  return reading(async () => {
    const { entry, store, known } = await deliveredObject(c, config, platform);
    const stream = streamOf(await openObject(store, known));
    return fileOf(stream, fileName(entry.key), decoderOf(entry.key).fileType);
  });
}

async function readRecords(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const { skip, limit } = queryOf(c, OBJECT_LINES);
  return reading(async () => {
    const { store, known } = await deliveredObject(c, config, platform);
    const asked = { skip, limit, bytesMax: OBJECT_TEXT_MAX_BYTES };
    return success(c, await readLines(await openObject(store, known), known, asked));
  });
}

/** @throws ApiError 404. */
async function requireEntry(c: AppContext): Promise<ObjectEntry> {
  const { config } = await requireJob(c);
  const text = c.req.param("number") ?? "";
  const entry = /^[1-9]\d{0,14}$/.test(text) ? await jobObject(c.env, config.id, Number(text)) : null;
  if (entry === null) throw notFound("no such object; delivered objects are listed for 30 days");
  return entry;
}

const NOT_THERE: { readonly [state in Exclude<ObjectEntry["state"], "delivered">]: string } = {
  waiting: "it is not uploaded yet; flush the job, or wait",
  set_aside: "its store refused it; it is listed under On hold",
  discarded: "it was discarded and never delivered",
};

/** @throws ApiError 409 for an object that is not at the job's destination. */
async function deliveredObject(
  c: AppContext,
  config: Config,
  platform: Platform,
): Promise<{ entry: ObjectEntry; store: OpenDestination; known: Known }> {
  const [job, entry] = await Promise.all([requireJob(c), requireEntry(c)]);
  if (entry.state !== "delivered") throw conflict(NOT_THERE[entry.state]);
  if (entry.replay?.destination != null)
    throw conflict(
      `a replay wrote it to another destination, ${entry.replay.destination}, for which the job has no keys`,
    );
  if (entry.sent_to !== null) throw conflict(`it was sent to another destination, ${entry.sent_to}`);
  const conf = decrypt(job.config.destination, destinationPurpose(config.accountId), config.keys);
  if (conf === null) throw conflict("no key opens the job's stored destination");
  const destination = parseDestination(conf, config.destinations);
  if (!destination.ok) throw conflict(`the job's destination: ${destination.why}`);
  const known = { key: entry.key, bytes: entry.bytes, rawBytes: entry.raw_bytes };
  return { entry, store: openDestination(destination.value, platform), known };
}

function conflict(why: string): ApiError {
  return oneError(409, CODE.conflict, `the object cannot be read: ${why}`);
}

/** Turns a fault of the object into an answer. @throws ApiError */
async function reading(read: () => Promise<Response>): Promise<Response> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof ReadFault)) throw error;
    const words = `the object cannot be read: ${error.message}`;
    switch (error.kind) {
      case "gone":
        throw notFound(words);
      case "forbidden":
        throw oneError(403, CODE.notAllowed, words);
      case "refused":
      case "damaged":
        throw conflict(error.message);
      case "silent":
        throw unavailable(words);
    }
  }
}

/** The last segment of a key, in characters that are safe in a header. */
function fileName(key: string): string {
  return (key.split("/").at(-1) ?? "").replace(/[^\w.-]/g, "_") || "object.log.gz";
}
