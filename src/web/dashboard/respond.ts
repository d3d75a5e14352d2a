import type { Child } from "hono/jsx";
import { encodeUtf8 } from "../../base/bytes.ts";
import { errorText, log } from "../../base/logger.ts";
import { type Pieces, streamOf } from "../../base/streams.ts";
import { STYLE_HASH } from "./assets.ts";
import type { Part } from "./page.ts";
import { failedPart } from "./parts/failure.tsx";

/**
 * The headers of every page. It loads only its own scripts, sends forms only to this origin, cannot
 * be framed, and is not cached.
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
 * Sends a page part by part, each as soon as it and those before it are ready. The status is sent
 * first: a part that fails later is replaced by an error, and its cause is logged.
 * @param before markup before the parts, not escaped; `after` likewise.
 */
export function streamed(before: string, parts: readonly Part[], after: string, status: number): Response {
  return new Response(streamOf(encoded(texts(before, parts, after))), { status, headers: PAGE_HEADERS });
}

async function* encoded(texts: AsyncGenerator<string>): Pieces {
  for await (const text of texts) yield encodeUtf8(text);
}

async function* texts(before: string, parts: readonly Part[], after: string): AsyncGenerator<string, void, void> {
  const settled = parts.map((part) => (isGenerator(part) ? part : settle(part)));
  yield before;
  for (const part of settled) {
    if (part instanceof Promise) yield await part;
    else yield* pieces(part);
  }
  yield after;
}

function isGenerator(part: Part): part is AsyncGenerator<Child> {
  return typeof part === "object" && part !== null && Symbol.asyncIterator in part;
}

/** What fails ends with an error in its place. */
async function* pieces(part: AsyncGenerator<Child>): AsyncGenerator<string, void, void> {
  try {
    for await (const piece of part) yield await text(piece);
  } catch (error) {
    yield await failed(error);
  }
}

/** Never rejects, so that no part becomes an unhandled rejection. */
async function settle(part: Child | Promise<Child>): Promise<string> {
  try {
    return await text(await part);
  } catch (error) {
    return failed(error);
  }
}

function failed(error: unknown): Promise<string> {
  log.error("a part of a page failed", { error: errorText(error) });
  return text(failedPart(error));
}

/** Components escape their texts. */
async function text(child: Child): Promise<string> {
  if (child === null || child === undefined || typeof child === "boolean") return "";
  if (Array.isArray(child)) return (await Promise.all(child.map((each) => text(each as Child)))).join("");
  // A bare text would not be escaped.
  if (typeof child === "string") throw new Error("a part of a page must be an element");
  return `${await (child as { toString(): string | Promise<string> }).toString()}`;
}
