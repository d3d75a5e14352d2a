import { FUNCTION_HOST_CONFIG } from "../paths.ts";
import { type DevServerOptions, startDevServer } from "./dev-server.ts";
import type { LocalServer } from "./local-server.ts";

/** Switches off the page, and the API, with which `wrangler dev` shows and changes what all local workers have stored. */
export const NO_EXPLORER = { X_LOCAL_EXPLORER: "false", X_LOCAL_OBSERVABILITY: "false" } as const;

/**
 * The function host, which runs uploaded functions: a `wrangler dev` of its own, beside that of the shipper. Start it first, as the shipper is told its
 * origin (`LOCAL_FUNCTIONS`); they find each other in the registry, in whatever order they come up.
 */
export function startFunctionHost(options: Omit<DevServerOptions, "config" | "environment">): Promise<LocalServer> {
  return startDevServer({ ...options, config: FUNCTION_HOST_CONFIG, environment: NO_EXPLORER });
}
