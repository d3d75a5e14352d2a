import type * as z from "zod";
import { badValue, CODE, faultsError, notFound } from "../../base/errors.ts";
import { keepsSecrets } from "../../base/hosts.ts";
import type { Platform } from "../../base/platform.ts";
import type { Config } from "../../config.ts";
import { noteOn, noteWords } from "../../operate/alerts/address-notes.ts";
import { FORMAT, type FormatName } from "../../operate/alerts/alert-formats.ts";
import { UNTIL_OVER_MS } from "../../operate/alerts/incident-rows.ts";
import type { ReceiverState } from "../../operate/alerts/receiver-state.ts";
import { RECEIVERS_MAX } from "../../operate/alerts/receivers.ts";
import { readRoutes } from "../../operate/alerts/routes.ts";
import { watch } from "../../operate/alerts/watch.ts";
import { WEBHOOK } from "../../operate/status/kinds.ts";
import { bodyOf } from "./body.ts";
import {
  type Alert,
  CREATE_ALERT,
  DELETE_ALERT,
  LIST_ALERTS,
  MUTE_INCIDENT,
  READ_ALERT,
  TEST_ALERT,
  UNMUTE_INCIDENT,
  UPDATE_ALERT,
  type UpdateAlert,
} from "./docs/alerts.ts";
import { isoTime, listed, type Message, success } from "./envelope.ts";
import {
  type Asked,
  addressFor,
  presentCalls,
  putReceiver,
  requireReceiver,
  type Stored,
  testReceiver,
} from "./receivers.ts";
import type { AppContext, Resources } from "./route.ts";

export const alertRoutes: Resources = {
  "/alerts": {
    GET: { permission: "logs:read", or: "logs:edit", doc: LIST_ALERTS, handle: listAlerts },
    POST: { permission: "logs:edit", action: "alert.create", doc: CREATE_ALERT, handle: createAlert },
  },
  "/alerts/:alert_id": {
    GET: { permission: "logs:read", or: "logs:edit", doc: READ_ALERT, handle: readAlert },
    PUT: { permission: "logs:edit", action: "alert.update", doc: UPDATE_ALERT, handle: updateAlert },
    DELETE: { permission: "logs:edit", action: "alert.delete", doc: DELETE_ALERT, handle: deleteAlert },
  },
  "/alerts/:alert_id/test": {
    POST: { permission: "logs:edit", action: "alert.test", doc: TEST_ALERT, handle: testAlert },
  },
  "/incidents/:incident_id/mute": {
    PUT: { permission: "logs:edit", action: "incident.mute", doc: MUTE_INCIDENT, handle: muteIncident },
    DELETE: { permission: "logs:edit", action: "incident.unmute", doc: UNMUTE_INCIDENT, handle: unmuteIncident },
  },
};

async function listAlerts(c: AppContext): Promise<Response> {
  const all: ReceiverState[] = await watch(c.env.WATCH).receivers();
  const alerts = all.filter(({ id }) => id !== WEBHOOK).map(present);
  return listed(c, alerts, { page: 1, perPage: RECEIVERS_MAX, total: alerts.length });
}

async function readAlert(c: AppContext): Promise<Response> {
  return success(c, present(await requireReceiver(c, alertId(c))));
}

async function createAlert(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const sent = await bodyOf(c, CREATE_ALERT);
  const { asked, after } = await putReceiver(c, null, config, (stored) =>
    readAsked(sent.format, sent, stored, { c, config, platform }),
  );
  return success(c, present(after), { status: 201, messages: asked.messages });
}

async function updateAlert(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const sent = await bodyOf(c, UPDATE_ALERT);
  const { asked, after } = await putReceiver(c, alertId(c), config, (stored) =>
    readAsked(stored.before?.format as FormatName, sent, stored, { c, config, platform }),
  );
  return success(c, present(after), { messages: asked.messages });
}

async function deleteAlert(c: AppContext): Promise<Response> {
  const { id } = await requireReceiver(c, alertId(c));
  await watch(c.env.WATCH).remove(id);
  return success(c, { id });
}

async function testAlert(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const { waiting, outcome } = await testReceiver(c, alertId(c), config, platform);
  return success(c, { ...outcome, waiting: outcome.delivered ? waiting : 0 });
}

async function muteIncident(c: AppContext, _config: Config, platform: Platform): Promise<Response> {
  const { until } = await bodyOf(c, MUTE_INCIDENT);
  const untilMs = until === "over" ? UNTIL_OVER_MS : Date.parse(until);
  if (untilMs <= platform.now()) throw badValue("until", PAST);
  const id = c.req.param("incident_id") ?? "";
  if (!(await watch(c.env.WATCH).mute(id, untilMs, c.var.caller.name)))
    throw notFound("there is no such open incident");
  return success(c, { id, muted_until: isoTime(untilMs) });
}

async function unmuteIncident(c: AppContext): Promise<Response> {
  const id = c.req.param("incident_id") ?? "";
  if (!(await watch(c.env.WATCH).mute(id, null, c.var.caller.name))) throw notFound("there is no such open incident");
  return success(c, { id });
}

/** Of a time that would mute nothing. */
const PAST = "must be later than now";

/**
 * What is to be stored, and what looks wrong with it.
 * @throws ApiError 400 with every fault.
 */
function readAsked(
  format: FormatName,
  sent: z.infer<typeof UpdateAlert>,
  stored: Stored,
  { platform, ...at }: { c: AppContext; config: Config; platform: Platform },
): Asked & { messages: Message[] } {
  const { before, known } = stored;
  const { muted_until: mutedUntil } = sent;
  const faults: { pointer: string; message: string }[] = [];
  const url = addressFor(format, sent.address, stored, at);
  if (!url.ok) faults.push({ pointer: "/address", message: `address: ${url.why}` });
  const { key } = FORMAT[format];
  // A recipient of e-mail is no URL, and has no secret.
  const isMoved = key !== null && url.ok && known !== null && !keepsSecrets(new URL(known.url), new URL(url.value));
  const secret = sent.secret ?? (isMoved ? "" : (known?.secret ?? ""));
  if (isMoved && secret === "")
    faults.push({ pointer: "/secret", message: "secret: is kept for its address alone; send it with another one" });
  else if (key !== null && !key.pattern.test(secret))
    faults.push({ pointer: "/secret", message: `secret: must be ${key.form}; ${sentWords(secret)}` });
  if (key === null && secret !== "") faults.push({ pointer: "/secret", message: `secret: ${format} takes none` });
  const mutedUntilMs = mutedUntil == null ? null : Date.parse(mutedUntil);
  // One that is over may be sent back as it was read.
  if (mutedUntilMs !== null && mutedUntilMs <= platform.now() && mutedUntilMs !== before?.muted_until_ms)
    faults.push({ pointer: "/muted_until", message: `muted_until: ${PAST}` });
  const { routes } = sent;
  if (routes && (routes.workers ?? []).length + (routes.searches ?? []).length === 0)
    faults.push({ pointer: "/routes", message: "routes: names no Worker and no search; null stands for everything" });
  if (!url.ok || faults.length > 0) throw faultsError(400, CODE.invalid, faults);
  const note = noteOn(format, url.value);
  return {
    secrets: { url: url.value, secret, previous: null },
    enabled: sent.enabled ?? before?.enabled ?? true,
    staysGone: false,
    chosen: {
      name: (sent.name ?? before?.name ?? "").toWellFormed(),
      format,
      min_severity: sent.min_severity ?? before?.min_severity ?? "warning",
      muted_until_ms: mutedUntil === undefined ? (before?.muted_until_ms ?? null) : mutedUntilMs,
      ...(routes !== undefined && { routes: routes && JSON.stringify(routes) }),
    },
    messages: note === null ? [] : [{ code: CODE.note, message: `address: ${noteWords(format, note)}` }],
  };
}

/** How much of a secret was sent, without any of it. */
function sentWords(secret: string): string {
  return secret === "" ? "you sent none" : `you sent ${[...secret].length} characters`;
}

/** That of the path. The webhook's is none: it has a path of its own. */
function alertId(c: AppContext): number {
  const id = Number(c.req.param("alert_id"));
  return id === WEBHOOK ? Number.NaN : id;
}

function present(state: ReceiverState): Alert {
  return {
    id: state.id,
    name: state.name,
    format: state.format as FormatName,
    address: state.shown,
    min_severity: state.min_severity,
    muted_until: isoTime(state.muted_until_ms),
    routes: readRoutes(state.routes),
    ...presentCalls(state),
  };
}
