/**
 * The vendor's own command, which deploys through the shipper as if it were the platform: only its
 * base URL is another one.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { WRANGLER } from "../../tools/paths.ts";
import { wranglerEnv } from "../../tools/servers/dev-server.ts";
import { SupervisedProcess } from "../../tools/servers/supervised.ts";
import { IsolatedShipper } from "./shipper.ts";

const PLATFORM_TOKEN = "platform-token-0123456789abcdefghijklmno";
const VERSION = "00000000-0000-4000-8000-000000000001";

interface Asked {
  method: string;
  path: string;
  bearer: string | undefined;
  body: string;
}

/** As much of the platform's API as a deployment needs. */
async function startPlatform() {
  const asked: Asked[] = [];
  const scripts = new Set<string>();
  const answer = (method: string, path: string, body: string): [status: number, result: unknown, info?: object] => {
    const [, name = "", below = ""] = /^\/accounts\/local\/workers\/scripts\/([^/]+)(?:\/(.+))?$/.exec(path) ?? [];
    const [, service = ""] = /^\/accounts\/local\/workers\/services\/([^/]+)$/.exec(path) ?? [];
    const script = { last_deployed_from: "wrangler", tag: "t" };
    const info = { page: 1, per_page: 20, count: 1, total_count: 1 };
    if (service !== "")
      return scripts.has(service)
        ? [200, { id: service, default_environment: { environment: "production", script } }]
        : [404, null];
    switch (name === "" ? path : `${method} ${below}`) {
      case "PUT ":
        scripts.add(name);
        return [
          200,
          { id: name, etag: "e", deployment_id: VERSION.replaceAll("-", ""), has_modules: true, handlers: ["fetch"] },
        ];
      case "POST versions":
        return [
          200,
          {
            id: VERSION,
            startup_time_ms: 1,
            metadata: { has_preview: false },
            number: 2,
            resources: { script: { etag: "e" } },
          },
        ];
      case "GET deployments":
        return [200, { deployments: [] }];
      case "POST deployments":
        return [200, { id: VERSION }];
      case "GET script-settings":
        return [200, { logpush: false, tail_consumers: [{ service: "logship" }] }];
      case "PATCH script-settings":
        return [200, JSON.parse(body)];
      case "GET subdomain":
      case "POST subdomain":
        return [200, { enabled: true, previews_enabled: false }];
      case "/accounts/local/workers/subdomain":
        return [200, { subdomain: "acme" }];
      case "/accounts":
        return [200, [{ id: "local", name: "Acme" }], info];
      case "/memberships":
        return [200, [{ id: "m", status: "accepted", account: { id: "local", name: "Acme" } }], info];
      default:
        return [404, null];
    }
  };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const { method = "", url = "" } = request;
    const path = new URL(url, "http://localhost").pathname.replace("/client/v4", "");
    asked.push({ method, path, bearer: request.headers.authorization, body });
    const [status, result, result_info] = answer(method, path, body);
    const success = status < 300;
    const errors = success ? [] : [{ code: 10_007, message: "not found" }];
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify({ success, errors, messages: [], result, result_info }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    asked,
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}/client/v4`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

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
  await using platform = await startPlatform();
  await using shipper = await IsolatedShipper.start({ settings: { UPSTREAM_API: platform.base } });
  const folder = mkdtempSync(join(tmpdir(), "logship-deploy-"));
  try {
    writeFileSync(join(folder, "index.js"), 'export default { fetch: () => new Response("shop") };\n');
    const project = { name: "shop", main: "index.js", compatibility_date: "2026-09-01", logpush: true };
    writeFileSync(join(folder, "wrangler.json"), JSON.stringify({ ...project, observability: { enabled: true } }));
    const env = { CLOUDFLARE_API_BASE_URL: `${shipper.url}/client/v4`, CLOUDFLARE_API_TOKEN: PLATFORM_TOKEN };

    expect(await deploy(folder, env)).toContain("Uploaded shop");
    const upload = platform.asked.find(({ method }) => method === "PUT");
    expect(upload?.path).toBe("/accounts/local/workers/scripts/shop");
    expect(upload?.body).toContain('"tail_consumers":[{"service":"logship"}]');
    const functions = `${shipper.url}/client/v4/accounts/local/functions/scripts`;
    const headers = { authorization: `Bearer ${shipper.token}` };
    const shop = async () =>
      ((await (await fetch(`${functions}/shop`, { headers })).json()) as { result: unknown }).result;
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
