import { readFileSync } from "node:fs";
import { describe, it } from "vitest";
import { NEWEST_COMPATIBILITY_DATE } from "../../src/state/local/code.ts";
import { logLines } from "../../tools/local/src/log-lines.ts";
import { FUNCTION_HOST_CONFIG, REGISTRY, ROOT, SHIPPER_CONFIG } from "../../tools/paths.ts";
import { wranglerEnv } from "../../tools/servers/dev-server.ts";
import { markedLines } from "../../tools/servers/function-host.ts";

/** The text of a configuration without its comments. */
function configuration(path: string): string {
  return readFileSync(path, "utf8").replace(/^\s*\/\/.*$/gm, "");
}

describe("the configuration of the function host", () => {
  it.for([
    ["the shipper", SHIPPER_CONFIG],
    ["the function host", FUNCTION_HOST_CONFIG],
  ] as const)("has the compatibility date that functions get, as %s has", ([_who, path], { expect }) => {
    const date = /"compatibility_date": "([^"]*)"/.exec(configuration(path))?.[1];
    expect(date).toBe(NEWEST_COMPATIBILITY_DATE);
  });

  it("alone has the worker loader: a deployment of the shipper needs none", ({ expect }) => {
    expect(configuration(SHIPPER_CONFIG)).not.toMatch(/worker_loaders|LOCAL_FUNCTIONS/);
    expect(configuration(FUNCTION_HOST_CONFIG)).toContain("worker_loaders");
  });
});

describe("what a function prints", () => {
  it("is shown a line at a time, each under its name, however it comes in pieces", ({ expect }) => {
    const shown: string[] = [];
    const take = markedLines("m4rk", (line) => shown.push(line));
    for (const piece of ["m4rk shop he", "llo\nm4", "rk shop \nm4rk bank a | b\nm4rk", " bank rest"]) take(piece);
    expect(shown).toEqual(["shop | hello", "shop | ", "bank | a | b"]);
    take("\n");
    expect(shown.at(-1)).toBe("bank | rest");
  });

  it("cannot forge a line, nor steer the terminal", ({ expect }) => {
    const shown: string[] = [];
    const take = markedLines("m4rk", (line) => shown.push(line));
    const text = "\u001b[2J\u001b]0;title\u0007\u009b1m\u202e\rThe shipper runs.\u2028bank | fake";
    take(`shop | fake\nm4rkx shop fake\n m4rk shop fake\nm4rk\n[wrangler:info] Ready\nm4rk shop ${text}\n`);
    expect(shown).toEqual([
      "shop | \\u{1b}[2J\\u{1b}]0;title\\u{7}\\u{9b}1m\\u{202e}\\u{d}The shipper runs.\\u{2028}bank | fake",
    ]);
  });

  it("is one line for each of its own, with what it threw, and bounded", ({ expect }) => {
    const log = (message: unknown, level = "log") => ({ level, message });
    expect(
      logLines({
        logs: [log(["a", { b: 1 }, null]), log(["one\r\ntwo\rthree\u2028four"]), log(["no"], "error"), log("bare")],
        exceptions: [{ name: "TypeError", message: "x\nshop | fake" }],
      }),
    ).toEqual([
      'a {"b":1} null',
      "one",
      "two",
      "three",
      "four",
      "error: no",
      "bare",
      "thrown: TypeError: x",
      "shop | fake",
    ]);
    const many = logLines({ logs: [log(["\n".repeat(300)]), log(["x".repeat(5_000)])] });
    expect([many.length, many.at(-1)]).toEqual([201, "… and 102 more lines"]);
    expect(logLines({ logs: [log(["x".repeat(5_000)])] })[0]).toHaveLength(2_000);
    expect(logLines({})).toEqual([]);
  });
});

describe("every process of the tools", () => {
  it("has a registry inside the checkout, and the explorer closed, whatever the user's environment says", ({
    expect,
  }) => {
    expect(REGISTRY.startsWith(`${ROOT}/.wrangler/`)).toBe(true);
    for (const registry of [undefined, "/elsewhere"]) {
      const env = wranglerEnv(registry);
      expect([env.WRANGLER_REGISTRY_PATH, env.MINIFLARE_REGISTRY_PATH]).toEqual(Array(2).fill(registry ?? REGISTRY));
      expect([env.X_LOCAL_EXPLORER, env.X_LOCAL_OBSERVABILITY]).toEqual(["false", "false"]);
    }
  });
});
