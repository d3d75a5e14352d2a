import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "vitest";
import { npmCommand } from "../../tools/example/app.ts";
import { isInstalled } from "../../tools/example/installed.ts";
import { EXAMPLE_APP } from "../../tools/paths.ts";

const entry = (version: string, more: object = {}) => ({ version, integrity: `sha512-${version}`, ...more });

/** Both of npm's lock files; only the one beside package.json contains the project itself. */
const lock = (packages: object, root: object = { "": { name: "tea-shop" } }): string =>
  JSON.stringify({ lockfileVersion: 3, packages: { ...root, ...packages } });
const installed = (packages: object): string => lock(packages, {});

describe("what is installed", () => {
  const A = { "node_modules/a": entry("1.0.0") };
  const B = { "node_modules/b": entry("2.0.0") };

  it("is that of the lock, with or without what is for other machines", ({ expect }) => {
    const forMac = {
      "node_modules/mac": entry("1.0.0", { optional: true }),
      "node_modules/win": entry("1.0.0", { devOptional: true }),
    };
    expect(isInstalled(lock({ ...A, ...B }), installed({ ...B, ...A }))).toBe(true);
    expect(isInstalled(lock({ ...A, ...forMac }), installed(A))).toBe(true);
    expect(isInstalled(lock({ ...A, ...forMac }), installed({ ...A, ...forMac }))).toBe(true);
  });

  it("is not if a package is missing, is too many, or is another one", ({ expect }) => {
    expect(isInstalled(lock({ ...A, ...B }), installed(A))).toBe(false);
    expect(isInstalled(lock(A), installed({ ...A, ...B }))).toBe(false);
    expect(isInstalled(lock(A), installed({ "node_modules/a": entry("1.0.1") }))).toBe(false);
    expect(isInstalled(lock(A), installed({ "node_modules/a": { ...entry("1.0.0"), integrity: "sha512-x" } }))).toBe(
      false,
    );
  });

  it("is not if either text is nothing of the kind", ({ expect }) => {
    for (const text of ["", "{", "{}", "null", '{"packages":[1]}']) {
      expect(isInstalled(text, installed(A))).toBe(false);
      expect(isInstalled(lock(A), text)).toBe(false);
    }
  });

  it("would be what the example's own lock says, were it installed for every machine", ({ expect }) => {
    const text = readFileSync(join(EXAMPLE_APP, "package-lock.json"), "utf8");
    const { packages } = JSON.parse(text) as { packages: Record<string, object> };
    const { "": _root, ...others } = packages;
    expect(Object.keys(others).length).toBeGreaterThan(100);
    expect(isInstalled(text, installed(others))).toBe(true);
  });
});

it("installs with the npm that runs it, else with the one on the PATH", ({ expect }) => {
  expect(npmCommand("/usr/lib/node_modules/npm/bin/npm-cli.js")).toEqual([
    process.execPath,
    "/usr/lib/node_modules/npm/bin/npm-cli.js",
  ]);
  expect(npmCommand("/usr/lib/node_modules/pnpm/bin/pnpm.cjs")).toEqual(["npm"]);
  expect(npmCommand(undefined)).toEqual(["npm"]);
});
