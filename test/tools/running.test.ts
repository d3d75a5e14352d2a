/** What commands find of a service on this machine and of a deployment, in a copy of the tools. */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { ROOT } from "../../tools/paths.ts";

function copyOfTools(): string {
  const folder = mkdtempSync(join(tmpdir(), "logship-running-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ["src", "tools", "package.json", "tsconfig.json", "wrangler.jsonc"])
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  return folder;
}

/** @param pid what is evaluated for the process id in the note that is there. */
function claimed(pid: string): { claim: { pid: number } | null } {
  const folder = copyOfTools();
  mkdirSync(join(folder, ".wrangler"));
  writeFileSync(
    join(folder, "tools/start.ts"),
    `import { writeFileSync } from "node:fs";
    import { claim } from "./servers/running.ts";
    writeFileSync(".wrangler/start.json", JSON.stringify({ pid: ${pid}, url: "http://localhost:1" }));
    console.log(JSON.stringify({ claim: claim() }));`,
  );
  return JSON.parse(execFileSync(process.execPath, ["tools/start.ts"], { cwd: folder, encoding: "utf8" })) as never;
}

it("the note of one that was killed claims nothing: its process id is another program's, or that of who asks", () => {
  for (const pid of ["process.ppid", "process.pid", "4_194_303"])
    expect([pid, claimed(pid).claim]).toEqual([pid, null]);
});

it("a deployment whose address is known, and its token is not, is said to be that", () => {
  const folder = copyOfTools();
  writeFileSync(join(folder, ".deployed.env"), "LOGSHIP_URL=https://logship.example.com\n");
  const { API: _api, TOKEN: _token, ...env } = process.env;
  const { status, stderr } = spawnSync(process.execPath, ["tools/search.ts", "x"], {
    cwd: folder,
    env,
    encoding: "utf8",
  });
  expect([status, stderr]).toEqual([expect.any(Number), ".deployed.env has no ADMIN_TOKEN: set TOKEN\n"]);
  expect(status).not.toBe(0);
});
