import type { Child } from "hono/jsx";
import { encodeUtf8 } from "../bytes.ts";
import { errorText, log } from "../log.ts";
import { STYLE_HASH } from "./assets.ts";
import type { Part } from "./page.ts";
import { failedPart } from "./parts/failure.tsx";

/**
 * What every page is sent with. It loads its own scripts and nothing else, sends forms to itself, and nobody shows it in a frame; of its times, jobs and
 * records nothing stays in a cache.
 */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": [
    "default-src 'none'",
    `style-src '${STYLE_HASH}'`,
    "script-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "same-origin",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Cache-Control": "no-store",
};

/**
 * Sends a page part by part, each as soon as it and all before it are there. By then the status is sent: a part that fails says so in its place, and what it
 * failed of goes to the log.
 * @param before what stands before the parts: markup as it is; `after` likewise.
 */
export function streamed(before: string, parts: readonly Part[], after: string, status: number): Response {
  const queue = [before, ...parts.map(settle), after].values();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = queue.next();
      if (next.done) controller.close();
      else controller.enqueue(encodeUtf8(await next.value));
    },
  });
  return new Response(body, { status, headers: PAGE_HEADERS });
}

/** Everything is under way at once, and nothing is ever an unhandled rejection. */
async function settle(part: Part): Promise<string> {
  try {
    return await text(await part);
  } catch (error) {
    log.error("a part of a page failed", { error: errorText(error) });
    return text(failedPart(error));
  }
}

/** Escaped already where it is a component; a bare text is escaped by being one. */
async function text(child: Child): Promise<string> {
  if (child === null || child === undefined || typeof child === "boolean") return "";
  if (Array.isArray(child)) return (await Promise.all(child.map((each) => text(each as Child)))).join("");
  // A bare text would reach the page as it is.
  if (typeof child === "string") throw new Error("a part of a page must be an element");
  return `${await (child as { toString(): string | Promise<string> }).toString()}`;
}
