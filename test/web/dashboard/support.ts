/**
 * The dashboard in the runtime: signs in, loads pages, sends forms, and checks what every page
 * guarantees.
 */
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { type Platform, platform } from "../../../src/base/platform.ts";
import { createApp } from "../../../src/web/app.ts";
import { ADMIN_TOKEN } from "../../support/constants.ts";

export const ORIGIN = "https://logship.test";

export interface Shown {
  status: number;
  headers: Headers;
  /** "" for a redirect. */
  html: string;
  /** Target of a redirect; null: none. */
  location: string | null;
}

interface VisitorOptions {
  world?: Platform;
  /** Instead of those of vitest.config.ts. */
  settings?: object;
  /** Where it opens the dashboard. */
  origin?: string;
}

/** One browser: its cookie, and the token that its forms carry. */
export class Visitor {
  readonly #app: ReturnType<typeof createApp>;
  readonly #settings: object;
  readonly #origin: string;
  cookie: string | null = null;

  constructor({ world = platform, settings = {}, origin = ORIGIN }: VisitorOptions = {}) {
    this.#app = createApp(world);
    this.#settings = settings;
    this.#origin = origin;
  }

  /** Signed in, with the admin's token unless told otherwise. */
  static async signedIn(
    fields: Record<string, string> = { token: ADMIN_TOKEN },
    options: VisitorOptions = {},
  ): Promise<Visitor> {
    const visitor = new Visitor(options);
    const answer = await visitor.submit("/sign-in", fields);
    expect(answer.status).toBe(303);
    return visitor;
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<Shown> {
    return this.#send(path, { method: "GET", headers });
  }

  /** Sends a form as a page of the dashboard would. */
  async submit(path: string, fields: Record<string, string> | URLSearchParams = {}): Promise<Shown> {
    const form = new URLSearchParams(fields);
    if (this.cookie !== null && !form.has("csrf")) form.set("csrf", await this.csrf());
    return this.post(path, form, { origin: this.#origin, "sec-fetch-site": "same-origin" });
  }

  /** Sends a form as it is. */
  async post(path: string, form: URLSearchParams, headers: Record<string, string>): Promise<Shown> {
    const type = { "content-type": "application/x-www-form-urlencoded" };
    return this.#send(path, { method: "POST", headers: { ...type, ...headers }, body: form.toString() });
  }

  /** The CSRF token of this session, read from a page. */
  async csrf(): Promise<string> {
    const { html } = await this.get("/");
    return /name="csrf" value="([\w-]+)"/.exec(html)?.[1] ?? "";
  }

  async #send(path: string, init: { method: string; headers: Record<string, string>; body?: string }): Promise<Shown> {
    const headers = { ...init.headers, ...(this.cookie !== null && { cookie: this.cookie }) };
    const response = await this.#app.request(this.#origin + path, { ...init, headers }, {
      ...env,
      ...this.#settings,
    } as unknown as Env);
    const set = response.headers.get("set-cookie");
    if (set !== null) {
      expect(set).toMatch(/^__Host-logship(?:-\d+)?=[\w-]*; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=\d+$/);
      this.cookie = set.includes("Max-Age=0") ? null : (set.split(";")[0] ?? null);
    }
    const shown = {
      status: response.status,
      headers: response.headers,
      html: await response.text(),
      location: response.headers.get("location"),
    };
    if ((shown.headers.get("content-type") ?? "").startsWith("text/html")) expectPage(shown);
    return shown;
  }
}

/**
 * Every page: no foreign content is loaded or run, nothing is cached, and it contains no secret.
 */
function expectPage({ headers, html }: Shown): void {
  const policy = headers.get("content-security-policy") ?? "";
  expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[\w+/=]+'; script-src 'self'; /);
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toContain("unsafe");
  expect(headers.get("cache-control")).toBe("no-store");
  expect(html).toMatch(/^<!DOCTYPE html><html lang="en">[\s\S]*<\/html>$/);
  // Values are texts.
  expect(html.replace(/="[^"]*"/g, '=""')).not.toMatch(/<[^>]* (?:style|on\w+)=/i);
  expect(html.match(/<script\b[^>]*>/g)?.every((tag) => / src="\/assets\/[\w-]+\.js"/.test(tag))).not.toBe(false);
  for (const secret of [ADMIN_TOKEN, "test-secret-key", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="])
    expect(html).not.toContain(secret);
}

/** The text of a page, roughly: without markup, white space as one space. */
export function textOf(html: string): string {
  return html
    .replace(/<style>[\s\S]*?<\/style>|<title>[\s\S]*?<\/title>/g, " ")
    .replace(/<[^>]+>/g, " ")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&")
    .replace(/\s+/g, " ");
}

/** The ids of the groups of options that a job's form shows open. */
export function openGroups(html: string): string[] {
  return [...html.matchAll(/<details class="option" id="([^"]+)" open="">/g)].map(([, id]) => id ?? "");
}
