/** Signing in: who is let in, what others are told, and which page comes next. */
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { fromBase64 } from "../../../src/base/bytes.ts";
import { platform } from "../../../src/base/platform.ts";
import { newLinkCode, SIGN_IN_LINK_MS } from "../../../src/formats/secrets/sign-in-link.ts";
import { AccessRegister } from "../../../src/index.ts";
import { createApp } from "../../../src/web/app.ts";
import { ownPath } from "../../../src/web/dashboard/pages/sign-in.tsx";
import { ADMIN_TOKEN } from "../../support/constants.ts";
import { setClock } from "../../support/runtime/pipeline.ts";
import { member, token } from "../api/principals.ts";
import { ORIGIN, textOf, Visitor } from "./support.ts";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
});

describe("signing in", () => {
  it("lets somebody in who has a token, and out again", async () => {
    const visitor = await Visitor.signedIn();
    const page = await visitor.get("/");
    expect([page.status, textOf(page.html)]).toEqual([200, expect.stringContaining("Signed in as Admin token")]);
    const out = await visitor.submit("/sign-out");
    expect([out.status, out.location, visitor.cookie]).toEqual([303, "/sign-in?out", null]);
    expect((await visitor.get("/")).location).toBe("/sign-in");
    expect(textOf((await visitor.get("/sign-in?out")).html)).toContain("You are signed out");
  });

  it("is for tokens and members as well, who see what they may", async () => {
    const { secret } = await token(["logs:read"], { name: "on call" });
    const { secret: key } = await member("Functions Admin", "ada@example.com");
    const caller = await Visitor.signedIn({ token: ` ${secret}\n` });
    expect(textOf((await caller.get("/")).html)).toContain("Signed in as on call");
    expect((await caller.get("/jobs")).status).toBe(200);
    const ada = await Visitor.signedIn({ email: "Ada@Example.com", key });
    expect(textOf((await ada.get("/")).html)).toContain("Signed in as ada@example.com");
    const jobs = await ada.get("/jobs");
    expect([jobs.status, textOf(jobs.html)]).toEqual([403, expect.stringContaining("logs:read")]);
  });

  it("says the same of all that are wrong, and keeps none of them on the page but the address", async () => {
    const { secret } = await token(["logs:read"], { expires_on: "2099-01-01T00:00:00Z" });
    const { secret: key } = await member("Administrator", "ada@example.com");
    const strange = `logship_token_${"A".repeat(43)}`;
    const said = new Set<string>();
    for (const fields of [
      { token: "certainly-none" },
      { token: `${ADMIN_TOKEN}x` },
      { token: strange },
      { token: `${secret.slice(0, -1)}${secret.endsWith("A") ? "B" : "A"}` },
      { token: key },
      { token: "two words" },
      { token: "snow☃man" },
      { token: "line\nbreak" },
      { email: "ada@example.com", key: "certainly-none" },
      { email: "ada@example.com", key: `${key}x` },
      { email: "ada@example.com", key: secret },
      { email: "nobody@example.com", key },
      { email: "ada@example.com", key: ADMIN_TOKEN },
      { email: "☃", key: "no☃key" },
    ]) {
      const visitor = new Visitor();
      const answer = await visitor.submit("/sign-in", fields);
      expect([answer.status, visitor.cookie]).toEqual([401, null]);
      for (const typed of [fields.token, fields.key]) if (typed !== undefined) expect(answer.html).not.toContain(typed);
      // The fields of a member stay open where they were filled in.
      said.add(answer.html.replace(/ value="[^"]*"/g, "").replace(/<details[^>]*>/, ""));
    }
    expect(said.size).toBe(1);
    expect(textOf([...said][0] ?? "")).toContain("Token or key not recognised.");
  });

  it("asks for what is missing, and for one of both kinds", async () => {
    const visitor = new Visitor();
    for (const fields of [{}, { token: " " }, { email: "ada@example.com" }, { key: "k" }]) {
      const answer = await visitor.submit("/sign-in", fields);
      expect([answer.status, textOf(answer.html)]).toEqual([400, expect.stringContaining("Enter a token, or")]);
    }
    const both = await visitor.submit("/sign-in", { token: ADMIN_TOKEN, email: "ada@example.com", key: "k" });
    expect([both.status, textOf(both.html)]).toEqual([400, expect.stringContaining("not both")]);
    expect(visitor.cookie).toBeNull();
  });

  it("shows an address that is markup as text", async () => {
    const answer = await new Visitor().submit("/sign-in", { email: `"><img src=x onerror=alert(1)>`, key: "k" });
    expect(answer.html).not.toContain("<img");
    expect(answer.html).toContain("&quot;&gt;&lt;img");
  });

  it("says so where the register does not answer, and takes nothing for wrong", async () => {
    const { secret } = await token(["logs:read"]);
    const known = await Visitor.signedIn({ token: secret });
    const { cookie } = known;
    for (const method of ["identify", "openSession", "sessionOf"] as const)
      vi.spyOn(AccessRegister.prototype, method).mockImplementation(() => {
        throw new Error("out of reach");
      });
    for (const fields of [{ token: secret }, { token: ADMIN_TOKEN }]) {
      const answer = await new Visitor().submit("/sign-in", fields);
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "5"]);
      expect(textOf(answer.html)).toContain("Try again in a few seconds");
    }
    for (const path of ["/", "/sign-in", "/jobs"]) {
      const answer = await known.get(path);
      expect([path, answer.status, answer.headers.get("set-cookie")]).toEqual([path, 503, null]);
      expect(textOf(answer.html)).toContain("does not answer");
    }
    const out = await known.post("/sign-out", new URLSearchParams(), { origin: ORIGIN });
    expect([out.status, known.cookie]).toEqual([503, cookie]);
    vi.restoreAllMocks();
    expect((await known.get("/")).status).toBe(200);
  });

  it("is not for who may be in a malformed deployment, and says which setting is at fault to who is in", async () => {
    const settings = { OBJSTORE_ENDPOINT: "no url" };
    const stranger = await new Visitor({ settings }).get("/jobs");
    expect([stranger.status, stranger.location]).toEqual([303, "/sign-in?to=%2Fjobs"]);
    const known = await Visitor.signedIn({ token: ADMIN_TOKEN }, { settings });
    const page = await known.get("/jobs");
    expect([page.status, textOf(page.html)]).toEqual([503, expect.stringContaining("OBJSTORE_ENDPOINT")]);
    // Without this token no user can sign in, so the fault is shown to all.
    const closed = await new Visitor({ settings: { ADMIN_TOKEN: "" } }).get("/jobs");
    expect([closed.status, textOf(closed.html)]).toEqual([503, expect.stringContaining("ADMIN_TOKEN")]);
  });
});

describe("coming back", () => {
  it("is to the page that one asked for", async () => {
    const visitor = new Visitor();
    expect((await visitor.get("/jobs?page=2&x=%2F")).location).toBe("/sign-in?to=%2Fjobs%3Fpage%3D2%26x%3D%252F");
    const answer = await visitor.submit("/sign-in", { token: ADMIN_TOKEN, to: "/jobs?page=2&x=%2F" });
    const kept = answer.location ?? "";
    expect(kept).toMatch(/^\/sign-in\?to=/);
    expect((await visitor.get(kept)).location).toBe("/jobs?page=2&x=%2F");
  });

  it("is said to be impossible if the browser did not keep the session", async () => {
    const { html, status } = await new Visitor().get("/sign-in?to=%2Fjobs&kept=");
    expect([status, textOf(html)]).toEqual([200, expect.stringContaining("did not keep the session")]);
  });

  const ELSEWHERE = [
    "//evil.example",
    "///evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "/\\/evil.example",
    "/\t/evil.example",
    "/\n/evil.example",
    "/\r\n/evil.example",
    "\t//evil.example",
    " //evil.example",
    "/.//evil.example",
    "/..//evil.example",
    "/x/..//evil.example",
    "/%2e//evil.example",
    "//evil.example@logship.test/",
    "//logship.test@evil.example/",
    "https://evil.example/",
    "https:evil.example",
    "http:/evil.example",
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "data:text/html,x",
    "@evil.example",
    ".evil.example",
    "",
    `/${"x".repeat(3_000)}`,
  ];
  it.each(ELSEWHERE)("never leads elsewhere: %j", async (to) => {
    const signed = await new Visitor().submit("/sign-in", { token: ADMIN_TOKEN, to });
    expect(signed.location).toBe("/sign-in?to=%2F&kept=");
    const visitor = await Visitor.signedIn();
    expect((await visitor.get(`/sign-in?${new URLSearchParams({ to })}`)).location).toBe("/");
    expect((await new Visitor().get(`/sign-in?${new URLSearchParams({ to })}`)).html).toContain('name="to" value="/"');
  });

  it("stays here whatever is encoded in a path", () => {
    expect(ownPath("/%2f%2fevil.example")).toBe("/%2f%2fevil.example");
    expect(ownPath("/@evil.example")).toBe("/@evil.example");
    expect(ownPath("/jobs/1#//evil")).toBe("/jobs/1");
    const parts = fc.constantFrom(
      "/",
      "\\",
      ".",
      "..",
      "%2f",
      "%2e",
      "%5c",
      "@",
      ":",
      "\t",
      "\n",
      "\u0000",
      "?",
      "#",
      "evil.example",
      "☃",
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(parts, fc.string()), { maxLength: 8 }), (pieces) => {
        const to = ownPath(pieces.join(""));
        expect(to).toMatch(/^\/(?![/\\])[\u0021-\u007e]*$/);
        expect(new URL(to, ORIGIN).origin).toBe(ORIGIN);
        // Idempotent.
        expect(ownPath(to)).toBe(to);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("methods", () => {
  it("GET signs nobody in or out, and what is not there is a 405", async () => {
    const visitor = await Visitor.signedIn();
    for (const path of ["/sign-out", "/sign-in"]) {
      const app = await visitor.get(path);
      expect([path, app.status]).toEqual(path === "/sign-out" ? [path, 405] : [path, 303]);
    }
    expect((await visitor.get("/sign-out")).headers.get("allow")).toBe("POST");
    expect((await visitor.get("/")).status).toBe(200);
    const stranger = new Visitor();
    expect((await stranger.get(`/sign-in?token=${ADMIN_TOKEN}`)).headers.get("set-cookie")).toBeNull();
  });

  it("HEAD has the headers of a page and nothing else", async () => {
    const answer = await createApp(platform).request(`${ORIGIN}/sign-in`, { method: "HEAD" }, env as unknown as Env);
    expect([answer.status, await answer.text()]).toEqual([200, ""]);
    expect(answer.headers.get("x-frame-options")).toBe("DENY");
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe("without encryption", () => {
  const ask = async (address: string, method = "GET"): Promise<[number, string]> => {
    const { origin } = new URL(address);
    const body = method === "POST" ? new URLSearchParams({ token: ADMIN_TOKEN }).toString() : null;
    const headers = { origin, "content-type": "application/x-www-form-urlencoded" };
    const answer = await createApp(platform).request(address, { method, headers, body }, env as unknown as Env);
    expect(method === "POST" && answer.status !== 303 ? answer.headers.get("set-cookie") : null).toBeNull();
    return [answer.status, await answer.text()];
  };

  it.each([
    "http://logship.test/sign-in?to=%2Fjobs",
    "http://localhost.evil.example/sign-in",
    "http://10.0.0.1:8787/sign-in",
  ])("nobody is asked for a token: %s", async (address) => {
    const [status, page] = await ask(address);
    expect([status, page.includes("<input")]).toEqual([403, false]);
    expect(page).toContain(`href="${address.replace("http://", "https://")}"`);
    expect((await ask(address, "POST"))[0]).toBe(403);
  });

  it.each(["http://localhost:8787", "http://127.0.0.1:8787", "http://[::1]:8787", "http://logship.localhost"])(
    "one's own machine is as good: %s",
    async (origin) => {
      const [status, page] = await ask(`${origin}/sign-in`);
      expect([status, page.includes('name="token"')]).toEqual([200, true]);
      expect((await ask(`${origin}/sign-in`, "POST"))[0]).toBe(303);
    },
  );
});

describe("a sign-in link", () => {
  const secretsKey = fromBase64(String((env as unknown as { SECRETS_KEY: string }).SECRETS_KEY));
  const codeOf = (secrets: object = {}): string =>
    newLinkCode({ secretsKey, adminToken: ADMIN_TOKEN, ...secrets }, platform.now());
  const open = (code: string) => new Visitor().get(`/sign-in?${new URLSearchParams({ code })}`);
  const FORM = 'name="token"';

  it("signs the admin in by its button, once", async () => {
    const code = codeOf();
    const visitor = new Visitor();
    const page = await visitor.get(`/sign-in?code=${code}`);
    expect([page.status, visitor.cookie, page.html.includes(FORM)]).toEqual([200, null, false]);
    expect(page.html).toContain(`name="code" value="${code}"`);
    const answer = await visitor.submit("/sign-in", { code });
    expect([answer.status, answer.location]).toEqual([303, "/sign-in?to=%2F&kept="]);
    expect(textOf((await visitor.get("/")).html)).toContain("Signed in as Admin token");
    const again = new Visitor();
    for (const second of [await open(code), await again.submit("/sign-in", { code })]) {
      expect([second.status, second.headers.get("set-cookie")]).toEqual([410, null]);
      expect(textOf(second.html)).toContain("This link has been used.");
      expect(second.html).toContain(FORM);
      expect(second.html).not.toContain(code);
    }
  });

  it("is not used up by looking at it, and leads to the page that was asked for", async () => {
    const code = codeOf();
    for (let i = 0; i < 3; i++) expect((await open(code)).status).toBe(200);
    const visitor = new Visitor();
    const answer = await visitor.submit("/sign-in", { code, to: "/jobs" });
    expect((await visitor.get(answer.location ?? "")).location).toBe("/jobs");
  });

  it("opens one session when it is used by many at once", async () => {
    const code = codeOf();
    const visitors = Array.from({ length: 8 }, () => new Visitor());
    const answers = await Promise.all(visitors.map((visitor) => visitor.submit("/sign-in", { code })));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([303, ...Array(7).fill(410)]);
    expect(visitors.filter(({ cookie }) => cookie !== null)).toHaveLength(1);
  });

  it("expires", async () => {
    const clock = setClock(Date.UTC(2100, 10, 20, 12));
    const code = codeOf();
    clock.advance(SIGN_IN_LINK_MS - 1);
    expect((await open(code)).status).toBe(200);
    clock.advance(1);
    for (const answer of [await open(code), await new Visitor().submit("/sign-in", { code })]) {
      expect([answer.status, textOf(answer.html)]).toEqual([410, expect.stringContaining("This link has expired.")]);
      expect(answer.headers.get("set-cookie")).toBeNull();
    }
  });

  it("stays used where the clock is set back, and its row goes later", async () => {
    const clock = setClock(Date.UTC(2100, 10, 20, 12));
    const code = codeOf();
    expect((await new Visitor().submit("/sign-in", { code })).status).toBe(303);
    clock.advance(SIGN_IN_LINK_MS);
    expect((await new Visitor().submit("/sign-in", { code: codeOf() })).status).toBe(303);
    clock.advance(-SIGN_IN_LINK_MS);
    expect(textOf((await open(code)).html)).toContain("This link has been used.");
  });

  it("of other secrets, or changed, opens nothing and never reaches the register", async () => {
    const code = codeOf();
    const asked = vi.spyOn(AccessRegister.prototype, "openSession");
    const [expiry = "", nonce = "", mac = ""] = code.split(".");
    for (const wrong of [
      codeOf({ adminToken: "another-admin-token-of-the-tests" }),
      codeOf({ secretsKey: new Uint8Array(32) }),
      `${Number(expiry) + 60}.${nonce}.${mac}`,
      `0${code}`,
      `${expiry}.${"A".repeat(22)}.${mac}`,
      `${expiry}.${nonce}.${"A".repeat(43)}`,
      `${code}x`,
      code.slice(0, -1),
      ADMIN_TOKEN,
      "..",
      "",
    ]) {
      for (const answer of [await open(wrong), await new Visitor().submit("/sign-in", { code: wrong })]) {
        expect([wrong, answer.status, answer.headers.get("set-cookie")]).toEqual([wrong, 401, null]);
        expect(textOf(answer.html)).toContain("Link not recognised.");
      }
    }
    expect(asked).not.toHaveBeenCalled();
  });

  it("is nothing where a secret is malformed", async () => {
    const code = codeOf();
    const page = await new Visitor({ settings: { SECRETS_KEY: "short" } }).get(`/sign-in?code=${code}`);
    expect([page.html.includes(FORM), page.html.includes(code)]).toEqual([true, false]);
  });

  it("is not taken from another page's form, and is in no line", async () => {
    const code = codeOf();
    const written: string[] = [];
    for (const level of ["log", "info", "warn", "error", "debug"] as const)
      vi.spyOn(console, level).mockImplementation((...args: unknown[]) => void written.push(JSON.stringify(args)));
    const foreign = await new Visitor().post("/sign-in", new URLSearchParams({ code }), {
      origin: "https://evil.example",
    });
    expect([foreign.status, foreign.headers.get("set-cookie")]).toEqual([403, null]);
    await open(code);
    expect((await new Visitor().submit("/sign-in", { code })).status).toBe(303);
    expect(written.length).toBeGreaterThan(2);
    for (const line of written) expect(line).not.toContain(code);
  });

  it("opens nothing while the register does not answer, and works afterwards", async () => {
    const code = codeOf();
    vi.spyOn(AccessRegister.prototype, "openSession").mockImplementation(() => {
      throw new Error("out of reach");
    });
    expect((await new Visitor().submit("/sign-in", { code })).status).toBe(503);
    vi.restoreAllMocks();
    expect((await new Visitor().submit("/sign-in", { code })).status).toBe(303);
  });
});
