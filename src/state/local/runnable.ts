import type { Config } from "../../config.ts";
import { controlPlane } from "../control/plane.ts";
import type { LocalCode } from "../functions/local-types.ts";
import type { Upload } from "../functions/module.ts";
import { localCodeOf } from "./code.ts";

/** A function that can run here, and its URL. */
export interface Runnable {
  kind: "runnable";
  name: string;
  code: LocalCode;
  url: string;
}

export interface Refused {
  kind: "refused";
  why: string;
}

/** Whether an upload can run here, judged by itself. */
export function runnableOf(name: string, upload: Upload, config: Config): Runnable | Refused {
  if (config.localFunctions === null) return refused("LOCAL_FUNCTIONS is not set");
  const url = localUrl(config.localFunctions, name);
  if (url === null)
    return refused("its name cannot be a host name: up to 63 of a-z, 0-9, _ and -, not first or last _ or -, not xn--");
  const checked = localCodeOf(upload);
  if (!checked.ok) return refused(checked.why);
  return { kind: "runnable", name, code: checked.code, url };
}

/**
 * Stores it for the function host, which runs it from the next request on, in place of the version
 * before. Whether its events ship is set elsewhere.
 * @returns why there is no room for it; null: stored.
 */
export function runLocally(env: Env, { name, code }: Runnable): Promise<string | null> {
  return controlPlane(env.CONTROL).storeLocalFunction(name, code);
}

/**
 * URL of a function. Each has its own host name, as cookies and sites ignore ports. null: not a
 * host name.
 */
export function localUrl(origin: string, name: string): string | null {
  // A browser reads `xn--` as the encoding of another name.
  if (!/^[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?$/.test(name) || name.startsWith("xn--")) return null;
  const url = new URL(origin);
  url.hostname = `${name}.${url.hostname}`;
  return url.href;
}

function refused(why: string): Refused {
  return { kind: "refused", why };
}
