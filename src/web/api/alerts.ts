import type * as z from "zod";
import { type ApiError, CODE, faultsError, oneError, unavailable } from "../../base/errors.ts";
import type { Platform } from "../../base/platform.ts";
import type { Config } from "../../config.ts";
import { noteOn, noteWords } from "../../operate/status/address-notes.ts";
import {
  addressOf,
  alert,
  type MailEnv,
  parseAddress,
  type Receiver,
  secretsOf,
  shownAddress,
} from "../../operate/status/alert.ts";
import { testBody } from "../../operate/status/call-body.ts";
import { FORMAT, type FormatName } from "../../operate/status/formats.ts";
import type { ReceiverDraft, ReceiverState } from "../../operate/status/receiver-state.ts";
import { TARGETS_MAX } from "../../operate/status/targets.ts";
import { watch } from "../../operate/status/watch.ts";
import { isTaken, openSecrets, sealSecrets } from "../../operate/status/webhook.ts";
import { maskUrl } from "../../ship/destinations/parse.ts";
import { noteTest, originOf, outcomeOf, type Put, presentCalls, testedJustNow } from "./alert-tests.ts";
import { jsonBody } from "./body.ts";
import {
  type Alert,
  CREATE_ALERT,
  CreateAlert,
  DELETE_ALERT,
  LIST_ALERTS,
  MUTE_INCIDENT,
  MuteIncident,
  READ_ALERT,
  TEST_ALERT,
  UNMUTE_INCIDENT,
  UPDATE_ALERT,
  UpdateAlert,
} from "./docs/alerts.ts";
import { isoTime, listed, type Message, success } from "./envelope.ts";
import type { AppContext, Resources } from "./route.ts";

export const alertRoutes: Resources = {
  "/alerts": {
    GET: { permission: "logs:edit", doc: LIST_ALERTS, handle: listAlerts },
    POST: { permission: "logs:edit", action: "alert.create", doc: CREATE_ALERT, handle: createAlert },
  },
  "/alerts/:alert_id": {
    GET: { permission: "logs:edit", doc: READ_ALERT, handle: readAlert },
    PUT: { permission: "logs:edit", action: "alert.update", doc: UPDATE_ALERT, handle: updateAlert },
    DELETE: { permission: "logs:edit", action: "alert.delete", doc: DELETE_ALERT, handle: deleteAlert },
  },
  "/alerts/:alert_id/test": { POST: { permission: "logs:edit", action: null, doc: TEST_ALERT, handle: testAlert } },
  "/incidents/:incident_id/mute": {
    PUT: { permission: "logs:edit", action: "incident.mute", doc: MUTE_INCIDENT, handle: muteIncident },
    DELETE: { permission: "logs:edit", action: "incident.unmute", doc: UNMUTE_INCIDENT, handle: unmuteIncident },
  },
};

/** Attempts at a change while others change the same receiver. */
const PUT_TRIES = 3;

async function listAlerts(c: AppContext): Promise<Response> {
  const all: ReceiverState[] = await watch(c.env.WATCH).targets();
  return listed(c, all.map(present), { page: 1, perPage: TARGETS_MAX, total: all.length });
}

async function readAlert(c: AppContext): Promise<Response> {
  return success(c, present(await required(c)));
}

async function createAlert(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const sent = await jsonBody(c.req.raw, CreateAlert);
  const { draft, messages } = draftOf(sent.format, sent, null, { c, config, platform });
  const id: Put = await watch(c.env.WATCH).put(null, null, draft, true);
  if (id === "full")
    throw oneError(409, CODE.conflict, `there are ${TARGETS_MAX} receivers of alerts already; delete one first`);
  if (typeof id === "string") throw unavailable("the receiver could not be stored; try again");
  return success(c, present(await required(c, id)), { status: 201, messages });
}

async function updateAlert(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const sent = await jsonBody(c.req.raw, UpdateAlert);
  for (let tries = 0; tries < PUT_TRIES; tries++) {
    const before = await required(c);
    const { draft, messages } = draftOf(before.format as FormatName, sent, before, { c, config, platform });
    const isMoved = sent.address !== undefined && sent.address !== before.shown;
    const stored: Put = await watch(c.env.WATCH).put(before.id, before.mark, draft, isMoved);
    if (typeof stored === "number") return success(c, present(await required(c)), { messages });
    if (stored === "none") throw none();
  }
  throw oneError(409, CODE.conflict, "the receiver is being changed concurrently; try again");
}

async function deleteAlert(c: AppContext): Promise<Response> {
  const { id } = await required(c);
  await watch(c.env.WATCH).remove(id);
  return success(c, { id });
}

async function testAlert(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const state = await required(c);
  const known = openSecrets(state.sealed, config.accountId, config.keys);
  if (known === null) throw unavailable("no key opens the stored receiver; send its address again", 60);
  if (!(await watch(c.env.WATCH).testTurn(state.id))) throw testedJustNow();
  const to: Receiver = { format: state.format as FormatName, ...addressOf(known) };
  const body = testBody(platform.now(), originOf(c, config) ?? state.origin ?? null);
  const answer = await alert(to, body, c.env as MailEnv, platform, true);
  await noteTest(c, state, answer);
  return success(c, {
    ...outcomeOf(answer),
    waiting: isTaken(answer) ? state.waiting : 0,
  });
}

async function muteIncident(c: AppContext, _config: Config, platform: Platform): Promise<Response> {
  const untilMs = Date.parse((await jsonBody(c.req.raw, MuteIncident)).until);
  if (untilMs <= platform.now()) throw faultsError(400, CODE.invalid, [past("until")]);
  const id = c.req.param("incident_id") ?? "";
  if (!(await watch(c.env.WATCH).mute(id, untilMs))) throw noIncident();
  return success(c, { id, muted_until: isoTime(untilMs) });
}

async function unmuteIncident(c: AppContext): Promise<Response> {
  const id = c.req.param("incident_id") ?? "";
  if (!(await watch(c.env.WATCH).mute(id, null))) throw noIncident();
  return success(c, { id });
}

/** Of a time that would mute nothing. */
function past(name: string): { pointer: string; message: string } {
  return { pointer: `/${name}`, message: `${name}: must be later than now` };
}

/**
 * What is to be stored, and what looks wrong with it.
 * @param before null: a new one.
 * @throws ApiError 400 with every fault.
 */
function draftOf(
  format: FormatName,
  sent: z.infer<typeof UpdateAlert>,
  before: ReceiverState | null,
  { c, config, platform }: { c: AppContext; config: Config; platform: Platform },
): { draft: ReceiverDraft; messages: Message[] } {
  const { env } = c;
  const { keys, accountId } = config;
  const { muted_until: mutedUntil } = sent;
  const known = before === null ? null : openSecrets(before.sealed, accountId, keys);
  const faults: { pointer: string; message: string }[] = [];
  const url = addressFor(format, sent.address, before, known?.url ?? null, env, config);
  if (!url.ok) faults.push({ pointer: "/address", message: `address: ${url.why}` });
  const { key } = FORMAT[format];
  const secret = sent.secret ?? known?.secret ?? "";
  if (key !== null && !key.pattern.test(secret))
    faults.push({ pointer: "/secret", message: `secret: must be ${key.form}; ${sentWords(secret)}` });
  if (key === null && secret !== "") faults.push({ pointer: "/secret", message: `secret: ${format} takes none` });
  const mutedUntilMs = mutedUntil == null ? null : Date.parse(mutedUntil);
  // One that is over may be sent back as it was read.
  if (mutedUntilMs !== null && mutedUntilMs <= platform.now() && mutedUntilMs !== before?.muted_until_ms)
    faults.push(past("muted_until"));
  if (faults.length > 0) throw faultsError(400, CODE.invalid, faults);
  const address = url.ok ? url.value : "";
  const note = noteOn(format, address);
  const draft: ReceiverDraft = {
    sealed: sealSecrets(secretsOf({ url: address, key: secret }), accountId, keys),
    shown: shownAddress(format, address, maskUrl),
    enabled: sent.enabled ?? before?.enabled ?? true,
    staysGone: false,
    origin: originOf(c, config),
    chosen: {
      name: (sent.name ?? before?.name ?? "").toWellFormed(),
      format,
      min_severity: sent.min_severity ?? before?.min_severity ?? "warning",
      muted_until_ms: mutedUntil === undefined ? (before?.muted_until_ms ?? null) : mutedUntilMs,
    },
  };
  return {
    draft,
    messages: note === null ? [] : [{ code: CODE.note, message: `address: ${noteWords(format, note)}` }],
  };
}

/** How much of a secret was sent, without any of it. */
function sentWords(secret: string): string {
  return secret === "" ? "you sent none" : `you sent ${[...secret].length} characters`;
}

/** @param known the stored address; null: there is none, or no key opens it. */
function addressFor(
  format: FormatName,
  sent: string | undefined,
  before: ReceiverState | null,
  known: string | null,
  env: object,
  config: Config,
): { ok: true; value: string } | { ok: false; why: string } {
  if (before !== null && (sent === undefined || sent === before.shown))
    return known === null
      ? { ok: false, why: "no key opens the stored one; send it again" }
      : { ok: true, value: known };
  const usual = FORMAT[format].url;
  if (sent === undefined || sent === "")
    return usual === null ? { ok: false, why: "is missing" } : { ok: true, value: usual };
  return parseAddress(format, sent, config.destinations.allowLoopback, env as MailEnv);
}

/** @throws ApiError 404 if there is none. */
async function required(c: AppContext, id: number = Number(c.req.param("alert_id"))): Promise<ReceiverState> {
  const all: ReceiverState[] = await watch(c.env.WATCH).targets();
  const found = all.find((each) => each.id === id);
  if (found === undefined) throw none();
  return found;
}

function none(): ApiError {
  return oneError(404, CODE.noRoute, "there is no such receiver of alerts");
}

function noIncident(): ApiError {
  return oneError(404, CODE.noRoute, "there is no such open incident");
}

function present(state: ReceiverState): Alert {
  return {
    id: state.id,
    name: state.name,
    format: state.format as FormatName,
    address: state.shown,
    min_severity: state.min_severity,
    muted_until: isoTime(state.muted_until_ms),
    ...presentCalls(state),
  };
}
