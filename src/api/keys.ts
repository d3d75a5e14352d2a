import type { Hono } from "hono";
import { publishedKeys } from "../config.ts";
import { CODE, oneError } from "../errors.ts";
import type { AppEnv } from "./route.ts";

/** Where the public keys of manifests are, which need no credentials. */
export const KEYS_PATH = "/.well-known/logship-keys.json";

/** How long the keys may be cached, in seconds: a new one is used at once. */
const MAX_AGE_S = 300;

/** Serves the public keys; also while other settings are malformed. docs/archive.md */
export function mountKeys(app: Hono<AppEnv>): void {
  // Hono answers HEAD with this, too.
  app.get(KEYS_PATH, async (c) => {
    c.header("Cache-Control", `public, max-age=${MAX_AGE_S}`);
    c.header("X-Content-Type-Options", "nosniff");
    // Anyone may verify, from any page.
    c.header("Access-Control-Allow-Origin", "*");
    return c.json({ keys: await publishedKeys(c.env) });
  });
  app.all(KEYS_PATH, () => {
    throw oneError(405, CODE.methodNotAllowed, "this route takes GET, HEAD", { Allow: "GET, HEAD" });
  });
}
