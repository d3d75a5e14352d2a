import { waitUntil } from "cloudflare:workers";
import { type AnyRouter, isNotFound, isRedirect } from "@tanstack/react-router";

/** An error may pass several places that report it: server function, loader, page. */
const reported = new WeakSet<Error>();

/**
 * Makes a swallowed error visible: a framework turns it into an error page, and for Cloudflare a
 * call over RPC that throws is ok. The record of this invocation then has the error in
 * `Exceptions`, and its place, with the stack, in `Logs`.
 *
 * The outcome stays `ok`, since the visitor got an answer: filter on `Exceptions`, not on `Outcome`
 * alone.
 * @param where the place, for the log line.
 */
export function report(where: string, error: unknown): void {
  // Redirects are thrown on purpose.
  if (isRedirect(error) || isNotFound(error) || error instanceof Response) return;
  const thrown = error instanceof Error ? error : new Error(String(error));
  if (reported.has(thrown)) return;
  reported.add(thrown);
  console.error(`${where}: ${thrown.stack ?? thrown}`);
  // Cloudflare records the rejection of a promise given to waitUntil as an exception.
  waitUntil(Promise.reject(thrown));
}

/** Reports errors in the loaders of a page, which the framework only shows to the visitor. */
export function reportFailedRoutes(router: AnyRouter): void {
  for (const { routeId, status, error } of router.state.matches)
    if (status === "error") report(`loading ${routeId}`, error);
}
