import type { MiddlewareHandler } from "hono";
import { routePath } from "hono/route";
import type { Caller } from "../access/roles.ts";
import { inLogContext, log } from "../log.ts";
import type { Platform } from "../platform.ts";
import type { AppContext, AppEnv } from "./route.ts";

/** Somebody whom the dashboard knows already, and the number of the request that asks for him. */
export interface Insider {
  caller: Caller;
  requestId: string;
}

/** Requests that the dashboard itself makes to the API, and for whom. Nothing that comes from outside can be in it: it knows the very objects. */
export type Insiders = WeakMap<Request, Insider>;

/** Where {@link numbered} itself stands; a request that met nothing else has no route. */
export const EVERYWHERE = "/*";

/**
 * Gives each request a number of ours, which its answer carries as `X-Request-Id`, its lines as `request_id`, and the audit's note; and writes one line when
 * it is answered. That has the pattern of the route and not the path, which holds names; and of the caller neither name nor address.
 * @param insiders requests of the dashboard's own: they have the number of the page that asks, and its line.
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
  return path === EVERYWHERE ? null : path;
}

function callerOf(caller: Caller | undefined): Pick<Caller, "kind" | "id"> | null {
  return caller === undefined ? null : { kind: caller.kind, id: caller.id };
}

/** As the platform numbers requests; null: it did not, or somebody else made it up. */
function rayOf(headers: Headers): string | null {
  const ray = headers.get("cf-ray") ?? "";
  return /^[0-9a-f]{16}(?:-[A-Z]{3})?$/.test(ray) ? ray : null;
}
