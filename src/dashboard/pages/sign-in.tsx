import { hashOf } from "../../access/credentials.ts";
import { accessRegister } from "../../access/register.ts";
import { Senders } from "../../access/senders.ts";
import { authenticate } from "../../api/auth.ts";
import type { AppContext } from "../../api/route.ts";
import { readAdminToken } from "../../config.ts";
import { ApiError } from "../../errors.ts";
import { SESSION_MS } from "../../limits.ts";
import type { Platform } from "../../platform.ts";
import { type PageAnswer, seeOther, type View } from "../page.ts";
import { CSRF_FIELD, Field } from "../parts/form.tsx";
import { Notice, Panel } from "../parts/panel.tsx";
import { cookieOf, isCsrfOf, NO_COOKIE, newSessionId, sessionId, type Viewer } from "../session.ts";

/** @param who signed in already: they are sent on. */
export async function signInView(c: AppContext, who: Viewer | null): Promise<PageAnswer> {
  const query = new URL(c.req.url).searchParams;
  const to = ownPath(query.get("to"));
  if (who !== null) return seeOther(to);
  const failure = query.has("kept") ? (
    <Notice kind="bad" title="Your browser did not keep the session">
      <p>
        Its cookie is for https alone, and for localhost. Open this page over https; on your own machine use Chrome,
        Edge or Firefox, as Safari takes such cookies over https only.
      </p>
    </Notice>
  ) : query.has("out") ? (
    <Notice kind="info" title="You are signed out" />
  ) : null;
  return view(to, "", failure, 200);
}

/** Opens a session for whoever the credentials belong to. */
export async function signIn(c: AppContext, form: URLSearchParams, platform: Platform): Promise<PageAnswer> {
  const [token, email, key] = ["token", "email", "key"].map((name) => (form.get(name) ?? "").trim()) as [
    string,
    string,
    string,
  ];
  const to = ownPath(form.get("to"));
  const refused = (title: string, status: number): View => view(to, email, <Notice kind="bad" title={title} />, status);
  const headers = new Headers();
  try {
    if (token !== "") headers.set("authorization", `Bearer ${token}`);
    if (email !== "") headers.set("x-auth-email", email);
    if (key !== "") headers.set("x-auth-key", key);
  } catch {
    return refused("Those are not known here: there are characters in them that no token and no key has.", 401);
  }
  if ([...headers].length === 0) return refused("Enter a token, or an e-mail address with its key.", 400);
  if (token !== "" && (email !== "" || key !== ""))
    return refused("Enter either a token, or an e-mail address with its key: not both.", 400);
  const adminToken = readAdminToken(c.env);
  const register = c.env.ACCESS;
  try {
    const caller = await authenticate(headers, { adminToken, register, platform, senders: new Senders() }, false);
    c.set("caller", caller);
    const id = newSessionId();
    const holder =
      caller.kind === "admin"
        ? { kind: "admin" as const, hash: hashOf(adminToken ?? "") }
        : { kind: caller.kind as "token" | "member", id: caller.id };
    await accessRegister(register).openSession(hashOf(id), holder);
    // By way of the page that says so if the browser has not kept it.
    return seeOther(`/sign-in?${new URLSearchParams({ to, kept: "" })}`, { "Set-Cookie": cookieOf(id, SESSION_MS) });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status !== 401)
      return refused("It cannot be told at the moment whose these are. Try again in a few seconds.", 503);
    return refused(
      "Those are not known here. Check that they are whole, and that they have not expired or been deleted.",
      401,
    );
  }
}

/** Closes the session; of somebody who has none, there is nothing to close. */
export async function signOut(c: AppContext, form: URLSearchParams): Promise<Response> {
  const id = sessionId(c.req.raw.headers);
  if (id !== null && isCsrfOf(id, form.get(CSRF_FIELD))) await accessRegister(c.env.ACCESS).closeSession(hashOf(id));
  return seeOther("/sign-in?out", { "Set-Cookie": NO_COOKIE });
}

/** A path of this origin; whatever else was sent, the overview. */
function ownPath(sent: string | null): string {
  const base = "https://logship.invalid";
  if (sent === null || !sent.startsWith("/") || !URL.canParse(sent, base)) return "/";
  const url = new URL(sent, base);
  return url.origin === base && !url.pathname.startsWith("//") ? url.pathname + url.search : "/";
}

function view(to: string, email: string, failure: ReturnType<typeof Notice> | null, status: number): View {
  return {
    title: "Sign in to logship",
    status,
    section: null,
    parts: [
      <div class="sign-in">
        {failure}
        <form method="post" action="/sign-in">
          <input type="hidden" name="to" value={to} />
          <Panel id="by-token" title="With a token">
            <Field
              name="token"
              label="Token"
              type="password"
              autocomplete="current-password"
              hint={
                <>
                  The <code>ADMIN_TOKEN</code> of this deployment, or one that was made here (
                  <code>logship_token_…</code>). After <code>npm start</code> it is in <code>.dev.vars</code>.
                </>
              }
            />
          </Panel>
          <Panel id="by-key" title="Or as a member">
            <Field name="email" label="E-mail address" type="email" value={email} autocomplete="username" />
            <Field name="key" label="API key" type="password" autocomplete="off" />
          </Panel>
          <button type="submit" class="primary">
            Sign in
          </button>
        </form>
        <p class="quiet">
          You stay signed in for twelve hours, in this browser. Who made a token or key can end that at once by deleting
          it.
        </p>
      </div>,
    ],
  };
}
