import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { MEMBERS_MAX, TOKENS_MAX } from "../../../src/base/limits.ts";
import { AccessRegister, accessRegister } from "../../../src/state/access/register.ts";
import { PERMISSIONS } from "../../../src/state/access/roles.ts";
import { NOON } from "../../formats/record/samples.ts";
import { setClock } from "../../support/runtime/pipeline.ts";
import { Visitor } from "../dashboard/support.ts";
import { call, errorsOf, expectRefused } from "./harness.ts";
import { bearer, member, pair, token } from "./principals.ts";

const NOT_HELD = "Authorization error: you cannot grant what you do not hold; this needs ";

/** All stored access data, as text. */
const stored = (): Promise<string> =>
  runInDurableObject(accessRegister(env.ACCESS), (_register, { storage: { sql } }) =>
    ["token", "member", "audit"]
      .flatMap((table) => sql.exec(`SELECT * FROM ${table}`).toArray())
      .flatMap((row) => Object.values(row))
      .map((value) => (value instanceof ArrayBuffer ? new TextDecoder("latin1").decode(value) : String(value)))
      .join("\n"),
  );

describe("a token", () => {
  it("is shown with its secret once, and listed without it", async () => {
    setClock(NOON);
    const body = { name: "ci", permissions: ["events:write", "logs:read"], expires_on: "2027-01-01T00:00:00+01:00" };
    const created = await call<Record<string, unknown>>("POST", "/tokens", body);
    expect(created.status).toBe(201);
    const { value, ...rest } = created.body.result;
    expect(value).toMatch(/^logship_token_[\w-]{43}$/);
    expect(rest).toEqual({
      ...body,
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      status: "active",
      issued_on: new Date(NOON).toISOString(),
    });
    const list = await call("GET", "/tokens");
    expect([list.body.result, list.body.result_info]).toEqual([
      [rest],
      { count: 1, page: 1, per_page: TOKENS_MAX, total_count: 1 },
    ]);
  });

  it("is stored as a hash only, and so is a member's key", async () => {
    const secrets = [await token(["events:write"]), await member("Log Share")].map(({ secret }) => secret);
    const text = await stored();
    expect(text).toContain("ada@example.com");
    for (const secret of secrets) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain(secret.slice(-43));
    }
  });

  it("says when it has expired", async () => {
    const clock = setClock(NOON);
    await token(["logs:read"], { expires_on: new Date(NOON + 1_000).toISOString() });
    clock.advance(1_000);
    expect((await call("GET", "/tokens")).body.result).toMatchObject([{ status: "expired" }]);
  });

  const wrong: [what: string, fields: object, faults: [pointer: string, says: RegExp][]][] = [
    ["no body of a token", [], [["", /^the body: /]]],
    ["no name", { name: undefined }, [["/name", /./]]],
    ["no permission", { permissions: [] }, [["/permissions", /./]]],
    ["an unknown one", { permissions: ["logs:read", "logs:*"] }, [["/permissions/1", /logs:read/]]],
    ["one twice", { permissions: ["logs:read", "logs:read"] }, [["/permissions", /each permission once/]]],
    ["an empty name", { name: "" }, [["/name", /./]]],
    ["a long name", { name: "x".repeat(121) }, [["/name", /120/]]],
    ["a name of two lines", { name: "a\nb" }, [["/name", /control characters/]]],
    ["half of a character", { name: "\ud800" }, [["/name", /./]]],
    ["a secret of one's own", { value: "x" }, [["/value", /unknown key/]]],
    ["a day", { expires_on: "2027-01-01" }, [["/expires_on", /./]]],
    ["no such day", { expires_on: "2027-02-30T00:00:00Z" }, [["/expires_on", /./]]],
    ["the past", { expires_on: "2020-01-01T00:00:00Z" }, [["/expires_on", /future/]]],
  ];
  it.each(wrong)("is refused with the place of what is wrong: %s", async (_what, fields, faults) => {
    const body = Array.isArray(fields) ? fields : { name: "ci", permissions: ["logs:read"], ...fields };
    const answer = await call("POST", "/tokens", body);
    expectRefused(answer, 400, ...faults.map(([pointer, says]) => [1001, pointer, expect.stringMatching(says)]));
    expect((await call("GET", "/tokens")).body.result).toEqual([]);
  });

  it("holds nothing that whoever grants it does not hold", async () => {
    const { headers } = await token(["access:edit", "logs:read"]);
    const grant = (permissions: readonly string[]) => call("POST", "/tokens", { name: "x", permissions }, { headers });
    const refused = await grant(["logs:edit", "logs:read", "events:write"]);
    expectRefused(refused, 403, [10000, undefined, `${NOT_HELD}logs:edit, events:write`]);
    expect((await grant(["logs:read", "access:edit"])).status).toBe(201);
    expect((await call("GET", "/tokens")).body.result).toHaveLength(2);
  });

  it("that is not there cannot be revoked", async () => {
    for (const id of ["1", "f".repeat(32), "%00", "'; DROP TABLE token; --"]) {
      const answer = await call("DELETE", `/tokens/${encodeURIComponent(id)}`);
      expectRefused(answer, 404, [7003, undefined, "no such token"]);
    }
  });

  it("is one of 500 at most, and of as many members", async () => {
    await runInDurableObject(accessRegister(env.ACCESS), (register) => {
      const hash = new Uint8Array(32);
      for (let n = 0; n < TOKENS_MAX; n++)
        register.addToken({ id: `${n}`.padStart(32, "0"), name: "x", permissions: [], expiresOn: null }, hash);
      for (let n = 0; n < MEMBERS_MAX; n++)
        register.addMember({ id: `${n}`.padStart(32, "0"), email: `${n}@example.com`, role: "Log Share" }, hash);
    });
    const tokens = await call("POST", "/tokens", { name: "one more", permissions: ["logs:read"] });
    const members = await call("POST", "/members", { email: "ada@example.com", role: "Log Share" });
    expectRefused(tokens, 403, [
      1004,
      undefined,
      "creating a new token is not allowed: exceeded max tokens allowed (500)",
    ]);
    expectRefused(members, 403, [
      1004,
      undefined,
      "creating a new member is not allowed: exceeded max members allowed (500)",
    ]);
    const page = await call("GET", "/tokens?page=2&per_page=200");
    expect(page.body.result_info).toEqual({ count: 200, page: 2, per_page: 200, total_count: 500 });
  });
});

describe("a member", () => {
  it("is shown with the key once, is listed without it, and calls with both", async () => {
    setClock(NOON);
    const created = await call<Record<string, unknown>>("POST", "/members", {
      email: "Ada@Example.com",
      role: "Log Share Reader",
    });
    const { api_key, ...rest } = created.body.result;
    expect([created.status, rest]).toEqual([
      201,
      {
        id: expect.stringMatching(/^[0-9a-f]{32}$/),
        email: "Ada@Example.com",
        role: "Log Share Reader",
        permissions: ["logs:read"],
        created_on: new Date(NOON).toISOString(),
        modified_on: new Date(NOON).toISOString(),
      },
    ]);
    expect((await call("GET", "/members")).body.result).toEqual([rest]);
    for (const email of ["Ada@Example.com", "ada@example.com"])
      expect((await call("GET", "/logship/jobs", undefined, { headers: pair(email, `${api_key}`) })).status).toBe(200);
  });

  it("gets another role, in force from the next request on, and keeps the key", async () => {
    const { id, headers } = await member("Log Share Reader");
    const tokens = async () => (await call("GET", "/tokens", undefined, { headers })).status;
    expect(await tokens()).toBe(403);
    const changed = await call<object>("PUT", `/members/${id}`, { email: "ADA@example.com", role: "Administrator" });
    expect([changed.status, changed.body.result]).toEqual([200, expect.objectContaining({ role: "Administrator" })]);
    expect(changed.body.result).not.toHaveProperty("api_key");
    expect(await tokens()).toBe(200);
    await call("PUT", `/members/${id}`, { role: "Functions Admin" });
    expect(await tokens()).toBe(403);
  });

  it("cannot be given a role beyond one's own, neither when added nor later", async () => {
    const { headers } = await token(["access:edit", "logs:read"]);
    const { id } = await member("Log Share Reader");
    for (const [method, path] of [
      ["POST", "/members"],
      ["PUT", `/members/${id}`],
    ] as const) {
      const answer = await call(method, path, { email: "ada@example.com", role: "Log Share" }, { headers });
      expectRefused(answer, 403, [10000, undefined, `${NOT_HELD}logs:edit`]);
    }
    expect((await call("GET", "/members")).body.result).toMatchObject([{ role: "Log Share Reader" }]);
    expect(
      (await call("POST", "/members", { email: "b@example.com", role: "Log Share Reader" }, { headers })).status,
    ).toBe(201);
  });

  it("a member or token with more permissions than the caller cannot be demoted, removed or revoked", async () => {
    const { headers, id: own } = await token(["access:edit", "logs:read"]);
    const { id } = await member("Administrator");
    const more = (await token(["logs:read", "events:write"])).id;
    const refused = "Authorization error: you cannot revoke what you do not hold; this needs ";
    for (const [method, path, body, missing] of [
      [
        "PUT",
        `/members/${id}`,
        { role: "Log Share Reader" },
        "logs:edit, events:write, functions:read, functions:edit",
      ],
      ["DELETE", `/members/${id}`, undefined, "logs:edit, events:write, functions:read, functions:edit"],
      ["DELETE", `/tokens/${more}`, undefined, "events:write"],
    ] as const) {
      const answer = await call(method, path, body, { headers });
      expectRefused(answer, 403, [10000, undefined, refused + missing]);
    }
    expect((await call("GET", "/members")).body.result).toMatchObject([{ role: "Administrator" }]);
    expect((await call("GET", "/tokens")).body.result).toHaveLength(2);
    // What they do hold they take away, from themselves, too.
    const reader = await member("Log Share Reader", "bob@example.com");
    expect((await call("DELETE", `/members/${reader.id}`, undefined, { headers })).status).toBe(200);
    expect((await call("DELETE", `/tokens/${own}`, undefined, { headers })).status).toBe(200);
  });

  it("who is promoted while a change is under way is checked again", async () => {
    const { headers } = await token(["access:edit", "logs:read"]);
    const { id } = await member("Log Share Reader");
    const look = AccessRegister.prototype.member;
    vi.spyOn(AccessRegister.prototype, "member").mockImplementationOnce(function (this: AccessRegister, of) {
      const before = look.call(this, of);
      void this.setRole(of, "Administrator");
      return before;
    });
    expect((await call("DELETE", `/members/${id}`, undefined, { headers })).status).toBe(403);
    expect((await call("GET", "/members")).body.result).toMatchObject([{ role: "Administrator" }]);
  });

  it("is there once for an address, however that is written, and cannot become somebody else", async () => {
    const { id } = await member("Log Share", "ada@example.com");
    const again = await call("POST", "/members", { email: "ADA@example.com", role: "Log Share" });
    expectRefused(again, 409, [1009, undefined, "a member with this email already exists"]);
    const other = await call("PUT", `/members/${id}`, { email: "bob@example.com", role: "Log Share" });
    expectRefused(other, 400, [1001, "/email", "email: cannot be changed"]);
    for (const missing of [await call("PUT", "/members/1", { role: "Log Share" }), await call("DELETE", "/members/1")])
      expectRefused(missing, 404, [7003, undefined, "no such member"]);
  });

  it.each([
    [{}, ["/email", "/role"]],
    [{ email: "ada", role: "Log Share" }, ["/email"]],
    [{ email: `${"a".repeat(250)}@example.com`, role: "Log Share" }, ["/email"]],
    [{ email: "ada@example.com", role: "log share" }, ["/role"]],
    [{ email: "ada@example.com", role: "constructor" }, ["/role"]],
    [{ email: "ada@example.com", role: "Log Share", api_key: "x" }, ["/api_key"]],
  ])("is refused with the place of what is wrong: %j", async (body, pointers) => {
    const answer = await call("POST", "/members", body);
    expect([answer.status, errorsOf(answer).map(([, pointer]) => pointer)]).toEqual([400, pointers]);
  });
});

describe("a register that answers nonsense", () => {
  it.each([
    [undefined],
    [null],
    ["admin"],
    [{}],
    [{ known: undefined }],
    [{ known: { kind: "admin", id: "1", name: "x", permissions: [...PERMISSIONS], expiresMs: null } }],
    [{ known: { kind: "token", id: "1", name: "x", permissions: ["everything"], expiresMs: null } }],
  ])("lets nobody by: %j", async (garbage) => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const { headers } = await token(PERMISSIONS);
    vi.spyOn(AccessRegister.prototype, "identify").mockReturnValue(garbage as never);
    const answer = await call("GET", "/tokens", undefined, { headers });
    expect([answer.status, answer.body.errors[0]?.code]).toEqual([503, 1053]);
  });
});

describe("a token that ends", () => {
  const END = new Date(NOON + 3_600_000).toISOString();
  const LATER = new Date(NOON + 3_600_001).toISOString();

  it.each([
    ["of no end", "POST", "/tokens", {}],
    ["of an end of null", "POST", "/tokens", { expires_on: null }],
    ["of a later end", "POST", "/tokens", { expires_on: LATER }],
    ["of a later end elsewhere", "POST", "/tokens", { expires_on: LATER.replace("Z", "-01:00") }],
    ["as a member", "POST", "/members", {}],
    ["as a role", "PUT", "/members/:id", { role: "Administrator" }],
  ] as const)("grants nothing that lasts longer: %s", async (_what, method, path, fields) => {
    setClock(NOON);
    const { id } = await member("Log Share Reader");
    const { headers, secret } = await token(PERMISSIONS, { expires_on: END });
    const body = path === "/tokens" ? { name: "x", permissions: ["access:edit"], ...fields } : fields;
    const asked = path === "/members" ? { email: "eve@example.com", role: "Log Share" } : body;
    const words = `Authorization error: you cannot grant what you do not hold: your token ends at ${END}, and what it grants must end by then`;
    expectRefused(await call(method, path.replace(":id", id), asked, { headers }), 403, [10000, undefined, words]);
    // Nor by the dashboard.
    const visitor = await Visitor.signedIn({ token: secret });
    const form = new URLSearchParams({ name: "x", email: "eve@example.com", role: "Administrator" });
    form.set("permission", "access:edit");
    await visitor.submit(path.startsWith("/members") ? `/access${path.replace(":id", id)}` : "/access/tokens", form);
    const [tokens, members] = [await call("GET", "/tokens"), await call<{ role: string }[]>("GET", "/members")];
    expect(tokens.body.result).toHaveLength(1);
    expect(members.body.result.map(({ role }) => role)).toEqual(["Log Share Reader"]);
  });

  it("grants what ends with it, or before, and so does what it grants", async () => {
    setClock(NOON);
    let { headers } = await token(PERMISSIONS, { expires_on: END });
    for (let generation = 0; generation < 3; generation++) {
      const body = { name: "x", permissions: ["access:edit"], expires_on: END };
      const made = await call<{ value: string }>("POST", "/tokens", body, { headers });
      expect(made.status).toBe(201);
      headers = bearer(made.body.result.value);
      const { status } = await call("POST", "/tokens", { ...body, expires_on: LATER }, { headers });
      expect(status).toBe(403);
    }
  });
});
