import type { Hono } from "hono";
import { requirePermission } from "../access/roles.ts";
import type { AppEnv } from "../api/route.ts";
import { concat, toBase64 } from "../bytes.ts";
import { readAdminToken } from "../config.ts";
import { CODE, oneError } from "../errors.ts";
import { HOLDER_HEADER, live, SESSION_HEADER } from "../live/live.ts";
import { adminProof, isSameOrigin, sessionId, viewerOf } from "./session.ts";

/** Where the live page gets its records. */
export const LIVE_SOCKET_PATH = "/live/socket";

/**
 * The way to the records as they arrive: for whoever is signed in, may read logs, and comes from a page of ours. As a browser does not tell its scripts why
 * a socket was refused, they may ask without one: whoever could open one is answered 426.
 */
export function mountLiveSocket(app: Hono<AppEnv>): void {
  app.get(LIVE_SOCKET_PATH, async (c) => {
    const viewer = await viewerOf(c.req.raw.headers, c.env.ACCESS, readAdminToken(c.env));
    if (viewer === null) throw oneError(401, CODE.auth, "nobody is signed in: sign in at /sign-in");
    c.set("caller", viewer.caller);
    requirePermission(viewer.caller, "logs:read");
    if (c.req.header("upgrade")?.toLowerCase() !== "websocket") {
      c.header("Upgrade", "websocket");
      c.header("Connection", "Upgrade");
      return c.text("this is for WebSockets", 426);
    }
    if (!isSameOrigin(c.req.raw)) throw oneError(403, CODE.auth, "this socket is for the pages of this service");
    // Nothing of the request goes on but whose it is; and what proves the admin's session, which takes the id that stays here.
    const [token, id] = [readAdminToken(c.env), sessionId(c.req.raw.headers)];
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
