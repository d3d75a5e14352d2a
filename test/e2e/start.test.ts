/** `npm start` and `npm run search` in a fresh copy of the checkout, as a newcomer types them. */
import { cpSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { ROOT } from "../../tools/paths.ts";
import { until } from "../../tools/until.ts";
import { startCommand } from "./command.ts";
import { ask } from "./function-host.ts";
import { firstPort } from "./ports.ts";

/** Ten seconds in the queue; the rest is for slow machines. */
const SEEN_WITHIN_MS = 60_000;

function freshCheckout(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "logship-start-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ["src", "tools", "package.json", "tsconfig.json", "wrangler.jsonc"])
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  return folder;
}

it("has a job from the start: the error of its curl line is found with its stack, and it runs once", async () => {
  const root = freshCheckout();
  const port = ["--port", `${firstPort("start")}`];
  const start = startCommand("tools/start.ts", port, {}, root);
  await start.said("Press Ctrl-C to stop");
  const said = start.output();
  expect(said).toMatch(/^logship is running on port \d+/m);
  expect(said).toMatch(/^ {2}Jobs {7}job 1 ships to binding:\/\/TRACES\/logs\/\{DATE\}$/m);
  const token = /^ADMIN_TOKEN=(\S+)$/m.exec(readFileSync(join(root, ".dev.vars"), "utf8"))?.[1] ?? "none";

  const second = startCommand("tools/start.ts", port, {}, root);
  expect(await second.ended).toBe(1);
  expect(second.output()).toMatch(/^logship is running already on http:\/\/localhost:\d+, as process \d+, .*\n$/);

  const [, host = "", hostPort = ""] = /curl http:\/\/(sample\.localhost:(\d+))\/ /.exec(said) ?? [];
  const { status, text } = await ask(Number(hostPort), host, "/");
  expect([status, text]).toEqual([500, expect.stringContaining("PaymentError: order 4711: the bank did not answer")]);
  const found = await until({
    what: "the search to find the error",
    withinMs: SEEN_WITHIN_MS,
    look: async () => {
      const search = startCommand(
        "tools/search.ts",
        ["--json", "--outcome", "exception", "--since", "3", "hours"],
        {},
        root,
      );
      return { code: await search.ended, output: search.output() };
    },
    enough: ({ code }) => code === 0,
  });
  expect(found.output).toContain(`(npm start)`);
  const record: unknown = JSON.parse(found.output.split("\n").find((line) => line.startsWith("{")) ?? "");
  expect(record).toMatchObject({
    ScriptName: "sample",
    Outcome: "exception",
    Exceptions: [{ name: "PaymentError" }],
    ExceptionStacks: [expect.stringMatching(/at charge \(.*index\.js:6:\d+\)/)],
    LogErrors: [{ Log: 1, message: "timeout after 3000 ms", stack: expect.stringMatching(/at /) }],
  });
  expect(`${said}${found.output}`).not.toContain(token);

  start.process.kill("SIGINT");
  expect(await start.ended).toBe(0);
  expect(existsSync(join(root, ".wrangler/start.json"))).toBe(false);
});
