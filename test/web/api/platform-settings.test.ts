import { describe, expect, it, vi } from "vitest";
import { curlForm, FORM_TYPE, WORKER } from "../../state/functions/forms.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { until } from "../../support/until.ts";
import { call, type Settings } from "./harness.ts";
import { askAs, BEARER, loggingOf, patch, put, SCRIPTS, said, scriptedApi, THEIRS } from "./scripted-platform.ts";

const AUTHORIZATION = `Bearer ${BEARER}`;

const NOT_DONE = "but logship has not recorded it";

describe("what follows here from what the platform has done", () => {
  const refusing = (answer: () => Promise<unknown>): Settings => ({
    CONTROL: { getByName: () => ({ setFunction: answer, removeFunction: answer }) },
  });

  it.each([
    ["fails", () => Promise.reject(new Error(`secret ${BEARER}`)), 503, `${NOT_DONE}; repeat the request`],
    [
      "is refused",
      async () => ({ kind: "refused", why: "there are too many" }),
      403,
      `${NOT_DONE}: changing the settings of a Worker is not allowed: there are too many`,
    ],
    [
      "is not in force yet",
      async () => ({ kind: "changed", setting: null, missing: [0, 2] }),
      503,
      `${NOT_DONE}: the setting of "shop" is stored; not yet in force in log 0, 2; it will be within a minute`,
    ],
  ])("is told if it %s, with what the platform has done", async (_what, answer, status, message) => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const settings = refusing(answer);
    const uploaded = await put(scriptedApi(said({})), curlForm(), "shop", {
      headers: { "content-type": FORM_TYPE },
      settings,
    });
    expect([uploaded.status, uploaded.json?.errors.map((each) => each.message)]).toEqual([
      status,
      [`Cloudflare has taken the upload, ${message}`],
    ]);
    const changed = await patch(
      scriptedApi(said({}), said({})),
      { logship: true },
      { headers: { "content-type": "application/json" }, settings },
    );
    expect([changed.status, changed.json?.errors[0]?.message]).toEqual([
      status,
      `Cloudflare has changed the settings, ${message}`,
    ]);
    const deleted = await askAs(scriptedApi(said(null)), "DELETE", `${SCRIPTS}/shop`, undefined, { settings });
    expect([deleted.status, deleted.json?.errors[0]?.message]).toEqual([
      status,
      `Cloudflare has deleted the script, ${message}`,
    ]);
    const { result } = (await call<{ outcome: string; actor: object }[]>("GET", "/logship/audit")).body;
    // A refusal is not a change.
    expect(result.map(({ outcome }) => outcome)).toEqual(status === 503 ? Array(3).fill("unconfirmed") : []);
    vi.restoreAllMocks();
  });

  it("is waited for so long, and no longer, and healed by the same request again", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    let stuck = 0;
    const settings = refusing(() => {
      stuck += 1;
      return new Promise(() => {});
    });
    const answering = put(scriptedApi(said({})), curlForm(), "shop", {
      headers: { "content-type": FORM_TYPE },
      settings,
    });
    await until(() => stuck > 0, 5);
    await vi.advanceTimersByTimeAsync(17_000);
    vi.useRealTimers();
    const answer = await answering;
    expect([answer.status, answer.json?.errors[0]?.message]).toEqual([
      503,
      `Cloudflare has taken the upload, ${NOT_DONE}; repeat the request`,
    ]);
    expect([(await put(scriptedApi(said({})))).status, await loggingOf()]).toEqual([200, "on"]);
  });
});

describe("script settings with the platform's own bearer", () => {
  const SETTINGS = `${THEIRS}/shop/script-settings`;
  const self = { service: "logship" };
  const other = { service: "audit", environment: null, more: [1] };

  const changes: [what: string, body: object, theirs: unknown, gone: object, logging: string][] = [
    ["on", { logship: true }, { tail_consumers: [other] }, { tail_consumers: [other, self] }, "on"],
    ["on, without any before", { logpush: true }, { logpush: false }, { tail_consumers: [self] }, "on"],
    ["off", { logship: false }, { tail_consumers: [self, other] }, { tail_consumers: [other] }, "off"],
    ["off, again", { logship: false, tags: ["a"] }, { tail_consumers: [] }, { tags: ["a"], tail_consumers: [] }, "off"],
    ["unset", { logship: null }, { tail_consumers: [other, self] }, { tail_consumers: [other, self] }, "unset"],
  ];
  it.each(changes)("are read, changed and written back: %s", async (_what, body, theirs, gone, logging) => {
    setClock(NOON);
    const written = said({ tail_consumers: "as the platform says" });
    const text = await written.clone().text();
    const world = scriptedApi(said(theirs), written);
    const answer = await patch(world, body);
    expect([answer.status, answer.text]).toEqual([200, text]);
    const headers = { authorization: AUTHORIZATION };
    expect(world.asked).toEqual([
      { method: "GET", url: SETTINGS, headers, body: "", redirect: "manual" },
      {
        method: "PATCH",
        url: SETTINGS,
        headers: { ...headers, "content-type": "application/json" },
        body: expect.any(String),
        redirect: "manual",
      },
    ]);
    expect(JSON.parse(world.asked[1]?.body ?? "")).toEqual(gone);
    expect(await loggingOf()).toBe(logging);
  });

  const direct: [what: string, body: object, gone: object, logging: string][] = [
    ["on, with all consumers", { logship: true, tail_consumers: [other] }, { tail_consumers: [other, self] }, "on"],
    ["off, with all consumers", { logship: false, tail_consumers: [other, self] }, { tail_consumers: [other] }, "off"],
    ["consumers alone", { tail_consumers: [other] }, { tail_consumers: [other] }, "unset"],
    ["something else", { observability: { enabled: true } }, { observability: { enabled: true } }, "unset"],
    ["nothing", {}, {}, "unset"],
  ];
  it.each(direct)("are written at once where nothing has to be read for it: %s", async (_what, body, gone, logging) => {
    setClock(NOON);
    const world = scriptedApi(said({}));
    expect((await patch(world, body)).status).toBe(200);
    expect(world.asked.map(({ method, body: text }) => [method, JSON.parse(text)])).toEqual([["PATCH", gone]]);
    expect(await loggingOf()).toBe(logging);
  });

  it("change nothing anywhere if they cannot be read, or are none", async () => {
    const refused = await patch(scriptedApi(said(null, 403)), { logship: false });
    expect([refused.status, refused.json?.errors[0]?.message]).toEqual([403, "said by the platform"]);
    for (const theirs of [said("x"), said({ tail_consumers: "x" }), said({ tail_consumers: [{}] }), said(null)]) {
      const world = scriptedApi(theirs);
      const answer = await patch(world, { logship: false });
      expect([answer.status, world.asked.length]).toEqual([503, 1]);
    }
    expect(await loggingOf()).toBe("unset");
  });

  it("are not believed from whoever may read them but not write them", async () => {
    expect((await patch(scriptedApi(said({}), said(null, 403)), { logship: null })).status).toBe(403);
    expect((await patch(scriptedApi(said({}), said(null, 403)), { logship: false })).status).toBe(403);
    expect(await loggingOf()).toBe("unset");
  });

  it("have their faults told", async () => {
    const world = scriptedApi();
    for (const body of [
      { logship: 1 },
      { logship: true, logpush: true },
      { tail_consumers: {} },
      { tail_consumers: [{}] },
    ])
      expect((await patch(world, body)).status).toBe(400);
    expect(world.asked).toEqual([]);
  });

  it("and scripts are read as the platform has them, with the query of the request", async () => {
    for (const [path, url] of [
      [`${SCRIPTS}/shop/script-settings`, SETTINGS],
      [`${SCRIPTS}?tags=a:yes&page=2`, `${THEIRS}?tags=a:yes&page=2`],
      ["/functions/scripts", THEIRS],
      [`${SCRIPTS}/a%20b%3F%2E%2E%252Fc%23`, `${THEIRS}/a%20b%3F..%252Fc%23`],
    ] as const) {
      const theirs = said([{ id: "shop" }]);
      const text = await theirs.clone().text();
      const world = scriptedApi(theirs);
      const answer = await askAs(world, "GET", path);
      expect([answer.status, answer.text, world.asked[0]?.url]).toEqual([200, text, url]);
    }
  });

  it("and a script itself comes as a file that no browser runs", async () => {
    const source = (type: string): Response =>
      new Response(WORKER, { headers: { "content-type": type, "set-cookie": "a=b" } });
    const answer = await askAs(scriptedApi(source("application/javascript")), "GET", `${SCRIPTS}/shop`);
    expect([answer.status, answer.text, Object.fromEntries(answer.headers)]).toEqual([
      200,
      WORKER,
      {
        "content-type": "application/javascript",
        "content-disposition": "attachment",
        "content-security-policy": "default-src 'none'; sandbox",
        "x-content-type-options": "nosniff",
      },
    ]);
    const page = await askAs(scriptedApi(source("text/html")), "GET", `${SCRIPTS}/shop`);
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "application/octet-stream"]);
  });
});

describe("deleting a script with the platform's own bearer", () => {
  it("forgets what is set here, once the platform has deleted it", async () => {
    setClock(NOON);
    await put(scriptedApi(said({})), curlForm({ main_module: "my-worker.js" }));
    const refused = await askAs(scriptedApi(said(null, 404)), "DELETE", `${SCRIPTS}/shop`);
    expect([refused.status, await loggingOf()]).toEqual([404, "off"]);
    const world = scriptedApi(said(null));
    const answer = await askAs(world, "DELETE", `${SCRIPTS}/shop?force=true`);
    expect([answer.status, answer.json?.success, world.asked[0]?.url]).toEqual([
      200,
      true,
      `${THEIRS}/shop?force=true`,
    ]);
    expect(await loggingOf()).toBe("unset");
  });

  it("is answered even where the platform has no words for it", async () => {
    const answer = await askAs(scriptedApi(new Response(null, { status: 204 })), "DELETE", `${SCRIPTS}/shop`);
    expect([answer.status, answer.json?.result]).toEqual([200, { id: "shop" }]);
  });
});
