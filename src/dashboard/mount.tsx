import type { Hono } from "hono";
import { requirePermission } from "../api/auth.ts";
import { bodyBytes, mediaType } from "../api/body.ts";
import type { AppContext, AppEnv } from "../api/route.ts";
import { type Config, readAccess, readAdminToken, readConfig } from "../config.ts";
import { ApiError, CODE, oneError } from "../errors.ts";
import { decodeUtf8, readBody } from "../intake/body.ts";
import { FORM_MAX_BYTES } from "../limits.ts";
import { errorText, log } from "../log.ts";
import type { Platform } from "../platform.ts";
import { scriptAt } from "./assets.ts";
import { InnerApi, InnerFailure, type Insiders } from "./inner-api.ts";
import { frame } from "./layout.tsx";
import { mountLiveSocket } from "./live-socket.ts";
import type { Page, PageAnswer, PageContext, View } from "./page.ts";
import { failureView, notConfigured, notFound, notPermitted, SESSION_OVER, silent } from "./pages/failures.tsx";
import { signIn, signInView, signOut } from "./pages/sign-in.tsx";
import { PAGES } from "./pages.ts";
import { CSRF_FIELD } from "./parts/form.tsx";
import { streamed } from "./respond.ts";
import { isCsrfOf, isSameOrigin, sessionId, type Viewer, viewerOf } from "./session.ts";

/** What the dashboard has beside a request. */
export interface DashboardWorld {
  platform: Platform;
  /** Requests that are the dashboard's own. */
  insiders: Insiders;
}

type Inside = DashboardWorld & { app: Hono<AppEnv> };

/**
 * The pages, at the root. Each request is checked for its session, the page's permission, and, if it changes anything, for coming from a page of ours; then
 * the page asks the API as whoever is signed in, so that no page can do what the API would refuse.
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
  app.get("/sign-in", async (c) => render(await signInView(c, await viewer(c)), null, c));
  app.post("/sign-in", async (c) => {
    requireSameOrigin(c);
    return render(await signIn(c, await formOf(c), world.platform), null, c);
  });
  app.post("/sign-out", async (c) => {
    requireSameOrigin(c);
    return signOut(c, await formOf(c));
  });
  mountLiveSocket(app);
  for (const page of PAGES) mountPage(page, { ...world, app });
}

/** @param inside with the app that answers what the pages ask. */
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
        requireSameOrigin(c);
        const form = await formOf(c);
        const id = sessionId(c.req.raw.headers);
        if (page.viewer === null || id === null) return SESSION_OVER;
        if (!isCsrfOf(id, form.get(CSRF_FIELD))) throw oneError(403, CODE.auth, FOREIGN_FORM);
        if (post.permission !== null) requirePermission(page.viewer.caller, post.permission);
        form.delete(CSRF_FIELD);
        return post.take(page, form);
      }),
    );
  }
  app.all(path, () => {
    const allow = [...(get === undefined ? [] : ["GET", "HEAD"]), ...(post === undefined ? [] : ["POST"])].join(", ");
    throw oneError(405, CODE.methodNotAllowed, `this page takes ${allow}`, { Allow: allow });
  });
}

const FOREIGN_FORM = "this form was not sent by a page of this session: load the page anew and send it again";

type Unchecked = Omit<PageContext, "viewer"> & { viewer: Viewer | null };

/** Runs a page, and makes an answer of whatever becomes of it. */
async function answered(
  c: AppContext,
  inside: Inside,
  run: (page: PageContext & { viewer: Viewer }) => Promise<PageAnswer>,
): Promise<Response> {
  let who: Viewer | null = null;
  try {
    who = await viewer(c);
    const config = readConfig(c.env);
    if (!config.ok) return await render(notConfigured(config.faults), who, c);
    // A page asks who is there before it uses anything of them.
    const page: Unchecked = contextOf(c, inside, config.config, who);
    return await render(await run(page as PageContext), who, c);
  } catch (error) {
    return await render(failed(error, c), who, c);
  }
}

function contextOf(c: AppContext, { app, platform, insiders }: Inside, config: Config, who: Viewer | null): Unchecked {
  const url = new URL(c.req.url);
  const ask = async (request: Request): Promise<Response> => {
    if (who === null) throw new Error("nobody is signed in");
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
  const who = await viewerOf(c.req.raw.headers, c.env.ACCESS, readAdminToken(c.env));
  if (who !== null) c.set("caller", who.caller);
  return who;
}

/** @throws ApiError 403 */
function requireSameOrigin(c: AppContext): void {
  if (!isSameOrigin(c.req.raw)) throw oneError(403, CODE.auth, FOREIGN_FORM);
}

/** @throws ApiError what is wrong with the body. */
async function formOf(c: AppContext): Promise<URLSearchParams> {
  if (mediaType(c.req.raw) !== "application/x-www-form-urlencoded")
    throw oneError(415, CODE.mediaType, "a form is sent as application/x-www-form-urlencoded");
  const text = decodeUtf8(bodyBytes(await readBody(c.req.raw, FORM_MAX_BYTES)));
  if (!text.ok) throw oneError(400, CODE.invalid, text.why);
  return new URLSearchParams(text.value);
}

/** Where somebody signs in, and comes back from. */
function toSignIn(c: AppContext): Response {
  const url = new URL(c.req.url);
  const here = url.pathname + url.search;
  const to = here === "/" ? "" : `?${new URLSearchParams({ to: here })}`;
  return c.redirect(`/sign-in${to}`, 303);
}

async function render(answer: PageAnswer, who: Viewer | null, c: AppContext): Promise<Response> {
  if (answer instanceof Response) return answer;
  const access = readAccess(c.env);
  const [before, after] = await frame(answer, who, access.ok ? access.access.accountId : "");
  return streamed(before, answer.parts, after, answer.status ?? 200);
}

/** A failure as a page. A bug says nothing of itself, but to the log. */
function failed(error: unknown, c: AppContext): View {
  if (error instanceof InnerFailure) return error.status === 404 ? notFound(error.errors) : failureView(error);
  if (error instanceof ApiError) {
    if (error.status === 403) return notPermitted(error.entries);
    return failureView({ status: error.status, errors: error.entries });
  }
  log.error("page failed", { method: c.req.method, route: c.req.routePath, error: errorText(error) });
  return silent();
}

/** Whether somebody looks for a page, rather than a program for a route. */
export function isForReading(request: Request): boolean {
  const { pathname } = new URL(request.url);
  const accepts = request.headers.get("accept") ?? "";
  return request.method === "GET" && !pathname.startsWith("/client/") && accepts.includes("text/html");
}

/** The page of an address at which there is none. Whoever is not signed in learns no more than that. */
export async function nothingHere(c: AppContext): Promise<Response> {
  const who = await viewer(c).catch(() => null);
  return render(notFound(), who, c);
}
