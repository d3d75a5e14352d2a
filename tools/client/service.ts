/** Which service a command asks, and with which token: found, if the user does not say. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { isLoopback } from "../../src/base/hosts.ts";
import { Refusal } from "../command.ts";
import { ROOT, SHIPPER_CONFIG } from "../paths.ts";
import { readProjectFile } from "../project-files/files.ts";
import { type Json, own } from "../project-files/model.ts";
import { readDevVars } from "../servers/dev-vars.ts";
import { running } from "../servers/running.ts";
import { readSecrets, readUrl } from "../setup/secrets-file.ts";

export interface Service {
  /** Base URL of the account's routes. */
  readonly api: string;
  /** Never shown. */
  readonly token: string;
  /** For people. */
  readonly name: string;
}

/** Of the deployment by wrangler.jsonc. */
const SECRETS_FILE = ".deployed.env";

/**
 * That of API and TOKEN; or the running `npm start`; or what `npm run setup` deployed.
 * @param deployed the deployment, though `npm start` runs. @throws Refusal
 */
export function findService({ API, TOKEN }: NodeJS.ProcessEnv, deployed: boolean): Service {
  if (API) {
    // A token that was found belongs to another service.
    if (!TOKEN) throw new Refusal("API is set, and TOKEN is not: set both, or neither");
    const url = URL.parse(API);
    if (url?.password) throw new Refusal("API holds a password, which would be shown: TOKEN is for that");
    if (!/^https?:$/.test(url?.protocol ?? "")) throw new Refusal(`API is no address: ${API}`);
    // Fetch would show it in its message.
    if (!/^[\x21-\x7e]+$/.test(TOKEN)) throw new Refusal("TOKEN has a character that no token has");
    return { api: withPath(new URL(API)), token: TOKEN, name: new URL(API).origin };
  }
  const local = deployed ? null : running();
  if (local?.url) {
    const { adminToken, accountId = accountOfConfig() } = readDevVars();
    return { api: apiOf(local.url, accountId), token: TOKEN || adminToken, name: `${local.url} (npm start)` };
  }
  const path = join(ROOT, SECRETS_FILE);
  const url = readUrl(path);
  const token = TOKEN || readSecrets(path).ADMIN_TOKEN;
  if (url !== null && token) return { api: apiOf(url, accountOfConfig()), token, name: url };
  if (url !== null) throw new Refusal(`${SECRETS_FILE} has no ADMIN_TOKEN: set TOKEN`);
  if (existsSync(path))
    throw new Refusal(`${SECRETS_FILE} does not say where the deployment is: npm run setup writes it there`);
  throw new Refusal(
    "no service is found: npm start runs one here, and npm run setup deploys one; for another, set API and TOKEN",
  );
}

function apiOf(url: string, account: string): string {
  return `${url}/client/v4/accounts/${account}/logship`;
}

/** An address without a path is that of the service itself. */
function withPath(api: URL): string {
  if (api.pathname !== "/") return api.href.replace(/\/+$/, "");
  const account = isLoopback(api.hostname) ? "local" : accountOfConfig();
  return apiOf(api.origin, account);
}

/** The account that wrangler.jsonc serves. */
function accountOfConfig(): string {
  const { text, language } = readProjectFile(SHIPPER_CONFIG);
  const account = own((own(language.parse(text), "vars") ?? {}) as Json, "ACCOUNT_ID");
  return typeof account === "string" ? account : "local";
}
