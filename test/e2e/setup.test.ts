/**
 * `npm run setup` as a user runs it: real wrangler uploads to a stand-in of the platform, and at
 * the Worker's address a real shipper answers, with the secrets and vars that were uploaded.
 */
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../../tools/paths.ts";
import { wranglerEnv } from "../../tools/servers/dev-server.ts";
import { SupervisedProcess } from "../../tools/servers/supervised.ts";
import { StandInPlatform, writeNewProject } from "../support/platform.ts";
import { IsolatedShipper } from "./shipper.ts";

const PLATFORM_TOKEN = "platform-token-0123456789abcdefghijklmno";

/** The address of a Worker: 404 until it is deployed and has its secrets, then a real shipper. */
async function startWorker(platform: StandInPlatform) {
  let shipper: Promise<IsolatedShipper> | null = null;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const script = platform.scripts.get("logship");
    if (script === undefined || script.secrets.size < 3) {
      response.writeHead(404).end("There is nothing here yet");
      return;
    }
    const vars = script.metadata.bindings.flatMap(({ type, name, text }) =>
      type === "plain_text" ? [[String(name), String(text)] as const] : [],
    );
    shipper ??= IsolatedShipper.start({ settings: Object.fromEntries([...vars, ...script.secrets]) });
    const { method = "GET", url = "/", headers } = request;
    const { authorization = "", "content-type": type = "" } = headers;
    const sent = { ...(authorization !== "" && { authorization }), ...(type !== "" && { "content-type": type }) };
    const body = chunks.length === 0 ? {} : { body: Buffer.concat(chunks) };
    const reply = await fetch((await shipper).url + url, { method, headers: sent, redirect: "manual", ...body });
    response.writeHead(reply.status, { "content-type": reply.headers.get("content-type") ?? "" });
    response.end(await reply.text());
  };
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.writeHead(502).end(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Once it was asked. */
    shipper: () => shipper,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await (await shipper)?.[Symbol.asyncDispose]();
    },
  };
}

it("goes from an empty account to a record that was read back, with one command", async () => {
  const platform = new StandInPlatform();
  await using served = await platform.serve();
  await using worker = await startWorker(platform);
  const folder = mkdtempSync(join(tmpdir(), "logship-setup-"));
  const config = join(folder, "wrangler.jsonc");
  try {
    for (const name of ["src", "node_modules", "package.json", "tsconfig.json"])
      symlinkSync(join(ROOT, name), join(folder, name));
    writeNewProject(config);
    const command = async (script: string, ...args: string[]) => {
      const before = platform.asked.length;
      const running = new SupervisedProcess({
        argv: [process.execPath, join(ROOT, `tools/${script}.ts`), "--config", config, ...args],
        cwd: ROOT,
        env: wranglerEnv(join(folder, "registry"), {
          CI: "1",
          CLOUDFLARE_API_BASE_URL: served.base,
          CLOUDFLARE_API_TOKEN: PLATFORM_TOKEN,
        }),
      });
      const end = await running.ended;
      const asked = platform.asked.slice(before).filter(({ method }) => method !== "GET");
      return {
        end,
        output: running.output,
        changes: asked.map(
          ({ method, path }) => `${method} ${path.replace(/^\/accounts\/\w+/, "").replace(UUID, "…")}`,
        ),
      };
    };

    const first = await command("setup", "--url", worker.url);
    expect(first).toMatchObject({ end: "exit code 0" });
    expect(first.changes.toSorted()).toEqual(CHANGES);
    expect(first.output).toMatch(/^ {2}canary .*read back/m);
    const shipper = await worker.shipper();
    expect(await shipper?.bucket.list("logs/00010101/canary/")).toHaveLength(1);
    const [link] = /http\S+\/sign-in\?code=\S+/.exec(first.output) ?? [];
    expect(await (await fetch(link ?? worker.url)).text()).toContain("signs you in as the administrator");

    const secrets = [...(platform.scripts.get("logship")?.secrets.values() ?? [])];
    for (const secret of [...secrets, PLATFORM_TOKEN]) expect(first.output).not.toContain(secret);
    expect(readFileSync(join(folder, ".deployed.env"), "utf8")).toContain(secrets[0]);

    const again = await command("setup", "--url", worker.url);
    expect(again).toMatchObject({ end: "exit code 0" });
    expect(again.changes.filter((call) => /^POST \/(?:queues|r2)|\/secrets$/.test(call))).toEqual([]);
    expect(again.output).toContain("job        job 1 exists");
    expect([...(platform.scripts.get("logship")?.secrets.values() ?? [])]).toEqual(secrets);

    // What real wrangler deployed is what the file says.
    expect(await command("setup", "--check")).toMatchObject({ end: "exit code 0", changes: [] });
    expect(await command("teardown")).toMatchObject({ end: "exit code 1", changes: [] });
    expect(await command("teardown", "--delete-data", "--yes")).toMatchObject({ end: "exit code 0" });
    expect([platform.queues.size, platform.buckets.size, platform.scripts.size]).toEqual([0, 0, 0]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

const UUID = /[0-9a-f]{8}-[0-9a-f-]{27}/;
const SCRIPT = "/workers/scripts/logship";

/** All that one setup changes, wrangler's own calls included. */
const CHANGES = [
  "POST /queues",
  "POST /queues",
  "POST /queues/…/consumers",
  "POST /queues/…/consumers",
  "POST /r2/buckets",
  `POST ${SCRIPT}/subdomain`,
  `PUT ${SCRIPT}`,
  `PUT ${SCRIPT}/schedules`,
  `PUT ${SCRIPT}/secrets`,
  `PUT ${SCRIPT}/secrets`,
  `PUT ${SCRIPT}/secrets`,
];
