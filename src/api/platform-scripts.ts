/** The script routes for whoever the platform knows, and we do not: what is asked for goes on to its API with the caller's own bearer, and it decides. */
import * as z from "zod";
import { holdsOurs } from "../access/credentials.ts";
import { accountLedger } from "../account/ledger.ts";
import type { Config, Upstream } from "../config.ts";
import type { FunctionPatch, Logging } from "../control/function-settings.ts";
import { controlPlane, type FunctionChange } from "../control/plane.ts";
import { ApiError, CODE, oneError, unavailable } from "../errors.ts";
import { Consumers, SettingsAnswer, type Sighting, sightingIn } from "../functions/attachments.ts";
import { type FormBody, uploadForm } from "../functions/form.ts";
import { attached, type Consumer, detached, platformMetadata, withoutLogship } from "../functions/tail-consumers.ts";
import {
  askPlatform,
  isDone,
  isOk,
  type PlatformAnswer,
  type PlatformRequest,
  scriptUrl,
} from "../functions/upstream.ts";
import { UPSTREAM_MS } from "../limits.ts";
import { errorText, log } from "../log.ts";
import { answered, type Platform } from "../platform.ts";
import { foreignBearer } from "./auth.ts";
import { jsonBody, noteBody } from "./body.ts";
import { success } from "./envelope.ts";
import { requireInForce, scriptName } from "./functions.ts";
import type { AppContext, Handler } from "./route.ts";
import { requireUpload } from "./script-upload.ts";
import { inSlot } from "./upload-slots.ts";

/** How long our own part may take once the platform has done its: longer than a change that some job does not follow. Both together are less than a request's bound. */
const FOLLOW_MS = 17_000;

/** What of {@link UPSTREAM_MS} the first of two questions may take, in ms. */
const FIRST_MS = 10_000;

/** How long it may take to note what was seen of an attachment, in ms: whoever asked for something else waits for it. */
const NOTE_MS = 2_000;

/** The platform's own settings of a script: of these we change two, and pass on the rest as it is. */
const PlatformSettings = z
  .looseObject({
    logship: z.boolean().nullable().optional(),
    logpush: z.boolean().nullable().optional(),
    tail_consumers: Consumers,
  })
  .refine((body) => body.logship === undefined || body.logpush === undefined, {
    path: ["logpush"],
    error: "is another name of logship; send one of them",
    when: ({ value }) => typeof value === "object" && value !== null,
  });

/** By method, and path below that of all scripts. */
export const platformHandlers: { readonly [route: string]: Handler } = {
  "GET ": async (c, config, platform) => passedOn(await link(c, config, platform).ask("GET", [])),
  "GET /:script_name": readScript,
  "PUT /:script_name": inSlot(uploadScript),
  "DELETE /:script_name": deleteScript,
  "GET /:script_name/script-settings": readSettings,
  "PATCH /:script_name/script-settings": patchSettings,
};

type Said = Extract<PlatformAnswer, { kind: "answer" }>;

/** The way of one request to the platform. */
interface Link {
  upstream: Upstream;
  /** @throws ApiError 503 if the platform says nothing to go by. */
  ask(
    method: PlatformRequest["method"],
    segments: readonly string[],
    options?: { body?: FormBody | string; ms?: number; query?: string },
  ): Promise<Said>;
}

/** @throws ApiError 503 if there is no platform, or it is this service itself; 400 for a query that must not go on. */
function link(c: AppContext, { upstream, accountId, adminToken }: Config, platform: Platform): Link {
  const bearer = foreignBearer(c.req.raw.headers, adminToken);
  // The gate lets nobody come here like this.
  if (upstream === null || bearer === null) throw unavailable("there is no platform to ask");
  const { host, search } = new URL(c.req.url);
  if (holdsOurs(search, adminToken))
    throw oneError(400, CODE.invalid, "the query holds a secret of this service, which is never sent on");
  if (new URL(upstream.base).host === host)
    throw unavailable("configuration: UPSTREAM_API: this service itself, which would ask itself for ever", 60);
  return {
    upstream,
    async ask(method, segments, { body, ms = UPSTREAM_MS, query = search } = {}) {
      const url = scriptUrl(upstream, accountId, segments, query);
      const answer = await askPlatform({ method, url, bearer, ...(body !== undefined && { body }) }, ms, platform);
      if (answer.kind === "none") throw nothingSaid(method, answer.why);
      return answer;
    },
  };
}

function nothingSaid(method: PlatformRequest["method"], why: string): ApiError {
  const after =
    method === "GET"
      ? "the request may be repeated"
      : "it may have done what was asked for all the same, and nothing was changed here; the request may be repeated";
  return unavailable(`the platform's API ${why}; ${after}`);
}

/** The platform's answer as it is: its status and its JSON. Of its headers only Retry-After goes along, where it is well-formed. */
function passedOn({ status, bytes, json, retryAfter }: Said, method: PlatformRequest["method"] = "GET"): Response {
  if (typeof json !== "object" || json === null || Array.isArray(json))
    throw nothingSaid(method, `answered with HTTP ${status} and no JSON object`);
  const headers = new Headers({ "content-type": "application/json" });
  if (retryAfter !== null && RETRY_AFTER.test(retryAfter)) headers.set("retry-after", retryAfter);
  else if (status === 429 || status === 503) headers.set("retry-after", "5");
  if (status === 401) headers.set("www-authenticate", "Bearer");
  return new Response(bytes, { status, headers });
}

/** Seconds, or a date. RFC 9110, 10.2.3. */
const RETRY_AFTER = /^(?:[1-9]\d{0,5}|[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT)$/;

/** A script is no JSON: it comes as a file, with nothing that would have a browser run it. */
async function readScript(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const said = await link(c, config, platform).ask("GET", [scriptName(c)]);
  const { status, bytes, json, contentType } = said;
  if (!isOk(status) || json !== undefined || !SCRIPT_TYPE.test(contentType)) return passedOn(said);
  return new Response(bytes, {
    status: 200,
    headers: {
      "content-type": contentType,
      "content-disposition": "attachment",
      "content-security-policy": "default-src 'none'; sandbox",
      "x-content-type-options": "nosniff",
    },
  });
}

const SCRIPT_TYPE = /^(?:(?:application|text)\/javascript(?:\+module)?|multipart\/form-data)\s*(?:;|$)/i;

/**
 * The platform first, then our own setting: before it has said yes, nobody knows who is calling. What a crash, or a lost answer, leaves in between is a
 * version of which the platform sends the events here, or does not, as the upload asked for; only a setting of ours from before may still drop them. The same
 * request again makes it whole: it changes nothing that is done already.
 */
async function uploadScript(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const { ask, upstream } = link(c, config, platform);
  const name = scriptName(c);
  const { metadata, ships, modules } = await requireUpload(c);
  if (ships && name === upstream.selfName) throw selfShipping();
  const boundary = `logship-${crypto.randomUUID()}`;
  const body = uploadForm(platformMetadata(metadata, ships, upstream.selfName), modules, boundary);
  const said = await ask("PUT", [name], { body });
  if (isDone(said)) {
    const [logging, attachment] = ships ? (["on", "made"] as const) : (["off", "given up"] as const);
    await follow(c, "taken the upload", () => setOurs(c, name, { logging }, attachment));
  }
  return passedOn(said, "PUT");
}

function selfShipping(): ApiError {
  return oneError(400, CODE.invalid, "logship: this is the shipper, whose own events are never shipped");
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

/** What is known of an attachment follows what the platform shows, to whoever it shows it. That it cannot be noted is no fault of the request: the next look shows it. */
async function noteSeen(
  c: AppContext,
  name: string,
  { selfName }: Upstream,
  sighting: Sighting,
  askedMs: number,
): Promise<void> {
  // What tells nothing is no news. The shipper's own events are never shipped, whoever consumes them.
  if (sighting.kind === "unclear" || name === selfName) return;
  try {
    await answered(
      "the control plane",
      NOTE_MS,
      controlPlane(c.env.CONTROL).noteAttachments([{ name, sighting, askedMs }]),
    );
  } catch (error) {
    log.warn("what was seen of an attachment was not noted", { error: errorText(error) });
  }
}

/**
 * What the platform has of `tail_consumers` is read, changed and written back whole, as it can be written in no other way: who changes it at the same time
 * may be overwritten. It is written even where nothing of it changes: being allowed to write there is what allows to set ours.
 */
async function patchSettings(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const { ask, upstream } = link(c, config, platform);
  const name = scriptName(c);
  const sent = await jsonBody(c.req.raw, PlatformSettings);
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
      if (data === undefined) throw nothingSaid("GET", "answered with settings that are none");
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
    // Who says nothing of shipping may still have written, or be shown, the list that it depends on.
    if (attachment === null) {
      const shown = SettingsAnswer.safeParse(said.json).data?.result.tail_consumers;
      const consumers = shown !== undefined ? shown : (body.tail_consumers as readonly Consumer[] | null | undefined);
      if (consumers !== undefined) await noteSeen(c, name, upstream, sightingIn(consumers, upstream.selfName), askedMs);
    }
  }
  return passedOn(said, "PATCH");
}

/** @param ships null: whether it is attached stays as it is. */
function translated(consumers: readonly Consumer[], ships: boolean | null, selfName: string): readonly Consumer[] {
  if (ships === null) return consumers;
  return ships ? attached(consumers, selfName) : detached(consumers, selfName);
}

/** What is left here if our own part fails is settings and counts of a function that is gone: they stop nothing. */
async function deleteScript(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const { ask } = link(c, config, platform);
  const name = scriptName(c);
  const said = await ask("DELETE", [name]);
  // The vendor's own description of the API says that there is no body.
  const isBare = isOk(said.status) && said.bytes.length === 0;
  if (isBare || isDone(said)) {
    await follow(c, "deleted the script", async () => {
      const change: FunctionChange | null = await controlPlane(c.env.CONTROL).removeFunction(name);
      if (change !== null) requireInForce(change, name);
      await accountLedger(c.env.ACCOUNT).forgetFunction(name);
    });
  }
  return isBare ? success(c, { id: name }) : passedOn(said, "DELETE");
}

/** @param attachment what the platform has done with it; null: nothing, as far as it was asked. */
async function setOurs(
  c: AppContext,
  name: string,
  patch: FunctionPatch,
  attachment: "made" | "given up" | null,
): Promise<void> {
  const change: FunctionChange = await controlPlane(c.env.CONTROL).setFunction(name, patch, attachment);
  requireInForce(change, name);
}

/** Our own part, of which the caller is told if it fails: that the platform's is done, too. @throws ApiError */
async function follow(c: AppContext, done: string, run: () => Promise<void>): Promise<void> {
  c.set("accepted", true);
  const before = `the platform has ${done}, but what follows from it here is not done`;
  try {
    await answered("the control plane", FOLLOW_MS, run());
  } catch (error) {
    if (error instanceof ApiError) {
      const entries = error.entries.map((entry) => ({ ...entry, message: `${before}: ${entry.message}` }));
      throw new ApiError(error.status, entries, error.headers);
    }
    log.error("what the platform did was not followed", { error: errorText(error) });
    throw unavailable(`${before}; the request may be repeated`);
  }
}
