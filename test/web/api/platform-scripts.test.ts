import { describe, expect, it, vi } from "vitest";
import { UPSTREAM_ANSWER_MAX_BYTES } from "../../../src/base/limits.ts";
import { curlForm, FORM_TYPE, field, form, module, WORKER } from "../../state/functions/forms.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { until } from "../../support/until.ts";
import {
  type Asked,
  askAs,
  BEARER,
  loggingOf,
  patch,
  put,
  SCRIPTS,
  said,
  scriptedApi,
  THEIRS,
  UPSTREAM_API,
} from "./scripted-platform.ts";

const AUTHORIZATION = `Bearer ${BEARER}`;

/** The metadata of the forwarded upload. */
function metadataOf({ body, headers }: Asked): unknown {
  const boundary = /boundary=(.*)$/.exec(headers["content-type"] ?? "")?.[1] ?? "";
  const [, first = ""] = body.split(`--${boundary}\r\n`);
  return JSON.parse(first.split("\r\n\r\n")[1] ?? "");
}

describe("an upload with the platform's own bearer", () => {
  it("goes on to the platform, to the byte, with nothing of the caller's but the bearer, and is answered as the platform answers", async () => {
    setClock(NOON);
    const theirs = said({ id: "shop", etag: "e", logpush: false });
    const text = await theirs.clone().text();
    const world = scriptedApi(theirs);
    const answer = await put(world, curlForm(), "shop", {
      headers: {
        "content-type": FORM_TYPE,
        cookie: "session=1",
        "x-forwarded-for": "10.0.0.1",
        "x-auth-token": "x",
        "user-agent": "curl/7.88.1",
        accept: "*/*",
        "cf-ray": "8a0b-FRA",
      },
    });
    expect([answer.status, answer.text, [...answer.headers]]).toEqual([
      200,
      text,
      [["content-type", "application/json"]],
    ]);
    const [asked] = world.asked;
    const boundary = /^multipart\/form-data; boundary=(logship-[0-9a-f-]{36})$/.exec(
      asked?.headers["content-type"] ?? "",
    )?.[1];
    expect(world.asked).toEqual([
      {
        method: "PUT",
        url: `${THEIRS}/shop`,
        headers: { authorization: AUTHORIZATION, "content-type": `multipart/form-data; boundary=${boundary}` },
        redirect: "manual",
        body: [
          `--${boundary}`,
          'Content-Disposition: form-data; name="metadata"',
          "Content-Type: application/json",
          "",
          '{"main_module":"my-worker.js","tail_consumers":[{"service":"logship"}]}',
          `--${boundary}`,
          'Content-Disposition: form-data; name="my-worker.js"; filename="my-worker.js"',
          "Content-Type: application/javascript+module",
          "",
          WORKER,
          `--${boundary}--`,
          "",
        ].join("\r\n"),
      },
    ]);
    expect(await loggingOf()).toBe("on");
  });

  it("has every module with its bytes and its type, and no type where none was sent", async () => {
    setClock(NOON);
    const world = scriptedApi(said({}));
    const { type: _, ...untyped } = module("data.bin", "\r\n--x\0");
    await put(
      world,
      form([
        field({ main_module: "my-worker.js" }),
        module(),
        module("a/b.txt", "text", "text/plain; charset=utf-8"),
        untyped,
      ]),
    );
    const body = world.asked[0]?.body ?? "";
    expect(body).toContain('name="a/b.txt"; filename="a/b.txt"\r\nContent-Type: text/plain\r\n\r\ntext\r\n--');
    expect(body).toContain('name="data.bin"; filename="data.bin"\r\n\r\n\r\n--x\0\r\n--');
  });

  const self = { service: "logship" };
  const other = { service: "audit", environment: "production" };
  const staging = { service: "logship", environment: "staging" };
  const translations: [what: string, sent: object, gone: object, logging: string][] = [
    ["on", { logship: true }, { tail_consumers: [self] }, "on"],
    ["on, by the vendor's name", { logpush: true }, { tail_consumers: [self] }, "on"],
    ["on, beside others", { logship: true, tail_consumers: [other] }, { tail_consumers: [other, self] }, "on"],
    [
      "on, beside another of its name",
      { logship: true, tail_consumers: [staging] },
      { tail_consumers: [staging, self] },
      "on",
    ],
    ["off", { logship: false }, {}, "off"],
    ["off, by the vendor's name", { logpush: false }, {}, "off"],
    ["off, as it says nothing", {}, {}, "off"],
    ["off, with null", { tail_consumers: null }, { tail_consumers: null }, "off"],
    [
      "off, with others kept",
      { logship: false, tail_consumers: [self, other, staging, self] },
      { tail_consumers: [other, staging] },
      "off",
    ],
  ];
  it.each(translations)("says by its tail consumers whether it ships: %s", async (_what, sent, gone, logging) => {
    setClock(NOON);
    const rest = {
      main_module: "my-worker.js",
      compatibility_date: "2026-09-25",
      bindings: [{ type: "json", json: { logship: 1 } }],
    };
    const world = scriptedApi(said({}));
    expect((await put(world, curlForm({ ...rest, ...sent }))).status).toBe(200);
    expect(metadataOf(world.asked[0] as Asked)).toEqual({ ...rest, ...gone });
    expect(await loggingOf()).toBe(logging);
  });

  it("does not go on if it is malformed, and its faults are told", async () => {
    const world = scriptedApi();
    const answer = await put(world, form([field({ main_module: "index.js" }), module()]));
    expect([answer.status, answer.json?.errors]).toEqual([
      400,
      [{ code: 1001, message: 'metadata.main_module: there is no file part named "index.js"' }],
    ]);
    const typed = await put(world, curlForm(), "shop", { headers: { "content-type": "application/json" } });
    expect([typed.status, typed.json?.errors[0]?.code, world.asked]).toEqual([415, 1015, []]);
  });

  it("of the shipper itself does not have it ship its own events", async () => {
    setClock(NOON);
    const world = scriptedApi(said({}));
    const answer = await put(world, curlForm(), "logship");
    expect([answer.status, answer.json?.errors[0]?.message]).toEqual([
      400,
      "logship: its own events are never shipped",
    ]);
    expect(world.asked).toEqual([]);
    expect((await put(world, curlForm({ main_module: "my-worker.js" }), "logship")).status).toBe(200);
  });
});

describe("what the platform says", () => {
  const refusals: [status: number, headers: Record<string, string>, expected: Record<string, string>][] = [
    [400, {}, {}],
    [401, {}, { "www-authenticate": "Bearer" }],
    [403, { "set-cookie": "a=b", "x-secret": "1", location: "https://evil.example/" }, {}],
    [404, { "content-type": "text/html" }, {}],
    [409, { "retry-after": "7" }, { "retry-after": "7" }],
    [429, { "retry-after": "Fri, 20 Nov 2026 12:00:00 GMT" }, { "retry-after": "Fri, 20 Nov 2026 12:00:00 GMT" }],
    [429, {}, { "retry-after": "5" }],
    [500, { "retry-after": "soon" }, {}],
    [503, { "retry-after": "0, 0" }, { "retry-after": "5" }],
  ];
  it.each(refusals)("is the answer, and changes nothing here: %i %j", async (status, headers, expected) => {
    for (const go of [
      put,
      (world: ReturnType<typeof scriptedApi>) => patch(world, { logship: false, tail_consumers: [] }),
    ]) {
      const theirs = said(null, status, headers);
      const text = await theirs.clone().text();
      const answer = await go(scriptedApi(theirs));
      expect([answer.status, answer.text, Object.fromEntries(answer.headers)]).toEqual([
        status,
        text,
        { "content-type": "application/json", ...expected },
      ]);
    }
    expect(await loggingOf()).toBe("unset");
  });

  it("is no success if it does not say so, whatever its status", async () => {
    const answer = await put(scriptedApi(Response.json({ success: false, errors: [], result: null })));
    expect([answer.status, answer.json?.success, await loggingOf()]).toEqual([200, false, "unset"]);
  });

  const huge = (): Response => new Response(`"${"x".repeat(UPSTREAM_ANSWER_MAX_BYTES)}"`);
  const broken = (): Response =>
    new Response(
      new ReadableStream({
        start(to) {
          to.enqueue(new Uint8Array([0x7b]));
          to.error(new Error(`lost ${BEARER}`));
        },
      }),
    );
  const failed = "could not be reached, or its answer broke off";
  const none: [what: string, answer: () => Response, why: string][] = [
    [
      "no JSON",
      () => new Response("<script>", { headers: { "content-type": "text/html" } }),
      "answered with HTTP 200 and no JSON object",
    ],
    ["JSON that is no object", () => Response.json([1]), "answered with HTTP 200 and no JSON object"],
    ["nothing", () => new Response(null, { status: 204 }), "answered with HTTP 204 and no JSON object"],
    ["an error page", () => new Response("<h1>", { status: 502 }), "answered with HTTP 502 and no JSON object"],
    [
      "a redirect",
      () => Response.redirect("https://evil.example/", 302),
      "answered with HTTP 302, which is not followed",
    ],
    ["more than can be kept", huge, `answered with more than ${UPSTREAM_ANSWER_MAX_BYTES} bytes`],
    ["half of an answer", broken, failed],
    [
      "no answer",
      () => {
        throw new Error(`cannot connect to ${UPSTREAM_API} with ${BEARER}`);
      },
      failed,
    ],
  ];
  it.each(none)("is nothing to go by, and that is told, with nothing changed here: %s", async (_what, answer, why) => {
    const world = scriptedApi(async () => answer());
    const got = await put(world);
    const after = "it may have made the change, but nothing was changed here; repeat the request";
    expect([got.status, got.headers.get("retry-after"), got.json?.errors]).toEqual([
      503,
      "5",
      [{ code: 1053, message: `Cloudflare's API ${why}; ${after}` }],
    ]);
    expect([world.asked.length, await loggingOf()]).toEqual([1, "unset"]);
    const read = await askAs(
      scriptedApi(async () => answer()),
      "GET",
      SCRIPTS,
    );
    expect([read.status, read.json?.errors[0]?.message]).toEqual([503, `Cloudflare's API ${why}; repeat the request`]);
  });

  it("is waited for so long, and no longer", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const signals: (AbortSignal | null | undefined)[] = [];
    const world = scriptedApi(({ signal }) => {
      signals.push(signal);
      return new Promise(() => {});
    });
    const answering = put(world);
    await until(() => signals.length > 0, 5);
    await vi.advanceTimersByTimeAsync(39_000);
    expect(signals[0]?.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1_000);
    vi.useRealTimers();
    const answer = await answering;
    expect([answer.status, answer.json?.errors[0]?.message]).toEqual([
      503,
      expect.stringMatching(/^Cloudflare's API did not answer in time; it may have made/),
    ]);
    expect(signals[0]?.aborted).toBe(true);
  });
});
