import { utf8Length } from "../../base/bytes.ts";
import {
  LOCAL_FLAGS_MAX,
  LOCAL_MODULE_NAME_MAX,
  LOCAL_MODULES_MAX,
  LOCAL_UPLOAD_MAX_BYTES,
} from "../../base/limits.ts";
import type { LocalCode, LocalModule, ModuleKind } from "../functions/local-types.ts";
import type { Module, Upload } from "../functions/module.ts";

export type LocalCodeResult = { ok: true; code: LocalCode } | { ok: false; why: string };

/**
 * The newest compatibility date of the pinned runtime, as in wrangler.jsonc: a test compares them.
 */
export const NEWEST_COMPATIBILITY_DATE = "2026-11-17";

/**
 * Media types of a script's parts.
 * https://developers.cloudflare.com/workers/configuration/multipart-upload-metadata/
 */
const KINDS: ReadonlyMap<string, ModuleKind> = new Map([
  ["application/javascript+module", "js"],
  ["text/javascript+module", "js"],
  ["application/javascript", "cjs"],
  ["text/javascript", "cjs"],
  ["text/plain", "text"],
  ["application/octet-stream", "data"],
  ["application/json", "json"],
  ["application/wasm", "wasm"],
]);

/** Sent beside the modules, for reading stack traces; no module imports it. */
const SOURCE_MAP = "application/source-map";

/**
 * The code that the local runtime runs for an upload.
 * @returns `why` as the end of a sentence about the function.
 */
export function localCodeOf({ metadata, mainModule, modules }: Upload): LocalCodeResult {
  if (modules.length > LOCAL_MODULES_MAX) return refused(`it has more than ${LOCAL_MODULES_MAX} modules`);
  const bytes = modules.reduce((sum, module) => sum + module.bytes.length, 0);
  if (bytes > LOCAL_UPLOAD_MAX_BYTES) return refused(`its modules are larger than ${LOCAL_UPLOAD_MAX_BYTES} bytes`);
  const flags = flagsOf(metadata.compatibility_flags);
  if (flags === null) return refused(`compatibility_flags must be up to ${LOCAL_FLAGS_MAX} names of flags`);
  const runnable: LocalModule[] = [];
  for (const module of modules) {
    if (module.type === SOURCE_MAP) continue;
    const kind = KINDS.get(module.type) ?? null;
    const why = kind === null ? `has the type ${JSON.stringify(module.type)}` : moduleFault(module, kind);
    if (kind === null || why !== null) return refused(`its module ${JSON.stringify(module.name)} ${why}`);
    runnable.push({ name: module.name, kind, bytes: module.bytes });
  }
  if (new Set(runnable.map(({ name }) => name)).size < runnable.length) return refused("two modules have one name");
  const main = runnable.find(({ name }) => name === mainModule);
  if (main?.kind !== "js")
    return refused("its main module is not an ES module: a part of the type application/javascript+module");
  const compatibilityDate = compatibilityDateOf(metadata.compatibility_date);
  return { ok: true, code: { mainModule, compatibilityDate, compatibilityFlags: flags, modules: runnable } };
}

/** As sent if the runtime knows the date; else the newest. */
export function compatibilityDateOf(sent: unknown): string {
  if (typeof sent !== "string" || !/^20\d\d-\d\d-\d\d$/.test(sent)) return NEWEST_COMPATIBILITY_DATE;
  const ms = Date.parse(sent);
  // A real day: Date reads 30 February as 1 March.
  const isDay = !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(sent);
  return isDay && sent <= NEWEST_COMPATIBILITY_DATE ? sent : NEWEST_COMPATIBILITY_DATE;
}

/** null: malformed. */
function flagsOf(sent: unknown): string[] | null {
  if (sent === undefined || sent === null) return [];
  if (!Array.isArray(sent) || sent.length > LOCAL_FLAGS_MAX) return null;
  const flags: unknown[] = sent;
  const areNames = flags.every((flag): flag is string => typeof flag === "string" && /^[a-z0-9_]{1,100}$/.test(flag));
  return areNames ? [...new Set(flags)] : null;
}

/** @returns what is wrong with it; null: nothing, as far as can be seen before it runs. */
function moduleFault({ name, bytes }: Module, kind: ModuleKind): string | null {
  if (name === "" || utf8Length(name) > LOCAL_MODULE_NAME_MAX)
    return `has a name that is not 1 to ${LOCAL_MODULE_NAME_MAX} bytes long`;
  if (kind === "data" || kind === "wasm") return null;
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
    if (kind === "json") JSON.parse(text);
    return null;
  } catch {
    return kind === "json" ? "is not JSON" : "is not UTF-8";
  }
}

function refused(why: string): LocalCodeResult {
  return { ok: false, why };
}
