/**
 * The script routes for callers that the platform knows and this service does not: each request
 * goes on to the platform's API with the caller's own bearer, and the platform decides.
 */
import * as z from "zod";
import { ApiError, CODE, oneError, unavailable } from "../../base/errors.ts";
import { FOREIGN_ADDRESS_MAX, UPLOAD_PACE, UPSTREAM_MS } from "../../base/limits.ts";
import { errorText, log } from "../../base/logger.ts";
import { answered, type Platform } from "../../base/platform.ts";
import type { Config, Upstream } from "../../config.ts";
import { holdsOurs } from "../../formats/secrets/credentials.ts";
import { LogShards } from "../../ship/log/log-shards.ts";
import type { FunctionPatch, Logging } from "../../state/control/function-settings.ts";
import { controlPlane, type FunctionChange } from "../../state/control/plane.ts";
import { Consumers, SettingsAnswer, type Sighting, sightingIn } from "../../state/functions/attachments.ts";
import type { Upload } from "../../state/functions/module.ts";
import {
  attached,
  type Consumer,
  detached,
  ONE_NAME,
  platformMetadata,
  withoutLogship,
} from "../../state/functions/tail-consumers.ts";
import { uploadForm } from "../../state/functions/upload-form.ts";
import {
  askPlatform,
  isDone,
  isOk,
  openPlatform,
  type PlatformAnswer,
  type PlatformRequest,
  type SentBody,
  scriptUrl,
} from "../../state/functions/upstream.ts";
import { foreignBearer } from "./auth.ts";
import { bodyOf, noteBody } from "./body.ts";
import { success } from "./envelope.ts";
import { requireInForce, scriptName } from "./functions.ts";
import { nothingSaid, type Opened, passedOn, type Said, streamedOn } from "./platform-answers.ts";
import type { AppContext, Handler } from "./route.ts";
import { inSlot, type ReadUpload } from "./upload-slots.ts";

/**
 * How long our own change may take after the platform's, in ms. With UPSTREAM_MS, less than a
 * request may take.
 */
const FOLLOW_MS = 17_000;

/** How long the platform may take for a question before a change, in ms. */
const FIRST_MS = 10_000;

/** How long recording the state of an attachment may take, in ms: the caller waits. */
const NOTE_MS = 2_000;

/** The platform's settings of a script: two are changed here, the rest passes through. */
const PlatformSettings = z
  .looseObject({
    logship: z.boolean().nullable().optional(),
    logpush: z.boolean().nullable().optional(),
    tail_consumers: Consumers,
  })
  .refine(...ONE_NAME);

/** By method and path below that of all scripts. */
export const platformHandlers: { readonly [route: string]: Handler } = {
  "GET ": async (c, config, platform) => passedOn(await link(c, config, platform).ask("GET", [])),
  "GET /:script_name": readScript,
  "PUT /:script_name": inSlot(uploadScript, true),
  "DELETE /:script_name": deleteScript,
  "GET /:script_name/script-settings": readSettings,
  "PATCH /:script_name/script-settings": patchSettings,
};

/** Segments below all scripts, not encoded; or a path below the API's base, encoded. */
type Place = readonly string[] | { path: string };

interface AskOptions {
  body?: SentBody | string;
  ms?: number;
  query?: string;
}

/** One request's connection to the platform. */
interface Link {
  upstream: Upstream;
  /** @throws ApiError 503 if the platform gives no usable answer. */
  ask(method: PlatformRequest["method"], place: Place, options?: AskOptions): Promise<Said>;
  /** The same, with the answer as it comes. */
  open(method: PlatformRequest["method"], place: Place, options?: AskOptions): Promise<Opened>;
}

/**
 * @throws ApiError 503 if no platform is set, or it is this service; 400 for a path or query that
 *   contains a secret.
 */
export function link(c: AppContext, { upstream, accountId, adminToken }: Config, platform: Platform): Link {
  const bearer = foreignBearer(c.req.raw.headers, adminToken);
  // The gate in app.ts excludes this.
  if (upstream === null || bearer === null) throw unavailable("UPSTREAM_API is not set");
  const { host, pathname, search } = new URL(c.req.url);
  if (pathname.length + search.length > FOREIGN_ADDRESS_MAX)
    throw oneError(400, CODE.invalid, `path and query are longer than ${FOREIGN_ADDRESS_MAX} characters`);
  if (holdsOurs(pathname + search, adminToken))
    throw oneError(400, CODE.invalid, "path or query contain a secret of this service, which is never sent on");
  if (new URL(upstream.base).host === host)
    throw unavailable("configuration: UPSTREAM_API: must not be this service itself", 60);
  const requestOf = (method: PlatformRequest["method"], place: Place, { body, query = search }: AskOptions) => {
    const url =
      "path" in place ? `${upstream.base}/${place.path}${query}` : scriptUrl(upstream, accountId, place, query);
    return { method, url, bearer, ...(body !== undefined && { body }) };
  };
  const used = <A extends Said | Opened>(
    answer: A | Exclude<PlatformAnswer, Said>,
    { method }: PlatformRequest,
    place: Place,
  ): A => {
    if (answer.kind === "none") throw nothingSaid(method, answer.why);
    if (isForKnown(answer, place)) c.set("isKnownBearer", true);
    return answer;
  };
  return {
    upstream,
    async ask(method, place, options = {}) {
      const request = requestOf(method, place, options);
      return used<Said>(await askPlatform(request, options.ms ?? UPSTREAM_MS, platform), request, place);
    },
    async open(method, place, options = {}) {
      const request = requestOf(method, place, options);
      return used<Opened>(await openPlatform(request, options.ms ?? UPSTREAM_MS, platform), request, place);
    },
  };
}

/**
 * Whether only a bearer that the platform knows gets such an answer. Some paths it answers to
 * anyone, and 404 where it has no route.
 */
function isForKnown({ status }: Said | Opened, place: Place): boolean {
  if (!("path" in place)) return isOk(status) || status === 404;
  return isOk(status) && /^(?:accounts|memberships|user|zones)(?:\/|$)/.test(place.path);
}

async function readScript(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  return streamedOn(await link(c, config, platform).open("GET", [scriptName(c)]), "GET");
}

/**
 * Asks the platform about the bearer before a byte of a body is read: a stranger with an invented
 * one holds no memory, and no slot of an upload. What may write a script may read its settings.
 * @returns the refusal; null: it is known. The script need not be there yet.
 */
async function refusalOf(name: string, ask: Link["ask"]): Promise<Response | null> {
  const said = await ask("GET", [name, "settings"], { ms: FIRST_MS, query: "" });
  return isOk(said.status) || said.status === 404 ? null : passedOn(said);
}

/**
 * Asks the platform first and then changes our own setting: before the platform accepts, the caller
 * is unknown. A crash in between leaves a version whose events the platform sends here, or not, as
 * the upload asked; an older setting of ours may still drop them. Repeating the request completes
 * it.
 */
async function uploadScript(c: AppContext, config: Config, platform: Platform, read: ReadUpload): Promise<Response> {
  const { ask, upstream } = link(c, config, platform);
  const name = scriptName(c);
  const refusal = await refusalOf(name, ask);
  if (refusal !== null) return refusal;
  const { metadata, ships, ...parts } = await read();
  if (ships && name === upstream.selfName) throw selfShipping();
  const boundary = `logship-${crypto.randomUUID()}`;
  const body = uploadForm(platformMetadata(metadata, ships, upstream.selfName), parts, boundary);
  const said = await sentOn(parts, () => ask("PUT", [name], { body, ms: askMs(parts) }));
  if (isDone(said)) {
    const [logging, attachment] = ships ? (["on", "made"] as const) : (["off", "given up"] as const);
    await follow(c, "taken the upload", () => setOurs(c, name, { logging }, attachment));
  }
  return passedOn(said, "PUT");
}

/**
 * The upload of a version, without the properties that are for this service. Whether the script
 * ships is no property of a version: clients set it by `PATCH …/script-settings`.
 */
export const uploadVersion: Handler = inSlot(async (c, config, platform, read) => {
  const { ask } = link(c, config, platform);
  const name = scriptName(c);
  const refusal = await refusalOf(name, ask);
  if (refusal !== null) return refusal;
  const { metadata, ...parts } = await read();
  const body = uploadForm(withoutLogship(metadata), parts, `logship-${crypto.randomUUID()}`);
  const said = await sentOn(parts, () => ask("POST", [name, "versions"], { body, ms: askMs(parts) }));
  return passedOn(said, "POST");
}, true);

/** @throws ApiError 400 for a form that broke off as it is malformed, and what `ask` throws. */
async function sentOn({ rest }: Pick<Upload, "rest">, ask: () => Promise<Said>): Promise<Said> {
  const [said] = await Promise.allSettled([ask()]);
  const fault = rest?.fault() ?? null;
  if (fault !== null) throw oneError(400, CODE.invalid, fault);
  if (said.status === "rejected") throw said.reason;
  return said.value;
}

/** What is not held comes while it is sent. */
function askMs({ rest }: Pick<Upload, "rest">): number {
  return rest === undefined ? UPSTREAM_MS : UPLOAD_PACE.ms + UPSTREAM_MS;
}

function selfShipping(): ApiError {
  return oneError(400, CODE.invalid, "logship: its own events are never shipped");
}

async function readSettings(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const { ask, upstream } = link(c, config, platform);
  const name = scriptName(c);
  const askedMs = platform.now();
  const said = await ask("GET", [name, "script-settings"]);
  const shown = isDone(said) ? SettingsAnswer.safeParse(said.json).data : undefined;
  if (shown !== undefined)
    await noteSeen(c, name, upstream, sightingIn(shown.result.tail_consumers, upstream.selfName), askedMs);
  return passedOn(said);
}

/**
 * Records the attachment as the platform shows it. A failure to record does not fail the request:
 * the next sighting records it.
 */
async function noteSeen(
  c: AppContext,
  name: string,
  { selfName }: Upstream,
  sighting: Sighting,
  askedMs: number,
): Promise<void> {
  // The shipper's own events are never shipped, so its consumers do not matter.
  if (sighting.kind === "unclear" || name === selfName) return;
  try {
    await answered(
      "the control plane",
      NOTE_MS,
      controlPlane(c.env.CONTROL).noteAttachments([{ name, sighting, askedMs }]),
    );
  } catch (error) {
    log.warn("the state of an attachment was not recorded", { error: errorText(error) });
  }
}

/**
 * The platform's `tail_consumers` can only be written as a whole: they are read, changed and
 * written back, so a concurrent change may be overwritten. They are written even if nothing
 * changes, because permission to write them is what permits setting ours.
 */
async function patchSettings(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const { ask, upstream } = link(c, config, platform);
  const name = scriptName(c);
  const refusal = await refusalOf(name, ask);
  if (refusal !== null) return refusal;
  const sent = await bodyOf(c, { body: PlatformSettings });
  const { tail_consumers } = sent;
  const ships = sent.logship !== undefined ? sent.logship : sent.logpush;
  noteBody(c.req.raw, { logship: ships, tail_consumers });
  if (ships === true && name === upstream.selfName) throw selfShipping();
  const path = [name, "script-settings"];
  const body = withoutLogship(sent);
  if (ships !== undefined) {
    let consumers: readonly Consumer[];
    if (tail_consumers !== undefined) consumers = tail_consumers ?? [];
    else {
      const read = await ask("GET", path, { ms: FIRST_MS, query: "" });
      if (!isDone(read)) return passedOn(read);
      const { data } = SettingsAnswer.safeParse(read.json);
      if (data === undefined) throw nothingSaid("GET", "answered with malformed settings");
      consumers = data.result.tail_consumers ?? [];
    }
    body.tail_consumers = translated(consumers, ships, upstream.selfName);
  }
  const askedMs = platform.now();
  const said = await ask("PATCH", path, { body: JSON.stringify(body), ms: UPSTREAM_MS - FIRST_MS });
  if (isDone(said)) {
    const logging: Logging | undefined =
      ships === undefined ? undefined : ships === null ? "unset" : ships ? "on" : "off";
    const attachment = ships === true ? "made" : ships === false ? "given up" : null;
    await follow(c, "changed the settings", async () => {
      if (logging !== undefined) await setOurs(c, name, { logging }, attachment);
    });
    // Without a word about shipping, the list of consumers may still have been written or shown.
    if (attachment === null) {
      const shown = SettingsAnswer.safeParse(said.json).data?.result.tail_consumers;
      const consumers = shown !== undefined ? shown : (body.tail_consumers as readonly Consumer[] | null | undefined);
      if (consumers !== undefined) await noteSeen(c, name, upstream, sightingIn(consumers, upstream.selfName), askedMs);
    }
  }
  return passedOn(said, "PATCH");
}

/** @param ships null: the attachment stays as it is. */
function translated(consumers: readonly Consumer[], ships: boolean | null, selfName: string): readonly Consumer[] {
  if (ships === null) return consumers;
  return ships ? attached(consumers, selfName) : detached(consumers, selfName);
}

/**
 * If our own part fails, settings and counts of the deleted function stay behind, without effect.
 */
async function deleteScript(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const { ask } = link(c, config, platform);
  const name = scriptName(c);
  const said = await ask("DELETE", [name]);
  // The vendor's API description says that there is no body.
  const isBare = isOk(said.status) && said.bytes.length === 0;
  if (isBare || isDone(said)) {
    await follow(c, "deleted the script", async () => {
      const change: FunctionChange | null = await controlPlane(c.env.CONTROL).removeFunction(name);
      if (change !== null) requireInForce(change, name);
      await new LogShards(c.env).each((shard) => shard.forgetFunction(name));
    });
  }
  return isBare ? success(c, { id: name }) : passedOn(said, "DELETE");
}

/** @param attachment what the platform did with it; null: nothing was asked. */
async function setOurs(
  c: AppContext,
  name: string,
  patch: FunctionPatch,
  attachment: "made" | "given up" | null,
): Promise<void> {
  const change: FunctionChange = await controlPlane(c.env.CONTROL).setFunction(name, patch, attachment);
  requireInForce(change, name);
}

/**
 * Runs our own part. If it fails, the error also says that the platform's part is done. @throws
 * ApiError
 */
async function follow(c: AppContext, done: string, run: () => Promise<void>): Promise<void> {
  c.set("accepted", true);
  const before = `Cloudflare has ${done}, but logship has not recorded it`;
  try {
    await answered("the control plane", FOLLOW_MS, run());
  } catch (error) {
    if (error instanceof ApiError) {
      const entries = error.entries.map((entry) => ({ ...entry, message: `${before}: ${entry.message}` }));
      throw new ApiError(error.status, entries, error.headers);
    }
    log.error("a change of the platform was not followed", { error: errorText(error) });
    throw unavailable(`${before}; repeat the request`);
  }
}
