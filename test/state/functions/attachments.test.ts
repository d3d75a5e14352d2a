import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import { UPSTREAM_SETTINGS_MAX_BYTES } from "../../../src/base/limits.ts";
import type { Upstream } from "../../../src/config.ts";
import {
  type Attachment,
  afterSighting,
  attachedAt,
  CHECKED_A_RUN_MAX,
  checkAttachments,
  factOf,
  isCheckable,
  type Seen,
  type Sighting,
  sightingIn,
  sightingOf,
} from "../../../src/state/functions/attachments.ts";
import type { PlatformAnswer } from "../../../src/state/functions/upstream.ts";
import { NOON } from "../../formats/record/samples.ts";
import { said, scriptedApi, UPSTREAM_API } from "../../web/api/scripted-platform.ts";

const TOKEN = "upstream-token-0123456789abcdefghijklmno";
const UPSTREAM: Upstream = { base: UPSTREAM_API, selfName: "logship", token: TOKEN };

const self = { service: "logship" };
const other = { service: "audit" };

const answer = (status: number, json: unknown): PlatformAnswer => ({
  kind: "answer",
  status,
  bytes: new Uint8Array(),
  json,
  contentType: "application/json",
  retryAfter: null,
});
const done = (result: unknown): PlatformAnswer => answer(200, { success: true, errors: [], messages: [], result });
const failed = (status: number, ...codes: unknown[]): PlatformAnswer =>
  answer(status, { success: false, errors: codes.map((code) => ({ code, message: TOKEN })), result: null });

describe("what an answer says of an attachment", () => {
  it.each<[what: string, answer: PlatformAnswer]>([
    ["alone", done({ tail_consumers: [self] })],
    ["among others", done({ tail_consumers: [other, { ...self, environment: "", namespace: null }], tags: ["a"] })],
    ["beside another of its name", done({ tail_consumers: [{ ...self, environment: "staging" }, self] })],
  ])("is that it is attached: listed %s", (_what, said) => {
    expect(sightingOf(said, "logship")).toEqual({ kind: "attached" });
  });

  it.each<[what: string, answer: PlatformAnswer]>([
    ["none", done({ tail_consumers: [] })],
    ["null", done({ tail_consumers: null })],
    ["nothing of them", done({ logpush: false })],
    ["others", done({ tail_consumers: [other, { service: "logship2" }, { service: "Logship" }] })],
  ])("is that it is not attached only where the list is there, or its absence: %s", (_what, said) => {
    expect(sightingOf(said, "logship")).toEqual({ kind: "detached" });
  });

  it("is that the script is gone only where the platform says that of the script", () => {
    expect(sightingOf(failed(404, 10_007), "logship")).toEqual({ kind: "gone" });
    expect(sightingOf(failed(404, 10_090), "logship")).toEqual({ kind: "gone" });
  });

  const refused = (status: number): string =>
    `Cloudflare's API refuses UPSTREAM_TOKEN (HTTP ${status}), which needs the permission to read scripts`;
  const tellsNot = (status: number): string => `Cloudflare's API answered with HTTP ${status}`;
  const NONE = "Cloudflare's API answered with malformed settings";
  it.each<[what: string, answer: PlatformAnswer, why: string]>([
    ["an unknown token", failed(401, 10_000), refused(401)],
    ["a token without the permission", failed(403, 9_109), refused(403)],
    ["a page of somebody's in between", answer(403, undefined), refused(403)],
    ["no such path", failed(404, 7_003), tellsNot(404)],
    ["no such account", failed(404, 10_007, 7_000), tellsNot(404)],
    ["a page that is not there", answer(404, undefined), tellsNot(404)],
    ["not found, and nothing of what", answer(404, { success: false, errors: [] }), tellsNot(404)],
    ["not found, with success", answer(404, { success: true, errors: [{ code: 10_007 }] }), tellsNot(404)],
    ["not found, with errors that are none", answer(404, { success: false, errors: [7] }), tellsNot(404)],
    ["too many questions", failed(429, 10_429), tellsNot(429)],
    ["out of order", answer(503, undefined), tellsNot(503)],
    ["no JSON", answer(200, undefined), tellsNot(200)],
    ["nothing", answer(204, undefined), tellsNot(204)],
    ["null", answer(200, null), tellsNot(200)],
    ["no success", answer(200, { success: false, result: { tail_consumers: [] } }), tellsNot(200)],
    ["success in words", answer(200, { success: "true", result: { tail_consumers: [] } }), tellsNot(200)],
    ["no settings", done(null), NONE],
    ["a list as settings", done([]), NONE],
    ["a text as list", done({ tail_consumers: "logship" }), NONE],
    ["an object as list", done({ tail_consumers: { 0: self } }), NONE],
    ["names alone", done({ tail_consumers: ["logship"] }), NONE],
    ["one that is none among others", done({ tail_consumers: [self, null] }), NONE],
    ["a number as name", done({ tail_consumers: [{ service: 1 }] }), NONE],
    [
      "one of its name elsewhere",
      done({ tail_consumers: [{ ...self, environment: "production" }] }),
      "it lists a service of this name with an environment or a namespace, which may be another one",
    ],
    ["no answer", { kind: "none", why: "did not answer in time" }, "Cloudflare's API did not answer in time"],
  ])("is nothing to go by, in words of ours: %s", (_what, said, why) => {
    expect(sightingOf(said, "logship")).toEqual({ kind: "unclear", why });
  });

  it("is never that it is undone where it is listed, whatever stands beside it", () => {
    const consumer = fc.record({ service: fc.string(), environment: fc.option(fc.string()), x: fc.jsonValue() });
    fc.assert(
      fc.property(fc.array(consumer), fc.array(consumer), (before, after) => {
        expect(sightingIn([...before, self, ...after], "logship")).toEqual({ kind: "attached" });
        expect(
          sightingIn(
            [...before, ...after].filter(({ service }) => service !== "logship"),
            "logship",
          ),
        ).toEqual({
          kind: "detached",
        });
      }),
    );
  });
});

const MINUTE = 60_000;
const unclear = { kind: "unclear", why: "Cloudflare's API did not answer in time" } as const;

describe("what follows from a sighting", () => {
  const attached = attachedAt(null, NOON);
  const undone: Attachment = { ...attached, state: "undone", sinceMs: NOON + 1, checkedMs: NOON + 1 };
  const gone: Attachment = { ...undone, state: "gone" };
  const unknown: Attachment = { ...attached, state: "unknown", sinceMs: NOON + 1, fault: "x" };
  const at = NOON + 5 * MINUTE;
  const known = { sinceMs: at, checkedMs: at, fault: null };

  it.each<[from: Attachment, sighting: Sighting, change: Partial<Attachment>]>([
    [attached, { kind: "attached" }, { attachedMs: at, checkedMs: at }],
    [attached, { kind: "detached" }, { ...known, state: "undone" }],
    [attached, { kind: "gone" }, { ...known, state: "gone" }],
    [attached, unclear, { state: "unknown", sinceMs: at, fault: unclear.why }],
    [unknown, { kind: "attached" }, { ...known, state: "attached", attachedMs: at }],
    [unknown, { kind: "detached" }, { ...known, state: "undone" }],
    [unknown, { kind: "gone" }, { ...known, state: "gone" }],
    [unknown, unclear, { fault: unclear.why }],
    [undone, { kind: "attached" }, { ...known, state: "attached", attachedMs: at }],
    [undone, { kind: "detached" }, { checkedMs: at }],
    [undone, { kind: "gone" }, { ...known, state: "gone" }],
    [undone, unclear, { fault: unclear.why }],
    [gone, { kind: "attached" }, { ...known, state: "attached", attachedMs: at }],
    [gone, { kind: "detached" }, { ...known, state: "undone" }],
    [gone, { kind: "gone" }, { checkedMs: at }],
    [gone, unclear, { fault: unclear.why }],
  ])("%j, and then %j", (from, sighting, change) => {
    expect(afterSighting(from, sighting, at)).toEqual({ ...from, ...change });
  });

  it("is nothing where nobody asked for an attachment and there is none", () => {
    for (const sighting of [{ kind: "detached" }, { kind: "gone" }, unclear] as const)
      expect(afterSighting(null, sighting, at)).toBeNull();
    expect(afterSighting(null, { kind: "attached" }, at)).toEqual(attachedAt(null, at));
  });

  it("is nothing where the question was put before what is known by now, by whichever clock", () => {
    for (const sighting of [{ kind: "attached" }, { kind: "detached" }, { kind: "gone" }, unclear] as const) {
      for (const askedMs of [0, NOON - 1, NOON, NOON + 250])
        expect(afterSighting(attached, sighting, askedMs)).toBe(attached);
    }
    expect(afterSighting(attached, { kind: "detached" }, NOON + 251)).toMatchObject({ state: "undone" });
  });

  it("is nothing new where the same was seen a moment ago", () => {
    expect(afterSighting(attached, { kind: "attached" }, NOON + MINUTE - 1)).toBe(attached);
    expect(afterSighting(attached, { kind: "attached" }, NOON + MINUTE)?.checkedMs).toBe(NOON + MINUTE);
  });

  it("is said in words, with times, and never with a name", () => {
    const words = [attached, undone, gone, unknown, { ...undone, fault: "f" }].map((each) => factOf("shop", each));
    expect(words.map(({ why }) => why)).toEqual([
      "Cloudflare lists this service among its tail consumers",
      "Cloudflare no longer lists this service among its tail consumers, as it did at 2026-11-20T12:00:00.000Z",
      "Cloudflare no longer has such a script; it was attached at 2026-11-20T12:00:00.000Z",
      "it was attached at 2026-11-20T12:00:00.000Z, and logship could not check again after 2026-11-20T12:00:00.000Z: x",
      "Cloudflare no longer lists this service among its tail consumers, as it did at 2026-11-20T12:00:00.000Z; logship could not check again after 2026-11-20T12:00:00.001Z: f",
    ]);
    expect(words[1]).toEqual({
      script: "shop",
      state: "undone",
      sinceMs: NOON + 1,
      checkedMs: NOON + 1,
      why: expect.any(String),
    });
  });
});

describe("a look at the platform", () => {
  let warns: MockInstance;
  beforeEach(() => {
    warns = vi.spyOn(console, "warn").mockImplementation(() => {});
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Checks functions of these names, at a platform with an answer for each name. */
  async function look(
    names: readonly string[],
    answers: (name: string) => Promise<Response> | Response,
    upstream = UPSTREAM,
  ) {
    const noted: Seen[][] = [];
    const world = scriptedApi();
    const asked: { url: string; init: RequestInit }[] = [];
    const urls: string[] = [];
    await checkAttachments({
      upstream,
      accountId: "acme",
      due: async (atMost) => names.slice(0, atMost),
      note: async (seen) => void noted.push(seen),
      platform: {
        ...world,
        async fetch(url, init) {
          asked.push({ url, init });
          urls.push(url);
          return answers(decodeURIComponent(url.split("/").at(-2) ?? ""));
        },
      },
    });
    const kinds = Object.fromEntries((noted[0] ?? []).map(({ name, sighting }) => [name, sighting.kind]));
    return { noted, asked, urls, kinds };
  }

  const many = (n: number): string[] => Array.from({ length: n }, (_, i) => `f-${i}`);
  const fine = (): Response => said({ tail_consumers: [self] });

  it("is a GET of each one's settings with the token alone, which follows no redirect", async () => {
    const { asked, noted } = await look(["shop", "a b?#/../%2F"], (name) =>
      said({ tail_consumers: name === "shop" ? [self] : [] }),
    );
    const below = `${UPSTREAM_API}/accounts/acme/workers/scripts`;
    expect(asked).toEqual(
      [`${below}/shop/script-settings`, `${below}/a%20b%3F%23%2F..%2F%252F/script-settings`].map((url) => ({
        url,
        init: {
          method: "GET",
          headers: { authorization: `Bearer ${TOKEN}` },
          redirect: "manual",
          signal: expect.any(AbortSignal),
        },
      })),
    );
    expect(noted).toEqual([
      [
        { name: "shop", sighting: { kind: "attached" }, askedMs: expect.any(Number) },
        { name: "a b?#/../%2F", sighting: { kind: "detached" }, askedMs: expect.any(Number) },
      ],
    ]);
    expect(warns).not.toHaveBeenCalled();
  });

  it("is none without the token: nobody is asked, nothing is read, nothing noted", async () => {
    const never = vi.fn();
    const check = { accountId: "acme", due: never, note: never, platform: { ...scriptedApi(), fetch: never } };
    for (const upstream of [{ ...UPSTREAM, token: null }, null]) {
      await checkAttachments({ ...check, upstream });
      expect(isCheckable(upstream)).toBe(false);
    }
    expect(never).not.toHaveBeenCalled();
    expect(isCheckable(UPSTREAM)).toBe(true);
  });

  it("takes so many a run, and no more than four at once", async () => {
    let now = 0;
    let most = 0;
    const { asked, kinds } = await look(many(500), async () => {
      most = Math.max(most, ++now);
      await new Promise((resolve) => setTimeout(resolve, 1));
      now -= 1;
      return fine();
    });
    expect([asked.length, most, CHECKED_A_RUN_MAX * 12 >= 1_000]).toEqual([84, 4, true]);
    expect(Object.keys(kinds)).toHaveLength(84);
  });

  it.each([401, 403])("ends where the token is refused (%i), which then holds for all of them", async (status) => {
    const { asked, kinds, noted } = await look(many(50), () => said(null, status));
    expect(asked.length).toBeLessThanOrEqual(6);
    expect(kinds).toEqual(Object.fromEntries(many(50).map((name) => [name, "unclear"])));
    expect(JSON.stringify(noted)).not.toContain(TOKEN);
    expect(warns.mock.calls).toEqual([
      [
        {
          message: "attachments could not be looked at",
          functions: 50,
          why: `Cloudflare's API refuses UPSTREAM_TOKEN (HTTP ${status}), which needs the permission to read scripts`,
        },
      ],
    ]);
  });

  it("goes on where the token is refused for some", async () => {
    const { kinds } = await look(many(12), (name) => (name === "f-0" ? fine() : said(null, 403)));
    expect(kinds).toEqual(Object.fromEntries(many(12).map((name) => [name, name === "f-0" ? "attached" : "unclear"])));
  });

  it.each<[string, () => Response]>([
    [
      "cannot be reached",
      () => {
        throw new Error(`no route with ${TOKEN}`);
      },
    ],
    ["is out of order", () => said(null, 500)],
    ["has no time", () => said(null, 429, { "retry-after": "300" })],
  ])("ends where the platform %s, and leaves the rest for the next run", async (_what, answers) => {
    const { asked, kinds } = await look(many(50), answers);
    expect(asked.length).toBeLessThanOrEqual(6);
    expect(kinds).toEqual(Object.fromEntries(many(asked.length).map((name) => [name, "unclear"])));
    expect(JSON.stringify(warns.mock.calls)).not.toContain(TOKEN);
  });

  it("goes on where the platform fails for some, but not once it has no time", async () => {
    const some = await look(many(20), (name) => (name === "f-0" ? fine() : said(null, 500)));
    expect(some.asked).toHaveLength(20);
    const busy = await look(many(50), (name) => (name === "f-9" ? said(null, 429) : fine()));
    expect(busy.asked.length).toBeLessThanOrEqual(14);
    expect(busy.kinds["f-9"]).toBe("unclear");
  });

  it("ends in time, whatever the platform does, with what was seen until then", async () => {
    vi.useFakeTimers();
    const began = Date.now();
    const looking = look(many(80), (name) => (name === "f-0" ? fine() : new Promise<Response>(() => {})));
    let ended: number | null = null;
    looking.then(() => {
      ended = Date.now() - began;
    });
    for (let s = 0; s < 60 && ended === null; s++) await vi.advanceTimersByTimeAsync(1_000);
    expect(ended).toBeGreaterThan(15_000);
    expect(ended).toBeLessThanOrEqual(23_000);
    const { kinds, asked } = await looking;
    expect(kinds["f-0"]).toBe("attached");
    expect(Object.keys(kinds)).toHaveLength(asked.length);
    expect(asked.every(({ init }) => init.signal?.aborted)).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("asks for nothing at a name that no address can carry, and is not held up by it", async () => {
    const { urls, kinds } = await look([".", "..", "", "\ud800", "shop"], fine);
    expect(urls).toEqual([`${UPSTREAM_API}/accounts/acme/workers/scripts/shop/script-settings`]);
    expect(kinds).toEqual({ ".": "unclear", "..": "unclear", "": "unclear", "\ud800": "unclear", shop: "attached" });
  });

  const deep = `{"success":true,"result":{"tail_consumers":${"[".repeat(200_000)}${"]".repeat(200_000)}}}`;
  it.each<[string, () => Response, string]>([
    ["too much", () => new Response("x".repeat(UPSTREAM_SETTINGS_MAX_BYTES + 1)), "more than 1048576 bytes"],
    [
      "without end",
      () => new Response(new ReadableStream({ pull: (to) => to.enqueue(new Uint8Array(65_536)) })),
      "more than 1048576 bytes",
    ],
    ["elsewhere", () => Response.redirect("https://evil.example/", 302), "HTTP 302, which is not followed"],
    ["elsewhere, as asked", () => Response.redirect("https://evil.example/", 307), "HTTP 307, which is not followed"],
    ["a page", () => new Response("<h1>", { headers: { "content-type": "text/html" } }), "HTTP 200"],
    ["a pit", () => new Response(deep), ""],
    [
      "the token",
      () => new Response(`{"success":false,"errors":[{"code":1,"message":"${TOKEN}"}]}`, { status: 400 }),
      "HTTP 400",
    ],
  ])("believes nothing of an answer that is %s", async (_what, answers, why) => {
    const { noted, asked } = await look(["shop"], answers);
    expect(noted[0]?.[0]?.sighting).toEqual({ kind: "unclear", why: expect.stringContaining(why) });
    expect(asked).toHaveLength(1);
    expect(JSON.stringify([noted, warns.mock.calls])).not.toContain(TOKEN);
  });

  it("fails where what it saw could not be noted, or nobody says what is due", async () => {
    const out = () => Promise.reject(new Error("out of reach"));
    const check = { upstream: UPSTREAM, accountId: "acme", platform: scriptedApi(fine()) };
    await expect(checkAttachments({ ...check, due: async () => ["shop"], note: out })).rejects.toThrow("out of reach");
    await expect(checkAttachments({ ...check, due: out, note: out })).rejects.toThrow("out of reach");
  });
});
