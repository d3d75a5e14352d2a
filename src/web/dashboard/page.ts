import type { Child } from "hono/jsx";
import type { Platform } from "../../base/platform.ts";
import type { Config } from "../../config.ts";
import type { Permission } from "../../state/access/roles.ts";
import type { ScriptName } from "./assets.ts";
import type { InnerApi } from "./inner-api.ts";
import type { Viewer } from "./session.ts";

/**
 * What a page is made from. Components only see their props: none reads a request or calls the API.
 */
export interface PageContext {
  viewer: Viewer;
  /** The API with the permissions of the viewer; it masks secrets. */
  api: InnerApi;
  /** Parameters of the path, decoded. */
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  /** Path and query of this page. */
  here: string;
  origin: string;
  /** When the page was asked for, in ms since the epoch. */
  nowMs: number;
  config: Config;
  env: Env;
  platform: Platform;
  /** Its body is already read. */
  request: Request;
}

/** Its path, which its forms are sent to. */
export function pathOf({ here }: PageContext): string {
  return here.split("?", 1)[0] ?? "";
}

/** Sent by the script that refreshes: only the refreshed parts are made. */
export const REFRESH_HEADER = "x-logship-refresh";

/**
 * A part of a page. A slow part is a promise; the parts before it are sent meanwhile. A generator
 * sends a part piece by piece, and is returned when the browser stops loading.
 */
export type Part = Child | Promise<Child> | AsyncGenerator<Child>;

export interface View {
  /** The heading, and the start of the title of the window. */
  title: string;
  /** Beside the heading: what can be done with all of the page. */
  aside?: Child;
  /** Default: 200. */
  status?: number;
  /** In order. A failed part is replaced by an error; the others stay. */
  parts: readonly Part[];
  /** Scripts beside `page`. */
  scripts?: readonly ScriptName[];
  /** The pages between this one and its entry of the navigation. */
  trail?: readonly { href: string; label: string }[];
}

/** A view, or a redirect, file or the like. */
export type PageAnswer = View | Response;

export interface Page {
  /** Below the root; `:name` is a parameter. */
  path: string;
  get?: { permission: Permission | null; show(page: PageContext): Promise<PageAnswer> };
  /**
   * Takes a form, after its origin and CSRF token were checked. A change answers with
   * {@link seeOther}.
   */
  post?: { permission: Permission | null; take(page: PageContext, form: URLSearchParams): Promise<PageAnswer> };
}

/** A page with a form. Both methods need the same permission. */
export function formPage(
  path: string,
  permission: Permission | null,
  show: NonNullable<Page["get"]>["show"],
  take: NonNullable<Page["post"]>["take"],
): Page {
  return { path, get: { permission, show }, post: { permission, take } };
}

/** After a change: the browser loads a page, and reloading that repeats nothing. */
export function seeOther(path: string, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(null, { status: 303, headers: { Location: path, "Cache-Control": "no-store", ...headers } });
}
