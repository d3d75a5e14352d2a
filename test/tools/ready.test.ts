/** Scripts of package.json, where the packages or a Node that runs them are missing. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { ROOT } from "../../tools/paths.ts";

const READY = "tools/ready.js";

/** A checkout with nothing in it but what a script begins with. */
function bareCheckout(): string {
  const folder = mkdtempSync(join(tmpdir(), "logship-ready-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  cpSync(join(ROOT, READY), join(folder, READY));
  return folder;
}

function run(folder: string, ...options: readonly string[]) {
  writeFileSync(join(folder, "tools/x.ts"), 'import "jsonc-parser"; const x: number = 1; console.log(x);');
  const args = [...options, "--import", `./${READY}`, "tools/x.ts"];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
  return { status, stdout, stderr };
}

it("say in one sentence that npm ci is missing", () => {
  expect(run(bareCheckout())).toEqual({
    status: 1,
    stdout: "",
    stderr: "The packages of this project are not installed: run npm ci\n",
  });
});

it("say in one sentence that Node does not run TypeScript", () => {
  const folder = bareCheckout();
  mkdirSync(join(folder, "node_modules/.bin"), { recursive: true });
  writeFileSync(join(folder, "node_modules/.bin/wrangler"), "");
  const { status, stderr } = run(folder, "--no-experimental-strip-types");
  expect([status, stderr.split("\n").length]).toEqual([1, 2]);
  expect(stderr).toMatch(/^Node\.js \S+ cannot run this project\. .*npm ci --ignore-scripts=false/);
});

it("all begin with that question", () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { scripts: object };
  for (const [name, script] of Object.entries(scripts))
    expect([name, script]).toEqual([
      name,
      expect.stringMatching(/^(?:exec node --import \.\/|node )tools\/ready\.js /),
    ]);
});
