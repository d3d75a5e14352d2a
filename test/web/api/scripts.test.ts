import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import type { Module } from "../../../src/state/functions/module.ts";
import { curlForm, FORM_TYPE, field, form, module, WORKER } from "../../state/functions/forms.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { call, errorsOf, expectRefused, type Settings } from "./harness.ts";
import { token } from "./principals.ts";

const LOCAL: Settings = { LOCAL_FUNCTIONS: "http://localhost:8788" };

const upload = (body: Uint8Array = curlForm(), path = "/functions/scripts/my-worker", settings = LOCAL) =>
  call<Settings>("PUT", path, body, { settings, headers: { "content-type": FORM_TYPE } });

const plain = (metadata: object): Uint8Array => curlForm({ main_module: "my-worker.js", ...metadata });

const read = async (): Promise<Settings | null> =>
  (await call<Settings | null>("GET", "/functions/scripts/my-worker")).body.result;

/** The upload as the function host would run it. */
async function running(name = "my-worker"): Promise<string | null> {
  const code: { code: { modules: Pick<Module, "bytes">[] } } | null =
    await env.CONTROL.getByName("control").localFunction(name);
  return code === null ? null : new TextDecoder().decode(code.code.modules[0]?.bytes);
}

describe("an upload in local development", () => {
  it("runs, and is answered with where, in the vendor's shape", async () => {
    setClock(NOON);
    const answer = await upload();
    expect([answer.status, answer.body.result]).toEqual([
      200,
      {
        id: "my-worker",
        etag: expect.stringMatching(/^[0-9a-f]{64}$/),
        has_modules: true,
        modified_on: expect.stringMatching(/Z$/),
        logship: true,
        tail_consumers: null,
        url: "http://my-worker.localhost:8788/",
      },
    ]);
    expect([await running(), await read()]).toMatchObject([WORKER, { logging: "on" }]);
    const again = await upload();
    expect(again.body.result.etag).toBe(answer.body.result.etag);
    const other = await upload(
      form([field({ main_module: "my-worker.js" }), module("my-worker.js", "export default {}")]),
    );
    expect(other.body.result.etag).not.toBe(answer.body.result.etag);
    expect(await running()).toBe("export default {}");
  });

  const said: [metadata: object, path: string, expected: object][] = [
    [{ logship: true }, "/functions/scripts/", { logship: true }],
    [{ logpush: true }, "/functions/scripts/", { logpush: true }],
    [{ logship: false }, "/workers/scripts/", { logship: false }],
    [{}, "/functions/scripts/", { logship: false }],
    [{}, "/workers/scripts/", { logpush: false }],
  ];
  it.each(said)(
    "ships if it says so, in the words of its metadata, or of the path: %j %s",
    async (metadata, path, expected) => {
      setClock(NOON);
      const { body } = await upload(plain(metadata), `${path}my-worker`);
      expect(body.result).toMatchObject(expected);
      expect(Object.keys(body.result).filter((key) => /^log/.test(key))).toEqual(Object.keys(expected));
      expect((await read())?.logging).toBe(Object.values(expected)[0] === true ? "on" : "off");
    },
  );

  it("brings its tail consumers along, or none", async () => {
    setClock(NOON);
    const tail_consumers = [{ service: "audit" }];
    expect((await upload(plain({ tail_consumers }))).body.result.tail_consumers).toEqual(tail_consumers);
    expect((await read())?.tail_consumers).toEqual(tail_consumers);
    expect((await upload(plain({}))).body.result.tail_consumers).toBeNull();
  });

  it("that asks not to ship is off before it can run, and one that asks to is on only afterwards", async () => {
    setClock(NOON);
    const order: string[] = [];
    const stub = env.CONTROL.getByName("control");
    const CONTROL = {
      getByName: () => ({
        functionSetting: (name: string) => stub.functionSetting(name),
        setFunction: async (name: string, patch: { logging: string }) => {
          order.push(patch.logging);
          return stub.setFunction(name, patch as never);
        },
        storeLocalFunction: async () => {
          order.push("run");
          return null;
        },
      }),
    };
    for (const logship of [false, true])
      expect((await upload(plain({ logship }), undefined, { ...LOCAL, CONTROL })).status).toBe(200);
    expect(order).toEqual(["off", "run", "run", "on"]);
  });

  it.each([true, false])("that cannot run changes nothing, not even for a moment: logship %s", async (logship) => {
    setClock(NOON);
    const stub = env.CONTROL.getByName("control");
    const setFunction = vi.fn();
    const CONTROL = {
      getByName: () => ({ functionSetting: (name: string) => stub.functionSetting(name), setFunction }),
    };
    await upload(plain({ logship: true, tail_consumers: [{ service: "a" }] }));
    const [known, ran] = [await read(), await running()];
    const metadata = field({ main_module: "my-worker.js", logship });
    const odd = form([metadata, module("my-worker.js", "x", "text/x-python")]);
    const why = '"my-worker" cannot run here: its module "my-worker.js" has the type "text/x-python"';
    expectRefused(await upload(odd, undefined, { ...LOCAL, CONTROL }), 400, [1001, undefined, why]);
    const named = await upload(form([metadata, module("my-worker.js", WORKER)]), "/functions/scripts/My-Worker", {
      ...LOCAL,
      CONTROL,
    });
    expect([named.status, setFunction.mock.calls]).toEqual([400, []]);
    expect([await read(), await running()]).toEqual([known, ran]);
  });

  it("needs a name that a host can have, and is not too large", async () => {
    const named = await upload(curlForm(), "/functions/scripts/My%20Worker");
    expect([named.status, errorsOf(named)[0]?.[2]]).toEqual([
      400,
      expect.stringMatching(/^"My Worker" cannot run here: its name/),
    ]);
    const large = await upload(new Uint8Array(10 * 1024 * 1024 + 1));
    expect([large.status, large.body.errors[0]?.code]).toEqual([413, 1013]);
    expect([await running(), await read()]).toEqual([null, null]);
  });

  it("is told of where it cannot be told that logging is as it asked", async () => {
    const CONTROL = {
      getByName: () => ({
        functionSetting: async () => null,
        setFunction: async () => ({ kind: "changed", setting: null, missing: [0, 2] }),
        storeLocalFunction: async () => null,
      }),
    };
    for (const logship of [true, false]) {
      const answer = await upload(plain({ logship }), undefined, { ...LOCAL, CONTROL });
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "60"]);
    }
  });
});

describe("an upload", () => {
  it("is refused where there is nowhere to run it, with what to set", async () => {
    const answer = await upload(curlForm(), undefined, {});
    expectRefused(answer, 409, [
      1009,
      undefined,
      "there is nowhere to run this: run Workers locally with npm start (LOCAL_FUNCTIONS), or set UPSTREAM_API",
    ]);
    expect(await read()).toBeNull();
  });

  it("is noted with what is ours of it, and nothing of its bindings", async () => {
    setClock(NOON);
    const { headers, id } = await token(["functions:edit"]);
    const settings = LOCAL;
    const body = plain({ logship: true, bindings: [{ type: "secret_text", name: "KEY", text: "hunter2" }] });
    await call("PUT", "/functions/scripts/my-worker", body, {
      settings,
      headers: { ...headers, "content-type": FORM_TYPE },
    });
    const notes = (await call<object[]>("GET", "/logship/audit")).body.result;
    expect(notes[0]).toMatchObject({
      actor: { kind: "token", id },
      action: "function.upload",
      resource: "my-worker",
      outcome: "done",
      body: { main_module: "my-worker.js", logship: true, modules: 1 },
    });
    expect(JSON.stringify(notes)).not.toContain("hunter2");
  });
});
