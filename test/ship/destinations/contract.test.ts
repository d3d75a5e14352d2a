/** What every kind of destination promises; src/ship/destinations/destination.ts. */
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import type { OpenDestination } from "../../../src/ship/destinations/destination.ts";
import { KINDS, openDestination } from "../../../src/ship/destinations/kinds.ts";
import {
  isMasked,
  maskDestination,
  parseDestination,
  parsePlace,
  samePlace,
} from "../../../src/ship/destinations/parse.ts";
import { PRODUCTION } from "./context.ts";
import { FIXTURES, SECRETS, type Service } from "./kinds.ts";
import { fixed, KEY } from "./objects.ts";
import { RECEIVERS } from "./receivers.ts";

const NOW = Date.UTC(2026, 10, 20, 12);
const BYTES = encodeUtf8("fixed bytes");
const FIRST = { doubtful: false, leaveOut: 0 };

const OBJECT = fixed(BYTES);

type Fetch = Service["fetch"];

/** Whether a request is about the object, and not about a probe. */
function isOfObject(url: string): boolean {
  return decodeURIComponent(new URL(url).pathname).endsWith(KEY);
}

it("has a fixture for every scheme", () => {
  const schemes = KINDS.flatMap((kind) => kind.schemes).filter((scheme) => !(scheme in RECEIVERS));
  expect([...new Set(Object.values(FIXTURES).map(({ conf }) => conf.split(":")[0]))].sort()).toEqual(schemes.sort());
});

describe.each(Object.entries(FIXTURES))("a destination: %s", (_name, { conf, secretInAddress, service, context }) => {
  const isByFetch = context === undefined;

  /** @param between stands between the destination and its service. */
  function open(between: (fetch: Fetch) => Fetch = (fetch) => fetch) {
    const held = service();
    const requests: { url: string; init: RequestInit }[] = [];
    const fetch = between(held.fetch);
    const noted: Fetch = (url, init) => {
      requests.push({ url, init });
      return fetch(url, init);
    };
    const parsed = parseDestination(conf, context?.(noted) ?? PRODUCTION);
    if (!parsed.ok) throw new Error(parsed.why);
    return {
      to: openDestination(parsed.value, { now: () => NOW, sleep: async () => {}, fetch: noted }),
      held,
      requests,
    };
  }

  const write = (to: OpenDestination, options = FIRST) => to.write(OBJECT, () => BYTES, options);

  it("has written bytes there, and gives them back", async () => {
    const { to, held } = open();
    expect(await to.stands(OBJECT)).not.toBe("there");
    expect(await write(to)).toMatchObject({ kind: "delivered", verified: true });
    expect(held.get(KEY)).toEqual(BYTES);
    expect(await to.stands(OBJECT)).toBe("there");
    const read = await to.read(KEY);
    if (!read.ok) throw new Error(read.words);
    expect(read.bytes ?? BYTES.length).toBe(BYTES.length);
    expect(new Uint8Array(await new Response(read.body).arrayBuffer())).toEqual(BYTES);
    const part = await to.read(KEY, { from: 1, bytes: 3 });
    if (!part.ok) throw new Error(part.words);
    expect(new Uint8Array(await new Response(part.body).arrayBuffer())).toEqual(BYTES.slice(1, 4));
  });

  it.each([FIRST, { doubtful: true, leaveOut: 0 }, { doubtful: false, leaveOut: 1 }])(
    "says there of what is written again: %o",
    async (options) => {
      const { to, held } = open();
      await write(to);
      expect(await write(to, options)).toMatchObject({ kind: "delivered" });
      expect(held.get(KEY)).toEqual(BYTES);
    },
  );

  it("tells other bytes under the key apart, and leaves them", async () => {
    const { to, held } = open();
    const others = encodeUtf8("of another service");
    held.put(KEY, others);
    expect(await to.stands(OBJECT)).not.toBe("there");
    const outcome = await write(to);
    // Where the service shows neither a checksum nor an MD5, only the length tells.
    expect(["key_taken", "failed"]).toContain(outcome.kind);
    expect(held.get(KEY)).toEqual(others);
  });

  it("finds what a lost answer has left there, and writes what it has not", async () => {
    for (const isTaken of [true, false]) {
      let isLost = true;
      const { to, held } = open((fetch) => async (url, init) => {
        if (!isOfObject(url)) return fetch(url, init);
        if (!isLost || isTaken) {
          const answer = await fetch(url, init);
          if (!isLost) return answer;
        }
        isLost = false;
        throw new TypeError("connection reset");
      });
      expect(await write(to)).toMatchObject({
        kind: "failed",
        error: { kind: "unreachable", cause: "connection_failed" },
      });
      expect(await write(to, { doubtful: true, leaveOut: 0 })).toMatchObject({ kind: "delivered", verified: true });
      expect(held.get(KEY)).toEqual(BYTES);
    }
  });

  it.each([
    [500, "busy"],
    [503, "busy"],
    [429, "busy"],
    [401, "misconfigured"],
    [403, "misconfigured"],
    [404, "misconfigured"],
    [413, "refused"],
    ...(isByFetch
      ? ([
          [502, "busy"],
          [408, "busy"],
          [301, "misconfigured"],
          [307, "misconfigured"],
        ] as const)
      : []),
  ] as const)("calls an answer of HTTP %i to one object %s", async (status, kind) => {
    const { to } = open((fetch) => async (url, init) => {
      return isOfObject(url) ? new Response(null, { status, headers: { "retry-after": "7" } }) : fetch(url, init);
    });
    const outcome = await write(to);
    // R2 has no 413 of its own.
    const cause = isByFetch || status !== 413 ? status : 400;
    expect(outcome).toMatchObject({ kind: "failed", error: { kind, cause } });
    if (kind === "busy" && isByFetch) expect(outcome).toMatchObject({ error: { retryAfterS: 7 } });
  });

  it("calls it misconfigured where every object is refused, so that none is set aside for it", async () => {
    const { to } = open(() => async () => new Response(null, { status: 400 }));
    expect(await write(to)).toMatchObject({ kind: "failed", error: { kind: "misconfigured", cause: 400 } });
  });

  it("calls a timeout unreachable", async () => {
    const { to } = open(() => () => Promise.reject(new DOMException("too slow", "TimeoutError")));
    expect(await write(to)).toMatchObject({ kind: "failed", error: { kind: "unreachable", cause: "timeout" } });
    expect(await to.stands(OBJECT)).toBe("unknown");
    expect(await to.read(KEY)).toMatchObject({ ok: false, why: "unreachable", cause: "timeout" });
  });

  it.each([
    [404, "gone"],
    [401, "forbidden"],
    [403, "forbidden"],
    ...(isByFetch
      ? ([
          [204, "empty"],
          [302, "redirected"],
        ] as const)
      : []),
    [500, "busy"],
    [429, "busy"],
    [400, "refused"],
  ] as const)("reads nothing where the answer is HTTP %i: %s", async (status, why) => {
    const { to } = open(() => async () => new Response(null, { status }));
    expect(await to.read(KEY)).toMatchObject({ ok: false, why, cause: status });
  });

  it("follows no redirect, and sends nothing to another host", async () => {
    const elsewhere = { status: 307, headers: { location: "https://evil.example/" } };
    const { to, requests } = open(() => async () => new Response(null, elsewhere));
    await write(to);
    await to.read(KEY);
    await to.probe();
    expect(new Set(requests.map(({ url }) => new URL(url).host)).size).toBe(1);
    expect(requests.map(({ init }) => init.redirect)).toEqual(requests.map(() => "manual"));
  });

  it("shows that it is writable, and takes a token and nothing else", async () => {
    const { to, held } = open();
    expect(await to.probe()).toBeNull();
    expect(await to.challenge("logs/proof.txt", "1.2.three")).toBeNull();
    expect(held.get("logs/proof.txt")).toEqual(encodeUtf8("1.2.three"));
    const { to: closed } = open(() => async () => new Response(null, { status: 403 }));
    expect([await closed.probe(), await closed.challenge("k", "t")]).toEqual([
      expect.stringContaining("HTTP 403"),
      expect.stringContaining("HTTP 403"),
    ]);
  });

  it("writes over what stands under a key where it is told to", async () => {
    const { to, held } = open();
    held.put(KEY, encodeUtf8("an older one"));
    expect(await to.overwrite(OBJECT, BYTES)).toBeNull();
    expect(held.get(KEY)).toEqual(BYTES);
  });

  it("never puts a secret into words, whatever the service answers, nor into an address if it can", async () => {
    const echo = `${SECRETS.join(" ")}<Code>${SECRETS[1]}</Code>`;
    const said: unknown[] = [];
    for (const status of [200, 307, 400, 403, 404, 500, 0]) {
      const { to, requests } = open(() => async () => {
        if (status === 0) throw new TypeError(echo);
        return new Response(echo, { status, headers: { location: `https://x.example/${echo.slice(0, 14)}` } });
      });
      said.push(await write(to), await to.overwrite(OBJECT, BYTES), await to.probe(), await to.challenge("k", "t"));
      const read = await to.read(KEY);
      said.push(read.ok ? read.bytes : read);
      if (secretInAddress !== true) said.push(...requests.map(({ url }) => url));
    }
    for (const secret of SECRETS) expect(JSON.stringify(said)).not.toContain(secret);
  });

  it("is shown with its secrets masked, and is the same place", () => {
    const masked = maskDestination(conf);
    for (const secret of SECRETS) expect(masked).not.toContain(secret);
    const hasSecrets = SECRETS.some((secret) => conf.includes(secret));
    expect([isMasked(conf), isMasked(masked)]).toEqual([false, hasSecrets]);
    const known = context?.(service().fetch) ?? PRODUCTION;
    const [place, same] = [parsePlace(masked, PRODUCTION), parseDestination(conf, known)];
    if (!place.ok || !same.ok) throw new Error("no place");
    expect(samePlace(place.value, same.value)).toBe(true);
    for (const secret of SECRETS) expect(JSON.stringify(place.value)).not.toContain(secret);
  });
});
