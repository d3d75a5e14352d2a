import { join, resolve } from "node:path";

/** The repository's root, wherever a script is started from. */
export const ROOT = resolve(import.meta.dirname, "..");

/** The shipper's own configuration. */
export const SHIPPER_CONFIG = join(ROOT, "wrangler.jsonc");

/** That of the function host, which runs uploaded functions beside it. */
export const FUNCTION_HOST_CONFIG = join(ROOT, "tools/local/wrangler.jsonc");

export const WRANGLER = join(ROOT, "node_modules/.bin/wrangler");

/** Secrets of local development; never committed. */
export const DEV_VARS = join(ROOT, ".dev.vars");

/** The port of `wrangler dev`, where nothing else is on it. */
export const DEFAULT_PORT = 8787;

/** Where `wrangler dev` serves its local buckets with the S3 protocol. */
export function localObjectStore(serverUrl: string): string {
  return `${serverUrl}/cdn-cgi/local/r2/s3`;
}

/** The application that shows how one is attached. */
export const EXAMPLE_APP = join(ROOT, "examples/ssr-app");
