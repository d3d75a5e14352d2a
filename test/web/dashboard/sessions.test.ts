/** How long a session lasts, and what ends it, from the next request on. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { SESSION_MS, SESSIONS_MAX, SESSIONS_OF_ONE_MAX } from "../../../src/base/limits.ts";
import { platform } from "../../../src/base/platform.ts";
import { hashOf } from "../../../src/formats/secrets/credentials.ts";
import { accessRegister } from "../../../src/state/access/register.ts";
import { createApp } from "../../../src/web/app.ts";
import { csrfOf, newSessionId } from "../../../src/web/dashboard/session.ts";
import { ADMIN_TOKEN } from "../../support/constants.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { call } from "../api/harness.ts";
import { member, token } from "../api/principals.ts";
import { ORIGIN, textOf, Visitor } from "./support.ts";

const COOKIE = "__Host-logship";

let clock: ReturnType<typeof setClock>;
beforeEach(() => {
  clock = setClock(NOON);
});

const register = () => accessRegister(env.ACCESS);

const idOf = ({ cookie }: Visitor): string => (cookie ?? "").split("=")[1] ?? "";

const isIn = async (visitor: Visitor): Promise<boolean> => (await visitor.get("/session")).status === 200;

const rows = (): Promise<number> =>
  runInDurableObject(register(), (_register, { storage }) =>
    Number(storage.sql.exec("SELECT count(*) AS n FROM session").one().n),
  );

/** The answer to a browser with these cookies. */
async function with_(cookie: string): Promise<number> {
  return (await createApp(platform).request(`${ORIGIN}/session`, { headers: { cookie } }, env as unknown as Env))
    .status;
}

describe("a cookie", () => {
  it("is a new one each time, of a whole 256 bits, for this host over https, and no script's", async () => {
    const ids = await Promise.all([1, 2, 3].map(async () => idOf(await Visitor.signedIn())));
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(id).toMatch(/^[\w-]{43}$/);
    // support.ts checks name and attributes of every cookie.
  });

  it("of somebody else's making opens nothing, and is not taken over by signing in", async () => {
    const visitor = new Visitor();
    const forged = `${COOKIE}=${newSessionId()}`;
    visitor.cookie = forged;
    expect((await visitor.get("/")).location).toBe("/sign-in");
    await visitor.submit("/sign-in", { token: ADMIN_TOKEN });
    expect(visitor.cookie).not.toBe(forged);
    expect([await isIn(visitor), await with_(forged)]).toEqual([true, 303]);
  });

  it("is of one port where the host is this machine, so that two shippers there do not sign each other out", async () => {
    const ask = (url: string, init: RequestInit) => createApp(platform).request(url, init, env as unknown as Env);
    const names: string[] = [];
    const jar: string[] = [];
    for (const origin of [
      "http://localhost:8787",
      "http://localhost:8788",
      "http://127.0.0.1:8787",
      "http://x.localhost:1",
      "https://[::1]:8787",
      "http://localhost",
      "https://logship.test:8443",
    ]) {
      const headers = { origin, "content-type": "application/x-www-form-urlencoded" };
      const body = new URLSearchParams({ token: ADMIN_TOKEN });
      const set = (await ask(`${origin}/sign-in`, { method: "POST", headers, body })).headers.get("set-cookie") ?? "";
      const [cookie = "", ...attributes] = set.split("; ");
      names.push(cookie.split("=")[0] ?? "");
      expect(attributes).toEqual(["Path=/", "Secure", "HttpOnly", "SameSite=Lax", `Max-Age=${SESSION_MS / 1_000}`]);
      const show = async (sent: string) => (await ask(`${origin}/session`, { headers: { cookie: sent } })).status;
      expect(await show(cookie)).toBe(200);
      if (origin.startsWith("http://localhost:")) {
        // Beside those of the other ports, as a browser sends them.
        expect(await show(jar.join("; "))).toBe(303);
        jar.push(cookie);
        expect(await show(jar.join("; "))).toBe(200);
      }
    }
    const [first, second] = ["8787", "8788"].map((port) => `${COOKIE}-${port}`);
    expect(names).toEqual([first, second, first, `${COOKIE}-1`, first, COOKIE, COOKIE]);
    const out = await ask("http://localhost:8788/sign-out", {
      method: "POST",
      headers: { origin: "http://localhost:8788", cookie: jar.join("; ") },
    });
    expect(out.headers.get("set-cookie")).toMatch(/^__Host-logship-8788=; .*Max-Age=0$/);
    const still = await ask("http://localhost:8787/session", { headers: { cookie: jar.join("; ") } });
    expect(still.status).toBe(200);
  });

  it("counts if it is the only one of its name, and nothing but the id", async () => {
    const visitor = await Visitor.signedIn();
    const other = await Visitor.signedIn();
    const [one, two] = [visitor.cookie ?? "", other.cookie ?? ""];
    expect(await with_(`a=b; ${one}; ${COOKIE}2=x`)).toBe(200);
    for (const cookies of [
      `${one}; ${two}`,
      `${one}; ${one}`,
      `${COOKIE}=; ${one}`,
      `${one}x`,
      one.slice(0, -1),
      `${COOKIE}="${idOf(visitor)}"`,
      one.replace("__Host-", "__host-"),
      one.replace("__Host-", ""),
      `x${one}`,
      "",
    ])
      expect([cookies, await with_(cookies)]).toEqual([cookies, 303]);
  });

  it("is in no line, nor is what its forms carry", async () => {
    const written: string[] = [];
    for (const level of ["log", "info", "warn", "error", "debug"] as const)
      vi.spyOn(console, level).mockImplementation((...args: unknown[]) => {
        written.push(JSON.stringify(args));
      });
    const visitor = await Visitor.signedIn();
    const id = idOf(visitor);
    await visitor.get("/");
    await visitor.get(`/jobs/${id}?x=${id}`);
    await visitor.submit("/access/tokens", { name: "made", permission: "logs:read" });
    await visitor.submit("/sign-out");
    expect(written.length).toBeGreaterThan(4);
    for (const line of written) for (const secret of [id, csrfOf(id), ADMIN_TOKEN]) expect(line).not.toContain(secret);
    const audit = await call("GET", "/logship/audit");
    for (const secret of [id, csrfOf(id), ADMIN_TOKEN]) expect(JSON.stringify(audit.body)).not.toContain(secret);
  });

  it("is nowhere in what is stored, and neither is ADMIN_TOKEN, nor a hash of it", async () => {
    const visitor = await Visitor.signedIn();
    const hex = (bytes: Uint8Array | ArrayBuffer): string => Buffer.from(bytes as Uint8Array).toString("hex");
    const stored = await runInDurableObject(register(), (_register, { storage }) =>
      storage.sql
        .exec("SELECT * FROM session")
        .toArray()
        .map((row) =>
          Object.values(row).map((value) => (value instanceof ArrayBuffer ? hex(new Uint8Array(value)) : `${value}`)),
        )
        .join(),
    );
    expect(stored).toContain(hex(hashOf(idOf(visitor))));
    for (const secret of [idOf(visitor), ADMIN_TOKEN, hex(hashOf(ADMIN_TOKEN))]) expect(stored).not.toContain(secret);
  });
});

describe("a session is over", () => {
  it("after twelve hours, used or not", async () => {
    const visitor = await Visitor.signedIn();
    clock.advance(SESSION_MS - 1);
    expect(await isIn(visitor)).toBe(true);
    clock.advance(1);
    expect(await isIn(visitor)).toBe(false);
  });

  it("when somebody signs out, and stays so", async () => {
    const visitor = await Visitor.signedIn();
    const { cookie } = visitor;
    await visitor.submit("/sign-out");
    visitor.cookie = cookie;
    expect(await isIn(visitor)).toBe(false);
  });

  it("when its browser signs in anew, as whomever", async () => {
    const { secret } = await token(["logs:read"]);
    const visitor = await Visitor.signedIn();
    const { cookie } = visitor;
    await visitor.submit("/sign-in", { token: secret });
    expect(visitor.cookie).not.toBe(cookie);
    expect([await isIn(visitor), await with_(cookie ?? ""), await rows()]).toEqual([true, 303, 1]);
    // A failed sign-in does not end the session.
    await visitor.submit("/sign-in", { token: "certainly-none" });
    expect(await isIn(visitor)).toBe(true);
  });

  it("when there is another ADMIN_TOKEN, or none", async () => {
    const visitor = await Visitor.signedIn();
    const { secret } = await token(["logs:read"]);
    const caller = await Visitor.signedIn({ token: secret });
    for (const [who, status] of [
      [visitor, 303],
      [caller, 200],
    ] as const) {
      const elsewhere = new Visitor({ settings: { ADMIN_TOKEN: "another-admin-token-of-the-tests" } });
      elsewhere.cookie = who.cookie;
      expect((await elsewhere.get("/session")).status).toBe(status);
    }
    expect(await isIn(visitor)).toBe(true);
  });

  it("when its token is deleted, or expires, however long it was to last", async () => {
    const deleted = await token(["logs:read"]);
    const expiring = await token(["logs:read"], { expires_on: new Date(NOON + 3_600_000).toISOString() });
    const [one, two] = [
      await Visitor.signedIn({ token: deleted.secret }),
      await Visitor.signedIn({ token: expiring.secret }),
    ];
    expect(textOf((await two.get("/session")).html)).toContain("2100-11-20 13:00:00 UTC");
    await call("DELETE", `/tokens/${deleted.id}`);
    expect([await isIn(one), await isIn(two)]).toEqual([false, true]);
    clock.advance(3_600_000 - 1);
    expect(await isIn(two)).toBe(true);
    clock.advance(1);
    expect(await isIn(two)).toBe(false);
  });

  it("when its member is removed, also if somebody with the address comes back", async () => {
    const ada = await member("Administrator", "ada@example.com");
    const visitor = await Visitor.signedIn({ email: "ada@example.com", key: ada.secret });
    await call("DELETE", `/members/${ada.id}`);
    expect(await isIn(visitor)).toBe(false);
    await member("Administrator", "ada@example.com");
    expect(await isIn(visitor)).toBe(false);
  });

  it("not by another role, which counts at once", async () => {
    const ada = await member("Administrator", "ada@example.com");
    const visitor = await Visitor.signedIn({ email: "ada@example.com", key: ada.secret });
    expect((await visitor.get("/access")).status).toBe(200);
    await call("PUT", `/members/${ada.id}`, { role: "Log Share Reader" });
    expect([(await visitor.get("/access")).status, (await visitor.get("/jobs")).status]).toEqual([403, 200]);
    const refused = await visitor.submit("/access/tokens", { name: "made", permission: "logs:read" });
    expect([refused.status, textOf(refused.html)]).toEqual([403, expect.stringContaining("access:edit")]);
  });
});

describe("other sessions", () => {
  it("of the same holder are signed out together, and nobody else's", async () => {
    const { secret } = await token(["logs:read"]);
    const { secret: another } = await token(["logs:read"]);
    const own = await Promise.all([1, 2, 3].map(() => Visitor.signedIn({ token: secret })));
    const others = [await Visitor.signedIn({ token: another }), await Visitor.signedIn()];
    const [here] = own;
    const answer = await here?.submit("/session/others");
    expect(answer?.location).toBe("/session?closed=2");
    expect(textOf((await here?.get("/session?closed=2"))?.html ?? "")).toContain("2 other sessions were signed out");
    expect(await Promise.all([...own, ...others].map(isIn))).toEqual([true, false, false, true, true]);
  });

  it("are shown to nobody, but who one is and until when", async () => {
    const { secret } = await token(["logs:read"], { name: `<script>alert(1)</script>` });
    const { html } = await (await Visitor.signedIn({ token: secret })).get("/session");
    expect(html).not.toContain("<script>alert");
    expect(textOf(html)).toContain("<script>alert(1)</script>");
    expect(textOf(html)).toContain("2100-11-21 00:00:00 UTC");
  });
});

describe("the list of sessions", () => {
  const open = (n: number, holder: string): Promise<unknown> =>
    runInDurableObject(register(), (each) => {
      for (let i = 0; i < n; i++)
        each.openSession(hashOf(`${holder} ${i}`), { kind: "token", id: `${holder}-${i}` }, null);
    });

  it("holds a thousand: one more closes the oldest", async () => {
    const first = await Visitor.signedIn();
    await open(SESSIONS_MAX - 1, "x");
    expect([await rows(), await isIn(first)]).toEqual([SESSIONS_MAX, true]);
    await open(1, "y");
    expect([await rows(), await isIn(first)]).toEqual([SESSIONS_MAX, false]);
  });

  it("holds twenty of one holder: whoever signs in often signs out nobody else", async () => {
    const admin = await Visitor.signedIn();
    const { secret } = await token(["logs:read"]);
    const own: Visitor[] = [];
    for (let i = 0; i < SESSIONS_OF_ONE_MAX + 2; i++) own.push(await Visitor.signedIn({ token: secret }));
    expect(await rows()).toBe(SESSIONS_OF_ONE_MAX + 1);
    expect(await Promise.all(own.slice(0, 3).map(isIn))).toEqual([false, false, true]);
    expect(await isIn(admin)).toBe(true);
  });

  it("forgets those that are over with the next that is opened", async () => {
    await open(50, "x");
    clock.advance(SESSION_MS);
    await Visitor.signedIn();
    expect(await rows()).toBe(1);
  });
});

describe("a page", () => {
  it("has one number and one line, which the changes that it makes are noted under", async () => {
    const visitor = await Visitor.signedIn();
    const csrf = await visitor.csrf();
    const lines: Record<string, unknown>[] = [];
    vi.spyOn(console, "info").mockImplementation((line: Record<string, unknown>) => {
      lines.push(line);
    });
    const answer = await visitor.submit("/access/tokens", { name: "made", permission: "logs:read", csrf });
    const id = answer.headers.get("x-request-id");
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(lines.filter(({ message }) => message === "request")).toEqual([
      expect.objectContaining({
        ...{ request_id: id, method: "POST", route: "/access/tokens", status: 200 },
        caller: { kind: "admin", id: "admin" },
      }),
    ]);
    const { result } = (await call<{ request_id: string; action: string }[]>("GET", "/logship/audit")).body;
    expect(result).toEqual([expect.objectContaining({ request_id: id, action: "token.create" })]);
  });

  it("is kept nowhere, framed by nobody, and tells nobody where one was", async () => {
    const visitor = await Visitor.signedIn();
    for (const path of ["/", "/session", "/access", "/sign-in", "/nothing"]) {
      const { headers } = await visitor.get(path, { accept: "text/html" });
      expect([path, headers.get("cache-control")]).toEqual([path, "no-store"]);
      if (headers.has("location")) continue;
      expect([headers.get("x-frame-options"), headers.get("referrer-policy")]).toEqual(["DENY", "same-origin"]);
      expect(headers.get("access-control-allow-origin")).toBeNull();
    }
  });
});
