import { createHash } from "node:crypto";
import { type ApiError, CODE, faultsError, oneError } from "../../base/errors.ts";
import { ANSWER_MS, UPLOAD_PACE } from "../../base/limits.ts";
import type { Platform } from "../../base/platform.ts";
import type { Config } from "../../config.ts";
import { type KeptSettings, keptOf, ScriptSettings, type TailConsumer } from "../../state/control/function-schema.ts";
import type { FunctionPatch, FunctionSetting } from "../../state/control/function-settings.ts";
import { controlPlane, type FunctionChange } from "../../state/control/plane.ts";
import type { Upload } from "../../state/functions/module.ts";
import { runLocally, runnableOf } from "../../state/local/runnable.ts";
import { UPLOAD_SCRIPT } from "./docs/scripts.ts";
import { isoTime, success } from "./envelope.ts";
import { functionExpectRoutes } from "./function-expect.ts";
import { functionHealthRoutes } from "./function-health.ts";
import { functionRoutes, type Property, presentSettings, requireInForce, scriptName, spelling } from "./functions.ts";
import { platformHandlers } from "./platform-scripts.ts";
import type { AppContext, Resources, Route } from "./route.ts";
import { inSlot, type ReadUpload } from "./upload-slots.ts";

const UPLOAD: Route = {
  permission: "functions:edit",
  action: "function.upload",
  doc: UPLOAD_SCRIPT,
  handle: inSlot(uploadScript),
  answerMs: UPLOAD_PACE.ms + ANSWER_MS,
};

/**
 * The routes of functions and the upload of scripts, each with its handler for callers that the
 * platform knows.
 */
export const scriptRoutes: Resources = Object.fromEntries(
  Object.entries({ ...functionRoutes, ...functionHealthRoutes, ...functionExpectRoutes }).map(([path, methods]) => {
    const all = path === "/:script_name" ? { ...methods, PUT: UPLOAD } : methods;
    const entries = Object.entries(all).map(([method, route]) => {
      const foreign = platformHandlers[`${method} ${path}`];
      return [method, foreign === undefined ? route : { ...route, foreign }] as const;
    });
    return [path, Object.fromEntries(entries)];
  }),
);

/** An upload by one of our own callers: it runs only in local development. */
async function uploadScript(c: AppContext, config: Config, platform: Platform, read: ReadUpload): Promise<Response> {
  const nowhere = whyNowhere(config);
  if (nowhere !== null) throw nowhere;
  const name = scriptName(c);
  const upload = await read();
  const { setting, url } = await run(c, name, upload, config);
  return success(c, {
    id: name,
    etag: etagOf(upload),
    has_modules: true,
    modified_on: isoTime(platform.now()),
    ...presentSettings(setting, propertyOf(upload) ?? spelling(c)),
    url,
  });
}

/** null: it can run here. */
function whyNowhere({ upstream, localFunctions }: Config): Error | null {
  if (upstream !== null) {
    const words =
      "logship forwards an upload to Cloudflare, which needs a bearer token of Cloudflare, not one of logship";
    return oneError(403, CODE.auth, `Authorization error: ${words}`);
  }
  if (localFunctions !== null) return null;
  const words = "run Workers locally with npm start (LOCAL_FUNCTIONS), or set UPSTREAM_API";
  return oneError(409, CODE.conflict, `there is nowhere to run this: ${words}`);
}

/**
 * Switches logging and runs the new version. Off comes first, so that it is in force before the new
 * version's first event; on comes last, so that the old version, which asked for off, ships
 * nothing. A crash in between drops events, counted, and never ships one against its version's
 * setting; the same upload again completes it.
 * @throws ApiError 400 if it cannot run here; logging is then what it was.
 */
async function run(
  c: AppContext,
  name: string,
  upload: Upload,
  config: Config,
): Promise<{ setting: FunctionSetting | null; url: string }> {
  const plane = controlPlane(c.env.CONTROL);
  const set = async (patch: FunctionPatch): Promise<FunctionSetting | null> => {
    const change: FunctionChange = await plane.setFunction(name, patch);
    return requireInForce(change, name);
  };
  const { tail_consumers: tailConsumers = null, ...others } = platformSettingsOf(upload);
  const kept = JSON.stringify(others);
  const runnable = runnableOf(name, upload, config);
  if (runnable.kind === "refused") throw refusal(name, runnable.why);
  const before: FunctionSetting | null = await plane.functionSetting(name);
  const off = upload.ships ? null : await set({ logging: "off", tailConsumers });
  const why = await runLocally(c.env, runnable);
  if (why !== null) {
    if (off !== null) await set({ logging: before?.logging ?? "unset", tailConsumers: before?.tailConsumers ?? null });
    throw refusal(name, why);
  }
  if (off !== null && kept === "{}") return { setting: off, url: runnable.url };
  return { setting: await set(off === null ? { logging: "on", tailConsumers, kept } : { kept }), url: runnable.url };
}

function refusal(name: string, why: string): ApiError {
  return oneError(400, CODE.invalid, `${JSON.stringify(name)} cannot run here: ${why}`);
}

/**
 * Settings in an upload that only the platform follows. @throws ApiError 400 if they are malformed.
 */
function platformSettingsOf({ metadata }: Upload): KeptSettings & { tail_consumers?: TailConsumer[] | null } {
  const { tail_consumers = null } = metadata;
  const { data, error } = ScriptSettings.safeParse({ tail_consumers, ...keptOf(metadata) });
  if (data !== undefined) return { tail_consumers: data.tail_consumers ?? null, ...keptOf(data) };
  throw faultsError(
    400,
    CODE.invalid,
    error.issues.map(({ path, message }) => ({
      pointer: `/metadata/${path.join("/")}`,
      message: `metadata.${path.join(".")}: ${message}`,
    })),
  );
}

/** The upload's spelling of the property; null: not set. */
function propertyOf({ metadata }: Upload): Property | null {
  return metadata.logship !== undefined ? "logship" : metadata.logpush !== undefined ? "logpush" : null;
}

function etagOf({ metadata, modules }: Upload): string {
  const hash = createHash("sha256").update(JSON.stringify(metadata));
  for (const { name, type, bytes } of modules) hash.update(JSON.stringify([name, type, bytes.length])).update(bytes);
  return hash.digest("hex");
}
