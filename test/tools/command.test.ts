/** What all commands have in common, as a user sees it. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, it, onTestFinished } from "vitest";
import { helpText } from "../../tools/command.ts";
import { ROOT } from "../../tools/paths.ts";

const COMMANDS = [
  ...["attach", "doctor", "setup", "teardown", "search", "verify", "start"].map((name) => `tools/${name}.ts`),
  ...["faults", "soak", "model", "schedule", "walk", "mutants"].map((name) => `tools/${name}.ts`),
  ...["demo", "example", "bench", "bench/scale"].map((name) => `tools/${name}/run.ts`),
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
  const columns = options.map((line) => /^ {2}--\S+(?: <[^>]*>)? {2,}(?=\S)/.exec(line)?.[0].length);
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

/** How a command ends whose reader goes away at once. */
async function withoutReader(...args: readonly string[]) {
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.destroy();
  const [errors, [code]] = await Promise.all([text(child.stderr), once(child, "close")]);
  return { code, errors };
}

it("a command ends without a word when its reader has gone", async () => {
  expect(await withoutReader(join(ROOT, "tools/doctor.ts"), ROOT)).toEqual({ code: 0, errors: "" });
});

it("so does one that runs until Ctrl-C, and leaves no folder", async () => {
  const folder = mkdtempSync(join(tmpdir(), "logship-command-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const script = join(folder, "run.ts");
  const states = join(folder, "states");
  writeFileSync(
    script,
    `import { command } from ${JSON.stringify(join(ROOT, "tools/command.ts"))};
     import { runInForeground } from ${JSON.stringify(join(ROOT, "tools/servers/foreground.ts"))};
     await command("usage: x", {}, async () => process.exit(await runInForeground({
       name: "It", states: ${JSON.stringify(states)}, start: async ({ say }) => say, work: async () => 0,
       stay: async (say) => { for (;;) { say("more"); await new Promise((resolve) => setTimeout(resolve, 20)); } },
     })));`,
  );
  expect(await withoutReader(script)).toEqual({ code: 0, errors: "" });
  expect(readdirSync(states)).toEqual([]);
});
