/** `npm run demo`, as a new user starts it. */
import { createServer, type Server } from "node:net";
import { afterEach, beforeEach, describe, it } from "vitest";
import { readDevVars } from "../../tools/servers/dev-vars.ts";
import { startCommand } from "./command.ts";

const canSeeProcesses = process.platform === "linux";

/** Status or outcome, Worker and event: a line of each kind, but for how long it took. */
const KINDS = [
  "200            sample-shop  GET /orders/1",
  "exception      sample-shop  GET /checkout",
  "ok             sample-shop  rpc quote",
  "ok             sample-shop  rpc hold",
  "ok             sample-shop  queue sample-parcels (1)",
  "ok             sample-shop  alarm",
  "ok             sample-shop  cron 0 3 * * *",
  "exception      sample-shop  cron 0 4 1 * *",
];

/** They take the demo's ports, unless those are in use already. */
let takers: Server[];

beforeEach(async () => {
  takers = await Promise.all([8787, 8788].map(take));
});

afterEach(async () => {
  await Promise.all(takers.map((server) => new Promise((resolve) => server.close(resolve))));
});

describe("the demo", () => {
  // First: the next run removes what this one leaves on disk.
  it.runIf(canSeeProcesses)("leaves nothing running when it is killed", async ({ expect }) => {
    const demo = start();
    await demo.said("logship is running");
    expect(demo.processes().length).toBeGreaterThan(2);
    demo.process.kill("SIGKILL");
    await demo.ended;
    await demo.processesGone();
  });

  it("ends with 0 when every event arrived exactly once, on free ports, and leaves nothing running", async ({
    expect,
  }) => {
    const demo = start("--once");
    const code = await demo.ended;
    expect(code, demo.output()).toBe(0);
    const output = demo.output();
    expect(output).toMatch(/logship is running on http:\/\/localhost:\d+ \(8787 is in use\)/);
    expect(output).toMatch(/All 19 events arrived, each exactly once/);
    expect(output).toMatch(/demo\/\d{8}\/\d{8}T\d{6}Z_\d{8}T\d{6}Z_[0-9a-f]{8}\.log\.gz/);
    for (const line of KINDS) expect(output.replace(/ {2}\d+ ms {2}/g, "  ")).toContain(line);
    expect(output).toContain("PaymentError: the bank did not answer");
    expect(output, "a secret").not.toContain(readDevVars().adminToken);
    expect(output, "colour codes without a terminal").not.toContain("\u001b");
    if (canSeeProcesses) expect(demo.processes()).toEqual([]);
  });
});

function start(...args: readonly string[]) {
  return startCommand("tools/demo/run.ts", args);
}

/** A server on the port, unless one is there. */
function take(port: number): Promise<Server> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(server));
    server.listen({ port, host: "127.0.0.1" }, () => resolve(server));
  });
}
