import { type Handler, Hono } from "hono";
import { ApiError, CODE, type ErrorEntry, notFound, oneError, unavailable } from "../base/errors.ts";
import { ANSWER_MS } from "../base/limits.ts";
import { errorText, log } from "../base/logger.ts";
import { Memory } from "../base/memory.ts";
import { type Platform, within } from "../base/platform.ts";
import { type ConfigResult, hasUpstream, publishedKeys, readAccess, readAdminToken, readConfig } from "../config.ts";
import { discardRest } from "../ship/intake/body.ts";
import { Viewers } from "../ship/intake/viewers.ts";
import { type Caller, PLATFORM_BEARER, requirePermission } from "../state/access/roles.ts";
import { memberRoutes, tokenRoutes } from "./api/access.ts";
import { alertRoutes } from "./api/alerts.ts";
import { auditRoutes, noted } from "./api/audit.ts";
import { AccessMemory, authenticate, foreignBearer, type Gate, gateOf, judged, requireUnbraked } from "./api/auth.ts";
import { canaryRoutes } from "./api/canary.ts";
import { datasetRoutes } from "./api/datasets.ts";
import { failure } from "./api/envelope.ts";
import { eventRoutes } from "./api/events.ts";
import { functionDayRoutes, versionRoutes } from "./api/function-health.ts";
import { healthRoutes } from "./api/health.ts";
import { identityRoutes } from "./api/identity.ts";
import { jobRoutes } from "./api/jobs.ts";
import { ledgerRoutes } from "./api/ledger.ts";
import { objectRoutes } from "./api/objects.ts";
import { ownershipRoutes } from "./api/ownership.ts";
import { isForPlatform, PASS_MS, passOn } from "./api/platform-pass.ts";
import { previewRoutes } from "./api/preview.ts";
import { problemRoutes } from "./api/problems.ts";
import { replayRoutes } from "./api/replay.ts";
import type { Insiders } from "./api/requests.ts";
import { ELSEWHERE, EVERYWHERE, numbered } from "./api/requests.ts";
import { rerunRoutes } from "./api/rerun.ts";
import {
  ACCOUNT_PATH,
  API_PATH,
  type AppContext,
  type AppEnv,
  type ResourceGroup,
  type Resources,
  type Route,
  type Handler as RouteHandler,
} from "./api/route.ts";
import { scriptRoutes } from "./api/scripts.ts";
import { searchRoutes } from "./api/search.ts";
import { savedSearchRoutes } from "./api/searches.ts";
import { setAsideRoutes } from "./api/set-aside.ts";
import { statusRoutes } from "./api/status.ts";
import { usageRoutes } from "./api/usage.ts";
import { validationRoutes } from "./api/validation.ts";
import { webhookRoutes } from "./api/webhook.ts";
import { isForReading, mountDashboard, nothingHere } from "./dashboard/mount.tsx";
import { mountDescription } from "./openapi/serve.ts";

const SILENT = "a part of the service does not answer; repeat the request";
const SILENT_CHANGE =
  "a part of the service does not answer; the change may have been made: check before you repeat the request";

export const GROUPS: readonly ResourceGroup[] = [
  {
    names: ["/logship", "/logpush"],
    resources: {
      ...eventRoutes,
      ...jobRoutes,
      ...objectRoutes,
      ...healthRoutes,
      ...ledgerRoutes,
      ...ownershipRoutes,
      ...validationRoutes,
      ...datasetRoutes,
      ...previewRoutes,
      ...searchRoutes,
      ...savedSearchRoutes,
      ...canaryRoutes,
      ...setAsideRoutes,
      ...replayRoutes,
      ...rerunRoutes,
      ...statusRoutes,
      ...webhookRoutes,
      ...alertRoutes,
      ...problemRoutes,
      ...functionDayRoutes,
      ...usageRoutes,
      ...auditRoutes,
    },
  },
  { names: ["/functions/scripts", "/workers/scripts"], resources: scriptRoutes },
  { names: ["/functions/scripts"], resources: versionRoutes },
  { names: ["/tokens"], resources: tokenRoutes },
  { names: ["/members"], resources: memberRoutes },
];

/** Below {@link API_PATH}, and no account. */
export const IDENTITY: Resources = identityRoutes;

/**
 * The HTTP app. It checks credentials, account, permission and configuration, in this order, before
 * a route's handler.
 */
export function createApp(
  platform: Platform,
  memory: Memory = new Memory(platform),
  viewers: Viewers = new Viewers(),
): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  const world: World = { platform, budget: memory, viewers, memory: new AccessMemory(), insiders: new WeakMap() };
  app.use(EVERYWHERE, numbered(platform, world.insiders));
  app.use(EVERYWHERE, async (c, next) => {
    await next();
    await discardRest(c.req.raw);
  });
  for (const { names, resources } of GROUPS)
    for (const name of names)
      for (const [path, methods] of Object.entries(resources)) mount(app, ACCOUNT_PATH, name + path, methods, world);
  for (const [path, methods] of Object.entries(IDENTITY)) mount(app, API_PATH, path, methods, world);
  app.all(ELSEWHERE, elsewhere(world));
  mountKeys(app);
  mountDescription(app, GROUPS, IDENTITY);
  mountDashboard(app, world);
  app.notFound((c) =>
    isForReading(c.req.raw)
      ? nothingHere(c)
      : refused(c, 404, [{ code: CODE.noRoute, message: "no such route; /docs lists the routes" }]),
  );
  app.onError((error, c) => {
    if (error instanceof ApiError) {
      for (const [name, value] of Object.entries(error.headers)) c.header(name, value);
      return refused(c, error.status, error.entries);
    }
    // A bug, or a part of the platform that did not answer. Its text is never answered: it may hold
    // anything.
    log.error("request failed", { method: c.req.method, route: c.req.routePath, error: errorText(error) });
    c.header("Retry-After", "5");
    return refused(c, 503, [{ code: CODE.unavailable, message: "temporarily unavailable; repeat the request" }]);
  });
  return app;
}

function refused(c: AppContext, status: ApiError["status"], entries: readonly ErrorEntry[]): Response {
  c.set("codes", [...new Set(entries.map(({ code }) => code))]);
  return c.json(failure(entries), status);
}

/** State of one isolate's app. */
interface World {
  platform: Platform;
  /** What bodies of events are counted in. */
  budget: Memory;
  /** What is known of live viewers. */
  viewers: Viewers;
  memory: AccessMemory;
  /** The dashboard's own requests. */
  insiders: Insiders;
}

/** Any other method is a 405 that lists the allowed ones, after the caller is admitted. */
function mount(app: Hono<AppEnv>, base: string, path: string, methods: Resources[string], world: World): void {
  for (const [method, route] of Object.entries(methods)) {
    const action = route.action === undefined && method !== "GET" ? `${method} ${path}` : (route.action ?? null);
    app.on(method, base + path, guarded(route, action, world));
  }
  app.all(base + path, async (c) => {
    await admitted(c, world);
    // HEAD is answered as GET.
    const allow = Object.keys(methods)
      .flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]))
      .join(", ");
    throw oneError(405, CODE.methodNotAllowed, `this route takes ${allow}`, { Allow: allow });
  });
}

/** @param action for the audit; null: changes nothing. */
function guarded(route: Route, action: string | null, world: World): Handler<AppEnv> {
  return async (c) => {
    const caller = "take" in route ? await sender(c, world) : await admitted(c, world, route.foreign !== undefined);
    const { foreign } = route;
    const isForeign = caller.kind === "platform" && foreign !== undefined;
    if (!isForeign && route.permission !== null) requirePermission(caller, route.permission, route.or);
    if ("take" in route) return route.take(c, world.platform, world.budget, world.viewers);
    const run = () => answer(c, isForeign ? foreign : route.handle, world, route.answerMs);
    const runOnce = () => (isForeign ? watched(c, world, run) : run());
    return action === null ? runOnce() : noted(c, action, runOnce);
  };
}

/** @throws ApiError 503 if the configuration is malformed, or there is no answer in time. */
async function answer(c: AppContext, handle: RouteHandler, { platform }: World, ms = ANSWER_MS): Promise<Response> {
  const config = readConfig(c.env);
  if (!config.ok) throw misconfigured(config);
  const response = await within(ms, handle(c, config.config, platform), null);
  if (response === null) throw unavailable(c.req.method === "GET" ? SILENT : SILENT_CHANGE);
  return response;
}

/** What has no route here, for callers that only the platform knows. */
function elsewhere(world: World): Handler<AppEnv> {
  return async (c) => {
    const access = readAccess(c.env);
    if (!access.ok || !hasUpstream(c.env) || world.insiders.has(c.req.raw)) return c.notFound();
    const { accountId, adminToken } = access.access;
    if (!isForPlatform(c, accountId)) return c.notFound();
    await requireUnbraked(c.req.raw.headers, gateFor(c, world));
    if (foreignBearer(c.req.raw.headers, adminToken) === null) return c.notFound();
    c.set("caller", PLATFORM_BEARER);
    return watched(c, world, () => answer(c, passOn, world, PASS_MS));
  };
}

/**
 * An answer to a bearer that the platform judges. One that it has not known is a guess.
 * @throws ApiError 429 in its place, after too many guesses; and what `run` throws.
 */
async function watched(c: AppContext, world: World, run: () => Promise<Response>): Promise<Response> {
  const [result] = await Promise.allSettled([run()]);
  await judged(c.req.raw, c.get("isKnownBearer") === true, gateFor(c, world));
  if (result.status === "rejected") throw result.reason;
  return result.value;
}

function gateFor(c: AppContext, { platform, memory }: World): Gate {
  return gateOf(c.req.raw, c.env, platform, memory);
}

/**
 * The sender of events. A malformed account id in the configuration loses none: there is only one
 * account. Nor does a malformed ADMIN_TOKEN lose those of other tokens.
 * @throws as {@link admitted}.
 */
async function sender(c: AppContext, world: World): Promise<Caller> {
  const access = readAccess(c.env);
  try {
    const caller = await authenticate(c.req.raw.headers, gateFor(c, world), true);
    c.set("caller", caller);
    if (access.ok) requireAccount(c, access.access.accountId);
    return caller;
  } catch (error) {
    // It may be the admin: without a well-formed ADMIN_TOKEN that is unknown.
    if (!access.ok && readAdminToken(c.env) === null && error instanceof ApiError && error.status === 401)
      throw misconfigured(readConfig(c.env));
    throw error;
  }
}

/**
 * The caller, for the one account of this deployment.
 * @param foreign whether the route accepts bearers that the platform judges; never for another
 *   account.
 * @throws ApiError 401, 404, 429, or 503 if the configuration is malformed or the register does not
 *   answer.
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
  const isForeign = foreign && hasUpstream(c.env) && isAccount(c, accountId);
  if (isForeign && foreignBearer(c.req.raw.headers, adminToken) !== null) {
    await requireUnbraked(c.req.raw.headers, gateFor(c, world));
    c.set("caller", PLATFORM_BEARER);
    return PLATFORM_BEARER;
  }
  const caller = await authenticate(c.req.raw.headers, gateFor(c, world), false);
  c.set("caller", caller);
  requireAccount(c, accountId);
  return caller;
}

/** Call it after authentication. @throws ApiError 404. */
function requireAccount(c: AppContext, accountId: string): void {
  if (!isAccount(c, accountId)) throw notFound("no such account");
}

/** Whether a path is below this account, or below none. */
function isAccount(c: AppContext, accountId: string): boolean {
  return (c.req.param("account_id") ?? accountId) === accountId;
}

function misconfigured(config: ConfigResult): ApiError {
  const faults = config.ok ? [] : config.faults;
  return new ApiError(
    503,
    faults.map((fault) => ({ code: CODE.unavailable, message: `configuration: ${fault}` })),
    { "Retry-After": "60" },
  );
}

/** Where the public keys of manifests are, which need no credentials. */
const KEYS_PATH = "/.well-known/logship-keys.json";

/** How long the keys may be cached, in seconds: a new one is used at once. */
const MAX_AGE_S = 300;

/** Serves the public keys; also while other settings are malformed. docs/reading.md */
function mountKeys(app: Hono<AppEnv>): void {
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
