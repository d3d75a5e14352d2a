/** `npm run example`, as a user starts it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { it } from "vitest";
import { ROOT } from "../../tools/paths.ts";
import { readDevVars } from "../../tools/servers/dev-vars.ts";
import { startCommand } from "../e2e/command.ts";

/** Far from a developer's own servers, and from those of other tests. */
const PORT = 19_387;

const canSeeProcesses = process.platform === "linux";

function start() {
  return startCommand("tools/example/run.ts", ["--port", String(PORT)]);
}

// First: the next run removes what this one leaves on disk.
it.runIf(canSeeProcesses)("leaves nothing running when it is killed while it builds", async ({ expect }) => {
  const example = start();
  await example.said("vite build");
  await example.processesThere(2);
  example.process.kill("SIGKILL");
  await example.ended;
  await example.processesGone();
  expect(example.output()).not.toContain("The shipper answers");
});

it("says where to look, serves the shop, and leaves nothing when it is interrupted", async ({ expect }) => {
  const example = start();
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
  if (canSeeProcesses) expect(example.processes()).toEqual([]);
});
