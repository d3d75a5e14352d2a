/** Where things are in this checkout. */
import { join, relative, resolve } from "node:path";

/** The repository's root, wherever a script is started from. */
export const ROOT = resolve(import.meta.dirname, "..");

/** The shipper's own configuration. */
export const SHIPPER_CONFIG = join(ROOT, "wrangler.jsonc");

/** Configuration of the function host, which runs uploaded functions beside the shipper. */
export const FUNCTION_HOST_CONFIG = join(ROOT, "tools/local/wrangler.jsonc");

export const WRANGLER = join(ROOT, "node_modules/.bin/wrangler");

/** Secrets of local development; never committed. */
export const DEV_VARS = join(ROOT, ".dev.vars");

/**
 * Where the workers of this checkout find each other. The tool's own default is one folder for all
 * checkouts of a user, in which a worker finds the newest other one of a name.
 */
export const REGISTRY = join(ROOT, ".wrangler/registry");

/** The port of `wrangler dev`, unless it is taken. */
export const DEFAULT_PORT = 8787;

/** Where `wrangler dev` serves its local buckets with the S3 protocol. */
export function localObjectStore(serverUrl: string): string {
  return `${serverUrl}/cdn-cgi/local/r2/s3`;
}

/** The application that shows how a function is attached. */
export const EXAMPLE_APP = join(ROOT, "examples/ssr-app");

/** The user's folder: npm runs scripts in the project's root, and passes where it was started. */
export function userFolder(environment: NodeJS.ProcessEnv): string {
  return environment.INIT_CWD || process.cwd();
}

/** A path as the user would write it. */
export function shown(path: string): string {
  return relative(process.cwd(), path) || ".";
}
