/** The recorded state of attachments follows what the platform does and shows, for any caller. */
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { readConfig } from "../../../src/config.ts";
import { curlForm } from "../../state/functions/forms.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { until } from "../../support/until.ts";
import { call, type Settings } from "./harness.ts";
import { askAs, BEARER, patch, put, SCRIPTS, said, scriptedApi, UPSTREAM_API } from "./scripted-platform.ts";

const self = { service: "logship" };
const other = { service: "audit" };

const attachmentOf = async (name = "shop"): Promise<{ state: string; since: string; why: string } | null> => {
  const { status, body } = await call<Settings>("GET", `${SCRIPTS}/${name}`);
  return status === 404 ? null : (body.result.attachment as never);
};

const stateOf = async (name = "shop"): Promise<string | null> => (await attachmentOf(name))?.state ?? null;

const iso = (ms: number): string => new Date(ms).toISOString();

/** The settings as the platform shows them to its own callers. */
const readSettings = (answer: Response, name = "shop", options = {}) =>
  askAs(scriptedApi(answer), "GET", `${SCRIPTS}/${name}/script-settings`, undefined, options);

const shown = (consumers: unknown): Response => said({ logpush: false, tail_consumers: consumers });

const NOTHING = { main_module: "my-worker.js" };

describe("an attachment is known", () => {
  it("once the platform has taken an upload that ships, to whoever may see functions", async () => {
    const clock = setClock(NOON);
    await put(scriptedApi(said({})));
    const expected = {
      state: "attached",
      since: iso(NOON),
      checked_at: iso(NOON),
      why: "Cloudflare lists this service among its tail consumers",
    };
    expect(await attachmentOf()).toEqual(expected);
    expect((await call<Settings[]>("GET", SCRIPTS)).body.result).toMatchObject([{ id: "shop", attachment: expected }]);
    clock.advance(3_600_000);
    await put(scriptedApi(said({})));
    expect(await attachmentOf()).toEqual({ ...expected, checked_at: iso(NOON + 3_600_000) });
  });

  it("once the platform has changed settings so that it ships", async () => {
    setClock(NOON);
    await patch(scriptedApi(shown(null), said({})), { logship: true });
    expect(await stateOf()).toBe("attached");
  });

  it.each<[what: string, body: object, answers: Response[]]>([
    ["as it was sent", { tail_consumers: [self] }, [said({})]],
    ["as it is shown", { observability: { enabled: true } }, [shown([other, self])]],
    ["as it was, and stays", { logship: null }, [shown([self]), said({})]],
    ["as it was, and is shown", { logship: null }, [shown([self]), shown([self])]],
  ])("once a change of settings shows it: %s", async (_what, body, answers) => {
    setClock(NOON);
    expect((await patch(scriptedApi(...answers), body)).status).toBe(200);
    expect(await stateOf()).toBe("attached");
  });

  it("once settings that are read show it, of a function that nothing else is known of", async () => {
    setClock(NOON);
    expect((await readSettings(shown([self]))).status).toBe(200);
    expect(await attachmentOf()).toMatchObject({ state: "attached", since: iso(NOON) });
    expect((await call<Settings[]>("GET", SCRIPTS)).body.result).toMatchObject([{ id: "shop", logging: "unset" }]);
    expect((await call("GET", `${SCRIPTS}/shop/script-settings`)).status).toBe(200);
    expect((await call("DELETE", `${SCRIPTS}/shop`)).status).toBe(200);
    expect(await stateOf()).toBeNull();
    expect((await call("GET", `${SCRIPTS}/shop/script-settings`)).status).toBe(404);
  });

  it.each<[what: string, go: () => Promise<unknown>]>([
    ["refused uploads", () => put(scriptedApi(said(null, 403)))],
    ["uploads of which nothing is known", () => put(scriptedApi(() => Promise.reject(new Error("reset"))))],
    ["uploads that do not ship", () => put(scriptedApi(said({})), curlForm(NOTHING))],
    ["refused changes", () => patch(scriptedApi(shown([self]), said(null, 403)), { logship: true })],
    ["settings without us", () => readSettings(shown([other]))],
    ["settings that are refused", () => readSettings(said({ tail_consumers: [self] }, 403))],
    [
      "changes of one of our own callers",
      () => call("PATCH", `${SCRIPTS}/shop/script-settings`, { logship: true, tail_consumers: [self] }),
    ],
  ])("by nothing else: %s", async (_what, go) => {
    setClock(NOON);
    await go();
    expect(await stateOf()).toBeNull();
  });

  it("of every function but the shipper itself", async () => {
    setClock(NOON);
    await readSettings(shown([self]), "logship");
    expect(await stateOf("logship")).toBeNull();
  });
});

describe("an attachment that is undone", () => {
  it("is known at once when settings are read that do not list us", async () => {
    const clock = setClock(NOON);
    await put(scriptedApi(said({})));
    clock.advance(60_000);
    expect((await readSettings(shown([other]))).status).toBe(200);
    expect(await attachmentOf()).toEqual({
      ...{ state: "undone", since: iso(NOON + 60_000), checked_at: iso(NOON + 60_000) },
      why: `Cloudflare no longer lists this service among its tail consumers, as it did at ${iso(NOON)}`,
    });
  });

  it("is known at once when a change of settings leaves us out, as sent or as shown", async () => {
    const clock = setClock(NOON);
    await put(scriptedApi(said({})));
    clock.advance(60_000);
    await patch(scriptedApi(said({})), { tail_consumers: [other] });
    expect(await stateOf()).toBe("undone");
    clock.advance(60_000);
    await put(scriptedApi(said({})));
    expect(await stateOf()).toBe("attached");
    clock.advance(60_000);
    await patch(scriptedApi(shown(null)), { tags: [] });
    expect(await stateOf()).toBe("undone");
    clock.advance(60_000);
    await patch(scriptedApi(said({})), { tags: [] });
    expect(await stateOf()).toBe("undone");
  });

  it("is not believed of answers that do not tell, or that the platform did not give as a success", async () => {
    const clock = setClock(NOON);
    await put(scriptedApi(said({})));
    clock.advance(60_000);
    for (const answer of [
      shown("none"),
      said({ tail_consumers: [] }, 401),
      Response.json({ success: false, result: { tail_consumers: [] } }),
      Response.redirect("https://evil.example/"),
    ])
      await readSettings(answer);
    expect(await stateOf()).toBe("attached");
  });

  it("is not believed of an answer to what was asked before the upload", async () => {
    const clock = setClock(NOON);
    await put(scriptedApi(said({})), curlForm(NOTHING));
    const slow = scriptedApi(async () => {
      await put(scriptedApi(said({})));
      return shown([]);
    });
    clock.advance(60_000);
    await askAs(slow, "GET", `${SCRIPTS}/shop/script-settings`);
    expect(await stateOf()).toBe("attached");
  });

  it("is put right by an upload, a change, or whatever shows it attached", async () => {
    const clock = setClock(NOON);
    await put(scriptedApi(said({})));
    for (const heal of [
      () => put(scriptedApi(said({}))),
      () => patch(scriptedApi(shown([]), said({})), { logship: true }),
      () => readSettings(shown([self])),
    ]) {
      clock.advance(60_000);
      await readSettings(shown([]));
      expect(await stateOf()).toBe("undone");
      clock.advance(60_000);
      await heal();
      expect(await attachmentOf()).toMatchObject({ state: "attached", since: iso(clock.nowMs()) });
    }
  });

  it("is nobody's concern once logging is off, or the function is forgotten", async () => {
    const clock = setClock(NOON);
    const undo = async () => {
      await put(scriptedApi(said({})));
      clock.advance(60_000);
      await readSettings(shown([]));
      expect(await stateOf()).toBe("undone");
      clock.advance(60_000);
    };
    await undo();
    await call("PATCH", `${SCRIPTS}/shop/script-settings`, { logship: false });
    expect(await stateOf()).toBeNull();
    await call("PATCH", `${SCRIPTS}/shop/script-settings`, { logship: true });
    expect(await stateOf()).toBe("undone");
    for (const end of [
      () => put(scriptedApi(said({})), curlForm(NOTHING)),
      () => patch(scriptedApi(shown([self]), said({})), { logship: false }),
      () => askAs(scriptedApi(said(null)), "DELETE", `${SCRIPTS}/shop`),
      () => call("DELETE", `${SCRIPTS}/shop`),
    ]) {
      await undo();
      await end();
      await call("PATCH", `${SCRIPTS}/shop/script-settings`, { logship: true });
      expect(await stateOf()).toBeNull();
    }
  });
});

describe("what cannot be noted", () => {
  it("of what was only seen changes no answer, and is said in a line that names no function", async () => {
    setClock(NOON);
    const warns = vi.spyOn(console, "warn").mockImplementation(() => {});
    const fail = () => Promise.reject(new Error(`secret ${BEARER}`));
    const settings = { CONTROL: { getByName: () => ({ noteAttachments: fail }) } };
    const theirs = shown([self]);
    const text = await theirs.clone().text();
    const read = await readSettings(theirs, "shop", { settings });
    expect([read.status, read.text]).toEqual([200, text]);
    const world = scriptedApi(said({}));
    const headers = { "content-type": "application/json" };
    expect((await patch(world, { tail_consumers: [self] }, { headers, settings })).status).toBe(200);
    expect(warns.mock.calls.map(([line]) => line)).toEqual(
      Array(2).fill(
        expect.objectContaining({ message: "the state of an attachment was not recorded", error: expect.any(String) }),
      ),
    );
    expect(JSON.stringify(warns.mock.calls)).not.toMatch(/shop|platform-token/);
  });

  it("holds up the answer for two seconds and no longer", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    let asked = 0;
    const hang = () => {
      asked += 1;
      return new Promise(() => {});
    };
    const settings = { CONTROL: { getByName: () => ({ noteAttachments: hang }) } };
    const reading = readSettings(shown([self]), "shop", { settings });
    await until(() => asked > 0, 5);
    await vi.advanceTimersByTimeAsync(2_000);
    vi.useRealTimers();
    expect((await reading).status).toBe(200);
  });
});

describe("UPSTREAM_TOKEN", () => {
  const read = (UPSTREAM_TOKEN: string | undefined, more: object = { UPSTREAM_API }) =>
    readConfig({ ...env, ...more, UPSTREAM_TOKEN });

  it("is optional, and nothing of it is used without UPSTREAM_API", () => {
    for (const absent of [undefined, ""]) expect(read(absent)).toMatchObject({ config: { upstream: { token: null } } });
    const token = "v1.0-abcdefghijklmnopqrstuvwxyz_0123456789";
    expect(read(token)).toMatchObject({ ok: true, config: { upstream: { token } } });
    expect(read(token, { UPSTREAM_API: "" })).toMatchObject({ ok: true, config: { upstream: null } });
  });
});
