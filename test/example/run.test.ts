/** `npm run example`, as a user starts it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { it } from "vitest";
import { ROOT } from "../../tools/paths.ts";
import { readDevVars } from "../../tools/servers/dev-vars.ts";
import { startCommand } from "../e2e/command.ts";

/** Far from a developer's own servers, and from those of other tests. */
const PORT = 19_387;

it("says where to look, serves the shop, and leaves nothing when it is interrupted", async ({ expect }) => {
  const example = startCommand("tools/example/run.ts", ["--port", String(PORT)]);
  await example.said("Press Ctrl-C to stop.");
  const output = example.output();
  const shop = /Shop +(http:\/\/localhost:\d+)\//.exec(output)?.[1] ?? "no shop";
  expect(await (await fetch(`${shop}/about`)).text()).toContain("<address>Tea shop, Harbour Street 1</address>");
  expect(await (await fetch(`${shop}/kinds`)).text()).toContain("Every kind of trace event");
  expect(output).toMatch(/POST \/jobs: job 1 ships to objstore:\/\/traces\/tea-shop\/\{DATE\}/);
  expect(output, "a secret").not.toContain(readDevVars().adminToken);
  const state = /State +(\S+): removed at the end/.exec(output)?.[1] ?? "no state";
  expect(existsSync(join(ROOT, state, "shop.log"))).toBe(true);
  example.process.kill("SIGINT");
  expect(await example.ended, example.output()).toBe(0);
  expect(existsSync(join(ROOT, state))).toBe(false);
  if (process.platform === "linux") expect(example.processes()).toEqual([]);
});
