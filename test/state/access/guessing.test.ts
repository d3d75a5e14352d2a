/** Guessing at secrets is braked by address, and leaves a trace that cannot flush out any other. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  AUDIT_REFUSED_MAX,
  BRAKE_MS,
  FOREIGN_ADDRESS_MAX,
  FOREIGN_BEARER_MAX,
  REFUSALS_ADDRESSES,
} from "../../../src/base/limits.ts";
import { type Platform, platform } from "../../../src/base/platform.ts";
import type { Audited } from "../../../src/state/access/audit-book.ts";
import { addressOf } from "../../../src/state/access/guess-limit.ts";
import { accessRegister } from "../../../src/state/access/register.ts";
import { createApp } from "../../../src/web/app.ts";
import { ACCOUNT, ADMIN_TOKEN } from "../../support/constants.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { call } from "../../web/api/harness.ts";
import { type Headers as Credentials, member, token } from "../../web/api/principals.ts";
import { said, UPSTREAM_API } from "../../web/api/scripted-platform.ts";

const LIMIT = 5;
const ORIGIN = "https://logship.test";
const [HERE, THERE] = ["192.0.2.1", "192.0.2.2"];

/** The platform's rate limit, within one period. */
function scriptedLimit(): { keys: string[]; limit: RateLimit["limit"] } {
  const keys: string[] = [];
  return {
    keys,
    async limit({ key }) {
      keys.push(key);
      return { success: keys.filter((each) => each === key).length <= LIMIT };
    },
  };
}

interface Entry {
  action: string;
  times: number;
  resource: string | null;
}

let clock: ReturnType<typeof setClock>;
let limit: ReturnType<typeof scriptedLimit>;
let wakes: (() => void)[];
let app: ReturnType<typeof createApp>;
beforeEach(() => {
  vi.spyOn(console, "info").mockImplementation(() => {});
  clock = setClock(NOON);
  limit = scriptedLimit();
  wakes = [];
  const world: Platform = { ...platform, sleep: () => new Promise((resolve) => wakes.push(resolve)) };
  app = createApp(world);
});
// What waits for the audit is written before the next test.
afterEach(() => written());

/** Writes what was counted to the audit. @returns the refusals in it. */
async function written(): Promise<Entry[]> {
  for (const wake of wakes.splice(0)) wake();
  for (let turn = 0; turn < 20; turn++) await scheduler.wait(1);
  return (await audit()).filter(({ action }) => action.endsWith(".refuse"));
}

const audit = async (): Promise<Entry[]> => (await call<Entry[]>("GET", "/logship/audit?per_page=100")).body.result;

async function ask(headers: Credentials, address: string = HERE, settings: object = {}): Promise<number> {
  const sent = Object.entries({ "cf-connecting-ip": address, ...headers }).filter(
    (header): header is [string, string] => header[1] !== null,
  );
  const url = `${ORIGIN}/client/v4/accounts/${ACCOUNT}/logship/jobs`;
  const response = await app.request(
    url,
    { headers: sent, cf: EDGE } as RequestInit,
    {
      ...env,
      FAILURES: limit,
      ...settings,
    } as unknown as Env,
  );
  if (response.status === 429) expect(response.headers.get("retry-after")).toBe("60");
  return response.status;
}

async function signIn(fields: Record<string, string>, address: string = HERE): Promise<[number, string]> {
  const response = await app.request(
    `${ORIGIN}/sign-in`,
    {
      method: "POST",
      headers: { origin: ORIGIN, "cf-connecting-ip": address, "content-type": "application/x-www-form-urlencoded" },
      body: `${new URLSearchParams(fields)}`,
      cf: EDGE,
    } as RequestInit,
    { ...env, FAILURES: limit } as unknown as Env,
  );
  return [response.status, await response.text()];
}

/** What Cloudflare says of a request from the Internet. */
const EDGE = { colo: "FRA" };

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
let guesses = 0;
const guess = () => bearer(`a-guess-at-the-admin-token-${guesses++}`);

async function brake(address: string = HERE): Promise<void> {
  for (let n = 0; n < LIMIT; n++) expect(await ask(guess(), address)).toBe(401);
  expect(await ask(guess(), address)).toBe(429);
}

describe("an address that sends many wrong credentials", () => {
  it("is not told whether the next ones are right, for a minute, by the API or by signing in", async () => {
    await brake();
    expect([await ask(bearer(ADMIN_TOKEN)), await ask(guess())]).toEqual([429, 429]);
    const [status, html] = await signIn({ token: ADMIN_TOKEN });
    expect([status, html]).toEqual([429, expect.stringContaining("Too many sign-ins from your address have failed")]);
    clock.advance(BRAKE_MS);
    expect(await ask(bearer(ADMIN_TOKEN))).toBe(200);
  });

  it("counts what it signs in with, too", async () => {
    for (let n = 0; n < LIMIT; n++) expect((await signIn({ token: `a-guess-at-a-form-${n}` }))[0]).toBe(401);
    expect((await signIn({ token: "a-guess-at-a-form" }))[0]).toBe(429);
    expect(await ask(bearer(ADMIN_TOKEN))).toBe(429);
  });

  it("keeps out no other, and none that proves itself", async () => {
    const [one, other] = [await token(["logs:read"]), await member("Log Share Reader")];
    await brake();
    expect(await ask(bearer(ADMIN_TOKEN), THERE)).toBe(200);
    expect([await ask(one.headers), await ask(other.headers)]).toEqual([200, 200]);
    expect((await signIn({ token: one.secret }))[0]).toBe(303);
    expect(await ask({})).toBe(401);
    // Without that, what was found good before is asked about.
    const keyless = { SECRETS_KEY: btoa("y".repeat(32)) };
    clock.advance(BRAKE_MS);
    expect(await ask(one.headers, HERE, keyless)).toBe(200);
    limit.keys.push(...Array<string>(LIMIT).fill(HERE));
    expect(await ask(guess())).toBe(429);
    expect([await ask(one.headers, HERE, keyless), await ask(other.headers, HERE, keyless)]).toEqual([200, 429]);
  });

  it("guesses once with what it repeats: an outdated program brakes no other", async () => {
    const outdated = guess();
    for (let n = 0; n < 3 * LIMIT; n++) expect(await ask(outdated)).toBe(401);
    expect(limit.keys).toEqual([HERE]);
    expect(await ask(bearer(ADMIN_TOKEN))).toBe(200);
  });

  it("is braked as a network where it has many addresses", async () => {
    for (let n = 0; n < LIMIT; n++) expect(await ask(guess(), `2001:db8:1:2::${n}`)).toBe(401);
    expect(await ask(bearer(ADMIN_TOKEN), "2001:db8:1:2:ffff::1")).toBe(200);
    expect(await ask(guess(), "2001:db8:1:2:ffff::1")).toBe(429);
    expect([await ask(bearer(ADMIN_TOKEN), "2001:db8:1:2::9"), await ask(guess(), "2001:db8:1:3::9")]).toEqual([
      429, 401,
    ]);
  });

  it.each<[what: string, failures: unknown, lines: number]>([
    ["is not bound", undefined, 0],
    ["fails", { limit: () => Promise.reject(new Error("out of order")) }, LIMIT + 3],
  ])("is refused as ever where the rate limit %s", async (_what, FAILURES, lines) => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    for (let n = 0; n < LIMIT + 3; n++) expect(await ask(guess(), HERE, { FAILURES })).toBe(401);
    expect(await ask(bearer(ADMIN_TOKEN), HERE, { FAILURES })).toBe(200);
    expect(warn).toHaveBeenCalledTimes(lines);
  });
});

describe("where the platform judges bearers", () => {
  const KNOWN = "a-bearer-that-the-platform-knows";
  let asked: string[];
  let judge: (bearer: string, url: string) => Response;

  beforeEach(() => {
    asked = [];
    judge = (bearer) => (bearer.endsWith(KNOWN) ? said([]) : said(null, 403));
    app = createApp({
      ...platform,
      sleep: () => new Promise((resolve) => wakes.push(resolve)),
      fetch: async (url, { headers }) => {
        const bearer = new Headers(headers).get("authorization") ?? "";
        asked.push(bearer);
        return judge(bearer, url);
      },
    });
  });

  const scripts = (secret: string, path = "", method = "GET", address = HERE): Promise<number> =>
    through(secret, `accounts/${ACCOUNT}/functions/scripts${path}`, method, address);

  async function through(secret: string, path: string, method = "GET", address = HERE): Promise<number> {
    const response = await app.request(
      `${ORIGIN}/client/v4/${path}`,
      { method, headers: { ...bearer(secret), "cf-connecting-ip": address }, cf: EDGE } as RequestInit,
      { ...env, FAILURES: limit, UPSTREAM_API } as unknown as Env,
    );
    return response.status;
  }
  const guessed = () => guess().authorization.slice("Bearer ".length);

  it("a bearer that it refuses is a guess: whether the next is ours is not told, and none goes on", async () => {
    for (let n = 0; n < LIMIT; n++) expect(await scripts(guessed())).toBe(403);
    expect(await scripts(guessed())).toBe(429);
    const before = asked.length;
    expect([await scripts(guessed()), await scripts(ADMIN_TOKEN), await scripts(`x${ADMIN_TOKEN}`)]).toEqual([
      429, 429, 429,
    ]);
    expect(await ask(bearer(ADMIN_TOKEN))).toBe(429);
    expect(asked.length).toBe(before);
    expect(await scripts(KNOWN, "", "GET", THERE)).toBe(200);
    expect(await written()).toMatchObject([{ action: "request.refuse", resource: HERE, times: LIMIT + 5 }]);
  });

  it("a guess in a query counts, whether or not the bearer beside it is the same", async () => {
    const other = guessed();
    for (let n = 0; n < LIMIT; n++) expect(await scripts(other, `?token=${n}`)).toBe(403);
    expect(await scripts(other, `?token=${ADMIN_TOKEN}`)).toBe(429);
    expect(await scripts(other, "?token=more")).toBe(429);
  });

  it("a bearer that it knew is no guess, whatever it says of the request", async () => {
    expect(await scripts(KNOWN, "/shop", "DELETE")).toBe(200);
    await brake();
    judge = () => said(null, 400);
    expect(await scripts(KNOWN, "/shop", "DELETE")).toBe(400);
    judge = () => said(null, 404);
    expect(await scripts(KNOWN, "/shop")).toBe(404);
    expect(limit.keys).toHaveLength(LIMIT + 1);
  });

  it("the same refused bearer again is no further guess", async () => {
    const outdated = guessed();
    for (let n = 0; n < 3 * LIMIT; n++) expect(await scripts(outdated)).toBe(403);
    expect([limit.keys, await ask(bearer(ADMIN_TOKEN))]).toEqual([[HERE], 200]);
  });

  it("nothing is told by what has no route here either, nor by what the platform answers to anyone", async () => {
    judge = () => said([]);
    for (let n = 0; n < LIMIT; n++) expect(await through(guessed(), "ips")).toBe(200);
    expect(await through(guessed(), "ips")).toBe(429);
    expect([await through(ADMIN_TOKEN, "ips"), await through(`${ADMIN_TOKEN},`, "zones")]).toEqual([429, 429]);
    const { secret } = await token(["logs:read"]);
    expect([await through(secret, "ips"), await through(KNOWN, "nothing", "OPTIONS")]).toEqual([404, 404]);
  });

  it("a guess in a path counts", async () => {
    const other = guessed();
    for (let n = 0; n < LIMIT; n++) expect(await through(other, `zones/${n}`)).toBe(403);
    expect(await through(other, `zones/${ADMIN_TOKEN}`)).toBe(429);
    expect(await through(KNOWN, `zones/0`, "GET", THERE)).toBe(200);
    expect(await through(KNOWN, `zones/${ADMIN_TOKEN}`, "GET", THERE)).toBe(400);
  });

  it("no bearer or query that has room for many guesses goes on", async () => {
    expect(await scripts("x".repeat(FOREIGN_BEARER_MAX + 1))).toBe(401);
    expect(await scripts(KNOWN, `?${"x".repeat(FOREIGN_ADDRESS_MAX)}`)).toBe(400);
    expect(asked).toEqual([]);
    expect(await scripts("x".repeat(FOREIGN_BEARER_MAX - KNOWN.length) + KNOWN)).toBe(200);
  });
});

describe("in the audit", () => {
  it("refused credentials are one entry by address and kind, with their number and nothing of themselves", async () => {
    await brake();
    for (let n = 0; n < 4; n++) await signIn({ email: "ada@example.com", key: `a-guess-at-a-key-${n}` }, THERE);
    expect(await audit()).toEqual([]);
    expect(wakes.length).toBe(1);
    const entries = await written();
    expect(entries).toMatchObject([
      { action: "sign_in.refuse", resource: THERE, times: 4, outcome: "refused", body: null },
      { action: "request.refuse", resource: HERE, times: LIMIT + 1, actor: { kind: "unknown", id: "", name: "" } },
    ]);
    expect(JSON.stringify(entries)).not.toMatch(/guess|ada@/);
    clock.advance(60_000);
    await ask(guess(), "192.0.2.3");
    await ask(guess(), HERE);
    expect(await written()).toMatchObject([
      { resource: HERE, times: LIMIT + 2, first_at: new Date(NOON).toISOString() },
      { resource: "192.0.2.3", times: 1 },
      { resource: THERE, times: 4 },
    ]);
  });

  it("a flood is a few calls of the register, whatever its addresses", async () => {
    for (let n = 0; n < 50; n++) await ask(guess(), `198.51.100.${n}`);
    expect(wakes.length).toBe(1);
    const entries = await written();
    expect(entries.map(({ resource, times }) => [resource, times]).toSorted()).toEqual(
      [
        [null, 50 - REFUSALS_ADDRESSES],
        ...Array.from({ length: REFUSALS_ADDRESSES }, (_, n) => [`198.51.100.${n}`, 1]),
      ].toSorted(),
    );
  });

  it("it displaces nothing but its own kind", async () => {
    const register = accessRegister(env.ACCESS);
    const change = { action: "job.flush", outcome: "done", body: null, requestId: null } as const;
    for (let n = 0; n < 20; n++)
      await register.note({ ...change, actor: { kind: "token", id: `t${n}`, name: "a" }, resource: "1" });
    for (let n = 0; n < AUDIT_REFUSED_MAX + 20; n++)
      await register.note({
        ...{ actor: { kind: "unknown", id: "", name: "" }, action: "sign_in.refuse", outcome: "refused" },
        ...{ resource: `192.0.2.${n}`, body: null, requestId: null, times: 3 },
      });
    const { entries, total }: { entries: Audited[]; total: number } = await register.audit(0, 1_000);
    expect(total).toBe(20 + AUDIT_REFUSED_MAX);
    expect(entries.filter(({ action }) => action === "job.flush")).toHaveLength(20);
    expect(entries.at(0)).toMatchObject({ resource: `192.0.2.${AUDIT_REFUSED_MAX + 19}`, times: 3 });
  });
});

describe("where a request comes from", () => {
  it.each<[sent: string | null, address: string | null]>([
    [null, null],
    ["192.0.2.1", "192.0.2.1"],
    ["127.0.0.1", null],
    ["::1", null],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:DB8:1:2::", "2001:db8:1:2::/64"],
    ["2001:db8::6", "2001:db8:0:0::/64"],
    ["::2", "0:0:0:0::/64"],
    ["2001:db8:0:0:1::", "2001:db8:0:0::/64"],
    ["", null],
    ["nowhere", null],
    ["192.0.2.1, 192.0.2.2", null],
    ["a".repeat(50), null],
    [":::", null],
    ["1:2:3", null],
    ["<script>", null],
  ])("%s is %s", (sent, address) => {
    const headers = new Headers(sent === null ? {} : { "cf-connecting-ip": sent });
    expect(addressOf({ headers, cf: EDGE } as unknown as Request)).toBe(address);
    expect(addressOf({ headers, cf: undefined } as unknown as Request)).toBe(null);
  });

  it("a Worker with a service binding brakes no address that it names", async () => {
    const url = `${ORIGIN}/client/v4/accounts/${ACCOUNT}/logship/jobs`;
    for (let n = 0; n < 2 * LIMIT; n++) {
      const headers = { ...guess(), "cf-connecting-ip": HERE };
      expect((await app.request(url, { headers }, { ...env, FAILURES: limit } as unknown as Env)).status).toBe(401);
    }
    expect(await ask(bearer(ADMIN_TOKEN))).toBe(200);
    expect(await written()).toEqual([]);
  });
});
