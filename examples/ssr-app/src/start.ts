import { createCsrfMiddleware, createMiddleware, createStart } from "@tanstack/react-start";
import { report } from "./server/report.ts";

/**
 * A custom start file replaces the framework's check: only the shop's pages call server functions.
 */
const csrf = createCsrfMiddleware({ filter: ({ handlerType }) => handlerType === "serverFn" });

/** Errors of a route's own handler become a plain 500; this reports them. */
const reportedRequests = createMiddleware().server(async ({ next, pathname, request }) => {
  try {
    return await next();
  } catch (error) {
    // A visitor who left is no error, though the framework throws for that as well (with
    // `enable_request_signal`).
    if (!request.signal.aborted) report(`request for ${pathname}`, error);
    throw error;
  }
});

/** Errors of a server function are sent to the page as its result; this reports them. */
const reportedFunctions = createMiddleware({ type: "function" }).server(async ({ next, serverFnMeta }) => {
  // Cloudflare redacts the long id in the function's URL; this line names the function.
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
