import type { Config } from "../config.ts";
import { CODE, oneError } from "../errors.ts";
import { functionRoutes } from "./functions.ts";
import { platformHandlers } from "./platform-scripts.ts";
import type { AppContext, Resource, Route } from "./route.ts";

const UPLOAD: Route = {
  permission: "functions:edit",
  action: "function.upload",
  handle: uploadScript,
};

/** The routes of functions, with the upload of scripts, for our own callers; and each of them for those whom the platform knows. */
export const scriptRoutes: readonly Resource[] = functionRoutes.map(({ path, methods }) => {
  const all = path === "/:script_name" ? { ...methods, PUT: UPLOAD } : methods;
  const entries = Object.entries(all).map(([method, route]) => {
    const foreign = platformHandlers[`${method} ${path}`];
    return [method, foreign === undefined ? route : { ...route, foreign }] as const;
  });
  return { path, methods: Object.fromEntries(entries) };
});

async function uploadScript(c: AppContext, config: Config): Promise<Response> {
  await c.req.raw.body?.cancel();
  if (config.upstream !== null)
    throw oneError(
      403,
      CODE.auth,
      "Authorization error: an upload goes on to the platform, which needs a bearer token of its own; what opens this service is never sent on",
    );
  throw oneError(
    409,
    CODE.conflict,
    "there is nowhere to run this: start with npm start, which runs functions locally (LOCAL_FUNCTIONS), or set UPSTREAM_API",
  );
}
