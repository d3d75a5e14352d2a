/**
 * The server entrypoint: requests go to the framework, except for three paths that are no pages;
 * queue and schedule are handled here. Each call of a handler, or of a named export, is one trace
 * event.
 */
import { createStartHandler, defaultStreamHandler } from "@tanstack/react-start/server";
import { createServerEntry } from "@tanstack/react-start/server-entry";
import { takeBrowserError } from "./server/browser-errors.ts";
import { renewNotes } from "./server/notes.ts";
import { type Order, packOrders } from "./server/orders.ts";
import { takePayment } from "./server/payments.ts";
import { reportFailedRoutes } from "./server/report.ts";
import { isTea } from "./shop/teas.ts";

export { Prices } from "./server/prices.ts";
export { Restock } from "./server/restock.ts";
export { Stock } from "./server/stock.ts";

/** The framework's default entry, except that errors it swallows in loaders are reported. */
const framework = createServerEntry({
  fetch: createStartHandler((page) => {
    reportFailedRoutes(page.router);
    return defaultStreamHandler(page);
  }),
});

/** Anyone may open a WebSocket, and its messages make events: so many a minute from one address. */
async function askStock(tea: string, request: Request, env: Env): Promise<Response> {
  if (request.headers.has("Upgrade")) {
    // Cloudflare sets this header.
    const { success: isFew } = await env.WATCHERS.limit({ key: request.headers.get("CF-Connecting-IP") ?? "local" });
    if (!isFew) return new Response(null, { status: 429 });
  }
  return env.STOCK.getByName(tea).fetch(request);
}

export default {
  fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname === "/payments") return takePayment(request, env);
    if (pathname === "/browser-errors") return takeBrowserError(request, env);
    const tea = /^\/stock\/([^/]+)$/.exec(pathname)?.[1];
    // An unknown name would create a Durable Object. An unread body would be an exception in the
    // record.
    if (tea !== undefined && isTea(tea) && request.method === "GET") return askStock(tea, request, env);
    return framework.fetch(request);
  },

  queue: (batch, env) => packOrders(batch, env),

  scheduled: (event, env) => renewNotes(event, env),
} satisfies ExportedHandler<Env, Order>;
