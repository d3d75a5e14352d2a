import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import {
  LOCAL_FLAGS_MAX,
  LOCAL_MODULE_NAME_MAX,
  LOCAL_MODULES_MAX,
  LOCAL_UPLOAD_MAX_BYTES,
} from "../../../src/base/limits.ts";
import { compatibilityDateOf, localCodeOf, NEWEST_COMPATIBILITY_DATE } from "../../../src/state/local/code.ts";
import { localUrl } from "../../../src/state/local/runnable.ts";
import { module, upload } from "../functions/uploads.ts";

describe("what is run of an upload", () => {
  it("is each module by its type, in the order of the form, and no source map", () => {
    const modules = [
      module("index.js", "export default {}"),
      module("old.cjs", "module.exports = 1", "application/javascript"),
      module("page.html", "<p>", "text/plain"),
      module("data.json", '{"a":1}', "application/json"),
      { name: "logo.bin", type: "application/octet-stream", bytes: new Uint8Array([0, 255]) },
      { name: "sum.wasm", type: "application/wasm", bytes: new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]) },
      module("index.js.map", "{", "application/source-map"),
    ];
    const result = localCodeOf(upload(modules));
    expect(result).toMatchObject({ ok: true, code: { mainModule: "index.js", compatibilityFlags: [] } });
    const kinds = result.ok ? result.code.modules.map(({ name, kind }) => `${name} ${kind}`) : [];
    expect(kinds).toEqual([
      "index.js js",
      "old.cjs cjs",
      "page.html text",
      "data.json json",
      "logo.bin data",
      "sum.wasm wasm",
    ]);
    expect(result.ok && result.code.modules[4]?.bytes).toEqual(new Uint8Array([0, 255]));
  });

  const main = module("index.js", "export default {}");
  const flags = (count: number): string[] => Array.from({ length: count }, (_, i) => `flag_${i}`);
  const others = (count: number) => Array.from({ length: count }, (_, i) => module(`${i}.js`, ""));
  const sized = (bytes: number) => ({ name: "a", type: "application/octet-stream", bytes: new Uint8Array(bytes) });
  const rest = LOCAL_UPLOAD_MAX_BYTES - main.bytes.length;

  it.for([
    ["as many modules as there may be", upload([main, ...others(LOCAL_MODULES_MAX - 1)])],
    ["as many bytes", upload([main, sized(rest)])],
    ["as many flags", upload([main], { compatibility_flags: flags(LOCAL_FLAGS_MAX) })],
    ["as long a name", upload([main, module("é".repeat(LOCAL_MODULE_NAME_MAX / 2), "")])],
    ["flags that are null", upload([main], { compatibility_flags: null })],
  ] as const)("can have %s", ([_what, given]) => {
    expect(localCodeOf(given)).toMatchObject({ ok: true });
  });

  it.for([
    ["too many modules", upload([main, ...others(LOCAL_MODULES_MAX)]), /more than 100 modules/],
    ["too many bytes", upload([main, sized(rest + 1)]), /larger than 10485760 bytes/],
    ["too many flags", upload([main], { compatibility_flags: flags(LOCAL_FLAGS_MAX + 1) }), /compatibility_flags/],
    ["flags that are no list", upload([main], { compatibility_flags: "nodejs_compat" }), /compatibility_flags/],
    ["a flag that is no name", upload([main], { compatibility_flags: ["a b"] }), /compatibility_flags/],
    ["a flag that is no text", upload([main], { compatibility_flags: [1] }), /compatibility_flags/],
    ["too long a name", upload([main, module(`${"é".repeat(LOCAL_MODULE_NAME_MAX / 2)}a`, "")]), /1 to 1024 bytes/],
    ["no name", upload([main, module("", "")]), /1 to 1024 bytes/],
    ["Python", upload([main, module("a.py", "", "text/x-python")]), /"a.py" has the type "text\/x-python"/],
    ["no type", upload([main, module("a", "", "")]), /"a" has the type ""/],
    ["JSON that is none", upload([main, module("a.json", "{", "application/json")]), /"a.json" is not JSON/],
    ["text that is none", upload([main, { ...main, name: "b", bytes: new Uint8Array([0xff]) }]), /"b" is not UTF-8/],
    ["two modules of one name", upload([main, module("a", ""), module("a", "")]), /two modules have one name/],
    ["a main module that is a text", upload([module("index.js", "", "text/plain")]), /not an ES module/],
    ["a main module that is CommonJS", upload([module("index.js", "", "application/javascript")]), /not an ES module/],
    ["a main module that is not there", upload([module("a.js", "")]), /not an ES module/],
  ] as const)("is nothing if it has %s", ([_what, given, why]) => {
    expect(localCodeOf(given)).toEqual({ ok: false, why: expect.stringMatching(why) });
  });
});

describe("the compatibility date", () => {
  it.for([
    ["2024-02-29", "2024-02-29"],
    [NEWEST_COMPATIBILITY_DATE, NEWEST_COMPATIBILITY_DATE],
    ["2026-11-18", NEWEST_COMPATIBILITY_DATE],
    ["2099-01-01", NEWEST_COMPATIBILITY_DATE],
    ["2023-02-29", NEWEST_COMPATIBILITY_DATE],
    ["2024-13-01", NEWEST_COMPATIBILITY_DATE],
    ["2024-1-1", NEWEST_COMPATIBILITY_DATE],
    ["1999-01-01", NEWEST_COMPATIBILITY_DATE],
    ["2024-01-01T00:00:00Z", NEWEST_COMPATIBILITY_DATE],
    [20240101, NEWEST_COMPATIBILITY_DATE],
    [undefined, NEWEST_COMPATIBILITY_DATE],
  ] as const)("%j is run as %s", ([sent, run]) => {
    expect(compatibilityDateOf(sent)).toBe(run);
  });
});

describe("the URL of a function", () => {
  const longest = `a${"b".repeat(61)}c`;

  it.for(["shop", "0", "my-shop_2", "a--b", longest])("has a host name of its own: %s", (name) => {
    expect(localUrl("http://localhost:8788", name)).toBe(`http://${name}.localhost:8788/`);
    expect(encodeUtf8(name).length).toBeLessThanOrEqual(63);
  });

  it.for([
    "",
    "Shop",
    "-a",
    "a-",
    "_a",
    "a.b",
    "a b",
    "shöp",
    "a/b",
    "a@b",
    "a:1",
    "xn--shp-una",
    "shop\n",
    `${longest}d`,
  ])("there is none of %j", (name) => {
    expect(localUrl("http://localhost:8788", name)).toBeNull();
  });
});
