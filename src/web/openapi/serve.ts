import { createHash } from "node:crypto";
import type { Hono } from "hono";
import { encodeUtf8 } from "../../base/bytes.ts";
import { CODE, oneError } from "../../base/errors.ts";
import type { AppContext, AppEnv, ResourceGroup, Resources } from "../api/route.ts";
import { openApiDocument } from "./document.ts";
import { renderPage, STYLE_HASH } from "./page/page.tsx";

/** A public static resource. */
interface Resource {
  body: Uint8Array<ArrayBuffer>;
  etag: string;
  headers: { readonly [name: string]: string };
}

/** Forbids loading, running, framing and sending anything, except what `more` lets in. */
const policy = (more: string): string =>
  `default-src 'none'; ${more}base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/**
 * Serves the OpenAPI document, as JSON and as a page. Both are the same in every deployment and
 * reveal nothing of it, so they need neither credentials nor settings. Built on the first request
 * and kept.
 */
export function mountDescription(app: Hono<AppEnv>, groups: readonly ResourceGroup[], outside: Resources): void {
  mountOne(app, "/openapi.json", () =>
    resource(JSON.stringify(openApiDocument(groups, outside)), "application/json; charset=utf-8", policy("")),
  );
  mountOne(app, "/docs", () =>
    resource(
      renderPage(openApiDocument(groups, outside)),
      "text/html; charset=utf-8",
      policy(`style-src '${STYLE_HASH}'; script-src 'self'; `),
    ),
  );
}

function mountOne(app: Hono<AppEnv>, path: string, write: () => Resource): void {
  let written: Resource | undefined;
  // Hono answers HEAD with this, too.
  app.get(path, (c) => {
    written ??= write();
    return answer(c, written);
  });
  app.all(path, () => {
    throw oneError(405, CODE.methodNotAllowed, "this route takes GET, HEAD", { Allow: "GET, HEAD" });
  });
}

function resource(text: string, type: string, contentPolicy: string): Resource {
  const etag = `"${createHash("sha256").update(text).digest("base64url").slice(0, 22)}"`;
  return {
    body: encodeUtf8(text),
    etag,
    headers: {
      "Content-Type": type,
      "Content-Security-Policy": contentPolicy,
      "X-Content-Type-Options": "nosniff",
      "Referrer-Policy": "no-referrer",
      // It changes only with a deployment.
      "Cache-Control": "public, max-age=300",
      ETag: etag,
    },
  };
}

function answer(c: AppContext, { body, etag, headers }: Resource): Response {
  const { "Content-Type": type, ...others } = headers;
  if (isKnown(c.req.header("if-none-match"), etag)) return c.body(null, 304, others);
  return c.body(body, 200, { "Content-Type": type ?? "", ...others });
}

/** `If-None-Match`: weak comparison, RFC 9110, 13.1.2. */
function isKnown(header: string | undefined, etag: string): boolean {
  return (header ?? "").split(",").some((tag) => tag.trim() === "*" || tag.trim().replace(/^W\//, "") === etag);
}
