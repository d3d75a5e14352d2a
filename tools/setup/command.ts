/** Shared by `npm run setup` and `npm run teardown`: options, what is outside, and failures. */
import { existsSync } from "node:fs";
import { dirname, join, parse, relative, resolve } from "node:path";
import { isLoopback } from "../../src/base/hosts.ts";
import { ask, isTerminal, UsageFault } from "../command.ts";
import { SHIPPER_CONFIG, userFolder } from "../paths.ts";
import { ProjectFault } from "../project-files/model.ts";
import { pause } from "../until.ts";
import { PLATFORM_API } from "./platform.ts";
import { SetupRefused } from "./refusals.ts";
import { failureWords, type Outside } from "./run.ts";
import { readSecrets, writeSecrets } from "./secrets-file.ts";
import type { SecretStore } from "./steps.ts";
import { wranglerDeploy, wranglerLogin, wranglerToken } from "./wrangler.ts";

/** Beside the project file; that of `wrangler-eu.jsonc` is `.deployed.wrangler-eu.env`. */
export function secretsPath(config: string): string {
  const name = parse(config).name;
  return join(dirname(config), name === parse(SHIPPER_CONFIG).name ? ".deployed.env" : `.deployed.${name}.env`);
}

/** Options of both commands. */
export const COMMON_OPTIONS = {
  account: { type: "string" },
  config: { type: "string" },
} as const;

export const COMMON_USAGE = `  --account <id>      the account, if you have several
  --config <path>     a project file other than wrangler.jsonc, for a second deployment`;

/**
 * @param mayLogIn whether a user at a terminal is logged in where that is missing.
 * @throws SetupRefused if the user is not logged in. ProjectFault if there is no such project file.
 */
export async function outside(configOption: string | undefined, mayLogIn: boolean): Promise<Outside> {
  const from = userFolder(process.env);
  const config = configOption === undefined ? SHIPPER_CONFIG : resolve(from, configOption);
  if (!existsSync(config)) throw new ProjectFault(`${config}: there is no such file`);
  return {
    base: (process.env.CLOUDFLARE_API_BASE_URL || PLATFORM_API).replace(/\/+$/, ""),
    token: await login(config, mayLogIn),
    fetch: (url, init) => fetch(url, init),
    deploy: (account) => wranglerDeploy(config, account),
    secrets: secretStore(secretsPath(config), process.env.ADMIN_TOKEN),
    config,
    say: (line) => console.log(line),
    ask: isTerminal ? ask : null,
    now: Date.now,
    pause,
  };
}

async function login(config: string, mayLogIn: boolean): Promise<string> {
  const given = process.env.CLOUDFLARE_API_TOKEN || (await wranglerToken(config));
  if (given !== null) return given;
  if (isTerminal && mayLogIn) await wranglerLogin(config);
  const token = isTerminal && mayLogIn ? await wranglerToken(config) : null;
  if (token === null) throw new SetupRefused({ kind: "not_logged_in" });
  return token;
}

/** @param adminToken that of the environment, which counts where the file has none. */
function secretStore(path: string, adminToken: string | undefined): SecretStore {
  return {
    name: relative(userFolder(process.env), path),
    read: () => ({ ...(adminToken && { ADMIN_TOKEN: adminToken }), ...readSecrets(path) }),
    write: (more) => writeSecrets(path, more),
    writeUrl: (url) => writeSecrets(path, {}, url),
  };
}

/**
 * The account that is asked for: by `--account`, or as wrangler is told. null: none.
 * @param positionals of the command: there must be none. @throws UsageFault
 */
export function askedAccount(option: string | undefined, [unknown]: readonly string[]): string | null {
  if (unknown !== undefined) throw new UsageFault(`unexpected argument: ${unknown}`);
  const asked = option ?? process.env.CLOUDFLARE_ACCOUNT_ID;
  if (asked === undefined || asked === "") return null;
  if (!/^[0-9a-f]{32}$/.test(asked)) throw new UsageFault("the id of an account is 32 digits, 0 to 9 and a to f");
  return asked;
}

/** Whether ADMIN_TOKEN may be sent there. */
export function isOwnUrl(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname, origin } = new URL(url);
  return origin === url && (protocol === "https:" || (protocol === "http:" && isLoopback(hostname)));
}

/** Runs a command and says what stopped it. @returns the exit code. */
export async function run(command: () => Promise<number>): Promise<number> {
  try {
    return await command();
  } catch (error) {
    const words = error instanceof ProjectFault ? error.message : failureWords(error);
    if (words === null) throw error;
    console.error(`\n${words}`);
    return 1;
  }
}
