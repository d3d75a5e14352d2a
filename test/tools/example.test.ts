import { utimesSync } from "node:fs";
import { join } from "node:path";
import { it } from "vitest";
import { arePackagesInstalled, npmCommand } from "../../tools/example/app.ts";
import { folderOf } from "./project-files/temporary.ts";

it("installs packages if there are none, or the lock was written since", ({ expect }) => {
  const app = folderOf({ "package-lock.json": "{}" });
  expect(arePackagesInstalled(app)).toBe(false);
  const installed = folderOf({ "package-lock.json": "{}", "node_modules/.package-lock.json": "{}" });
  utimesSync(join(installed, "package-lock.json"), 1_000, 1_000);
  expect(arePackagesInstalled(installed)).toBe(true);
  utimesSync(join(installed, "node_modules/.package-lock.json"), 999, 999);
  expect(arePackagesInstalled(installed)).toBe(false);
});

it("installs with the npm that runs it, else with the one on the PATH", ({ expect }) => {
  expect(npmCommand("/usr/lib/node_modules/npm/bin/npm-cli.js")).toEqual([
    process.execPath,
    "/usr/lib/node_modules/npm/bin/npm-cli.js",
  ]);
  expect(npmCommand("/usr/lib/node_modules/pnpm/bin/pnpm.cjs")).toEqual(["npm"]);
  expect(npmCommand(undefined)).toEqual(["npm"]);
});
