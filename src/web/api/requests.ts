import type { MiddlewareHandler } from "hono";
import { routePath } from "hono/route";
import { inLogContext, log } from "../../base/logger.ts";
import type { Platform } from "../../base/platform.ts";
import type { Caller } from "../../state/access/roles.ts";
import { API_PATH, type AppContext, type AppEnv } from "./route.ts";

/** A caller whom the dashboard has authenticated, and the id of the page's request. */
export interface Insider {
  caller: Caller;
  requestId: string;
}

/**
 * The dashboard's own requests to the API. It is keyed by object, so no request from outside can be
 * in it.
 */
export type Insiders = WeakMap<Request, Insider>;

/** The route of {@link numbered} itself; a request that matches only this has no route. */
export const EVERYWHERE = "/*";

/** What the API has no route for, whether it is passed on or not. */
export const ELSEWHERE = `${API_PATH}/*`;

/**
 * Gives each request an id, which its answer carries as `X-Request-Id`, its log lines as
 * `request_id`, and its audit entry; and logs one line when it is answered. The line has the
 * route's pattern, not the path, which holds names, and neither name nor address of the caller.
 * @param insiders the dashboard's own requests: they share the id and the line of their page.
 */
export function numbered(platform: Pick<Platform, "now">, insiders: Insiders): MiddlewareHandler<AppEnv> {
  return (c, next) => {
    const insider = insiders.get(c.req.raw);
    if (insider !== undefined) {
      c.set("requestId", insider.requestId);
      return next();
    }
    const startedMs = platform.now();
    const requestId = crypto.randomUUID();
    c.set("requestId", requestId);
    const ray = rayOf(c.req.raw.headers);
    return inLogContext({ request_id: requestId, ...(ray !== null && { ray_id: ray }) }, async () => {
      await next();
      c.header("X-Request-Id", requestId);
      log.info("request", {
        method: c.req.method,
        route: routeOf(c),
        status: c.res.status,
        ms: platform.now() - startedMs,
        caller: callerOf(c.var.caller),
        errors: c.var.codes ?? [],
      });
    });
  };
}

function routeOf(c: AppContext): string | null {
  const path = routePath(c);
  return path === EVERYWHERE || path === ELSEWHERE ? null : path;
}

function callerOf(caller: Caller | undefined): Pick<Caller, "kind" | "id"> | null {
  return caller === undefined ? null : { kind: caller.kind, id: caller.id };
}

/** The platform's id of the request; null: missing or malformed. */
function rayOf(headers: Headers): string | null {
  const ray = headers.get("cf-ray") ?? "";
  return /^[0-9a-f]{16}(?:-[A-Z]{3})?$/.test(ray) ? ray : null;
}
