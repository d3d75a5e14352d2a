import { ApiError } from "../../../base/errors.ts";
import { isLoopback } from "../../../base/hosts.ts";
import { SESSION_MS } from "../../../base/limits.ts";
import { errorText, log } from "../../../base/logger.ts";
import { answered, type Platform } from "../../../base/platform.ts";
import { readAdminToken, readLinkSecrets } from "../../../config.ts";
import { hashOf } from "../../../formats/secrets/credentials.ts";
import { readLinkCode } from "../../../formats/secrets/sign-in-link.ts";
import { type AccessRegister, accessRegister } from "../../../state/access/register.ts";
import { ADMIN, type Caller } from "../../../state/access/roles.ts";
import type { Holder, UsedLink } from "../../../state/access/sessions.ts";
import { type AccessMemory, authenticate, gateOf } from "../../api/auth.ts";
import type { AppContext } from "../../api/route.ts";
import { type PageAnswer, seeOther, type View } from "../page.ts";
import { Button, Field } from "../parts/form.tsx";
import { Notice } from "../parts/panel.tsx";
import { adminProof, cookieOf, newSessionId, REGISTER_MS, sessionId, type Viewer } from "../session.ts";

/**
 * The same address over https; null: it needs none, as it is https already, or this machine, where
 * nothing travels. Elsewhere a token could be read on its way, and browsers do not keep the cookie.
 */
function overHttps(address: string): string | null {
  const url = new URL(address);
  if (url.protocol === "https:" || isLoopback(url.hostname)) return null;
  return `https://${url.host}${url.pathname}${url.search}`;
}

function onlyOverHttps(address: string): View {
  const failure = (
    <Notice kind="bad" title="This connection is not encrypted">
      <p>
        Others could read a token in transit. <a href={address}>Open this page over https</a>
      </p>
    </Notice>
  );
  return page(failure, 403);
}

/**
 * A sign-in link opens a page with one button, and only the button uses the link up: browsers and
 * programs that show previews fetch links before the user follows them.
 * @param who is sent on if signed in already.
 */
export async function signInView(c: AppContext, who: Viewer | null, platform: Platform): Promise<PageAnswer> {
  const query = new URL(c.req.url).searchParams;
  const to = ownPath(query.get("to"));
  if (who !== null) return seeOther(to);
  const elsewhere = overHttps(c.req.url);
  if (elsewhere !== null) return onlyOverHttps(elsewhere);
  const code = query.get("code");
  const link = code === null ? null : linkOf(c, code, platform);
  if (code !== null && link !== null) {
    if (typeof link === "string") return linkRefused(to, link);
    const isUsed = await asked(c, (register) => register.isLinkUsed(link.hash));
    return isUsed ? linkRefused(to, "used") : linkView(to, code);
  }
  const failure = query.has("kept") ? (
    <Notice kind="bad" title="Your browser did not keep the session">
      <p>
        The session cookie works only over https and on localhost. Open this page over https; on your own machine, use
        Chrome, Edge or Firefox, as Safari accepts such cookies over https only.
      </p>
    </Notice>
  ) : query.has("out") ? (
    <Notice kind="info" title="You are signed out" />
  ) : null;
  return view(to, "", failure, 200);
}

/** Opens a session for the owner of the credentials, or of the code of a sign-in link. */
export async function signIn(
  c: AppContext,
  form: URLSearchParams,
  { platform, memory }: { platform: Platform; memory: AccessMemory },
): Promise<PageAnswer> {
  const elsewhere = overHttps(c.req.url);
  if (elsewhere !== null) return onlyOverHttps(elsewhere);
  const [token, email, key] = ["token", "email", "key"].map((name) => (form.get(name) ?? "").trim()) as [
    string,
    string,
    string,
  ];
  const to = ownPath(form.get("to"));
  const refused = (title: string, status: number): View => view(to, email, <Notice kind="bad" title={title} />, status);
  try {
    const code = form.get("code");
    const link = code === null ? null : linkOf(c, code, platform);
    if (link !== null) {
      if (typeof link === "string") return linkRefused(to, link);
      return (await opened(c, ADMIN, to, link)) ?? linkRefused(to, "used");
    }
    if (token === "" && (email === "" || key === ""))
      return refused("Enter a token, or an e-mail address with its key.", 400);
    if (token !== "" && (email !== "" || key !== ""))
      return refused("Enter either a token, or an e-mail address with its key: not both.", 400);
    // The runtime logs a header with any other character, value included.
    if (![token, email, key].every((each) => /^[\u0021-\u007e]*$/.test(each))) return refused(UNKNOWN, 401);
    const headers = new Headers(
      token === "" ? { "x-auth-email": email, "x-auth-key": key } : { authorization: `Bearer ${token}` },
    );
    const caller = await authenticate(headers, gateOf(c.req.raw, c.env, platform, memory, "sign_in.refuse"), false);
    return (await opened(c, caller, to)) ?? refused(UNKNOWN, 401);
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return refused(UNKNOWN, 401);
    if (error instanceof ApiError && error.status === 429)
      return refused("Too many sign-ins from your address have failed. Try again in a minute.", 429);
    if (!(error instanceof ApiError)) log.error("a session could not be opened", { error: errorText(error) });
    return refused("Sign-in is not available at the moment. Try again in a few seconds.", 503);
  }
}

/** The same for all that are wrong: the answer does not tell what is. */
const UNKNOWN = "Token or key not recognised. Check that it is complete, and has not expired or been deleted.";

/** The link that a code is of; or why it is none. null: there are no links here. */
function linkOf(c: AppContext, code: string, platform: Platform): UsedLink | "unknown" | "expired" | null {
  const secrets = readLinkSecrets(c.env);
  if (secrets === null) return null;
  const read = readLinkCode(code, secrets, platform.now());
  return read.kind === "valid" ? { hash: hashOf(code), expiresMs: read.expiresMs } : read.kind;
}

/**
 * Opens a session under a new id, which no other page can have set before; the browser's earlier
 * session ends.
 * @returns null: the link has been used.
 */
async function opened(
  c: AppContext,
  caller: Caller,
  to: string,
  link: UsedLink | null = null,
): Promise<Response | null> {
  c.set("caller", caller);
  const id = newSessionId();
  const before = sessionId(c.req.raw);
  const holder = holderOf(caller, id, readAdminToken(c.env));
  const expiresMs = await asked(c, (register) =>
    register.openSession(hashOf(id), holder, before === null ? null : hashOf(before), link),
  );
  if (expiresMs === null) return null;
  // By way of the page that says so if the browser has not kept the cookie.
  return seeOther(`/sign-in?${new URLSearchParams({ to, kept: "" })}`, {
    "Set-Cookie": cookieOf(c.req.raw, id, SESSION_MS),
  });
}

/** @throws if the register does not answer. */
function asked<T>(c: AppContext, ask: (register: DurableObjectStub<AccessRegister>) => Promise<T>): Promise<T> {
  return answered("the access register", REGISTER_MS, ask(accessRegister(c.env.ACCESS)));
}

function holderOf(caller: Caller, sessionId: string, adminToken: string | null): Holder {
  if (caller.kind === "token" || caller.kind === "member") return { kind: caller.kind, id: caller.id };
  if (caller.kind === "admin" && adminToken !== null)
    return { kind: "admin", proof: adminProof(adminToken, sessionId) };
  throw new Error(`no session is for a caller of the kind ${caller.kind}`);
}

/**
 * Closes the session. The form must come from a page of this origin, which is checked before, but
 * not of this very session: a page left open since an earlier one signs out, too.
 * @throws if the register does not answer: nothing is said to be closed that may be open.
 */
export async function signOut(c: AppContext): Promise<Response> {
  const id = sessionId(c.req.raw);
  if (id !== null) await asked(c, (register) => register.closeSession(hashOf(id)));
  return seeOther("/sign-in?out", { "Set-Cookie": cookieOf(c.req.raw, "", 0) });
}

/** Longest path to come back to, in UTF-16 units: it is sent in headers. */
const PATH_MAX = 2_000;

/** A path of this origin; for anything else, the overview. */
export function ownPath(sent: string | null): string {
  const base = "https://logship.invalid";
  if (sent === null || sent.length > PATH_MAX || !sent.startsWith("/") || !URL.canParse(sent, base)) return "/";
  const url = new URL(sent, base);
  return url.origin === base && !url.pathname.startsWith("//") ? url.pathname + url.search : "/";
}

function page(content: View["parts"][number], status: number): View {
  return { title: "Sign in to logship", status, parts: [content] };
}

/** The page of a link that works. */
function linkView(to: string, code: string): View {
  const form = (
    <form class="sign-in" method="post" action="/sign-in">
      <input type="hidden" name="to" value={to} />
      <input type="hidden" name="code" value={code} />
      <p>This link signs you in as the administrator, once. You stay signed in for twelve hours, in this browser.</p>
      <Button class="primary" label="Sign in" />
    </form>
  );
  return page(form, 200);
}

function linkRefused(to: string, why: "used" | "expired" | "unknown"): View {
  const title = {
    used: "This link has been used.",
    expired: "This link has expired.",
    unknown: "Link not recognised.",
  };
  const failure = (
    <Notice kind="bad" title={title[why]}>
      <p>
        <code>npm start</code> prints a new one each time, and <code>npm run setup</code> for a deployment. Or sign in
        with a token.
      </p>
    </Notice>
  );
  return view(to, "", failure, why === "unknown" ? 401 : 410);
}

function view(to: string, email: string, failure: ReturnType<typeof Notice> | null, status: number): View {
  return page(
    <div class="sign-in">
      {failure}
      <form method="post" action="/sign-in">
        <input type="hidden" name="to" value={to} />
        <Field
          name="token"
          label="Token"
          type="password"
          autocomplete="current-password"
          hint={
            <>
              The <code>ADMIN_TOKEN</code> of this deployment, or a token made here. After <code>npm start</code> it is
              in <code>.dev.vars</code>.
            </>
          }
        />
        <Button class="primary" label="Sign in" />
        <details open={email !== ""}>
          <summary>As a member, with an API key</summary>
          <Field name="email" label="E-mail address" type="email" value={email} autocomplete="username" />
          <Field name="key" label="API key" type="password" autocomplete="off" />
          <Button class="primary" label="Sign in with the key" />
        </details>
      </form>
      <p class="quiet">
        You stay signed in for twelve hours, in this browser. Deleting the token or member ends the session at once.
      </p>
    </div>,
    status,
  );
}
