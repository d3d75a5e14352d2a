import type { Child } from "hono/jsx";
import type { Permission } from "../access/roles.ts";
import type { Config } from "../config.ts";
import type { Platform } from "../platform.ts";
import type { ScriptName } from "./assets.ts";
import type { InnerApi } from "./inner-api.ts";
import type { Viewer } from "./session.ts";

/** What a page is made from. Pages themselves are functions of what these give: no component reads a request, or asks anybody. */
export interface PageContext {
  viewer: Viewer;
  /** The API, as the viewer may use it; secrets in its answers are masked. */
  api: InnerApi;
  /** Of the path, decoded. */
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
  /** The request as it came. Its body is read already. */
  request: Request;
}

/** A part of a page: what is slow is a promise, and what stands before it is sent meanwhile. */
export type Part = Child | Promise<Child>;

export interface View {
  /** Stands in the heading and the window's title. */
  title: string;
  /** 200 if it says nothing. */
  status?: number;
  /** In the order of the page. One that fails is replaced by what went wrong, and the others stay. */
  parts: readonly Part[];
  /** Of the parts behind the first screen. */
  scripts?: readonly ScriptName[];
  /** Where in the navigation it is. */
  section: Section | null;
  /** What stands above the title: the way back to where one came from. */
  trail?: readonly { href: string; label: string }[];
}

/** The entries of the navigation. */
export type Section = "overview" | "jobs" | "functions" | "live" | "set-aside" | "access" | "status";

/** What a page's handler answers: a view, or a redirect, file or the like. */
export type PageAnswer = View | Response;

export interface Page {
  /** Below the root; `:name` is a parameter. */
  path: string;
  get?: { permission: Permission | null; show(page: PageContext): Promise<PageAnswer> };
  /** Takes a form; that it comes from a page of ours is checked before. A change answers with {@link seeOther}. */
  post?: { permission: Permission | null; take(page: PageContext, form: URLSearchParams): Promise<PageAnswer> };
}

/** After a change: the browser asks for a page anew, and reloading that repeats nothing. */
export function seeOther(path: string, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(null, { status: 303, headers: { Location: path, "Cache-Control": "no-store", ...headers } });
}
