import { waitUntil } from "cloudflare:workers";
import { type AnyRouter, isNotFound, isRedirect } from "@tanstack/react-router";

/** An error may pass several places that report it: server function, loader, page. */
const reported = new WeakSet<Error>();

/**
 * Makes an error visible that somebody else swallows: a framework that turns it into an error page, or the platform, to which a call over RPC that throws
 * has gone well. The record of this invocation then has it among its `Exceptions`, and where it happened, with the stack, among its `Logs`.
 *
 * The outcome of the invocation stays as it is (`ok`), since the visitor did get an answer: filter on `Exceptions`, not on `Outcome` alone.
 * @param where in words, for the log line.
 */
export function report(where: string, error: unknown): void {
  // Thrown on purpose, to lead elsewhere.
  if (isRedirect(error) || isNotFound(error) || error instanceof Response) return;
  const thrown = error instanceof Error ? error : new Error(String(error));
  if (reported.has(thrown)) return;
  reported.add(thrown);
  console.error(`${where}: ${thrown.stack ?? thrown}`);
  // A promise that nobody waits for and that is rejected: the platform's own way of noting an exception after the answer.
  waitUntil(Promise.reject(thrown));
}

/** Reports what went wrong in the loaders of a page; the framework shows it to the visitor, and to nobody else. */
export function reportFailedRoutes(router: AnyRouter): void {
  for (const { routeId, status, error } of router.state.matches)
    if (status === "error") report(`loading ${routeId}`, error);
}
