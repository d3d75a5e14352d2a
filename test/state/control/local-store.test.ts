import { createExecutionContext, evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { LOCAL_FUNCTIONS_MAX, LOCAL_UPLOAD_MAX_BYTES, ROW_MAX_BYTES } from "../../../src/base/limits.ts";
import { type Config, readConfig } from "../../../src/config.ts";
import { controlPlane } from "../../../src/state/control/plane.ts";
import type { Upload } from "../../../src/state/functions/module.ts";
import { LocalFunctions } from "../../../src/state/local/local-functions.ts";
import { runLocally, runnableOf } from "../../../src/state/local/runnable.ts";
import { api } from "../../support/runtime/api.ts";
import { module, upload } from "../functions/uploads.ts";

const HOST = "http://localhost:8788";
const control = () => controlPlane(env.CONTROL);

function config(localFunctions: string | null = HOST): Config {
  const read = readConfig(env);
  if (!read.ok) throw new Error(read.faults.join());
  return { ...read.config, localFunctions };
}

async function run(name: string, given: Upload, localFunctions?: string | null): Promise<object> {
  const runnable = runnableOf(name, given, config(localFunctions));
  if (runnable.kind === "refused") return runnable;
  const why: string | null = await runLocally(env, runnable);
  return why === null ? { kind: "running", url: runnable.url } : { kind: "refused", why };
}

const shop = (text: string): Upload => upload([module("index.js", text)]);

/** The calls of the function host, to a deployment with this setting. */
const entrypoint = (setting: string): LocalFunctions =>
  new LocalFunctions(createExecutionContext(), { ...env, LOCAL_FUNCTIONS: setting } as Env);

const textOf = async (name: string): Promise<string | null> => {
  const stored = await control().localFunction(name);
  return stored === null ? null : new TextDecoder().decode(stored.code.modules[0]?.bytes);
};

const rows = (table: "local_function" | "local_chunk"): Promise<number> =>
  runInDurableObject(control(), (_control, { storage: { sql } }) =>
    Number(sql.exec(`SELECT count(*) AS n FROM ${table}`).one().n),
  );

describe("a function that is uploaded", () => {
  it("runs under a host name of its own, and its code is what was sent", async () => {
    const modules = [module("index.js", "export default 1"), module("a.txt", "", "text/plain"), module("b.js", "é")];
    const metadata = { compatibility_date: "2025-01-02", compatibility_flags: ["nodejs_compat"] };
    expect(await run("shop", upload(modules, metadata))).toEqual({
      kind: "running",
      url: "http://shop.localhost:8788/",
    });
    expect(await control().localFunction("shop")).toEqual({
      version: expect.stringMatching(/^[0-9a-f-]{36}$/),
      code: {
        mainModule: "index.js",
        compatibilityDate: "2025-01-02",
        compatibilityFlags: ["nodejs_compat"],
        modules: [
          { name: "index.js", kind: "js", bytes: modules[0]?.bytes },
          { name: "a.txt", kind: "text", bytes: new Uint8Array() },
          { name: "b.js", kind: "js", bytes: modules[2]?.bytes },
        ],
      },
    });
  });

  it("replaces the one before as a whole, under another version, and no other function", async () => {
    await run("shop", upload([module("index.js", "old"), module("more.js", "x".repeat(3 * ROW_MAX_BYTES))]));
    await run("billing", shop("of another"));
    const before = await control().localVersion("shop");
    const ofBilling = await control().localVersion("billing");
    const chunks = await rows("local_chunk");
    await run("shop", shop("new"));
    expect(await textOf("shop")).toBe("new");
    expect(await control().localVersion("shop")).not.toBe(before);
    expect((await control().localFunction("shop"))?.code.modules).toHaveLength(1);
    expect(await rows("local_chunk")).toBe(chunks - 3);
    expect([await textOf("billing"), await control().localVersion("billing")]).toEqual(["of another", ofBilling]);
    // Uploading the same code again is a new version: the memory of the function is lost, as with a
    // deployment.
    const version = await control().localVersion("shop");
    await run("shop", shop("new"));
    expect(await control().localVersion("shop")).not.toBe(version);
  });

  it("can be as large as is allowed, in rows that the platform takes, and outlives a restart", async () => {
    const bytes = new Uint8Array(LOCAL_UPLOAD_MAX_BYTES - 17);
    for (let i = 0; i < bytes.length; i += 65_536) crypto.getRandomValues(bytes.subarray(i, i + 65_536));
    const data = { name: "data", type: "application/octet-stream", bytes };
    expect(await run("large", upload([module("index.js", "export default 1"), data]))).toMatchObject({
      kind: "running",
    });
    const largest = await runInDurableObject(control(), (_control, { storage: { sql } }) =>
      Number(sql.exec("SELECT max(length(bytes)) AS n FROM local_chunk").one().n),
    );
    expect(largest).toBeLessThanOrEqual(ROW_MAX_BYTES);
    await evictDurableObject(control());
    const stored = await control().localFunction("large");
    const digest = async (of: Uint8Array | undefined) =>
      new Uint8Array(await crypto.subtle.digest("SHA-256", of ?? new Uint8Array()));
    expect(await digest(stored?.code.modules[1]?.bytes)).toEqual(await digest(bytes));
  });

  it("is refused where there is no host, for a name that is none of a host, and for code that cannot run", async () => {
    await run("shop", shop("running"));
    expect(await run("shop", shop("x"), null)).toEqual({ kind: "refused", why: "LOCAL_FUNCTIONS is not set" });
    expect(await run("Shop", shop("x"))).toEqual({
      kind: "refused",
      why: expect.stringMatching(/^its name cannot be/),
    });
    expect(await run("shop", upload([module("index.js", "", "text/x-python")]))).toMatchObject({ kind: "refused" });
    // The version before keeps running.
    expect(await textOf("shop")).toBe("running");
  });

  it("is refused beyond a hundred, unless it replaces one of them or another has gone", async () => {
    await run("first", shop("1"));
    await runInDurableObject(control(), (_control, { storage: { sql } }) => {
      const { n } = sql.exec<{ n: number }>("SELECT count(*) AS n FROM local_function").one();
      for (let i = n; i < LOCAL_FUNCTIONS_MAX; i++)
        sql.exec("INSERT INTO local_function (name, version, manifest) VALUES (?, 'v', '{}')", `filler-${i}`);
    });
    expect(await run("one-more", shop("x"))).toEqual({
      kind: "refused",
      why: "there are 100 Workers; delete one of them",
    });
    expect(await control().localVersion("one-more")).toBeNull();
    expect(await run("first", shop("2"))).toMatchObject({ kind: "running" });
    await control().removeFunction("first");
    expect(await run("one-more", shop("x"))).toMatchObject({ kind: "running" });
  });
});

describe("a function that is deleted", () => {
  it("does not run any more, and nothing is left of it; a function that only ran can be deleted, too", async () => {
    await run("shop", shop("x".repeat(2 * ROW_MAX_BYTES)));
    expect((await api("DELETE", "/functions/scripts/shop")).status).toBe(200);
    expect(await control().localVersion("shop")).toBeNull();
    expect([await rows("local_function"), await rows("local_chunk")]).toEqual([0, 0]);
    expect((await api("DELETE", "/functions/scripts/shop")).status).toBe(404);
  });
});

describe("the entrypoint of the function host", () => {
  it("gives versions and code of what is uploaded, and null of what is not", async () => {
    await run("shop", shop("export default 1"));
    const local = entrypoint(HOST);
    const version = await local.version("shop");
    expect(await local.code("shop")).toMatchObject({ version, code: { mainModule: "index.js" } });
    expect([await local.version("none"), await local.code("none")]).toEqual([null, null]);
  });

  it.for(["", "http://functions.example:8788"])(
    "gives nothing, and takes nothing, where LOCAL_FUNCTIONS is %j",
    async (setting) => {
      await run("shop", shop("export default 1"));
      const local = entrypoint(setting);
      expect([await local.version("shop"), await local.code("shop")]).toEqual([null, null]);
      await expect(local.traced("shop", [{ event: null }])).rejects.toThrow("LOCAL_FUNCTIONS is not set");
    },
  );

  it("is off in a deployment as it is configured", async () => {
    await run("shop", shop("export default 1"));
    expect(await exports.LocalFunctions.version("shop")).toBeNull();
    expect(await exports.LocalFunctions.code("shop")).toBeNull();
  });
});
