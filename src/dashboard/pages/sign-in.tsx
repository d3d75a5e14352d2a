import { hashOf } from "../../access/credentials.ts";
import { accessRegister } from "../../access/register.ts";
import type { Caller } from "../../access/roles.ts";
import { Senders } from "../../access/senders.ts";
import type { Holder } from "../../access/sessions.ts";
import { authenticate } from "../../api/auth.ts";
import type { AppContext } from "../../api/route.ts";
import { readAdminToken } from "../../config.ts";
import { ApiError } from "../../errors.ts";
import { SESSION_MS } from "../../limits.ts";
import { errorText, log } from "../../log.ts";
import { answered, type Platform } from "../../platform.ts";
import { type PageAnswer, seeOther, type View } from "../page.ts";
import { Field } from "../parts/form.tsx";
import { Notice, Panel } from "../parts/panel.tsx";
import { adminProof, cookieOf, NO_COOKIE, newSessionId, REGISTER_MS, sessionId, type Viewer } from "../session.ts";

/** Hosts that are this machine: what is sent to them leaves it never. */
const OWN_MACHINE = /^(?:(?:[\w-]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** The same address over https; null: it is that already, or on this machine. Over anything else a token could be read on its way, and no browser keeps the cookie. */
function overHttps(address: string): string | null {
  const url = new URL(address);
  if (url.protocol === "https:" || OWN_MACHINE.test(url.hostname)) return null;
  return `https://${url.host}${url.pathname}${url.search}`;
}

function onlyOverHttps(address: string): View {
  return {
    title: "Sign in to logship",
    status: 403,
    section: null,
    parts: [
      <Notice kind="bad" title="This page was asked for without encryption">
        <p>
          A token that is entered here could be read on its way. <a href={address}>Open it over https</a>
        </p>
      </Notice>,
    ],
  };
}

/** @param who signed in already: they are sent on. */
export async function signInView(c: AppContext, who: Viewer | null): Promise<PageAnswer> {
  const query = new URL(c.req.url).searchParams;
  const to = ownPath(query.get("to"));
  if (who !== null) return seeOther(to);
  const elsewhere = overHttps(c.req.url);
  if (elsewhere !== null) return onlyOverHttps(elsewhere);
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
  const elsewhere = overHttps(c.req.url);
  if (elsewhere !== null) return onlyOverHttps(elsewhere);
  const [token, email, key] = ["token", "email", "key"].map((name) => (form.get(name) ?? "").trim()) as [
    string,
    string,
    string,
  ];
  const to = ownPath(form.get("to"));
  const refused = (title: string, status: number): View => view(to, email, <Notice kind="bad" title={title} />, status);
  if (token === "" && (email === "" || key === ""))
    return refused("Enter a token, or an e-mail address with its key.", 400);
  if (token !== "" && (email !== "" || key !== ""))
    return refused("Enter either a token, or an e-mail address with its key: not both.", 400);
  // Characters that no token and no key has: of a header with such ones the runtime writes a line, with all of it.
  if (![token, email, key].every((each) => /^[\u0021-\u007e]*$/.test(each))) return refused(UNKNOWN, 401);
  const headers = new Headers(
    token === "" ? { "x-auth-email": email, "x-auth-key": key } : { authorization: `Bearer ${token}` },
  );
  const adminToken = readAdminToken(c.env);
  const register = c.env.ACCESS;
  try {
    const caller = await authenticate(headers, { adminToken, register, platform, senders: new Senders() }, false);
    c.set("caller", caller);
    // Always another id, so that nobody can have known it before; what this browser had is over.
    const id = newSessionId();
    const before = sessionId(c.req.raw.headers);
    await answered(
      "the access register",
      REGISTER_MS,
      accessRegister(register).openSession(
        hashOf(id),
        holderOf(caller, id, adminToken),
        before === null ? null : hashOf(before),
      ),
    );
    // By way of the page that says so if the browser has not kept it.
    return seeOther(`/sign-in?${new URLSearchParams({ to, kept: "" })}`, { "Set-Cookie": cookieOf(id, SESSION_MS) });
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return refused(UNKNOWN, 401);
    if (!(error instanceof ApiError)) log.error("a session could not be opened", { error: errorText(error) });
    return refused("It cannot be told at the moment whose these are. Try again in a few seconds.", 503);
  }
}

/** The same for all that are wrong: nothing is said of how. */
const UNKNOWN = "Those are not known here. Check that they are whole, and that they have not expired or been deleted.";

function holderOf(caller: Caller, sessionId: string, adminToken: string | null): Holder {
  if (caller.kind === "token" || caller.kind === "member") return { kind: caller.kind, id: caller.id };
  if (caller.kind === "admin" && adminToken !== null)
    return { kind: "admin", proof: adminProof(adminToken, sessionId) };
  throw new Error(`no session is for a caller of the kind ${caller.kind}`);
}

/**
 * Closes the session. That the form is a page's of this origin is checked before; it need not be one of this very session, so that a page which was
 * left open since an earlier one signs out, too.
 * @throws if the register does not answer: whoever is told that they are signed out is.
 */
export async function signOut(c: AppContext): Promise<Response> {
  const id = sessionId(c.req.raw.headers);
  if (id !== null)
    await answered("the access register", REGISTER_MS, accessRegister(c.env.ACCESS).closeSession(hashOf(id)));
  return seeOther("/sign-in?out", { "Set-Cookie": NO_COOKIE });
}

/** Longest path that is come back to, in UTF-16 units: it goes through headers. */
const PATH_MAX = 2_000;

/** A path of this origin; whatever else was sent, the overview. */
export function ownPath(sent: string | null): string {
  const base = "https://logship.invalid";
  if (sent === null || sent.length > PATH_MAX || !sent.startsWith("/") || !URL.canParse(sent, base)) return "/";
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
