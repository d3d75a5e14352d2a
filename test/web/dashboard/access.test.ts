/** The pages of tokens, members and the audit. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { PERMISSIONS, ROLE_NAMES } from "../../../src/state/access/roles.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { call } from "../api/harness.ts";
import { bearer, member, token } from "../api/principals.ts";
import { IMAGE, OBEYED, SCRIPT } from "./hostile.ts";
import { textOf, Visitor } from "./support.ts";

interface Token {
  id: string;
  name: string;
  permissions: string[];
  expires_on: string | null;
}

interface Member {
  id: string;
  email: string;
  role: string;
}

const tokens = async (): Promise<Token[]> => (await call<Token[]>("GET", "/tokens")).body.result;
const members = async (): Promise<Member[]> => (await call<Member[]>("GET", "/members")).body.result;

let clock: ReturnType<typeof setClock>;
let admin: Visitor;
beforeEach(async () => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  clock = setClock(NOON);
  admin = await Visitor.signedIn();
});

const formOf = (fields: readonly (readonly [string, string])[]): URLSearchParams =>
  new URLSearchParams(fields.map(([name, value]) => [name, value]));

describe("a token", () => {
  it("is created with what was ticked, and shown once, on a page that nobody keeps", async () => {
    const answer = await admin.submit(
      "/access/tokens",
      formOf([
        ["name", "shop"],
        ["permission", "logs:read"],
        ["permission", "events:write"],
        ["expires_on", "2101-06-30"],
      ]),
    );
    expect([answer.status, answer.headers.get("cache-control")]).toEqual([200, "no-store"]);
    const secret = /logship_token_[\w-]{43}/.exec(answer.html)?.[0] ?? "";
    const headers = bearer(secret);
    expect((await call("GET", "/logship/jobs", undefined, { headers })).status).toBe(200);
    expect(await tokens()).toEqual([
      expect.objectContaining({
        name: "shop",
        permissions: ["logs:read", "events:write"],
        expires_on: "2101-06-30T23:59:59.999Z",
      }),
    ]);
    for (const path of ["/access", "/access/audit", "/access/tokens"])
      expect((await admin.get(path)).html).not.toContain(secret);
    expect(textOf((await admin.get("/access")).html)).toContain("shop ● active logs:read , events:write");
  });

  it.each<[string, Record<string, string>, string]>([
    ["no name", { name: "", permission: "logs:read" }, "name"],
    ["nothing ticked", { name: "shop" }, "permissions"],
    ["a day that is none", { name: "shop", permission: "logs:read", expires_on: "2101-02-30" }, "expires_on"],
    ["a day that is over", { name: "shop", permission: "logs:read", expires_on: "2100-11-19" }, "in the future"],
  ])("is refused with %s, beside the field, and what was sent stays", async (_why, fields, said) => {
    const answer = await admin.submit("/access/tokens", fields);
    expect([answer.status, textOf(answer.html)]).toEqual([400, expect.stringContaining(said)]);
    expect(answer.html).toMatch(/class="error"/);
    if (fields.permission === "logs:read") expect(answer.html).toMatch(/value="logs:read" checked=""/);
    if (fields.expires_on !== undefined) expect(answer.html).toContain(`value="${fields.expires_on}"`);
    expect(await tokens()).toEqual([]);
  });

  it("holds nothing that its creator does not: that is closed, and says why", async () => {
    const { secret } = await token(["access:edit", "logs:read"]);
    const visitor = await Visitor.signedIn({ token: secret });
    const { html } = await visitor.get("/access/tokens");
    for (const permission of PERMISSIONS) {
      const box = new RegExp(`<input[^>]*value="${permission}"[^>]*>`).exec(html)?.[0] ?? "";
      const isHeld = permission === "access:edit" || permission === "logs:read";
      expect([permission, box.includes("disabled")]).toEqual([permission, !isHeld]);
    }
    expect(textOf(html)).toContain("You cannot grant it: you lack it.");
    const answer = await visitor.submit("/access/tokens", { name: "more", permission: "logs:edit" });
    expect([answer.status, textOf(answer.html)]).toEqual([403, expect.stringContaining("this needs logs:edit")]);
    expect((await tokens()).map(({ name }) => name)).toEqual(["ci"]);
  });

  it("is deleted after a page that says what that means", async () => {
    const { id, secret } = await token(["logs:read"]);
    const confirm = await admin.get(`/access/tokens/${id}/delete`);
    expect([confirm.status, textOf(confirm.html)]).toEqual([
      200,
      expect.stringContaining("at once, and ends its sessions"),
    ]);
    expect(await tokens()).toHaveLength(1);
    const answer = await admin.submit(`/access/tokens/${id}/delete`);
    expect([answer.status, answer.location]).toEqual([303, "/access?gone=token"]);
    expect(await tokens()).toEqual([]);
    expect((await call("GET", "/logship/jobs", undefined, { headers: bearer(secret) })).status).toBe(401);
    for (const again of [
      await admin.get(`/access/tokens/${id}/delete`),
      await admin.submit(`/access/tokens/${id}/delete`),
    ])
      expect(again.status).toBe(404);
  });

  it("that one is signed in with says so, and its deletion signs out", async () => {
    const { id, secret } = await token(["access:edit"]);
    const visitor = await Visitor.signedIn({ token: secret });
    expect(textOf((await visitor.get(`/access/tokens/${id}/delete`)).html)).toContain(
      "You are signed in with this token",
    );
    await visitor.submit(`/access/tokens/${id}/delete`);
    expect((await visitor.get("/access")).location).toBe("/sign-in?to=%2Faccess");
  });
});

describe("a member", () => {
  it("is added with a key that is shown once, gets another role, and is removed", async () => {
    const added = await admin.submit("/access/members", { email: " ada@example.com ", role: "Log Share" });
    const key = /logship_key_[\w-]{43}/.exec(added.html)?.[0] ?? "";
    expect(added.status).toBe(200);
    const [ada] = await members();
    expect(ada).toMatchObject({ email: "ada@example.com", role: "Log Share" });
    const visitor = await Visitor.signedIn({ email: "ada@example.com", key });
    const at = `/access/members/${ada?.id}`;
    const page = await admin.get(at);
    expect([page.status, page.html.includes(key)]).toEqual([200, false]);
    expect(page.html).toMatch(/value="Log Share" selected=""/);
    const changed = await admin.submit(at, { role: "Functions Admin" });
    expect(changed.location).toBe(`${at}?saved`);
    expect(textOf((await admin.get(`${at}?saved`)).html)).toContain("Role changed to Functions Admin");
    expect((await visitor.get("/jobs")).status).toBe(403);
    expect(textOf((await admin.get(`${at}/delete`)).html)).toContain("Tokens that they created stay");
    expect((await admin.submit(`${at}/delete`)).location).toBe("/access?gone=member");
    expect(await members()).toEqual([]);
    expect((await visitor.get("/jobs")).status).toBe(303);
    expect((await admin.get(at)).status).toBe(404);
  });

  it.each<[string, Record<string, string>, number, string]>([
    ["no address", { email: "", role: "Log Share" }, 400, "email"],
    ["an address that is none", { email: `${IMAGE}@x`, role: "Log Share" }, 400, "email"],
    ["a role that is none", { email: "ada@example.com", role: "Owner" }, 400, "role"],
    ["an address that is there", { email: "GRACE@example.com", role: "Log Share" }, 409, "already"],
  ])("is refused with %s", async (_why, fields, status, said) => {
    await member("Log Share", "grace@example.com");
    const answer = await admin.submit("/access/members", fields);
    expect([answer.status, textOf(answer.html)]).toEqual([status, expect.stringContaining(said)]);
    expect(answer.html).not.toMatch(OBEYED);
    expect(await members()).toHaveLength(1);
  });

  it("gets no role with more than whoever gives it has", async () => {
    const { secret } = await token(["access:edit", "functions:read", "functions:edit"]);
    const { id } = await member("Log Share Reader");
    const visitor = await Visitor.signedIn({ token: secret });
    for (const path of ["/access/members", `/access/members/${id}`]) {
      const { html } = await visitor.get(path);
      for (const role of ROLE_NAMES) {
        const option = new RegExp(`<option value="${role}"[^>]*>`).exec(html)?.[0] ?? "";
        expect([role, option.includes("disabled")]).toEqual([role, role !== "Functions Admin"]);
      }
    }
    const refused = await visitor.submit(`/access/members/${id}`, { role: "Administrator" });
    expect([refused.status, textOf(refused.html)]).toEqual([403, expect.stringContaining("you cannot grant")]);
    expect(await members()).toEqual([expect.objectContaining({ role: "Log Share Reader" })]);
  });
});

describe("what holds more than the viewer", () => {
  it("is not taken away: its page says so, and the change is refused", async () => {
    const { secret } = await token(["access:edit", "logs:read"]);
    const ada = await member("Log Share");
    const ci = await token(["events:write"]);
    const visitor = await Visitor.signedIn({ token: secret });
    const at = `/access/members/${ada.id}`;
    for (const [page, lacked, form] of [
      [at, "logs:edit", { role: "Log Share Reader" }],
      [`${at}/delete`, "logs:edit", {}],
      [`/access/tokens/${ci.id}/delete`, "events:write", {}],
    ] as const) {
      expect(textOf((await visitor.get(page)).html)).toMatch(
        new RegExp(`You cannot remove permissions that you do not hold\\s+You lack ${lacked} ?\\.`),
      );
      const answer = await visitor.submit(page, form);
      expect([answer.status, textOf(answer.html)]).toEqual([403, expect.stringContaining("you cannot revoke")]);
      expect((await admin.get(page)).html).not.toContain("You cannot remove permissions");
    }
    expect([(await tokens()).length, await members()]).toEqual([2, [expect.objectContaining({ role: "Log Share" })]]);
  });
});

describe("the lists", () => {
  it("say what they are for while they are empty", async () => {
    const text = textOf((await admin.get("/access")).html);
    for (const said of ["No tokens yet", "No members yet", "No changes yet"]) expect(text).toContain(said);
  });

  it("come in pages, each of its own", async () => {
    for (let i = 0; i < 53; i++) await token(["events:write"], { name: `sender ${i}` });
    const first = await admin.get("/access?members=1");
    expect(textOf(first.html)).toContain("1 to 50 of 53");
    expect(first.html).toContain('href="/access?members=1&amp;tokens=2"');
    const second = textOf((await admin.get("/access?tokens=2")).html);
    expect([second.includes("sender 52"), second.includes("51 to 53 of 53")]).toEqual([true, true]);
    for (const query of ["tokens=0", "tokens=x", "tokens=-1", "tokens=1e3", "tokens=99999999"])
      expect((await admin.get(`/access?${query}`)).status).toBe(200);
    expect(textOf((await admin.get("/access?tokens=9")).html)).toContain("Only 53 tokens");
  });

  it("say of a token that it has expired", async () => {
    await token(["logs:read"], { expires_on: new Date(NOON + 1_000).toISOString() });
    clock.advance(2_000);
    expect(textOf((await admin.get("/access")).html)).toContain("○ expired");
  });

  it("show names as texts, whatever they are", async () => {
    for (const name of [SCRIPT, IMAGE, "\u202egnp.exe", "x".repeat(120)]) await token(["logs:read"], { name });
    await call("POST", "/logship/jobs", { destination_conf: "nonsense" });
    await call("PUT", `/functions/scripts/${encodeURIComponent("shop")}`, { logship: true });
    const ids = (await tokens()).map(({ id }) => id);
    const paths = ["/access", "/access/audit", ...ids.map((id) => `/access/tokens/${id}/delete`)];
    for (const path of paths) {
      const { html, status } = await admin.get(path);
      expect([path, status, OBEYED.exec(html)]).toEqual([path, 200, null]);
    }
    const text = textOf((await admin.get("/access")).html);
    for (const shown of [SCRIPT, IMAGE, "<U+202E>gnp.exe"]) expect(text).toContain(shown);
    const { secret } = await token(["access:edit"], { name: IMAGE });
    const own = await Visitor.signedIn({ token: secret });
    for (const path of ["/access", "/session"]) expect((await own.get(path)).html).not.toMatch(OBEYED);
  });
});

describe("the audit", () => {
  it("has who changed what, and what was sent without secrets", async () => {
    await admin.submit("/access/tokens", { name: "shop", permission: "logs:read" });
    const { html } = await admin.get("/access/audit");
    const text = textOf(html);
    for (const said of ["Admin token admin", "token.create", "● done", '"name": "shop"']) expect(text).toContain(said);
    expect(html).not.toMatch(/logship_token_[\w-]{43}/);
  });

  it("comes in pages, the latest first", async () => {
    for (let i = 0; i < 27; i++) await token(["events:write"], { name: `sender ${i}` });
    const first = textOf((await admin.get("/access/audit")).html);
    expect([first.includes('"sender 26"'), first.includes('"sender 1"'), first.includes("1 to 25 of 27")]).toEqual([
      true,
      false,
      true,
    ]);
    const second = textOf((await admin.get("/access/audit?page=2")).html);
    expect([second.includes('"sender 0"'), second.includes('"sender 2"')]).toEqual([true, false]);
  });
});
