/** A body that does not go on is given seconds, and that of a stranger is not read. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { SIGN_IN_MAX_BYTES } from "../../../src/base/limits.ts";
import { platform } from "../../../src/base/platform.ts";
import type { Route } from "../../../src/web/api/route.ts";
import { createApp, GROUPS } from "../../../src/web/app.ts";
import { PAGES } from "../../../src/web/dashboard/pages.ts";
import { ACCOUNT, ADMIN_TOKEN } from "../../support/constants.ts";
import { onFakeClock, type Stalled, stalled } from "../../support/runtime/stalled.ts";
import { ORIGIN, Visitor } from "../dashboard/support.ts";
import { filled } from "./harness.ts";

const app = createApp(platform);

/** The longest silence, and what is answered to a body that is not read. */
const SILENCE_S = 10;
const UNREAD_S = 2;
const BUSY_S = 3;

interface Sent {
  status: number;
  seen: Stalled["seen"];
}

async function send(url: string, method: string, headers: Record<string, string>): Promise<Sent> {
  const { body, seen } = stalled();
  const settings = { ...env, LOCAL_FUNCTIONS: "http://localhost:8788" } as unknown as Env;
  const { status } = await app.request(url, { method, headers, body }, settings);
  return { status, seen };
}

const ROUTES = GROUPS.flatMap(({ names: [name], resources }) =>
  Object.entries(resources).flatMap(([path, methods]) =>
    Object.entries<Route>(methods)
      .filter(([method]) => method !== "GET")
      .map(([method, { doc }]) => ({ method, path: name + filled(path), hasBody: doc.body !== undefined })),
  ),
);
const typeOf = (path: string): string =>
  path.includes("/scripts/") && !path.includes("settings") ? "multipart/form-data; boundary=x" : "application/json";

const FORMS = PAGES.filter(({ post }) => post !== undefined).map(({ path }) => filled(path));
const OWN = { origin: ORIGIN, "sec-fetch-site": "same-origin", "content-type": "application/x-www-form-urlencoded" };

describe("a body that stalls", () => {
  it("ends with 408 at every route of the API that reads it, and its reader is cancelled", async () => {
    const readers = ROUTES.filter(({ hasBody }) => hasBody);
    expect(readers.length).toBeGreaterThan(10);
    const { value, seconds } = await onFakeClock(() =>
      Promise.all(
        readers.map(async ({ method, path }) => {
          const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": typeOf(path) };
          const url = `${ORIGIN}/client/v4/accounts/${ACCOUNT}${path}`;
          return { path: `${method} ${path}`, ...(await send(url, method, headers)) };
        }),
      ),
    );
    expect(value.filter(({ status }) => status === 408).length).toBeGreaterThan(10);
    // Where what the path names is not there, nothing is read.
    expect(value.filter(({ status, seen }) => ![404, 408].includes(status) || !seen.cancelled)).toEqual([]);
    expect(seconds).toBeLessThanOrEqual(SILENCE_S + BUSY_S);
  });

  it("ends with 408 at every page with a form", async () => {
    const visitor = await Visitor.signedIn();
    const headers = { ...OWN, cookie: visitor.cookie ?? "" };
    expect(FORMS.length).toBeGreaterThan(20);
    const { value, seconds } = await onFakeClock(() =>
      Promise.all(FORMS.map(async (path) => ({ path, ...(await send(ORIGIN + path, "POST", headers)) }))),
    );
    expect(value.filter(({ status, seen }) => status !== 408 || !seen.cancelled)).toEqual([]);
    expect(seconds).toBeLessThanOrEqual(SILENCE_S + BUSY_S);
  });

  it("ends with 408 where anyone may send it, to sign in, and sooner", async () => {
    const { value, seconds } = await onFakeClock(() => send(`${ORIGIN}/sign-in`, "POST", OWN));
    expect(value).toEqual({ status: 408, seen: { pulled: 2, cancelled: true } });
    expect(seconds).toBeLessThanOrEqual(SILENCE_S / 2 + BUSY_S);
  });
});

describe("the body of a stranger", () => {
  it("is not read by any route or page: it is heard for two seconds, so that the answer arrives", async () => {
    const cookie = "__Host-logship=0123456789012345678901234567890123456789012";
    const strangers = [
      ...ROUTES.map(({ method, path }) => ({
        method,
        url: `${ORIGIN}/client/v4/accounts/${ACCOUNT}${path}`,
        headers: { authorization: "Bearer x", "content-type": typeOf(path) } as Record<string, string>,
      })),
      ...FORMS.flatMap((path) =>
        [{ ...OWN }, { ...OWN, cookie }].map((headers) => ({ method: "POST", url: ORIGIN + path, headers })),
      ),
    ];
    const { value, seconds } = await onFakeClock(() =>
      Promise.all(strangers.map(async ({ method, url, headers }) => ({ url, ...(await send(url, method, headers)) }))),
    );
    expect(value.filter(({ status, seen }) => status !== 401 || !seen.cancelled)).toEqual([]);
    expect(seconds).toBeLessThanOrEqual(UNREAD_S + BUSY_S);
  });

  it("is at most 8 KiB where it signs in, which the longest of all that a form may hold does not reach", async () => {
    const post = async (body: string): Promise<number> =>
      (await app.request(`${ORIGIN}/sign-in`, { method: "POST", headers: OWN, body }, env as unknown as Env)).status;
    expect(await post("x".repeat(SIGN_IN_MAX_BYTES + 1))).toBe(413);
    const longest = new URLSearchParams({ to: `/${"%".repeat(1_999)}`, token: "€".repeat(170), email: "", key: "" });
    expect(await post(`${longest}`)).toBe(401);
  });
});
