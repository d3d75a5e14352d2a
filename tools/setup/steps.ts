/** The steps of `npm run setup`, in order. */
import { randomBytes } from "node:crypto";
import { type ApiClient, ApiFailure } from "../client/api-client.ts";
import { printable } from "../client/show.ts";
import { firstJob, OWN_BUCKET } from "../first-job.ts";
import { bucketPath, type FoundScript, findQueues, findScript, isOurs, scriptPath } from "./found.ts";
import type { Platform } from "./platform.ts";
import { type Project, queueNames, RETENTION_S, SECRETS, type SecretName } from "./project.ts";
import { SetupRefused } from "./refusals.ts";
import type { Secrets } from "./secrets-file.ts";
import type { Action, Step } from "./step.ts";
import { readBack, untilItAnswers, type Waiting } from "./worker.ts";

/** Where secrets are kept on this machine. */
export interface SecretStore {
  /** For messages. */
  readonly name: string;
  read(): Secrets;
  write(more: Secrets): void;
  /** Keeps where the deployment answers, for `npm run search`. */
  writeUrl(url: string): void;
}

export interface Setup extends Waiting {
  readonly project: Project;
  readonly account: string;
  readonly platform: Platform;
  readonly secrets: SecretStore;
  /** Bundles and uploads the Worker. @throws SetupRefused */
  readonly deploy: () => Promise<void>;
  /** A client of the Worker. */
  readonly api: (url: string, token: string) => ApiClient;
  /** The Worker's address; null: its workers.dev one. */
  readonly url: string | null;
  /** null: {@link OWN_BUCKET}, unless there is any job. */
  readonly destination: string | null;
  readonly newToken: boolean;
  readonly isDry: boolean;
  /** What earlier steps saw. */
  readonly seen: { script: FoundScript | null; url: string; jobId: number | null };
}

export const SETUP_STEPS: readonly Step<Setup>[] = [
  { name: "name", look: lookName },
  { name: "address", look: lookAddress },
  { name: "queues", look: lookQueues },
  { name: "bucket", look: lookBuckets },
  { name: "secrets", look: lookKept },
  { name: "Worker", look: lookDeployment },
  { name: "secrets", look: lookSecrets },
  { name: "answers", look: lookAnswer },
  { name: "job", look: lookJob },
  { name: "canary", look: lookCanary },
];

async function lookName({ platform, account, project, seen }: Setup): Promise<string> {
  seen.script = await findScript(platform, account, project.name);
  if (seen.script === null) return `the name ${project.name} is free`;
  if (!isOurs(seen.script, project)) throw new SetupRefused({ kind: "name_taken", name: project.name });
  return `${project.name} exists`;
}

async function lookAddress({ platform, account, project, url, seen }: Setup): Promise<string> {
  if (url === null) {
    const found = (await platform.find(`/accounts/${account}/workers/subdomain`)) as { subdomain?: string } | null;
    if (!found?.subdomain) throw new SetupRefused({ kind: "subdomain_missing", account });
    seen.url = `https://${project.name}.${found.subdomain}.workers.dev`;
  } else seen.url = url;
  return seen.url;
}

async function lookQueues({ platform, account, project }: Setup): Promise<string | Action[]> {
  const path = `/accounts/${account}/queues`;
  const retention = { message_retention_period: RETENTION_S };
  const names = queueNames(project);
  const found = await findQueues(platform, account, names);
  const actions = names.flatMap((name): Action[] => {
    const queue = found.find(({ queue_name }) => queue_name === name);
    if (queue === undefined)
      return [
        change(platform, "POST", path, { queue_name: name, settings: retention }, `created ${name}, retention 14 days`),
      ];
    if (queue.settings.message_retention_period === RETENTION_S) return [];
    // A change of the settings replaces all of them.
    const settings = { ...queue.settings, ...retention };
    return [change(platform, "PATCH", `${path}/${queue.queue_id}`, { settings }, `${name}: retention set to 14 days`)];
  });
  return actions.length > 0 ? actions : `${names.join(", ")} exist, retention 14 days`;
}

async function lookBuckets({ platform, account, project }: Setup): Promise<string | Action[]> {
  const names = project.r2_buckets.map(({ bucket_name: name }) => name);
  const actions: Action[] = [];
  for (const name of names)
    if ((await platform.find(bucketPath(account, name))) === null)
      actions.push(change(platform, "POST", `/accounts/${account}/r2/buckets`, { name }, `created ${name}`));
  return actions.length > 0 ? actions : `${names.join(", ") || "none"} exists`;
}

/** Keeps a copy of what is about to be set, before it is: an ADMIN_TOKEN must not be lost. */
async function lookKept(setup: Setup): Promise<string | Action[]> {
  const { secrets } = setup;
  const kept = secrets.read();
  const missing = missingSecrets(setup);
  if (!missing.includes("ADMIN_TOKEN") && kept.ADMIN_TOKEN === undefined)
    throw new SetupRefused({ kind: "token_unknown", file: secrets.name });
  const made = missing.filter((name) => kept[name] === undefined || (name === "ADMIN_TOKEN" && setup.newToken));
  if (made.length === 0) return `in ${secrets.name}`;
  const write = async () => secrets.write(Object.fromEntries(made.map((name) => [name, randomSecret(name)])));
  return [
    {
      done: `wrote ${made.join(", ")} to ${secrets.name}`,
      call: `write ${secrets.name}: ${made.join(", ")}`,
      run: write,
    },
  ];
}

/** Always: the code of this checkout is what is to run. */
async function lookDeployment({ project, deploy }: Setup): Promise<Action[]> {
  return [{ done: `deployed ${project.name}`, call: "run wrangler deploy", run: deploy }];
}

async function lookSecrets(setup: Setup): Promise<string | Action[]> {
  const { platform, account, project, secrets } = setup;
  const path = `${scriptPath(account, project.name)}/secrets`;
  const actions = missingSecrets(setup).map((name): Action => {
    const run = () => platform.call("PUT", path, { name, text: secrets.read()[name], type: "secret_text" });
    return { done: `set ${name}`, call: `PUT ${path} ${name}`, run: async () => void (await run()) };
  });
  return actions.length > 0 ? actions : `${SECRETS.join(", ")} are set`;
}

/** A wait changes nothing, so a dry run waits, too, where there is a Worker. */
async function lookAnswer(setup: Setup): Promise<string | Action[]> {
  const { url } = setup.seen;
  const run = () => untilItAnswers(client(setup), url, setup.secrets.name, setup);
  const done = `yes, at ${url}`;
  if (!setup.isDry || isNew(setup)) return [{ done, call: `GET ${url} until it answers`, run }];
  await run();
  return done;
}

async function lookJob(setup: Setup): Promise<string | Action[]> {
  const { destination, seen } = setup;
  const wanted = destination ?? OWN_BUCKET;
  if (!isNew(setup)) {
    const api = client(setup);
    const jobs = await api.jobs();
    const isThere = destination === null ? jobs.length > 0 : await api.isDestinationInUse(destination);
    seen.jobId = (jobs.find(({ destination_conf }) => destination_conf === wanted) ?? jobs[0])?.id ?? null;
    if (isThere) return `job ${seen.jobId} exists`;
  }
  const run = async () => {
    const body = { ...firstJob(wanted, setup.project.vars.EXTRA_FIELDS), canary: true };
    try {
      seen.jobId = (await client(setup).createJob(body)).id;
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.status >= 500) throw error;
      throw new SetupRefused({ kind: "job_refused", why: printable(error.message) });
    }
  };
  const shown = wanted.replace(/\?.*/s, "?…");
  return [{ done: `created, ships to ${shown}`, call: `POST ${seen.url}/…/jobs, ships to ${shown}`, run }];
}

async function lookCanary(setup: Setup): Promise<string | Action[]> {
  const id = setup.seen.jobId;
  if (id !== null) {
    const canary = await client(setup).canary(id);
    if (!canary.enabled) return `not checked: ${canary.why}`;
    if (canary.state === "ok") return `read back from ${canary.key}`;
  }
  const run = () => readBack(client(setup), setup.seen.jobId ?? 0, setup);
  return [{ done: "sent, and read back from the destination", call: "write a canary and read it back", run }];
}

/** Names of the secrets that are to be set: those that the deployment lacks. */
function missingSecrets({ seen, newToken }: Setup): SecretName[] {
  const set = seen.script?.bindings.filter(({ type }) => type === "secret_text").map(({ name }) => name) ?? [];
  return SECRETS.filter((name) => !set.includes(name) || (name === "ADMIN_TOKEN" && newToken));
}

/** ADMIN_TOKEN: 43 of `[0-9A-Za-z_-]`, as vendor clients take them. The others: base64. */
function randomSecret(name: SecretName): string {
  return randomBytes(32).toString(name === "ADMIN_TOKEN" ? "base64url" : "base64");
}

/** Whether there is no Worker to ask, as a dry run deployed none. */
function isNew(setup: Setup): boolean {
  return setup.isDry && (setup.seen.script === null || missingSecrets(setup).length > 0);
}

function client({ api, seen, secrets }: Setup): ApiClient {
  return api(seen.url, secrets.read().ADMIN_TOKEN ?? "");
}

function change(platform: Platform, method: "POST" | "PATCH", path: string, body: object, done: string): Action {
  const call = `${method} ${path} ${JSON.stringify(body)}`;
  return { done, call, run: async () => void (await platform.call(method, path, body)) };
}
