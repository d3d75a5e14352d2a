import { CODE, notFound, notInForce, oneError, requireStored, unavailable } from "../../base/errors.ts";
import type { FunctionCount } from "../../ship/log/function-counts.ts";
import { LogShards } from "../../ship/log/log-shards.ts";
import { isScriptName, type KeptSettings, keptOf } from "../../state/control/function-schema.ts";
import type { FunctionPatch, FunctionSetting } from "../../state/control/function-settings.ts";
import { controlPlane, type FunctionChange } from "../../state/control/plane.ts";
import type { AttachmentFact } from "../../state/functions/attachments.ts";
import { bodyOf } from "./body.ts";
import {
  DELETE_FUNCTION,
  type FunctionView,
  LIST_FUNCTIONS,
  PATCH_SETTINGS,
  READ_FUNCTION,
  READ_SETTINGS,
  type Settings,
} from "./docs/functions.ts";
import { isoTime, listed, success } from "./envelope.ts";
import { pageOf, queryOf } from "./query.ts";
import type { AppContext, Resources } from "./route.ts";

/** Both names of the property that says whether a function's events ship. */
export type Property = "logship" | "logpush";

/**
 * What is known of a function: its settings, counts of its events, its attachment at the platform;
 * at least one.
 */
interface Known {
  name: string;
  setting: FunctionSetting | null;
  count: FunctionCount | null;
  attachment: AttachmentFact | null;
}

export const functionRoutes: Resources = {
  "": { GET: { permission: "functions:read", doc: LIST_FUNCTIONS, handle: listFunctions } },
  "/:script_name": {
    GET: { permission: "functions:read", doc: READ_FUNCTION, handle: readFunction },
    DELETE: { permission: "functions:edit", action: "function.delete", doc: DELETE_FUNCTION, handle: deleteFunction },
  },
  "/:script_name/script-settings": {
    GET: { permission: "functions:read", doc: READ_SETTINGS, handle: readSettings },
    PATCH: { permission: "functions:edit", action: "function.update", doc: PATCH_SETTINGS, handle: patchSettings },
  },
};

async function readFunction(c: AppContext): Promise<Response> {
  return success(c, presentFunction(await requireFunction(c), spelling(c)));
}

async function deleteFunction(c: AppContext): Promise<Response> {
  const name = scriptName(c);
  const count = await readCount(c, name);
  const change: FunctionChange | null = await controlPlane(c.env.CONTROL).removeFunction(name);
  if (change === null && count === null) throw notFound("no such function");
  if (change !== null) requireInForce(change, name);
  // Last: while it is counted the function is known, so a request that failed half-way can be
  // repeated.
  if (count !== null) await new LogShards(c.env).each((shard) => shard.forgetFunction(name));
  return success(c, { id: name });
}

async function readSettings(c: AppContext): Promise<Response> {
  const setting = await readSetting(c, scriptName(c));
  if (setting === null) await requireFunction(c);
  return success(c, presentSettings(setting, spelling(c)));
}

async function listFunctions(c: AppContext): Promise<Response> {
  const control = controlPlane(c.env.CONTROL);
  const [settings, attachments, counts]: [FunctionSetting[], AttachmentFact[], FunctionCount[]] = await Promise.all([
    control.functionSettings(),
    control.attachments(),
    new LogShards(c.env).functions(),
  ]);
  const known = new Map<string, Known>();
  const learn = (name: string, part: Partial<Known>): void => {
    const before = known.get(name) ?? { name, setting: null, count: null, attachment: null };
    known.set(name, { ...before, ...part });
  };
  for (const setting of settings) learn(setting.name, { setting });
  for (const attachment of attachments) learn(attachment.script, { attachment });
  for (const count of counts) if (count.scriptName !== null) learn(count.scriptName, { count });
  const { name = "", ...page } = queryOf(c, LIST_FUNCTIONS);
  const wanted = name.toLowerCase();
  const sorted = [...known.values()]
    .filter((each) => wanted === "" || each.name.toLowerCase().includes(wanted))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const { shown, info } = pageOf(page, sorted);
  const views = shown.map((each) => presentFunction(each, spelling(c)));
  const unlisted = counts.find(({ scriptName }) => scriptName === null) ?? null;
  return listed(c, views, info, { unlisted: presentCount(unlisted) });
}

/** An unknown function can be set, too: it can be opted out before it is first deployed. */
async function patchSettings(c: AppContext): Promise<Response> {
  const name = scriptName(c);
  const sent = await bodyOf(c, PATCH_SETTINGS);
  const { logship, logpush, tail_consumers } = sent;
  const property = logship !== undefined ? "logship" : logpush !== undefined ? "logpush" : spelling(c);
  const ships = logship !== undefined ? logship : logpush;
  const patch: FunctionPatch = {
    ...(ships !== undefined && { logging: ships === null ? "unset" : ships ? "on" : "off" }),
    ...(tail_consumers !== undefined && { tailConsumers: tail_consumers }),
    kept: JSON.stringify(keptOf(sent)),
  };
  const change: FunctionChange = await controlPlane(c.env.CONTROL).setFunction(name, patch);
  const setting = requireInForce(change, name);
  const { kept: _, ...own } = patch;
  requireStored(`the setting of ${JSON.stringify(name)}`, own, setting ?? { logging: "unset", tailConsumers: null });
  return success(c, presentSettings(setting, property));
}

function presentFunction({ name, setting, count, attachment }: Known, property: Property): FunctionView {
  return {
    id: name,
    logging: setting?.logging ?? "unset",
    ...presentSettings(setting, property),
    last_event: isoTime(count?.lastEventMs ?? null),
    ...presentCount(count),
    sources: (count?.sources ?? []).map(({ source, lastMs }) => ({ source, last: new Date(lastMs).toISOString() })),
    modified_on: isoTime(setting?.modifiedMs ?? null),
    attachment: attachment === null ? null : presentAttachment(attachment),
  };
}

function presentAttachment({ state, sinceMs, checkedMs, why }: AttachmentFact): FunctionView["attachment"] {
  return { state, since: isoTime(sinceMs), checked_at: isoTime(checkedMs), why };
}

export function presentSettings(setting: FunctionSetting | null, property: Property): Settings {
  const logging = setting?.logging ?? "unset";
  const ships = logging === "unset" ? null : logging === "on";
  return {
    [property]: ships,
    tail_consumers: setting?.tailConsumers ?? null,
    ...(JSON.parse(setting?.kept ?? "{}") as KeptSettings),
  };
}

function presentCount(count: FunctionCount | null): Pick<FunctionView, "shipped" | "dropped"> {
  const { routed, notEnabled, notRouted } = count ?? { routed: 0, notEnabled: 0, notRouted: 0 };
  return { shipped: routed, dropped: { logging_off: notEnabled, no_job: notRouted } };
}

/** null: nothing is set. */
function readSetting(c: AppContext, name: string): Promise<FunctionSetting | null> {
  return controlPlane(c.env.CONTROL).functionSetting(name);
}

/** null: nothing was counted in the last 30 days. */
function readCount(c: AppContext, name: string): Promise<FunctionCount | null> {
  return new LogShards(c.env).functionCount(name);
}

/**
 * @throws ApiError 404 for a function without settings, attachment, or events in the last 30 days.
 */
export async function requireFunction(c: AppContext): Promise<Known> {
  const name = scriptName(c);
  const [setting, attachment, count] = await Promise.all([
    readSetting(c, name),
    controlPlane(c.env.CONTROL).attachment(name) as Promise<AttachmentFact | null>,
    readCount(c, name),
  ]);
  if (setting === null && attachment === null && count === null) throw notFound("no such function");
  return { name, setting, count, attachment };
}

/**
 * @throws ApiError 403 for a refused change, 503 for a stored one that is not in force everywhere.
 */
export function requireInForce(change: FunctionChange, name: string): FunctionSetting | null {
  if (change.kind === "refused")
    throw oneError(403, CODE.notAllowed, `changing the settings of a Worker is not allowed: ${change.why}`);
  if (change.missing.length > 0)
    throw unavailable(`the setting of ${JSON.stringify(name)} is ${notInForce(change.missing)}`, 60);
  return change.setting;
}

/**
 * Segments of the path as sent:
 * `/client/v4/accounts/{account_id}/functions/scripts/{script_name}/…`.
 */
function segments(c: AppContext): string[] {
  return new URL(c.req.url).pathname.split("/");
}

/** @throws ApiError 400 for a malformed name. */
export function scriptName(c: AppContext): string {
  let name: string | null = null;
  try {
    name = decodeURIComponent(segments(c)[7] ?? "");
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
  }
  if (name !== null && isScriptName(name)) return name;
  throw oneError(
    400,
    CODE.invalid,
    "script_name must have 1 to 255 characters, percent-encoded where necessary, and neither / nor control characters",
  );
}

/** The spelling of the path, for answers to requests that do not name the property. */
export function spelling(c: AppContext): Property {
  return segments(c)[5] === "workers" ? "logpush" : "logship";
}
