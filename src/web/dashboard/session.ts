import { createHmac } from "node:crypto";
import { encodeUtf8, toBase64Url } from "../../base/bytes.ts";
import { isLoopback } from "../../base/hosts.ts";
import { answered } from "../../base/platform.ts";
import { hashOf, sameHash } from "../../formats/secrets/credentials.ts";
import { type AccessRegister, accessRegister, type SignedIn } from "../../state/access/register.ts";
import { ADMIN, type Caller } from "../../state/access/roles.ts";

/**
 * The cookie of a session. With this prefix a browser takes it only over https or from localhost,
 * for exactly this host, and no page of another host can replace it. RFC 6265bis, 4.1.3.2.
 */
const SESSION_COOKIE = "__Host-logship";

/**
 * The name of a session's cookie. Cookies ignore ports, and several shippers may run on one
 * machine: there it has the port in it.
 */
function cookieName({ url }: Request): string {
  const { hostname, port } = new URL(url);
  return isLoopback(hostname) && port !== "" ? `${SESSION_COOKIE}-${port}` : SESSION_COOKIE;
}

/** How long the register may take to answer, in ms. */
export const REGISTER_MS = 3_000;

/** 32 bytes in base64url. */
const SESSION_ID = /^[A-Za-z0-9_-]{43}$/;

/** A signed-in user. */
export interface Viewer {
  /** Masked: sees no secret. */
  caller: Caller;
  /** Token in the forms of this session: pages of other origins do not know it. */
  csrf: string;
  /** Hash of the session's id, as the register stores it. */
  sessionHash: Uint8Array;
  /** When the session ends, in ms since the epoch. */
  expiresMs: number;
}

/** A new session's id. Only the browser keeps it. */
export function newSessionId(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(32)));
}

/**
 * The id in a request's cookie; null: none, or malformed. Of two cookies of the name, neither
 * counts.
 */
export function sessionId(request: Request): string | null {
  const prefix = `${cookieName(request)}=`;
  const values = (request.headers.get("cookie") ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(prefix))
    .map((pair) => pair.slice(prefix.length));
  const [id] = values;
  return values.length === 1 && id !== undefined && SESSION_ID.test(id) ? id : null;
}

/** `Set-Cookie` of an open session. @param ms its lifetime; 0 deletes the cookie. */
export function cookieOf(request: Request, id: string, ms: number): string {
  return `${cookieName(request)}=${id}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=${Math.max(0, Math.floor(ms / 1000))}`;
}

/**
 * Proof that a session was opened with this ADMIN_TOKEN. It is keyed by the session's id, which
 * only the browser has: what is stored does not allow guessing at a token that a person made up.
 */
export function adminProof(adminToken: string, id: string): Uint8Array {
  return createHmac("sha256", id).update("opened by ADMIN_TOKEN\n").update(adminToken).digest();
}

/**
 * Token in the forms of a session. It follows from the session's id, which no script and no other
 * origin can read.
 */
export function csrfOf(id: string): string {
  return createHmac("sha256", id).update("forms of the dashboard").digest("base64url");
}

/** In constant time. */
export function isCsrfOf(id: string, sent: unknown): boolean {
  return typeof sent === "string" && sameHash(encodeUtf8(sent), encodeUtf8(csrfOf(id)));
}

/**
 * Whether a request comes from a page of this origin. Browsers send `Origin` with every POST and
 * every WebSocket, and no page can change it. A request without it is refused.
 */
export function isSameOrigin(request: Request): boolean {
  const site = request.headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin") return false;
  return request.headers.get("origin") === new URL(request.url).origin;
}

/**
 * The user signed in by a request's cookie, as the register says now.
 * @param adminToken the current one; null: none.
 * @returns null: not signed in.
 * @throws if the register does not answer.
 */
export async function viewerOf(
  request: Request,
  register: DurableObjectNamespace<AccessRegister>,
  adminToken: string | null,
): Promise<Viewer | null> {
  const id = sessionId(request);
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
      : { ...known, permissions: new Set(known.permissions), masked: true };
  return { caller, csrf: csrfOf(id), sessionHash, expiresMs };
}
