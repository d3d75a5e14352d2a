/**
 * The vendor's own command, which deploys through the shipper as if it were the platform: only its
 * base URL is another one.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { WRANGLER } from "../../tools/paths.ts";
import { wranglerEnv } from "../../tools/servers/dev-server.ts";
import { SupervisedProcess } from "../../tools/servers/supervised.ts";
import { StandInPlatform, VERSION } from "../support/platform.ts";
import { IsolatedShipper } from "./shipper.ts";

const LARGE = 12 * 1024 * 1024;

const PLATFORM_TOKEN = "platform-token-0123456789abcdefghijklmno";

/** @returns the output of the command. */
async function deploy(folder: string, env: Readonly<Record<string, string>>): Promise<string> {
  const command = new SupervisedProcess({
    argv: [process.execPath, WRANGLER, "deploy"],
    cwd: folder,
    env: wranglerEnv(join(folder, "registry"), { CI: "1", ...env }),
  });
  await command.done("wrangler deploy");
  return command.output;
}

it("deploys a new Worker and then its next version, and the shipper is its tail consumer", async () => {
  const platform = new StandInPlatform("local");
  await using served = await platform.serve();
  await using shipper = await IsolatedShipper.start({ settings: { UPSTREAM_API: served.base } });
  const folder = mkdtempSync(join(tmpdir(), "logship-deploy-"));
  try {
    // More than is held at once: it goes on as it comes.
    writeFileSync(join(folder, "data.bin"), Buffer.alloc(LARGE, "x"));
    writeFileSync(
      join(folder, "index.js"),
      'import data from "./data.bin";\nexport default { fetch: () => new Response(data) };\n',
    );
    const project = { name: "shop", main: "index.js", compatibility_date: "2026-09-01", logpush: true };
    writeFileSync(join(folder, "wrangler.json"), JSON.stringify({ ...project, observability: { enabled: true } }));
    const env = { CLOUDFLARE_API_BASE_URL: `${shipper.url}/client/v4`, CLOUDFLARE_API_TOKEN: PLATFORM_TOKEN };

    expect(await deploy(folder, env)).toContain("Uploaded shop");
    const upload = platform.asked.find(({ method }) => method === "PUT");
    expect(upload?.path).toBe("/accounts/local/workers/scripts/shop");
    expect(upload?.body).toContain('"tail_consumers":[{"service":"logship"}]');
    expect(upload?.body.length).toBeGreaterThan(LARGE);
    const shop = () => shipper.call("GET", "/functions/scripts/shop");
    expect(await shop()).toMatchObject({ logging: "on", attachment: { state: "attached" } });

    const before = platform.asked.length;
    expect(await deploy(folder, env)).toContain(VERSION);
    const second = platform.asked.slice(before);
    const paths = second.map(
      ({ method, path }) => `${method} ${path.replace("/accounts/local/workers/scripts/shop", "")}`,
    );
    expect(paths).toEqual(expect.arrayContaining(["POST /versions", "POST /deployments", "PATCH /script-settings"]));
    const settings = second.find(({ method }) => method === "PATCH")?.body ?? "{}";
    expect(JSON.parse(settings)).toMatchObject({
      tail_consumers: [{ service: "logship" }],
      observability: { enabled: true },
    });
    expect(await shop()).toMatchObject({ logging: "on", attachment: { state: "attached" } });

    // Cloudflare's own Logpush is not what the project asked for.
    for (const { bearer, body } of platform.asked) {
      expect(bearer).toBe(`Bearer ${PLATFORM_TOKEN}`);
      expect(body).not.toContain("logpush");
      expect(body).not.toContain(shipper.token);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
