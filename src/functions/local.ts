import type { Config } from "../config.ts";
import { controlPlane } from "../control/plane.ts";
import { localCodeOf } from "./local-code.ts";
import type { Upload } from "./types.ts";

export type LocalRun = { kind: "running"; url: string } | { kind: "refused"; why: string };

/**
 * Gives an upload to the function host, which runs it from the next request on, in place of the one before. Whether its events ship is set elsewhere.
 * @returns the URL of the function, on an origin of its own; or why it cannot run here.
 */
export async function runLocally(env: Env, name: string, upload: Upload, config: Config): Promise<LocalRun> {
  if (config.localFunctions === null) return refused("LOCAL_FUNCTIONS is not set");
  const url = localUrl(config.localFunctions, name);
  if (url === null)
    return refused(
      "its name cannot be that of a host: up to 63 of a-z, 0-9, _ and -, not first or last _ or -, not xn--",
    );
  const checked = localCodeOf(upload);
  if (!checked.ok) return refused(checked.why);
  const why = await controlPlane(env.CONTROL).storeLocalFunction(name, checked.code);
  return why === null ? { kind: "running", url } : refused(why);
}

/** Where a function answers: a host name of its own, as cookies and sites know no ports. null: the name can be none. */
export function localUrl(origin: string, name: string): string | null {
  // A browser reads `xn--` as the encoding of another name.
  if (!/^[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?$/.test(name) || name.startsWith("xn--")) return null;
  const url = new URL(origin);
  url.hostname = `${name}.${url.hostname}`;
  return url.href;
}

function refused(why: string): LocalRun {
  return { kind: "refused", why };
}
