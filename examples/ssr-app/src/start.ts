import { createCsrfMiddleware, createMiddleware, createStart } from "@tanstack/react-start";
import { report } from "./server/report.ts";

/** A start file of one's own switches the framework's default check off: server functions are to be called by the shop's own pages only. */
const csrf = createCsrfMiddleware({ filter: ({ handlerType }) => handlerType === "serverFn" });

/** What a route's own handler throws becomes an answer with status 500, and nothing more. */
const reportedRequests = createMiddleware().server(async ({ next, pathname, request }) => {
  try {
    return await next();
  } catch (error) {
    // A visitor who has left is no error, though the framework throws for that as well where the platform tells it (`enable_request_signal`).
    if (!request.signal.aborted) report(`request for ${pathname}`, error);
    throw error;
  }
});

/** What a server function throws is sent to the page as its result. */
const reportedFunctions = createMiddleware({ type: "function" }).server(async ({ next, serverFnMeta }) => {
  // The platform redacts the long id in the function's URL; this line is what tells one from another.
  console.debug(`server function ${serverFnMeta.name}`);
  try {
    return await next();
  } catch (error) {
    report(`server function ${serverFnMeta.name}`, error);
    throw error;
  }
});

export const startInstance = createStart(() => ({
  requestMiddleware: [csrf, reportedRequests],
  functionMiddleware: [reportedFunctions],
}));
