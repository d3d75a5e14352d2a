import type { Hono } from "hono";
import { concat, toBase64 } from "../../base/bytes.ts";
import { CODE, oneError } from "../../base/errors.ts";
import { readAdminToken } from "../../config.ts";
import { HOLDER_HEADER, live, SESSION_HEADER } from "../../operate/live/live.ts";
import { requirePermission } from "../../state/access/roles.ts";
import type { AppEnv } from "../api/route.ts";
import { adminProof, isSameOrigin, sessionId, viewerOf } from "./session.ts";

/** The socket of the live page. */
export const LIVE_SOCKET_PATH = "/live/socket";

/**
 * The socket that sends records as they arrive, to viewers with `logs:read` and pages of this
 * origin. A browser does not tell a script why a socket was rejected, so a plain GET answers that:
 * 426 if a socket would open.
 */
export function mountLiveSocket(app: Hono<AppEnv>): void {
  app.get(LIVE_SOCKET_PATH, async (c) => {
    const viewer = await viewerOf(c.req.raw, c.env.ACCESS, readAdminToken(c.env));
    if (viewer === null) throw oneError(401, CODE.auth, "not signed in: sign in at /sign-in");
    c.set("caller", viewer.caller);
    requirePermission(viewer.caller, "logs:read");
    if (c.req.header("upgrade")?.toLowerCase() !== "websocket") {
      c.header("Upgrade", "websocket");
      c.header("Connection", "Upgrade");
      return c.text("this is for WebSockets", 426);
    }
    if (!isSameOrigin(c.req.raw)) throw oneError(403, CODE.auth, "this socket is only for pages of this service");
    // Only the session goes on, and the proof of an admin's session, which needs the session id
    // known here.
    const [token, id] = [readAdminToken(c.env), sessionId(c.req.raw)];
    const { kind, id: callerId } = viewer.caller;
    const proof = kind !== "admin" || token === null || id === null ? new Uint8Array() : adminProof(token, id);
    const headers = {
      upgrade: "websocket",
      [SESSION_HEADER]: toBase64(concat([viewer.sessionHash, proof])),
      [HOLDER_HEADER]: `${kind}:${callerId}`,
    };
    const { webSocket } = await live(c.env.LIVE).fetch("https://live/", { headers });
    if (webSocket === null) throw new Error("no socket");
    return new Response(null, { status: 101, webSocket });
  });
  app.all(LIVE_SOCKET_PATH, () => {
    throw oneError(405, CODE.methodNotAllowed, "this socket takes GET", { Allow: "GET" });
  });
}
