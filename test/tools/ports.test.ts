import { createServer, type Server } from "node:net";
import { it, onTestFinished } from "vitest";
import { isFree, pickPort } from "../../tools/servers/ports.ts";

async function listen(port: number, host = "127.0.0.1"): Promise<number> {
  const server: Server = createServer();
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host }, resolve);
  });
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

it("goes on to the next one that is free", async ({ expect }) => {
  const port = await listen(0);
  expect(await isFree(port)).toBe(false);
  expect(await pickPort(port)).toBeGreaterThan(port);
});

it("counts a port as taken that is only taken on all addresses", async ({ expect }) => {
  expect(await isFree(await listen(0, "0.0.0.0"))).toBe(false);
});

it("leaves the port it picked free", async ({ expect }) => {
  const port = await pickPort(20_000);
  expect(await listen(port)).toBe(port);
});

it("says so when there is none", async ({ expect }) => {
  await expect(pickPort(65_536)).rejects.toThrow("no free port");
});
