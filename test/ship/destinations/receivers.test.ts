/** What every kind of receiver promises; src/ship/destinations/receiver/receiver.ts. */
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { FixedObject, OpenDestination, WriteOutcome } from "../../../src/ship/destinations/destination.ts";
import { openDestination, termsOf } from "../../../src/ship/destinations/kinds.ts";
import {
  isMasked,
  maskDestination,
  parseDestination,
  parsePlace,
  planFor,
  sameStore,
  unmaskDestination,
} from "../../../src/ship/destinations/parse.ts";
import { PRODUCTION } from "./context.ts";
import { SECRETS } from "./kinds.ts";
import { fixed } from "./objects.ts";
import { asked, POISON, RECEIVERS, type ReceiverService } from "./receivers.ts";

const NOW = Date.UTC(2026, 10, 20, 12);
const KEY = "20261120T115900Z_20261120T120000Z_0a1b2c3d.log.gz";
const ID = KEY.slice(0, -".log.gz".length);

type Fetch = ReceiverService["fetch"];

/** A record in NDJSON, as a job writes it. */
function line(mark: string, text = "", timeMs = NOW - 1_000): string {
  const record = {
    EventTimestampMs: timeMs,
    EventType: "fetch",
    Event: {
      Request: { URL: `https://shop.example/${mark}`, Method: "GET", RayID: "8f0c1d2e3f4a5b6c" },
      Response: { Status: 200 },
    },
    Exceptions: [{ Name: "TypeError", Message: "no", TimestampMs: timeMs }],
    Logs: [{ Level: "info", Message: [mark, text, 'quotes " and \\ and \u2028'], TimestampMs: timeMs }],
    Outcome: "ok",
    ScriptName: mark.length % 2 === 0 ? "shop" : "cart",
    ScriptTags: [],
    WallTimeMs: 12,
  };
  return JSON.stringify(record);
}

const lines = (count: number, prefix = "mark"): string[] =>
  Array.from({ length: count }, (_, i) => line(`${prefix}-${i}`));
const marks = (count: number): string[] => Array.from({ length: count }, (_, i) => `mark-${i}`);

function objectOf(of: readonly string[], key = KEY): { object: FixedObject; body: Uint8Array } {
  const raw = of.map((text) => `${text}\n`).join("");
  const body = new Uint8Array(gzipSync(raw));
  return { body, object: fixed(body, { key, records: of.length, rawBytes: new TextEncoder().encode(raw).length }) };
}

describe.each(Object.entries(RECEIVERS))("a receiver: %s", (_name, fixture) => {
  const { conf, service, tellsRepeats, recordBytes, partialAt = [], takesPrefix = false, byStatus = false } = fixture;

  function open(between: (fetch: Fetch) => Fetch = (fetch) => fetch) {
    const parsed = parseDestination(conf, PRODUCTION);
    if (!parsed.ok) throw new Error(parsed.why);
    const held = service();
    const requests: { url: string; init: RequestInit }[] = [];
    const fetch = between(held.fetch);
    const noted: Fetch = (url, init) => {
      requests.push({ url, init });
      return fetch(url, init);
    };
    return {
      to: openDestination(parsed.value, { now: () => NOW, sleep: async () => {}, fetch: noted }),
      held,
      requests,
    };
  }

  const write = (to: OpenDestination, of: readonly string[], doubtful = false, key = KEY): Promise<WriteOutcome> => {
    const { object, body } = objectOf(of, key);
    return to.write(object, () => body, { doubtful, leaveOut: 0 });
  };

  let shipped = 0;

  /**
   * As a log does: what is divided or left over goes on by itself. @returns what is refused for
   * good.
   */
  async function ship(to: OpenDestination, of: readonly string[]): Promise<{ line: string; words: string }[]> {
    shipped += 1;
    const outcome = await write(to, of, false, `part-${shipped}.log.gz`);
    switch (outcome.kind) {
      case "delivered":
        return [];
      case "divide": {
        const refused = [];
        const parts: string[][] = [[]];
        let bytes = 0;
        for (const text of of) {
          bytes += new TextEncoder().encode(text).length + 1;
          const part = parts.at(-1) as string[];
          if (part.length > 0 && (part.length >= outcome.records || bytes > outcome.bytes)) {
            parts.push([text]);
            bytes = text.length + 1;
          } else part.push(text);
        }
        expect(parts.length).toBeGreaterThan(1);
        for (const part of parts) refused.push(...(await ship(to, part)));
        return refused;
      }
      case "partly": {
        expect(outcome.again.length + outcome.refused.length).toBeGreaterThan(0);
        const again = outcome.again.map((number) => of[number] as string);
        const refused = outcome.refused.map(({ record, words }) => ({ line: of[record] as string, words }));
        return [...refused, ...(again.length > 0 ? await ship(to, again) : [])];
      }
      case "failed":
        expect(outcome.error.kind).toBe("refused");
        expect(of.length).toBe(1);
        return [{ line: of[0] as string, words: outcome.error.words }];
      case "key_taken":
        throw new Error("a receiver has no keys");
    }
  }

  it("takes the records of an object in one request, with its id and the secret of its string", async () => {
    const { to, held, requests } = open();
    expect(await write(to, lines(3))).toEqual({ kind: "delivered", verified: false });
    expect(held.taken().toSorted()).toEqual(marks(3));
    expect(requests).toMatchObject([{ init: { method: "POST" } }]);
    const headers = new Headers(requests[0]?.init.headers);
    expect(headers.get("idempotency-key")).toBe(ID);
    expect([requests[0]?.url, ...headers.values()].join("\n")).toContain(SECRETS[0]);
  });

  it("sends the same bytes again after a lost answer, which may be there", async () => {
    let isLost = true;
    const { to, held, requests } = open((fetch) => async (url, init) => {
      const answer = await fetch(url, init);
      if (!isLost) return answer;
      isLost = false;
      throw new TypeError("connection reset");
    });
    expect(await write(to, lines(3))).toMatchObject({
      kind: "failed",
      mayBeThere: true,
      error: { kind: "unreachable" },
    });
    expect(await write(to, lines(3), true)).toMatchObject({ kind: "delivered" });
    expect(held.taken().length).toBe(tellsRepeats ? 3 : 6);
    const [first, second] = await Promise.all(requests.map(({ url, init }) => asked(url, init)));
    expect([second?.url.href, second?.text]).toEqual([first?.url.href, first?.text]);
  });

  it.each([
    [500, "busy", true],
    [502, "busy", true],
    [503, "busy", true],
    [408, "busy", true],
    [429, "busy", false],
    [401, "misconfigured", false],
    [403, "misconfigured", false],
    [404, "misconfigured", false],
    [301, "misconfigured", false],
    [307, "misconfigured", false],
  ] as const)("calls an answer of HTTP %i %s; may be there: %s", async (status, kind, isThere) => {
    const mayBeThere = isThere || partialAt.includes(status);
    const { to } = open(() => async () => new Response(null, { status, headers: { "retry-after": "7" } }));
    const outcome = await write(to, lines(2));
    expect(outcome).toMatchObject({ kind: "failed", mayBeThere, error: { kind, cause: status } });
    if (kind === "busy") expect(outcome).toMatchObject({ error: { retryAfterS: 7 } });
  });

  it.each([400, 413, 422])(
    "calls it misconfigured where HTTP %i answers everything, so that no record is set aside for it",
    async (status) => {
      const { to } = open(() => async () => new Response("no", { status }));
      expect(await write(to, lines(4))).toMatchObject({
        kind: "failed",
        error: { kind: "misconfigured", cause: status },
      });
    },
  );

  it("finds the one record that is refused, and delivers all others once", async () => {
    const { to, held } = open();
    const poisoned = line("mark-bad", POISON);
    const of = [...lines(5), poisoned];
    const refused = await ship(to, of);
    expect(refused.map(({ line: bad }) => bad)).toEqual([poisoned]);
    expect(refused[0]?.words).toMatch(/HTTP 4\d\d/);
    // Loki merges what it stored of a push that it refused.
    const taken =
      takesPrefix || (held.taken().length > 5 && conf.startsWith("loki:")) ? [...new Set(held.taken())] : held.taken();
    expect(taken.toSorted()).toEqual(marks(5));
  });

  it("divides what is more than it takes, and every part fits", async () => {
    const { to, held } = open();
    const place = parsePlace(conf, PRODUCTION);
    const limits = place.ok ? termsOf(place.value).limits : null;
    if (limits === null) return;
    const count = Math.min(limits.records + 1, 3_000);
    const text = "x".repeat(Math.ceil((1.5 * limits.bytes) / count));
    const of = Array.from({ length: count }, (_, i) => line(`mark-${i}`, text));
    expect(await ship(to, of)).toEqual([]);
    expect(new Set(held.taken())).toEqual(new Set(marks(count)));
    expect(held.taken()).toHaveLength(count);
  });

  it("sets aside a record that exceeds its limit, with the limit named", async () => {
    if (recordBytes === null) return;
    const { to, held } = open();
    const long = line("mark-long", "x".repeat(recordBytes));
    const refused = await ship(to, [...lines(3), long]);
    expect(refused.map(({ line: bad }) => bad)).toEqual([long]);
    expect(refused[0]?.words).toMatch(/takes [\d,]+/);
    expect(held.taken().toSorted()).toEqual(marks(3));
  });

  it("calls a timeout unreachable, and cannot be read", async () => {
    const { to } = open(() => () => Promise.reject(new DOMException("too slow", "TimeoutError")));
    expect(await write(to, lines(1))).toMatchObject({
      kind: "failed",
      error: { kind: "unreachable", cause: "timeout" },
    });
    const { object, body } = objectOf(lines(1));
    expect([await to.stands(object), await to.read(KEY)]).toMatchObject(["unknown", { ok: false, why: "refused" }]);
    expect(await to.overwrite(object, body)).toMatchObject({ kind: "misconfigured" });
  });

  it("follows no redirect, and sends nothing to another host", async () => {
    const elsewhere = { status: 307, headers: { location: "https://evil.example/" } };
    const { to, requests } = open(() => async () => new Response(null, elsewhere));
    await write(to, lines(1));
    await to.probe();
    expect(new Set(requests.map(({ url }) => new URL(url).host)).size).toBe(1);
    expect(requests.map(({ init }) => init.redirect)).toEqual(requests.map(() => "manual"));
  });

  it.each(["at its start", "at its end"])("calls no success what breaks off %s", async (where) => {
    const { to, held } = open((fetch) => async (url, init) => {
      const answer = await fetch(url, init);
      let said = where === "at its end" ? new Uint8Array(await answer.arrayBuffer()) : new Uint8Array();
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          if (said.length > 0) controller.enqueue(said);
          else controller.error(new Error("connection reset"));
          said = new Uint8Array();
        },
      });
      return new Response(body, { status: 200, headers: answer.headers });
    });
    const outcome = await write(to, lines(2));
    expect(held.taken()).toHaveLength(2);
    if (byStatus) expect(outcome).toMatchObject({ kind: "delivered" });
    else
      expect(outcome).toMatchObject({ kind: "failed", mayBeThere: true, error: { kind: "busy", cause: "not_kept" } });
  });

  it.each([
    ...[
      "<!doctype html><title>Sign in</title>",
      '{"code":3}',
      '{"error":"no"}',
      '{"success":false}',
      '{"status":"error"}',
    ],
    ...["OK", "null", "[]", '""', "{}x", '{"partialSuccess":{"rejectedSpans":"1"}}', '{"errors":[{"status":"403"}]}'],
  ])("calls no success what is not documented as one: %s", async (text) => {
    for (const status of [200, 201, 202, 203, 206, 207, 226]) {
      const { to } = open(() => async () => new Response(text, { status }));
      const outcome = await write(to, lines(2));
      if (byStatus) expect([status, outcome]).toEqual([status, { kind: "delivered", verified: false }]);
      else
        expect([status, outcome]).toMatchObject([
          status,
          { kind: "failed", mayBeThere: true, error: { kind: "busy", cause: "not_kept" } },
        ]);
    }
  });

  it("shows that it takes records, by what no search mistakes for one", async () => {
    const { to, held } = open();
    expect(await to.probe()).toBeNull();
    expect(held.taken()).toEqual([]);
    const { to: closed } = open(() => async () => new Response(null, { status: 403 }));
    expect(await closed.probe()).toContain("HTTP 403");
  });

  it.each([
    "<html>",
    "{}",
    "[]",
    '{"items":[null]}',
    '{"items":{}}',
    "null",
    '{"code":"x"}',
    "\ud800",
    "x".repeat(2_000_000),
  ])("makes a bounded sense of any answer: %#", async (text) => {
    for (const status of [200, 202, 204, 207, 260, 400, 500]) {
      const { to } = open(() => async () => new Response(status === 204 ? null : text, { status }));
      const outcome = await write(to, lines(2));
      expect(JSON.stringify(outcome).length).toBeLessThan(1_000);
    }
  });

  it("never puts a secret into words, whatever it answers", async () => {
    const own = SECRETS.filter((secret) => conf.includes(secret));
    const echo = own.join(" ");
    const said: unknown[] = [];
    for (const status of [200, 307, 400, 403, 404, 500, 0]) {
      const { to } = open(() => async () => {
        if (status === 0) throw new TypeError(echo);
        return new Response(echo, { status, headers: { location: "https://x.example/" } });
      });
      said.push(await write(to, lines(2)), await to.probe());
    }
    expect(own.length).toBeGreaterThan(0);
    for (const secret of own) expect(JSON.stringify(said)).not.toContain(secret);
  });

  it("is shown with its secrets masked, is the same place, and takes them back", () => {
    const masked = maskDestination(conf);
    for (const secret of SECRETS) expect(masked).not.toContain(secret);
    expect([isMasked(conf), isMasked(masked), unmaskDestination(masked, conf)]).toEqual([false, true, conf]);
    const [place, same] = [parsePlace(masked, PRODUCTION), parseDestination(conf, PRODUCTION)];
    if (!place.ok || !same.ok) throw new Error("no place");
    expect(sameStore(place.value, same.value)).toBe(true);
    for (const secret of SECRETS) expect(JSON.stringify(place.value)).not.toContain(secret);
  });

  it("is previewed as what is sent, without a secret", async () => {
    const { to, requests } = open();
    const of = lines(3);
    await write(to, of);
    const sent = await asked(requests[0]?.url as string, requests[0]?.init as RequestInit);
    const text = of.map((each) => `${each}\n`).join("");
    const planned = { id: ID, lines: of, text, contentType: "application/x-ndjson" };
    const plan = planFor(conf, PRODUCTION, planned, NOW);
    expect(plan).toMatchObject({ refused: [], requests: [{ text: sent.text, records: 3 }] });
    const { url = "", headers = {} } = plan?.requests[0] ?? {};
    expect([new URL(url).origin, new URL(url).pathname.split("/").length]).toEqual([
      sent.url.origin,
      sent.url.pathname.split("/").length,
    ]);
    const masked = Object.entries(headers).map(([name, value]) => [name, value.includes("****") ? "****" : value]);
    const known = [...sent.headers].filter(([name]) => name !== "content-length");
    expect(Object.fromEntries(masked)).toEqual(
      Object.fromEntries(known.map(([name, value]) => [name, headers[name]?.includes("****") ? "****" : value])),
    );
    expect(new URL(url).searchParams.size).toBe(sent.url.searchParams.size);
    for (const secret of SECRETS) expect(JSON.stringify(plan)).not.toContain(secret);
  });

  it("is previewed in parts that fit, and says what does not", async () => {
    const place = parsePlace(conf, PRODUCTION);
    const limits = place.ok ? termsOf(place.value).limits : null;
    if (limits === null) return;
    const count = Math.min(limits.records + 1, 3_000);
    const of = Array.from({ length: count }, (_, i) => line(`mark-${i}`, "x".repeat(Math.ceil(limits.bytes / count))));
    if (recordBytes !== null) of.splice(1, 0, line("mark-long", "x".repeat(recordBytes)));
    const planned = { id: ID, lines: of, text: "", contentType: "application/x-ndjson" };
    const plan = planFor(conf, PRODUCTION, planned, NOW);
    const { held } = open();
    for (const { url, headers, text } of plan?.requests ?? []) {
      const body = new Uint8Array(gzipSync(text));
      const { status } = await held.fetch(url, { headers: { ...headers, "content-length": `${body.length}` }, body });
      // A masked secret may be refused; what is too much for one request never is another answer.
      expect([200, 201, 202, 204, 401, 403, 404]).toContain(status);
    }
    expect(plan?.requests.length).toBeGreaterThan(1);
    expect(new Set(plan?.requests.map(({ headers }) => headers["idempotency-key"])).size).toBe(plan?.requests.length);
    expect(plan?.requests.reduce((sum, { records }) => sum + records, 0)).toBe(count);
    expect(plan?.refused.map(({ record }) => record)).toEqual(recordBytes === null ? [] : [1]);
  });

  it("says by what a repeat is told", () => {
    const parsed = parseDestination(conf, PRODUCTION);
    if (!parsed.ok) throw new Error(parsed.why);
    expect(termsOf(parsed.value).repeats).toMatchObject({ once: false, id: expect.stringMatching(/\w/) });
  });
});
