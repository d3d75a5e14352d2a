import { type Handler, Hono } from "hono";
import { type Caller, PLATFORM_BEARER, requirePermission } from "./access/roles.ts";
import { Senders } from "./access/senders.ts";
import { memberRoutes, tokenRoutes } from "./api/access.ts";
import { auditRoutes, noted } from "./api/audit.ts";
import { authenticate, foreignBearer, type Gate } from "./api/auth.ts";
import { canaryRoutes } from "./api/canary.ts";
import { datasetRoutes } from "./api/datasets.ts";
import { failure } from "./api/envelope.ts";
import { eventRoutes } from "./api/events.ts";
import { healthRoutes } from "./api/health.ts";
import { incidentRoutes } from "./api/incidents.ts";
import { jobRoutes } from "./api/jobs.ts";
import { ledgerRoutes } from "./api/ledger.ts";
import { objectRoutes } from "./api/objects.ts";
import { ownershipRoutes } from "./api/ownership.ts";
import { previewRoutes } from "./api/preview.ts";
import { replayRoutes } from "./api/replay.ts";
import type { Insiders } from "./api/requests.ts";
import { EVERYWHERE, numbered } from "./api/requests.ts";
import {
  ACCOUNT_PATH,
  type AppContext,
  type AppEnv,
  type Resource,
  type ResourceGroup,
  type Route,
} from "./api/route.ts";
import { scriptRoutes } from "./api/scripts.ts";
import { setAsideRoutes } from "./api/set-aside.ts";
import { statusRoutes } from "./api/status.ts";
import { usageRoutes } from "./api/usage.ts";
import { validationRoutes } from "./api/validation.ts";
import { webhookRoutes } from "./api/webhook.ts";
import { type ConfigResult, hasUpstream, readAccess, readAdminToken, readConfig } from "./config.ts";
import { isForReading, mountDashboard, nothingHere } from "./dashboard/mount.tsx";
import { ApiError, CODE, type ErrorEntry, oneError, unavailable } from "./errors.ts";
import { discardRest } from "./intake/body.ts";
import { errorText, log } from "./log.ts";
import { mountDescription } from "./openapi/serve.ts";
import { type Platform, within } from "./platform.ts";

/**
 * How long a request may take, in ms: longer than all parts together that know their own bounds (a probe's PUT and HEAD, 30 s; a change on its way to logs and ledger,
 * 15 s). Where one does not answer at all, the caller is told so.
 */
const ANSWER_MS = 60_000;

const SILENT = "a part of the service does not answer; the request may be repeated";
const SILENT_CHANGE =
  "a part of the service does not answer; the change may have been made all the same: look before you repeat the request";

export const GROUPS: readonly ResourceGroup[] = [
  {
    names: ["/logship", "/logpush"],
    resources: [
      ...eventRoutes,
      ...jobRoutes,
      ...objectRoutes,
      ...healthRoutes,
      ...ledgerRoutes,
      ...ownershipRoutes,
      ...validationRoutes,
      ...datasetRoutes,
      ...previewRoutes,
      ...canaryRoutes,
      ...setAsideRoutes,
      ...replayRoutes,
      ...statusRoutes,
      ...incidentRoutes,
      ...webhookRoutes,
      ...usageRoutes,
      ...auditRoutes,
    ],
  },
  { names: ["/functions/scripts", "/workers/scripts"], resources: scriptRoutes },
  { names: ["/tokens"], resources: tokenRoutes },
  { names: ["/members"], resources: memberRoutes },
];

/** The HTTP surface: each request is checked for credentials, account, permission and configuration, in this order, before its route sees it. */
export function createApp(platform: Platform): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  const world: World = { platform, senders: new Senders(), insiders: new WeakMap() };
  app.use(EVERYWHERE, numbered(platform, world.insiders));
  app.use(EVERYWHERE, async (c, next) => {
    await next();
    await discardRest(c.req.raw);
  });
  for (const { names, resources } of GROUPS) {
    for (const name of names) for (const resource of resources) mount(app, name + resource.path, resource, world);
  }
  mountDescription(app, GROUPS);
  mountDashboard(app, world);
  app.notFound((c) =>
    isForReading(c.req.raw)
      ? nothingHere(c)
      : refused(c, 404, [{ code: CODE.noRoute, message: "no such route; /docs has those that there are" }]),
  );
  app.onError((error, c) => {
    if (error instanceof ApiError) {
      for (const [name, value] of Object.entries(error.headers)) c.header(name, value);
      return refused(c, error.status, error.entries);
    }
    // A bug, or a part of the platform that did not answer. The text stays here: it may say anything.
    log.error("request failed", { method: c.req.method, route: c.req.routePath, error: errorText(error) });
    c.header("Retry-After", "5");
    return refused(c, 503, [
      { code: CODE.unavailable, message: "temporarily unavailable; the request may be repeated" },
    ]);
  });
  return app;
}

function refused(c: AppContext, status: ApiError["status"], entries: readonly ErrorEntry[]): Response {
  c.set("codes", [...new Set(entries.map(({ code }) => code))]);
  return c.json(failure(entries), status);
}

/** What one isolate's app has beside its requests. */
interface World {
  platform: Platform;
  senders: Senders;
  /** Requests of the dashboard's own. */
  insiders: Insiders;
}

/** Every method that the resource does not have is a 405 that says which it has, to those who may know. */
function mount(app: Hono<AppEnv>, name: string, { methods }: Resource, world: World): void {
  const path = ACCOUNT_PATH + name;
  for (const [method, route] of Object.entries(methods)) {
    const action = route.action === undefined && method !== "GET" ? `${method} ${name}` : (route.action ?? null);
    app.on(method, path, guarded(route, action, world));
  }
  app.all(path, async (c) => {
    await admitted(c, world);
    // HEAD is answered as GET.
    const allow = Object.keys(methods)
      .flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]))
      .join(", ");
    throw oneError(405, CODE.methodNotAllowed, `this route takes ${allow}`, { Allow: allow });
  });
}

/** @param action what it changes, for the audit; null: nothing. */
function guarded(route: Route, action: string | null, world: World): Handler<AppEnv> {
  return async (c) => {
    const caller = "take" in route ? await sender(c, world) : await admitted(c, world, route.foreign !== undefined);
    const { foreign } = route;
    const isForeign = caller.kind === "platform" && foreign !== undefined;
    if (!isForeign) requirePermission(caller, route.permission);
    if ("take" in route) return route.take(c, world.platform);
    const config = readConfig(c.env);
    if (!config.ok) throw misconfigured(config);
    const handle = isForeign ? foreign : route.handle;
    const answer = async (): Promise<Response> => {
      const response = await within(ANSWER_MS, handle(c, config.config, world.platform), null);
      if (response === null) throw unavailable(c.req.method === "GET" ? SILENT : SILENT_CHANGE);
      return response;
    };
    return action === null ? answer() : noted(c, action, answer);
  };
}

function gateOf(c: AppContext, { platform, senders }: World): Gate {
  return { adminToken: readAdminToken(c.env), register: c.env.ACCESS, platform, senders };
}

/**
 * Who sends events. A malformed account id costs none: whoever has credentials means this account, as there is no other; nor does a malformed
 * ADMIN_TOKEN cost those of others.
 * @throws as {@link admitted}.
 */
async function sender(c: AppContext, world: World): Promise<Caller> {
  const access = readAccess(c.env);
  try {
    const caller = await authenticate(c.req.raw.headers, gateOf(c, world), true);
    c.set("caller", caller);
    if (access.ok) requireAccount(c, access.access.accountId);
    return caller;
  } catch (error) {
    // It may be the admin, whom nothing is left to tell by.
    if (!access.ok && readAdminToken(c.env) === null && error instanceof ApiError && error.status === 401)
      throw misconfigured(readConfig(c.env));
    throw error;
  }
}

/**
 * Who calls, and that it is this account.
 * @param foreign whether the route has something for bearers that the platform is to judge. For another account than ours it has not: that is 401 as ever.
 * @throws ApiError 401, 404, or 503 if the configuration, or the register, does not tell.
 */
async function admitted(c: AppContext, world: World, foreign = false): Promise<Caller> {
  const access = readAccess(c.env);
  if (!access.ok) throw misconfigured(readConfig(c.env));
  const { accountId, adminToken } = access.access;
  const insider = world.insiders.get(c.req.raw);
  if (insider !== undefined) {
    c.set("caller", insider.caller);
    requireAccount(c, accountId);
    return insider.caller;
  }
  if (foreign && hasUpstream(c.env) && c.req.param("account_id") === accountId) {
    if (foreignBearer(c.req.raw.headers, adminToken) !== null) {
      c.set("caller", PLATFORM_BEARER);
      return PLATFORM_BEARER;
    }
  }
  const caller = await authenticate(c.req.raw.headers, gateOf(c, world), false);
  c.set("caller", caller);
  requireAccount(c, accountId);
  return caller;
}

/** @throws ApiError 404; only ever for whoever is known. */
function requireAccount(c: AppContext, accountId: string): void {
  if (c.req.param("account_id") !== accountId) throw oneError(404, CODE.noRoute, "no such account");
}

function misconfigured(config: ConfigResult): ApiError {
  const faults = config.ok ? [] : config.faults;
  return new ApiError(
    503,
    faults.map((fault) => ({ code: CODE.unavailable, message: `configuration: ${fault}` })),
    { "Retry-After": "60" },
  );
}
