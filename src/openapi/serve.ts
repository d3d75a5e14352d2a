import { createHash } from "node:crypto";
import type { Hono } from "hono";
import type { AppContext, AppEnv, ResourceGroup } from "../api/route.ts";
import { encodeUtf8 } from "../bytes.ts";
import { CODE, oneError } from "../errors.ts";
import { openApiDocument } from "./document.ts";
import { renderPage, STYLE_HASH } from "./page/page.tsx";

/** What is served as it is, to everybody. */
interface Resource {
  body: Uint8Array<ArrayBuffer>;
  etag: string;
  headers: { readonly [name: string]: string };
}

/** Nothing may be loaded, run, framed or sent; of the page, its one style sheet is let in. */
const policy = (more: string): string =>
  `default-src 'none'; ${more}base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/**
 * The API's own description, for programs and for people. Both are the same wherever the service is deployed and say nothing of the deployment, so
 * they need neither credentials nor settings. Written on the first request, and remembered.
 */
export function mountDescription(app: Hono<AppEnv>, groups: readonly ResourceGroup[]): void {
  mountOne(app, "/openapi.json", () =>
    resource(JSON.stringify(openApiDocument(groups)), "application/json; charset=utf-8", policy("")),
  );
  mountOne(app, "/docs", () =>
    resource(renderPage(openApiDocument(groups)), "text/html; charset=utf-8", policy(`style-src '${STYLE_HASH}'; `)),
  );
}

function mountOne(app: Hono<AppEnv>, path: string, write: () => Resource): void {
  let written: Resource | undefined;
  // HEAD is among them: the framework answers it as GET, without the body.
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
      // It changes with a deployment: kept for as long as one of these may take to be noticed, then asked for again.
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

/** `If-None-Match`: compared weakly, as RFC 9110, 13.1.2, asks for. */
function isKnown(header: string | undefined, etag: string): boolean {
  return (header ?? "").split(",").some((tag) => tag.trim() === "*" || tag.trim().replace(/^W\//, "") === etag);
}
