import { type Handler, Hono } from "hono";
import { type ConfigResult, readAccess, readAdminToken, readConfig } from "../config.ts";
import { ApiError, CODE, oneError, unavailable } from "../errors.ts";
import { type Platform, within } from "../platform.ts";
import { authenticate, type Caller, requirePermission } from "./auth.ts";
import { datasetRoutes } from "./datasets.ts";
import { failure } from "./envelope.ts";
import { eventRoutes } from "./events.ts";
import { functionRoutes } from "./functions.ts";
import { jobRoutes } from "./jobs.ts";
import { ledgerRoutes } from "./ledger.ts";
import { ownershipRoutes } from "./ownership.ts";
import type { AppContext, Resource, Route } from "./route.ts";
import { validationRoutes } from "./validation.ts";

const ACCOUNT = "/client/v4/accounts/:account_id";

/**
 * How long a request may take, in ms: longer than all parts together that know their own bounds (a probe's PUT and HEAD, 30 s; a change on its way to logs and ledger,
 * 15 s). Where one does not answer at all, the caller is told so.
 */
const ANSWER_MS = 60_000;

const SILENT = "a part of the service does not answer; the request may be repeated";
const SILENT_CHANGE =
  "a part of the service does not answer; the change may have been made all the same: look before you repeat the request";

/** Resources below one path, under both of its names: the first is ours, the second the vendor's. */
export interface ResourceGroup {
  names: readonly [ours: string, vendors: string];
  resources: readonly Resource[];
}

export const GROUPS: readonly ResourceGroup[] = [
  {
    names: ["/logship", "/logpush"],
    resources: [
      ...eventRoutes,
      ...jobRoutes,
      ...ledgerRoutes,
      ...ownershipRoutes,
      ...validationRoutes,
      ...datasetRoutes,
    ],
  },
  { names: ["/functions/scripts", "/workers/scripts"], resources: functionRoutes },
];

/** The HTTP surface: each request is checked for credentials, account, permission and configuration, in this order, before its route sees it. */
export function createApp(platform: Platform): Hono<{ Bindings: Env }> {
  const app = new Hono<{ Bindings: Env }>();
  for (const { names, resources } of GROUPS) {
    for (const name of names)
      for (const resource of resources) mount(app, ACCOUNT + name + resource.path, resource, platform);
  }
  app.notFound((c) => c.json(failure([{ code: CODE.noRoute, message: "no such route" }]), 404));
  app.onError((error, c) => {
    if (error instanceof ApiError) {
      for (const [name, value] of Object.entries(error.headers)) c.header(name, value);
      return c.json(failure(error.entries), error.status);
    }
    // A bug, or a part of the platform that did not answer. The text stays here: it may say anything.
    console.error({ message: "request failed", method: c.req.method, route: c.req.routePath, error: String(error) });
    c.header("Retry-After", "5");
    return c.json(
      failure([{ code: CODE.unavailable, message: "temporarily unavailable; the request may be repeated" }]),
      503,
    );
  });
  return app;
}

/** Every method that the resource does not have is a 405 that says which it has, to those who may know. */
function mount(app: Hono<{ Bindings: Env }>, path: string, { methods }: Resource, platform: Platform): void {
  for (const [method, route] of Object.entries(methods)) app.on(method, path, guarded(route, platform));
  app.all(path, (c) => {
    admitted(c);
    const allow = Object.keys(methods).join(", ");
    throw oneError(405, CODE.methodNotAllowed, `this route takes ${allow}`, { Allow: allow });
  });
}

function guarded(route: Route, platform: Platform): Handler<{ Bindings: Env }> {
  return async (c) => {
    if ("take" in route) {
      requirePermission(sender(c), route.permission);
      return route.take(c, platform);
    }
    requirePermission(admitted(c), route.permission);
    const config = readConfig(c.env);
    if (!config.ok) throw misconfigured(config);
    const response = await within(ANSWER_MS, route.handle(c, config.config, platform), null);
    if (response === null) throw unavailable(c.req.method === "GET" ? SILENT : SILENT_CHANGE);
    return response;
  };
}

/** Who sends events. A malformed account id costs none: whoever has the token means this account, as there is no other. @throws as {@link admitted}. */
function sender(c: AppContext): Caller {
  const token = readAdminToken(c.env);
  return readAccess(c.env).ok || token === null ? admitted(c) : authenticate(c.req.raw, token);
}

/** Who calls, and that it is this account. @throws ApiError 401, 404, or 503 if the configuration does not tell. */
function admitted(c: AppContext): Caller {
  const access = readAccess(c.env);
  if (!access.ok) throw misconfigured(readConfig(c.env));
  const caller = authenticate(c.req.raw, access.access.adminToken);
  if (c.req.param("account_id") !== access.access.accountId) throw oneError(404, CODE.noRoute, "no such account");
  return caller;
}

function misconfigured(config: ConfigResult): ApiError {
  const faults = config.ok ? [] : config.faults;
  return new ApiError(
    503,
    faults.map((fault) => ({ code: CODE.unavailable, message: `configuration: ${fault}` })),
    { "Retry-After": "60" },
  );
}
