/**
 * The server entrypoint: requests go to the framework, but for three paths that are none of its pages; queue and schedule are this function's own. Each
 * call of a handler, and of what is exported by name, is one trace event.
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

/** The framework's default entry, with one difference: what it swallows while it loads a page is reported. */
const framework = createServerEntry({
  fetch: createStartHandler((page) => {
    reportFailedRoutes(page.router);
    return defaultStreamHandler(page);
  }),
});

export default {
  fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname === "/payments") return takePayment(request, env);
    if (pathname === "/browser-errors") return takeBrowserError(request, env);
    const tea = /^\/stock\/([^/]+)$/.exec(pathname)?.[1];
    // A name that is no tea would be a durable object of its own. A body that nobody reads would end as an exception in the record.
    if (tea !== undefined && isTea(tea) && request.method === "GET") return env.STOCK.getByName(tea).fetch(request);
    return framework.fetch(request);
  },

  queue: (batch, env) => packOrders(batch, env),

  scheduled: (event, env) => renewNotes(event, env),
} satisfies ExportedHandler<Env, Order>;
