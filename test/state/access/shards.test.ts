/** The register, its shards, and which of them is asked. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { fromBase64, toBase64Url } from "../../../src/base/bytes.ts";
import {
  ACCESS_COPY_MS,
  ACCESS_SHARDS,
  ACCESS_SPREAD_AT,
  ACCESS_SPREAD_MS,
  DOUBTS_PER_S,
} from "../../../src/base/limits.ts";
import { platform } from "../../../src/base/platform.ts";
import { checkKeyOf } from "../../../src/formats/secrets/check-part.ts";
import { hashOf, newSecret } from "../../../src/formats/secrets/credentials.ts";
import type { Proof } from "../../../src/state/access/proofs.ts";
import { AccessRegister, accessRegister, accessShard } from "../../../src/state/access/register.ts";
import { createApp } from "../../../src/web/app.ts";
import { NOON } from "../../formats/record/samples.ts";
import { ACCOUNT, ADMIN_TOKEN } from "../../support/constants.ts";
import { setClock } from "../../support/runtime/pipeline.ts";
import { call as callApi } from "../../web/api/harness.ts";
import { bearer, member, type Principal, token } from "../../web/api/principals.ts";

type Clock = ReturnType<typeof setClock>;

let clock: Clock;
beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  clock = setClock(NOON);
});

/** Who is asked from now on. */
function asked(): { register: number; shards: number; copies: number } {
  const count = { register: 0, shards: 0, copies: 0 };
  for (const [method, name] of [
    ["identify", "register"],
    ["identifyHere", "shards"],
    ["copy", "copies"],
  ] as const) {
    const original = AccessRegister.prototype[method] as (...args: unknown[]) => never;
    vi.spyOn(AccessRegister.prototype, method).mockImplementation(function (this: AccessRegister, ...args: unknown[]) {
      count[name] += 1;
      return original.apply(this, args);
    });
  }
  return count;
}

/** Another isolate: its own app. */
function isolate(settings: object = {}): (headers: Record<string, string | null>) => Promise<number> {
  const app = createApp(platform);
  return async (headers) => {
    const given = Object.entries(headers).filter((each): each is [string, string] => each[1] !== null);
    const url = `http://logship.test/client/v4/accounts/${ACCOUNT}/logship/ledger`;
    const response = await app.request(url, { headers: new Headers(given) }, { ...env, ...settings } as Env);
    await response.arrayBuffer();
    return response.status;
  };
}

/** Has the register asked so much that it sends isolates to its shards. */
const busy = () =>
  runInDurableObject(accessRegister(env.ACCESS), (register) => {
    const proof: Proof = { kind: "token", hash: new Uint8Array(32) };
    for (let n = 0; n < ACCESS_SPREAD_AT; n++) register.identify(proof);
  });

/** An isolate that asks the shards. */
async function spread({ headers }: Principal): Promise<(headers: Record<string, string | null>) => Promise<number>> {
  await busy();
  const call = isolate();
  expect(await call(headers)).toBe(200);
  return call;
}

const remove = (id: string): Promise<boolean> => accessRegister(env.ACCESS).removeToken(id);

describe("the register, where it is asked much", () => {
  it("is asked alone while it is not: shards cost a quiet account nothing", async () => {
    const ci = await token(["logs:read"]);
    const count = asked();
    const call = isolate();
    for (let n = 0; n < ACCESS_SPREAD_AT - 2; n++) await call(ci.headers);
    await remove(ci.id);
    expect([await call(ci.headers), count]).toEqual([401, { register: ACCESS_SPREAD_AT - 1, shards: 0, copies: 0 }]);
  });

  it("sends isolates to its shards for half a minute, and those ask it for a copy once a minute", async () => {
    vi.spyOn(platform, "random").mockReturnValue(0.5);
    const ci = await token(["logs:read"]);
    const ada = await member("Log Share Reader");
    const call = await spread(ci);
    const count = asked();
    for (let n = 0; n < 50; n++) expect([await call(ci.headers), await call(ada.headers)]).toEqual([200, 200]);
    expect(count).toEqual({ register: 0, shards: 100, copies: 1 });
    clock.advance(ACCESS_SPREAD_MS);
    await call(ci.headers);
    expect(count).toEqual({ register: 1, shards: 100, copies: 1 });
  });

  it("spreads the questions of one token over all shards", async () => {
    const ci = await token(["logs:read"]);
    const call = await spread(ci);
    let at = 0;
    vi.spyOn(platform, "random").mockImplementation(() => (at++ % ACCESS_SHARDS) / ACCESS_SHARDS);
    const count = asked();
    for (let n = 0; n < 2 * ACCESS_SHARDS; n++) await call(ci.headers);
    expect(count).toEqual({ register: 0, shards: 2 * ACCESS_SHARDS, copies: ACCESS_SHARDS });
  });

  it("lets each change of access act on the next request, in every shard", async () => {
    let at = 0;
    vi.spyOn(platform, "random").mockImplementation(() => (at++ % ACCESS_SHARDS) / ACCESS_SHARDS);
    const [ci, other] = [await token(["logs:read"]), await token(["logs:read"])];
    const ada = await member("Log Share Reader");
    const call = await spread(other);
    const everywhere = async (headers: Record<string, string | null>): Promise<number[]> => {
      const seen = new Set<number>();
      for (let n = 0; n < ACCESS_SHARDS; n++) seen.add(await call(headers));
      return [...seen];
    };
    expect([await everywhere(ci.headers), await everywhere(ada.headers)]).toEqual([[200], [200]]);
    expect(await remove(ci.id)).toBe(true);
    expect([await everywhere(ci.headers), await everywhere(ada.headers)]).toEqual([[401], [200]]);
    await accessRegister(env.ACCESS).setRole(ada.id, "Functions Admin");
    expect(await everywhere(ada.headers)).toEqual([403]);
    await accessRegister(env.ACCESS).removeMember(ada.id);
    expect(await everywhere(ada.headers)).toEqual([401]);
    expect(await everywhere((await token(["logs:read"])).headers)).toEqual([200]);
  });

  it("decides itself where a shard does not answer, or is of a release that has none", async () => {
    const ci = await token(["logs:read"]);
    const call = await spread(ci);
    for (const broken of [undefined, { known: "nonsense" }, "throws"]) {
      vi.spyOn(AccessRegister.prototype, "identifyHere").mockImplementation(() => {
        if (broken === "throws") throw new Error("no such method");
        return broken as never;
      });
      expect(await call(ci.headers)).toBe(200);
    }
    await remove(ci.id);
    expect(await call(ci.headers)).toBe(401);
  });

  it("is relieved by its shards when it has too much to do", async () => {
    const ci = await token(["logs:read"]);
    const call = isolate();
    // What the platform throws cannot be thrown by an object.
    const stub = (name: string) =>
      name === "access"
        ? { identify: () => Promise.reject(Object.assign(new Error("overloaded"), { overloaded: true })) }
        : env.ACCESS.getByName(name);
    const relieved = isolate({ ACCESS: { getByName: stub } });
    expect([await relieved(ci.headers), await relieved(ci.headers), await call(ci.headers)]).toEqual([200, 200, 200]);
  });
});

describe("a change of access while copies are in use", () => {
  it("is not made unless every shard has dropped its copy, and is then made by a repetition", async () => {
    const ci = await token(["logs:read"]);
    const call = await spread(ci);
    await call(ci.headers);
    const dropping = vi.spyOn(AccessRegister.prototype, "dropCopy");
    let calls = 0;
    dropping.mockImplementation(() => {
      calls += 1;
      if (calls === 7) throw new Error("a shard is gone");
    });
    const refused = await callApi("DELETE", `/tokens/${ci.id}`);
    expect([refused.status, calls]).toEqual([503, ACCESS_SHARDS]);
    expect((await callApi<unknown[]>("GET", "/tokens")).body.result).toHaveLength(1);
    expect(await call(ci.headers)).toBe(200);
    dropping.mockRestore();
    expect([await remove(ci.id), await call(ci.headers)]).toEqual([true, 401]);
  });

  it("hands out no copy until it is made: a shard that dies in between does not bring the old one back", async () => {
    const ci = await token(["logs:read"]);
    await spread(ci);
    const proof: Proof = { kind: "token", hash: hashOf(ci.secret) };
    const shard = accessShard(env.ACCESS, 3);
    await shard.identifyHere(proof);
    const handed: boolean[] = [];
    const original = AccessRegister.prototype.dropCopy;
    vi.spyOn(AccessRegister.prototype, "dropCopy").mockImplementation(async function (this: AccessRegister) {
      original.call(this);
      // What a new instance of a shard would do at this moment.
      handed.push((await accessRegister(env.ACCESS).copy()) !== null);
    });
    expect(await remove(ci.id)).toBe(true);
    expect(new Set(handed)).toEqual(new Set([false]));
    expect((await shard.identifyHere(proof)).known).toBeNull();
  });

  it("calls no shard once no copy can be in use any more", async () => {
    const [ci, other] = [await token(["logs:read"]), await token(["logs:read"])];
    await (await spread(ci))(ci.headers);
    const dropping = vi.spyOn(AccessRegister.prototype, "dropCopy");
    await remove(ci.id);
    expect(dropping).toHaveBeenCalledTimes(ACCESS_SHARDS);
    clock.advance(10 * ACCESS_COPY_MS + 1);
    await remove(other.id);
    expect(dropping).toHaveBeenCalledTimes(ACCESS_SHARDS);
  });

  it("stores nothing in a shard", async () => {
    const ci = await token(["logs:read"]);
    const call = await spread(ci);
    vi.spyOn(platform, "random").mockReturnValue(0);
    await call(ci.headers);
    await runInDurableObject(accessShard(env.ACCESS, 0), (_shard, { storage: { sql } }) => {
      expect(sql.exec("SELECT name FROM sqlite_schema WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'").toArray()).toEqual([]);
    });
  });
});

describe("an invented secret", () => {
  const invented = (): Record<string, string> =>
    bearer(`logship_token_${toBase64Url(crypto.getRandomValues(new Uint8Array(32)))}`) as Record<string, string>;

  /** A token as a release without check parts issued it. */
  async function early(): Promise<Record<string, string>> {
    const headers = invented();
    const hash = hashOf((headers.authorization ?? "").slice("Bearer ".length));
    await accessRegister(env.ACCESS).addToken(
      { id: "e".repeat(32), name: "early", permissions: ["logs:read"], expiresOn: null },
      hash,
    );
    return headers;
  }

  it("is refused in the isolate: one question in ten seconds, however many come; no good one is", async () => {
    const ci = await token(["logs:read"]);
    const call = isolate();
    const count = asked();
    for (let n = 0; n < 200; n++) expect(await call(invented())).toBe(401);
    expect(count.register).toBe(1);
    expect([await call(ci.headers), await call({ authorization: `Bearer ${ADMIN_TOKEN}` })]).toEqual([200, 200]);
  });

  it("is asked about so many times a second where secrets without a check part are good, and those go on", async () => {
    const headers = await early();
    const call = isolate();
    expect(await call(headers)).toBe(200);
    const count = asked();
    const answers: number[] = [];
    for (let n = 0; n < 50; n++) answers.push(await call(invented()));
    // One of this second was the good one.
    expect([answers.filter((each) => each === 401).length, answers.filter((each) => each === 503).length]).toEqual([
      DOUBTS_PER_S - 1,
      50 - DOUBTS_PER_S + 1,
    ]);
    expect(count.register).toBe(DOUBTS_PER_S - 1);
    expect(await call(headers)).toBe(200);
    await remove("e".repeat(32));
    expect(await call(headers)).toBe(401);
  });

  const other = (fill: number): string => btoa(String.fromCharCode(...new Uint8Array(32).fill(fill)));
  const KEY = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

  it.each<[string, object, proven: boolean]>([
    ["the same SECRETS_KEY", {}, true],
    ["it as the previous one", { SECRETS_KEY: other(1), SECRETS_KEY_PREVIOUS: KEY }, true],
    ["another one: it was lost", { SECRETS_KEY: other(1) }, false],
    ["two others: it was rotated twice", { SECRETS_KEY: other(1), SECRETS_KEY_PREVIOUS: other(2) }, false],
    ["a malformed one", { SECRETS_KEY: "x" }, false],
  ])("is not what a token is whose key is gone: with %s", async (_what, settings, proven) => {
    const ci = await token(["events:write"]);
    const call = isolate(settings);
    // It may not read, so 403 says that it is known.
    for (let n = 0; n < 2 * DOUBTS_PER_S; n++) expect(await call(ci.headers)).toBe(403);
    const status = await call(invented());
    expect(status).toBe(401);
    const count = asked();
    await call(invented());
    // It is known whether there is any secret that the keys do not prove.
    expect(count.register).toBe(proven ? 0 : 1);
  });

  it("cannot be made without SECRETS_KEY, and with it is still unknown", async () => {
    const call = isolate();
    const count = asked();
    expect(await call(bearer(newSecret("token", checkKeyOf(fromBase64(KEY)))))).toBe(401);
    expect(count.register).toBe(1);
  });
});
