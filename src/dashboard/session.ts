import { createHmac } from "node:crypto";
import { hashOf, sameHash } from "../access/credentials.ts";
import { type AccessRegister, accessRegister, type SignedIn } from "../access/register.ts";
import { ADMIN, type Caller } from "../access/roles.ts";
import { encodeUtf8, toBase64Url } from "../bytes.ts";
import { answered } from "../platform.ts";

/**
 * The cookie of a session. With this prefix a browser takes it over https (or from localhost) alone, for this host and the whole of it, and no page of
 * another host can put one in its place. RFC 6265bis, 4.1.3.2.
 */
export const SESSION_COOKIE = "__Host-logship";

/** How long the register may take to say who is signed in, in ms. */
export const REGISTER_MS = 3_000;

/** 32 bytes in base64url. */
const SESSION_ID = /^[A-Za-z0-9_-]{43}$/;

/** Somebody who is signed in. */
export interface Viewer {
  /** Never sees a secret. */
  caller: Caller;
  /** What forms of this session carry, so that nobody else's page can send them. */
  csrf: string;
  /** Hash of the session's id: what the register knows it by. */
  sessionHash: Uint8Array;
  /** When the session ends, in ms since the epoch. */
  expiresMs: number;
}

/** A new session's id, for the browser alone. */
export function newSessionId(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(32)));
}

/** The id that a request's cookie holds; null: none, or nothing that could be one. Of two cookies of the name, neither counts. */
export function sessionId(headers: Headers): string | null {
  const values = (headers.get("cookie") ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${SESSION_COOKIE}=`))
    .map((pair) => pair.slice(SESSION_COOKIE.length + 1));
  const [id] = values;
  return values.length === 1 && id !== undefined && SESSION_ID.test(id) ? id : null;
}

/** `Set-Cookie` of an open session. @param ms how long it lasts. */
export function cookieOf(id: string, ms: number): string {
  return `${SESSION_COOKIE}=${id}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=${Math.max(0, Math.floor(ms / 1000))}`;
}

/** `Set-Cookie` that takes it away. */
export const NO_COOKIE = cookieOf("", 0);

/**
 * That a session was opened with this ADMIN_TOKEN. Made with the session's id, which only the browser holds: whoever reads what is stored can try no guess
 * at a token that somebody has thought up.
 */
export function adminProof(adminToken: string, id: string): Uint8Array {
  return createHmac("sha256", id).update("opened by ADMIN_TOKEN\n").update(adminToken).digest();
}

/** What the forms of a session carry. It follows from the session's id, which no script and no other origin can read. */
export function csrfOf(id: string): string {
  return createHmac("sha256", id).update("forms of the dashboard").digest("base64url");
}

/** In constant time. */
export function isCsrfOf(id: string, sent: unknown): boolean {
  return typeof sent === "string" && sameHash(encodeUtf8(sent), encodeUtf8(csrfOf(id)));
}

/**
 * Whether a request comes from a page of this origin, as browsers say it: `Origin` is sent with every POST and every WebSocket, and no page can change it.
 * One that says nothing is refused, too.
 */
export function isSameOrigin(request: Request): boolean {
  const site = request.headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin") return false;
  return request.headers.get("origin") === new URL(request.url).origin;
}

/**
 * Who is signed in, by the cookie of a request; asked of the register each time.
 * @param adminToken in force; null: there is none.
 * @returns null: nobody.
 * @throws if the register does not answer.
 */
export async function viewerOf(
  headers: Headers,
  register: DurableObjectNamespace<AccessRegister>,
  adminToken: string | null,
): Promise<Viewer | null> {
  const id = sessionId(headers);
  if (id === null) return null;
  const sessionHash = hashOf(id);
  const proof = adminToken === null ? null : adminProof(adminToken, id);
  const answer: { session: SignedIn | null } = await answered(
    "the access register",
    REGISTER_MS,
    accessRegister(register).sessionOf(sessionHash, proof),
  );
  if (answer.session === null) return null;
  const { known, expiresMs } = answer.session;
  const caller: Caller =
    known === "admin"
      ? { ...ADMIN, masked: true }
      : {
          kind: known.kind,
          id: known.id,
          name: known.name,
          permissions: new Set(known.permissions),
          masked: true,
        };
  return { caller, csrf: csrfOf(id), sessionHash, expiresMs };
}
