/**
 * No page of another origin and no other session can change anything; the session opens the pages
 * only.
 */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { FORM_MAX_BYTES, FORM_MAX_FIELDS } from "../../../src/base/limits.ts";
import { platform } from "../../../src/base/platform.ts";
import { createApp } from "../../../src/web/app.ts";
import { csrfOf } from "../../../src/web/dashboard/session.ts";
import { ACCOUNT, ADMIN_TOKEN } from "../../support/constants.ts";
import { call } from "../api/harness.ts";
import { token } from "../api/principals.ts";
import { ORIGIN, textOf, Visitor } from "./support.ts";

const OWN = { origin: ORIGIN, "sec-fetch-site": "same-origin" };

interface Token {
  id: string;
  name: string;
}

const names = async (): Promise<string[]> =>
  (await call<Token[]>("GET", "/tokens")).body.result.map(({ name }) => name).sort();

/** A form that would create a token. */
const form = (csrf: string | null): URLSearchParams =>
  new URLSearchParams({ name: "made", permission: "logs:read", ...(csrf !== null && { csrf }) });

let visitor: Visitor;
beforeEach(async () => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  visitor = await Visitor.signedIn();
});

describe("a form", () => {
  it("is taken from a page of the session", async () => {
    for (const headers of [OWN, { origin: ORIGIN }])
      expect((await visitor.post("/access/tokens", form(await visitor.csrf()), headers)).status).toBe(200);
    expect(await names()).toEqual(["made", "made"]);
  });

  const FOREIGN: readonly [why: string, headers: Record<string, string>][] = [
    ["no Origin", {}],
    ["no Origin, and a site that is the same", { "sec-fetch-site": "same-origin" }],
    ["Origin: null", { origin: "null" }],
    ["an empty Origin", { origin: "" }],
    ["another Origin", { origin: "https://evil.example" }],
    [
      "another Origin that says it is the same site",
      { origin: "https://evil.example", "sec-fetch-site": "same-origin" },
    ],
    ["another scheme", { origin: "http://logship.test" }],
    ["another port", { origin: "https://logship.test:8443" }],
    ["a host below", { origin: "https://x.logship.test" }],
    ["a host that begins like it", { origin: "https://logship.test.evil.example" }],
    ["an Origin with a path", { origin: `${ORIGIN}/` }],
    ["two Origins", { origin: `${ORIGIN}, ${ORIGIN}` }],
    ["a cross-site request", { origin: ORIGIN, "sec-fetch-site": "cross-site" }],
    ["a request of the same site only", { origin: ORIGIN, "sec-fetch-site": "same-site" }],
    ["an address that somebody typed", { origin: ORIGIN, "sec-fetch-site": "none" }],
    ["a Referer alone", { referer: `${ORIGIN}/access` }],
  ];
  it.each(FOREIGN)("is refused with %s", async (_why, headers) => {
    const csrf = await visitor.csrf();
    const answer = await visitor.post("/access/tokens", form(csrf), headers);
    expect([answer.status, textOf(answer.html)]).toEqual([403, expect.stringContaining("Nothing changed")]);
    expect(await names()).toEqual([]);
    const { cookie } = visitor;
    expect((await visitor.post("/sign-out", form(csrf), headers)).status).toBe(403);
    expect(visitor.cookie).toBe(cookie);
    expect((await visitor.get("/")).status).toBe(200);
    const stranger = new Visitor();
    const signed = await stranger.post("/sign-in", new URLSearchParams({ token: ADMIN_TOKEN }), headers);
    expect([signed.status, stranger.cookie]).toEqual([403, null]);
  });

  it("is refused without what its session is known by, or with what another is known by", async () => {
    const own = await visitor.csrf();
    const other = await (await Visitor.signedIn()).csrf();
    expect(other).not.toBe(own);
    for (const csrf of [
      null,
      "",
      other,
      own.slice(1),
      `${own}x`,
      own.toLowerCase(),
      visitor.cookie ?? "",
      csrfOf(""),
    ]) {
      const answer = await visitor.post("/access/tokens", form(csrf), OWN);
      expect([csrf, answer.status]).toEqual([csrf, 403]);
    }
    // Of two, the first counts.
    const twice = form(other);
    twice.append("csrf", own);
    expect((await visitor.post("/access/tokens", twice, OWN)).status).toBe(403);
    expect(await names()).toEqual([]);
  });

  it("is refused in any other kind of body", async () => {
    const csrf = await visitor.csrf();
    for (const type of [
      "application/json",
      "text/plain",
      "multipart/form-data; boundary=x",
      "",
      "application/x-www-form-urlencoded2",
    ]) {
      const answer = await visitor.post("/access/tokens", form(csrf), { ...OWN, "content-type": type });
      expect([type, answer.status]).toEqual([type, 415]);
      expect((await visitor.post("/sign-in", form(csrf), { ...OWN, "content-type": type })).status).toBe(415);
    }
    const large = form(csrf);
    large.set("name", "x".repeat(FORM_MAX_BYTES));
    expect((await visitor.post("/access/tokens", large, OWN)).status).toBe(413);
    const many = form(csrf);
    for (let n = 0; n < FORM_MAX_FIELDS; n++) many.append("permission", "");
    expect((await visitor.post("/access/tokens", many, OWN)).status).toBe(413);
    expect(await names()).toEqual([]);
  });

  it("does nothing where nobody is signed in any more, and says so", async () => {
    const csrf = await visitor.csrf();
    const { cookie } = visitor;
    await visitor.submit("/sign-out");
    visitor.cookie = cookie;
    const answer = await visitor.post("/access/tokens", form(csrf), OWN);
    expect([answer.status, textOf(answer.html)]).toEqual([401, expect.stringContaining("your session ended")]);
    expect(await names()).toEqual([]);
  });

  it("signs out from a page of an earlier session, too", async () => {
    const { cookie } = visitor;
    const answer = await visitor.post("/sign-out", form("of another session"), OWN);
    expect([answer.status, visitor.cookie]).toEqual([303, null]);
    visitor.cookie = cookie;
    expect((await visitor.get("/")).location).toBe("/sign-in");
  });
});

describe("what opens the pages", () => {
  const ask = (path: string, init: RequestInit): Promise<Response> =>
    Promise.resolve(createApp(platform).request(ORIGIN + path, init, env as unknown as Env));

  it("opens nothing of the API", async () => {
    const cookie = visitor.cookie ?? "";
    const csrf = await visitor.csrf();
    for (const [method, path] of [
      ["GET", "/logship/jobs"],
      ["GET", "/tokens"],
      ["POST", "/tokens"],
      ["DELETE", "/logship/webhook"],
    ] as const) {
      const headers = { ...OWN, cookie, "x-csrf-token": csrf, "content-type": "application/json" };
      const answer = await ask(`/client/v4/accounts/${ACCOUNT}${path}`, {
        method,
        headers,
        ...(method === "POST" && { body: JSON.stringify({ name: "made", permissions: ["logs:read"] }) }),
      });
      expect([path, answer.status, answer.headers.get("set-cookie")]).toEqual([path, 401, null]);
      // Nor does it as a bearer.
      const bearer = { authorization: `Bearer ${cookie.split("=")[1]}` };
      expect((await ask(`/client/v4/accounts/${ACCOUNT}${path}`, { method, headers: bearer })).status).toBe(401);
    }
    expect(await names()).toEqual([]);
  });

  it("is the cookie alone: credentials of the API show no page", async () => {
    const { secret } = await token(["logs:read", "access:edit"]);
    for (const bearer of [secret, ADMIN_TOKEN]) {
      const headers = { authorization: `Bearer ${bearer}` };
      expect((await ask("/access", { headers })).headers.get("location")).toBe("/sign-in?to=%2Faccess");
      const body = form(null).toString();
      const type = { "content-type": "application/x-www-form-urlencoded" };
      expect(
        (await ask("/access/tokens", { method: "POST", headers: { ...OWN, ...headers, ...type }, body })).status,
      ).toBe(401);
    }
    expect(await names()).toEqual(["ci"]);
  });

  it("makes nobody an insider: no header does", async () => {
    for (const name of [
      "x-insider",
      "x-logship-caller",
      "x-request-id",
      "x-forwarded-user",
      "cf-access-jwt-assertion",
    ]) {
      const answer = await ask(`/client/v4/accounts/${ACCOUNT}/tokens`, { headers: { [name]: "admin" } });
      expect(answer.status).toBe(401);
    }
  });
});

describe("a GET", () => {
  it("changes nothing, whatever its address says", async () => {
    await token(["logs:read"]);
    const { id } = (await call<Token[]>("GET", "/tokens")).body.result[0] ?? { id: "" };
    const csrf = await visitor.csrf();
    for (const path of ["/access/tokens", `/access/tokens/${id}/delete`, "/session/others", "/alerts/webhook/delete"]) {
      const { status } = await visitor.get(`${path}?${form(csrf)}&_method=POST`, { "x-http-method-override": "POST" });
      expect([path, [200, 404, 405].includes(status)]).toEqual([path, true]);
    }
    expect(await names()).toEqual(["ci"]);
    expect((await call<unknown[]>("GET", "/logship/audit")).body.result).toHaveLength(1);
  });

  it("has no other method beside it than POST", async () => {
    const headers = { ...OWN, cookie: visitor.cookie ?? "" };
    for (const method of ["PUT", "PATCH", "DELETE", "OPTIONS"]) {
      const answer = await createApp(platform).request(`${ORIGIN}/access`, { method, headers }, env as unknown as Env);
      expect([method, answer.status, answer.headers.get("allow")]).toEqual([method, 405, "GET, HEAD"]);
      expect(answer.headers.get("access-control-allow-origin")).toBeNull();
    }
  });
});
