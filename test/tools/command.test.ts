/** What all commands have in common, as a user sees it. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, it } from "vitest";
import { helpText } from "../../tools/command.ts";
import { ROOT } from "../../tools/paths.ts";

const COMMANDS = [
  ...["attach", "doctor", "setup", "teardown", "search", "verify", "start"].map((name) => `tools/${name}.ts`),
  ...["tools/demo/run.ts", "tools/example/run.ts"],
];

function run(script: string, ...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, script), ...args], { encoding: "utf8" });
  return { status, stdout, stderr };
}

it.each(COMMANDS)("%s has the help that all have", (script) => {
  const { status, stdout, stderr } = run(script, "--help");
  expect([status, stderr]).toEqual([0, ""]);
  expect(stdout).toMatch(/^usage: npm (?:run \w+|start)/);
  const options = stdout.split("\n").filter((line) => /^ *--/.test(line));
  expect(options.at(-1)).toMatch(/^ {2}--help +shows this text$/);
  const columns = options.map((line) => /^ {2}--\S+(?: <[^>]*>)? +(?=\S)/.exec(line)?.[0].length);
  // One may be too long to have its words beside it.
  expect(new Set(columns.filter((column) => column !== undefined)).size).toBe(1);
  expect(run(script, "--unknown")).toMatchObject({ status: 2, stdout: "", stderr: expect.stringContaining(stdout) });
});

it("the help puts options in one column, and what they do in another", () => {
  const usage = "usage: npm run x -- [a]\n\n--a <b>  one\n      more of it\n  --longer  two\n\nLast words.";
  expect(helpText(usage)).toBe(
    "usage: npm run x -- [a]\n\n  --a <b>   one\n            more of it\n  --longer  two\n  --help    shows this text\n\nLast words.",
  );
  expect(helpText("usage: npm run x")).toBe("usage: npm run x\n\n  --help  shows this text");
});

it("a command ends without a word when its reader has gone", async () => {
  const child = spawn(process.execPath, [join(ROOT, "tools/doctor.ts"), ROOT], { stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.destroy();
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const [code] = await once(child, "close");
  expect([code, errors]).toEqual([0, ""]);
});
