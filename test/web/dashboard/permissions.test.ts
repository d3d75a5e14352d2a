/**
 * The permission of each page and form: a table written by hand, checked for every kind of caller.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { PERMISSIONS, type Permission, ROLES, type Role } from "../../../src/state/access/roles.ts";
import { InnerApi } from "../../../src/web/dashboard/inner-api.ts";
import { PAGES } from "../../../src/web/dashboard/pages.ts";
import { call } from "../api/harness.ts";
import { member, token } from "../api/principals.ts";
import { ORIGIN, textOf, Visitor } from "./support.ts";

/** Permission of a page, and of its form; null: signed in. A missing page fails the first test. */
const NEEDED: { readonly [path: string]: { get?: Permission | null; post?: Permission | null } } = {
  "/": { get: null },
  "/cost": { get: "logs:read" },
  "/find": { get: null },
  "/jobs": { get: "logs:read" },
  "/jobs/new": { get: "logs:edit", post: "logs:edit" },
  "/jobs/:job_id/edit": { get: "logs:edit", post: "logs:edit" },
  "/jobs/:job_id": { get: "logs:read" },
  "/jobs/:job_id/flush": { post: "logs:edit" },
  "/jobs/:job_id/enabled": { post: "logs:edit" },
  "/jobs/:job_id/delete": { get: "logs:edit", post: "logs:edit" },
  "/jobs/:job_id/objects": { get: "logs:read" },
  "/jobs/:job_id/objects/:number": { get: "logs:read" },
  "/jobs/:job_id/objects/:number/download": { get: "logs:read" },
  "/jobs/:job_id/replay": { get: "logs:read", post: "logs:edit" },
  "/jobs/:job_id/replay/destination": { get: "logs:edit", post: "logs:edit" },
  "/jobs/:job_id/rerun": { get: "logs:edit", post: "logs:edit" },
  "/jobs/:job_id/replay/:replay_id": { get: "logs:read" },
  "/jobs/:job_id/replay/:replay_id/cancel": { post: "logs:edit" },
  "/functions": { get: "functions:read", post: "functions:edit" },
  "/attach": { get: null },
  "/functions/:name": { get: "functions:read" },
  "/functions/:name/logging": { post: "functions:edit" },
  "/functions/:name/expect": { post: "logs:edit" },
  "/functions/:name/forget": { post: "functions:edit" },
  "/problems": { get: "logs:read" },
  "/problems/:problem_id": { get: "logs:read", post: "logs:edit" },
  "/live": { get: "logs:read", post: "logs:read" },
  "/live/recent": { get: "logs:read" },
  "/live/judge": { post: "logs:read" },
  "/live/record": { post: "logs:read" },
  "/search": { get: "logs:read", post: "logs:read" },
  "/search/counts": { get: "logs:read", post: "logs:read" },
  "/search/export": { get: "logs:read", post: "logs:read" },
  "/searches": { get: "logs:read" },
  "/searches/new": { get: "logs:read", post: "logs:read" },
  "/searches/:search_id": { get: "logs:read", post: "logs:read" },
  "/searches/:search_id/delete": { get: "logs:read", post: "logs:read" },
  "/set-aside": { get: "logs:edit" },
  "/set-aside/add": { post: "logs:edit" },
  "/set-aside/resend": { post: "logs:edit" },
  "/set-aside/resend-all": { post: "logs:edit" },
  "/set-aside/:id": { get: "logs:edit" },
  "/set-aside/:id/download": { get: "logs:edit" },
  "/set-aside/:id/delete": { get: "logs:edit", post: "logs:edit" },
  "/set-aside/:id/elsewhere": { get: "logs:edit", post: "logs:edit" },
  "/access": { get: "access:edit" },
  "/access/tokens": { get: "access:edit", post: "access:edit" },
  "/access/tokens/:id/delete": { get: "access:edit", post: "access:edit" },
  "/access/members": { get: "access:edit", post: "access:edit" },
  "/access/members/:id": { get: "access:edit", post: "access:edit" },
  "/access/members/:id/delete": { get: "access:edit", post: "access:edit" },
  "/access/audit": { get: "access:edit" },
  "/session": { get: null },
  "/session/others": { post: null },
  "/status": { get: "logs:read" },
  "/status/alerts": { get: "logs:read" },
  "/status/alerts/:alert_id": { get: "logs:read" },
  "/status/webhook": { get: "logs:read" },
  "/incidents": { get: "logs:read" },
  "/incidents/:incident_id": { get: "logs:read" },
  "/incidents/:incident_id/mute": { post: "logs:edit" },
  "/alerts": { get: "logs:read", post: "logs:edit" },
  "/alerts/:alert_id": { get: "logs:read", post: "logs:edit" },
  "/alerts/:alert_id/test": { post: "logs:edit" },
  "/alerts/:alert_id/mute": { post: "logs:edit" },
  "/alerts/:alert_id/delete": { get: "logs:edit", post: "logs:edit" },
  "/alerts/webhook": { get: "logs:read", post: "logs:edit" },
  "/alerts/webhook/test": { post: "logs:edit" },
  "/alerts/webhook/delete": { get: "logs:edit", post: "logs:edit" },
};

/** Forms that read a job first: the API requires this too. */
const READS: readonly string[] = [
  "/jobs/:job_id/edit",
  "/jobs/:job_id/delete",
  "/jobs/:job_id/replay/destination",
  "/jobs/:job_id/rerun",
];

/** For each parameter, a value that does not exist. */
const at = (path: string, value = "1"): string => path.replace(/:\w+/g, value);

const GETS = Object.entries(NEEDED).flatMap(([path, { get }]) => (get === undefined ? [] : [[path, get] as const]));
const POSTS = Object.entries(NEEDED).flatMap(([path, { post }]) => (post === undefined ? [] : [[path, post] as const]));

const OWN = { origin: ORIGIN, "sec-fetch-site": "same-origin" };

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
});

it("the table has every page, and no other", () => {
  const there = PAGES.map(({ path, get, post }) => [
    path,
    { ...(get !== undefined && { get: get.permission }), ...(post !== undefined && { post: post.permission }) },
  ]);
  expect(Object.fromEntries(there)).toEqual(NEEDED);
  // Of two pages with one path, the second would never be reached.
  expect(there).toHaveLength(Object.keys(NEEDED).length);
});

/** @param held permissions of the visitor. */
async function expectHeld(visitor: Visitor, held: ReadonlySet<Permission>): Promise<void> {
  const csrf = await visitor.csrf();
  const changes = async () => (await call<unknown[]>("GET", "/logship/audit")).body.result.length;
  const before = await changes();
  const asked = vi.spyOn(InnerApi.prototype, "raw");
  for (const [path, needs] of GETS) {
    asked.mockClear();
    const { status, html } = await visitor.get(at(path));
    if (needs !== null && !held.has(needs)) {
      expect({ path, status, asked: asked.mock.calls.length }).toEqual({ path, status: 403, asked: 0 });
      expect(textOf(html), path).toContain(`this needs the permission ${needs}`);
    } else if (READS.includes(path) && !held.has("logs:read")) {
      expect([path, status]).toEqual([path, 403]);
    } else expect({ path, isShown: [200, 303, 404].includes(status) }).toEqual({ path, isShown: true });
  }
  for (const [path, needs] of POSTS.filter(([, post]) => post !== null && !held.has(post))) {
    asked.mockClear();
    const form = new URLSearchParams({ csrf, name: "x", enabled: "false", logging: "off", function: "x", kind: "s3" });
    const { status, html, location } = await visitor.post(at(path), form, OWN);
    expect({ path, status, location, asked: asked.mock.calls.length }).toEqual({
      path,
      status: 403,
      location: null,
      asked: 0,
    });
    expect(textOf(html), path).toContain(`this needs the permission ${needs}`);
  }
  asked.mockRestore();
  expect(await changes()).toBe(before);
}

describe("whoever is signed in opens what they may, and nothing else", () => {
  it.each(PERMISSIONS)("with a token for %s alone", async (permission) => {
    const { secret } = await token([permission]);
    await expectHeld(await Visitor.signedIn({ token: secret }), new Set([permission]));
  });

  it.each(Object.keys(ROLES) as Role[])("as a member who is %s", async (role) => {
    const { secret } = await member(role, "ada@example.com");
    await expectHeld(await Visitor.signedIn({ email: "ada@example.com", key: secret }), new Set(ROLES[role]));
  });
});

it("a form that is permitted gets to what takes it", async () => {
  const visitor = await Visitor.signedIn();
  const csrf = await visitor.csrf();
  for (const [path] of POSTS.filter(([post]) => post !== "/session/others")) {
    const { status } = await visitor.post(at(path), new URLSearchParams({ csrf }), OWN);
    expect({ path, isTaken: [200, 303, 400, 404, 409].includes(status) }).toEqual({ path, isTaken: true });
  }
});

it("nobody who is not signed in opens or sends anything", async () => {
  const visitor = new Visitor();
  for (const [path] of GETS) {
    const { status, location } = await visitor.get(at(path));
    expect([path, status, location?.startsWith("/sign-in")]).toEqual([path, 303, true]);
  }
  for (const [path] of POSTS)
    expect([path, (await visitor.post(at(path), new URLSearchParams(), OWN)).status]).toEqual([path, 401]);
});

it("no parameter of an address leads a page to another route of the API than its own", async () => {
  const visitor = await Visitor.signedIn();
  const csrf = await visitor.csrf();
  const asked = vi.spyOn(InnerApi.prototype, "raw");
  const values = [
    "a%2F..%2F..%2Ftokens",
    "%2E%2E",
    "%252e%252e",
    "a%3Fdownload=true",
    "a%23b",
    "a%5C..%5Cb",
    "..%09",
    "%ED%A0%80",
  ];
  for (const value of values) {
    for (const [path] of GETS.filter(([each]) => each.includes(":"))) await visitor.get(at(path, value));
    for (const [path] of POSTS.filter(([each]) => each.includes(":")))
      await visitor.post(at(path, value), new URLSearchParams({ csrf }), OWN);
  }
  const base = "https://logship.test/client/v4/accounts/x";
  const strayed = asked.mock.calls
    .map(([, path]) => path)
    // Dots alone never get that far.
    .filter((path) => !path.split("/").some((part) => part === ".." || part === "."))
    .filter((path) => new URL(base + path).href !== base + path);
  expect(asked.mock.calls.length).toBeGreaterThan(100);
  expect(strayed).toEqual([]);
});
