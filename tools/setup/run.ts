/** `npm run setup`, with all that is outside of it as arguments. */
import { readFileSync, writeFileSync } from "node:fs";
import * as z from "zod";
import { newLinkCode, SIGN_IN_LINK_MS } from "../../src/formats/secrets/sign-in-link.ts";
import { ApiClient, ApiFailure } from "../client/api-client.ts";
import { diffLines } from "../project-files/diff.ts";
import { differences } from "./compare.ts";
import { findAll, findScript } from "./found.ts";
import { type Fetch, Platform, reasonOf } from "./platform.ts";
import { accountOf, type Project, readProject, withAccount, withHandlers, withStacks } from "./project.ts";
import { type Account, SetupRefused } from "./refusals.ts";
import { takeSteps } from "./step.ts";
import { SETUP_STEPS, type SecretStore, type Setup } from "./steps.ts";
import type { Waiting } from "./worker.ts";

export interface Outside extends Waiting {
  /** Of the platform's API, without a slash at its end. */
  readonly base: string;
  readonly token: string;
  readonly fetch: Fetch;
  /** Bundles and uploads the Worker of the project file. */
  readonly deploy: (account: string) => Promise<void>;
  readonly secrets: SecretStore;
  /** Path of the project file. */
  readonly config: string;
  readonly say: (line: string) => void;
  /** null: there is no terminal. */
  readonly ask: ((question: string) => Promise<string>) | null;
}

export interface SetupOptions {
  readonly account: string | null;
  readonly url: string | null;
  readonly destination: string | null;
  readonly newToken: boolean;
  readonly isDry: boolean;
}

/** The project file, the platform and the account: where setup, check and teardown begin. */
export async function begin({ base, token, fetch, pause, config, ask }: Outside, asked: string | null) {
  const text = readFileSync(config, "utf8");
  const project = readProject(text);
  const platform = new Platform({ base, token, fetch, pause });
  const account = await chooseAccount(platform, accountOf(project), asked, ask);
  platform.account = account;
  return { text, project, platform, account };
}

/**
 * Which account a setup is for.
 * @param file that of the project file. @param asked what the user named.
 * @throws SetupRefused if there is none, or none was chosen.
 */
export async function chooseAccount(
  platform: Platform,
  file: string | null,
  asked: string | null,
  ask: Outside["ask"],
): Promise<string> {
  if (file !== null && asked !== null && file !== asked)
    throw new SetupRefused({ kind: "account_differs", file, asked });
  const named = asked ?? file;
  if (named !== null) return named;
  const Accounts = z.array(z.object({ id: z.string(), name: z.string() }));
  const accounts: Account[] = Accounts.parse(await platform.list("/accounts"));
  const [first, ...others] = accounts;
  if (first === undefined) throw new SetupRefused({ kind: "accounts_none" });
  if (others.length === 0) return first.id;
  if (ask === null) throw new SetupRefused({ kind: "accounts_several", accounts });
  const lines = accounts.map(({ id, name }, i) => `  ${i + 1}  ${name} (${id})`);
  const answer = Number(await ask(`Your accounts:\n${lines.join("\n")}\nWhich one? [1-${accounts.length}] `));
  const chosen = Number.isInteger(answer) ? accounts[answer - 1] : undefined;
  if (chosen === undefined) throw new SetupRefused({ kind: "accounts_several", accounts });
  return chosen.id;
}

/** @throws SetupRefused, ProjectFault */
export async function runSetup(outside: Outside, options: SetupOptions): Promise<void> {
  const { say, config, secrets } = outside;
  const { text, project, platform, account } = await begin(outside, options.account);
  const { isDry } = options;
  say(`${isDry ? "Dry run" : "Setting up"} in the account ${account}:`);
  // What an earlier release set up stays as it is.
  const isNew = (await findScript(platform, account, project.name)) === null;
  const wanted = withHandlers(withAccount(text, account));
  const after = isNew ? withStacks(wanted) : wanted;
  if (after !== text) {
    say(`  project    ${isDry ? "would write" : "wrote"} to ${config}:`);
    for (const line of diffLines(text, after)) say(`             ${line}`);
    if (!isDry) writeFileSync(config, after);
  }
  const setup: Setup = {
    ...options,
    ...outside,
    project: withServedAccount(after === text ? project : readProject(after), account),
    account,
    platform,
    deploy: () => outside.deploy(account),
    api: (url, token) => new ApiClient(url, { token, account, fetch: workerFetch(outside, url) }),
    seen: { script: null, url: "", jobId: null },
  };
  await takeSteps(SETUP_STEPS, setup, { say, isDry });
  if (isDry) return say("Nothing was changed.");
  const { url } = setup.seen;
  secrets.writeUrl(url);
  say("");
  say(`  Sign in    ${await signInLink(outside, url)}`);
  say(`  Dashboard  ${url}/`);
  say(`  Token      ADMIN_TOKEN in ${secrets.name}`);
  say("  Attach     npm run attach -- <folder of a Worker>");
}

/** @returns whether the deployment is as the file says. @throws SetupRefused, ProjectFault */
export async function runCheck(outside: Outside, asked: string | null): Promise<boolean> {
  const { project, platform, account } = await begin(outside, asked);
  const found = differences(withServedAccount(project, account), await findAll(platform, account, project));
  for (const line of found) outside.say(`  ${line}`);
  const outcome =
    found.length === 0 ? "matches the file" : `differs from the file as listed; \`npm run setup\` fixes this`;
  outside.say(`The deployment ${project.name} in the account ${account} ${outcome}.`);
  return found.length === 0;
}

function withServedAccount(project: Project, account: string): Project {
  return { ...project, account_id: account, vars: { ...project.vars, ACCOUNT_ID: account } };
}

/** A request without an answer is a refusal; the token goes nowhere else. */
function workerFetch({ fetch }: Outside, url: string) {
  return async (address: string, init: RequestInit = {}): Promise<Response> => {
    try {
      return await fetch(address, { ...init, redirect: "error" });
    } catch (error) {
      throw new SetupRefused({ kind: "silent", url, last: reasonOf(error) });
    }
  };
}

/** Tried before it is shown: a SECRETS_KEY on this machine may be another one. */
async function signInLink(outside: Outside, url: string): Promise<string> {
  const { SECRETS_KEY, ADMIN_TOKEN = "" } = outside.secrets.read();
  if (SECRETS_KEY !== undefined) {
    const secrets = { secretsKey: Buffer.from(SECRETS_KEY, "base64"), adminToken: ADMIN_TOKEN };
    const link = `${url}/sign-in?code=${newLinkCode(secrets, outside.now())}`;
    const page = await workerFetch(outside, url)(link);
    await page.arrayBuffer();
    if (page.ok) return `${link}  works once, for ${SIGN_IN_LINK_MS / 60_000} minutes`;
  }
  return `${url}/sign-in  with ADMIN_TOKEN of ${outside.secrets.name}`;
}

/** For the user; null: not one of the failures that are expected. */
export function failureWords(error: unknown): string | null {
  return error instanceof SetupRefused || error instanceof ApiFailure ? error.message : null;
}
