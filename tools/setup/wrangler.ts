/** What wrangler does itself: signing in, and bundling and uploading the Worker. */
import { spawn } from "node:child_process";
import { dirname } from "node:path";
import * as z from "zod";
import { WRANGLER } from "../paths.ts";
import { wranglerEnv } from "../servers/dev-server.ts";
import { SupervisedProcess } from "../servers/supervised.ts";
import { deployRefusal, SetupRefused } from "./refusals.ts";

const Token = z.object({ type: z.enum(["api_token", "oauth"]), token: z.string() });

/**
 * The token that wrangler uses: CLOUDFLARE_API_TOKEN of the environment or a `.env`, else that of
 * `wrangler login`, renewed. null: not logged in.
 */
export async function wranglerToken(config: string): Promise<string | null> {
  const asking = new SupervisedProcess(command(config, ["auth", "token", "--json"]));
  const how = await asking.ended;
  const json = /\{[^{}]*\}/.exec(asking.output)?.[0];
  if (how !== "exit code 0" || json === undefined) return null;
  const read = Token.safeParse(JSON.parse(json));
  return read.success ? read.data.token : null;
}

/** Opens a browser, as `wrangler login` does, and waits until it ends. */
export function wranglerLogin(config: string): Promise<void> {
  const { argv, cwd, env } = command(config, ["login"]);
  const [program = "", ...args] = argv;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env, stdio: "inherit" });
    child.once("error", reject);
    child.once("close", () => resolve());
  });
}

/** @throws SetupRefused with what wrangler said. */
export async function wranglerDeploy(config: string, account: string): Promise<void> {
  const deploying = new SupervisedProcess(command(config, ["deploy", "--config", config]));
  const how = await deploying.ended;
  if (how !== "exit code 0") throw new SetupRefused(deployRefusal(deploying.excerpt, account));
}

/** Without a terminal wrangler asks nothing. */
function command(config: string, args: readonly string[]) {
  return { argv: [process.execPath, WRANGLER, ...args], cwd: dirname(config), env: wranglerEnv() };
}
