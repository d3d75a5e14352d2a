import type { Hono } from "hono";
import { ApiError, CODE, oneError } from "../../base/errors.ts";
import { FORM_MAX_BYTES, FORM_MAX_FIELDS, FORM_PACE, SIGN_IN_MAX_BYTES, SIGN_IN_PACE } from "../../base/limits.ts";
import { errorText, log } from "../../base/logger.ts";
import type { Platform } from "../../base/platform.ts";
import type { Pace } from "../../base/streams.ts";
import { count } from "../../base/words.ts";
import { type Config, readAccess, readAdminToken, readConfig } from "../../config.ts";
import { decodeUtf8, readBody } from "../../ship/intake/body.ts";
import { requirePermission } from "../../state/access/roles.ts";
import type { AccessMemory } from "../api/auth.ts";
import { bodyBytes, mediaType } from "../api/body.ts";
import type { Insiders } from "../api/requests.ts";
import type { AppContext, AppEnv } from "../api/route.ts";
import { scriptAt } from "./assets.ts";
import { InnerApi, InnerFailure } from "./inner-api.ts";
import { frame } from "./layout.tsx";
import { mountLiveSocket } from "./live-socket.ts";
import { type Page, type PageAnswer, type PageContext, seeOther, type View } from "./page.ts";
import {
  FOREIGN_FORM,
  failureView,
  notConfigured,
  notFound,
  notPermitted,
  SESSION_OVER,
  silent,
} from "./pages/failures.tsx";
import { signIn, signInView, signOut } from "./pages/sign-in.tsx";
import { PAGES } from "./pages.ts";
import { CSRF_FIELD } from "./parts/form.tsx";
import { streamed } from "./respond.ts";
import { isCsrfOf, isSameOrigin, sessionId, type Viewer, viewerOf } from "./session.ts";

/** What the dashboard needs beside a request. */
export interface DashboardWorld {
  platform: Platform;
  memory: AccessMemory;
  /** The dashboard's own requests to the API. */
  insiders: Insiders;
}

type Inside = DashboardWorld & { app: Hono<AppEnv> };

/**
 * The pages, at the root. Each request is checked for its session and the page's permission, before
 * a byte of its body is read; a form also for its origin and CSRF token. A page then calls the API
 * as the viewer, so it can do nothing that the API would refuse.
 */
export function mountDashboard(app: Hono<AppEnv>, world: DashboardWorld): void {
  app.get("/assets/:file", (c) => {
    const script = scriptAt(c.req.path);
    if (script === null) throw oneError(404, CODE.noRoute, "no such file");
    return c.body(script, 200, {
      "Content-Type": "text/javascript; charset=utf-8",
      "Cache-Control": "public, max-age=31536000, immutable",
      "X-Content-Type-Options": "nosniff",
      "Cross-Origin-Resource-Policy": "same-origin",
    });
  });
  app.get("/sign-in", (c) => shown(c, (who) => signInView(c, who, world.platform)));
  app.post("/sign-in", (c) =>
    shown(c, async () => (isSameOrigin(c.req.raw) ? signIn(c, await formOf(c, SIGN_IN_FORM), world) : FOREIGN_FORM)),
  );
  app.all("/sign-in", () => refuseMethod("GET, HEAD, POST"));
  app.post("/sign-out", (c) => shown(c, async () => (isSameOrigin(c.req.raw) ? signOut(c) : FOREIGN_FORM)));
  app.all("/sign-out", () => refuseMethod("POST"));
  mountLiveSocket(app);
  for (const page of PAGES) mountPage(page, { ...world, app });
}

/** @param inside with the app that answers the API calls of the pages. */
function mountPage({ path, get, post }: Page, inside: Inside): void {
  const { app } = inside;
  if (get !== undefined) {
    app.get(path, (c) =>
      answered(c, inside, async (page) => {
        if (page.viewer === null) return toSignIn(c);
        if (get.permission !== null) requirePermission(page.viewer.caller, get.permission);
        return get.show(page);
      }),
    );
  }
  if (post !== undefined) {
    app.post(path, (c) =>
      answered(c, inside, async (page) => {
        if (!isSameOrigin(c.req.raw)) return FOREIGN_FORM;
        const id = sessionId(c.req.raw);
        if (page.viewer === null || id === null) return SESSION_OVER;
        if (post.permission !== null) requirePermission(page.viewer.caller, post.permission);
        const form = await formOf(c);
        if (!isCsrfOf(id, form.get(CSRF_FIELD))) return FOREIGN_FORM;
        form.delete(CSRF_FIELD);
        return post.take(page, form);
      }),
    );
  }
  app.all(path, () =>
    refuseMethod([...(get === undefined ? [] : ["GET", "HEAD"]), ...(post === undefined ? [] : ["POST"])].join(", ")),
  );
}

/** @throws ApiError 405 */
function refuseMethod(allow: string): never {
  throw oneError(405, CODE.methodNotAllowed, `this page takes ${allow}`, { Allow: allow });
}

/** In place of a page context when signed out. */
interface SignedOut {
  viewer: null;
}

const SIGNED_OUT: SignedOut = { viewer: null };

/** Runs a page with its context. */
async function answered(
  c: AppContext,
  inside: Inside,
  run: (page: PageContext | SignedOut) => Promise<PageAnswer>,
): Promise<Response> {
  return shown(c, async (who) => {
    const config = readConfig(c.env);
    if (config.ok) return run(who === null ? SIGNED_OUT : contextOf(c, inside, config.config, who));
    // Faults of the settings are for viewers only, unless they are what prevents signing in.
    return who === null && readAccess(c.env).ok ? run(SIGNED_OUT) : notConfigured(config.faults);
  });
}

/** Runs and renders a page; a failure becomes a page too. */
async function shown(c: AppContext, run: (who: Viewer | null) => Promise<PageAnswer>): Promise<Response> {
  let who: Viewer | null = null;
  try {
    who = await viewer(c);
    return await render(await run(who), who, c);
  } catch (error) {
    return await render(failed(error, c), who, c);
  }
}

function contextOf(c: AppContext, { app, platform, insiders }: Inside, config: Config, who: Viewer): PageContext {
  const url = new URL(c.req.url);
  const ask = async (request: Request): Promise<Response> => {
    insiders.set(request, { caller: who.caller, requestId: c.var.requestId });
    return await app.fetch(request, c.env);
  };
  return {
    viewer: who,
    api: new InnerApi(`${url.origin}/client/v4/accounts/${config.accountId}`, ask),
    params: c.req.param() as Record<string, string>,
    query: url.searchParams,
    here: url.pathname + url.search,
    origin: url.origin,
    nowMs: platform.now(),
    config,
    env: c.env,
    platform,
    request: c.req.raw,
  };
}

async function viewer(c: AppContext): Promise<Viewer | null> {
  const who = await viewerOf(c.req.raw, c.env.ACCESS, readAdminToken(c.env));
  if (who !== null) c.set("caller", who.caller);
  return who;
}

/** Bounds of the body of a form. */
const FORM: { maxBytes: number; pace: Pace } = { maxBytes: FORM_MAX_BYTES, pace: FORM_PACE };
const SIGN_IN_FORM: typeof FORM = { maxBytes: SIGN_IN_MAX_BYTES, pace: SIGN_IN_PACE };

/** @throws ApiError if the body is no form, too large or too slow. */
async function formOf(c: AppContext, { maxBytes, pace } = FORM): Promise<URLSearchParams> {
  if (mediaType(c.req.raw) !== "application/x-www-form-urlencoded")
    throw oneError(415, CODE.mediaType, "a form is sent as application/x-www-form-urlencoded");
  const text = decodeUtf8(bodyBytes(await readBody(c.req.raw, maxBytes, pace)));
  if (!text.ok) throw oneError(400, CODE.invalid, text.why);
  const form = new URLSearchParams(text.value);
  if (form.size > FORM_MAX_FIELDS)
    throw oneError(413, CODE.tooLarge, `a form has at most ${count(FORM_MAX_FIELDS)} fields`);
  return form;
}

/** To the sign-in page, which leads back here. */
function toSignIn(c: AppContext): Response {
  const url = new URL(c.req.url);
  const here = url.pathname + url.search;
  const to = here === "/" ? "" : `?${new URLSearchParams({ to: here })}`;
  return seeOther(`/sign-in${to}`);
}

async function render(answer: PageAnswer, who: Viewer | null, c: AppContext): Promise<Response> {
  if (answer instanceof Response) return answer;
  const access = readAccess(c.env);
  const accountId = access.ok ? access.access.accountId : "";
  const [before, after] = await frame({ view: answer, viewer: who, accountId, path: c.req.path });
  const response = streamed(before, answer.parts, after, answer.status ?? 200);
  if (response.status === 503 || response.status === 429) response.headers.set("Retry-After", "5");
  return response;
}

/** A failure as a page. Details of a bug go to the log only. */
function failed(error: unknown, c: AppContext): View {
  if (error instanceof InnerFailure || error instanceof ApiError) {
    const entries = error instanceof ApiError ? error.entries : error.errors;
    c.set("codes", [...new Set(entries.map(({ code }) => code))]);
  }
  if (error instanceof InnerFailure) return error.status === 404 ? notFound(error.errors) : failureView(error);
  if (error instanceof ApiError) {
    if (error.status === 403) return notPermitted(error.entries);
    if (error.status === 404) return notFound(error.entries);
    return failureView({ status: error.status, errors: error.entries });
  }
  log.error("page failed", { method: c.req.method, route: c.req.routePath, error: errorText(error) });
  return silent();
}

/** Whether a browser asks for a page, rather than a program for a route. */
export function isForReading(request: Request): boolean {
  const { pathname } = new URL(request.url);
  const accepts = request.headers.get("accept") ?? "";
  return request.method === "GET" && !pathname.startsWith("/client/") && accepts.includes("text/html");
}

/** The page for an unknown address. */
export async function nothingHere(c: AppContext): Promise<Response> {
  const who = await viewer(c).catch(() => null);
  return render(notFound(), who, c);
}
