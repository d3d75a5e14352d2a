/** The steps of `npm run teardown`, in order. Each may be repeated. */
import * as z from "zod";
import { bucketPath, type Found, findAll, isOurs, scriptPath, workerOf } from "./found.ts";
import type { Platform } from "./platform.ts";
import { type Project, queueNames } from "./project.ts";
import { SetupRefused } from "./refusals.ts";
import { begin, type Outside } from "./run.ts";
import { type Action, type Step, takeSteps } from "./step.ts";

/** Objects of a bucket that are deleted one by one: the API takes 1,200 calls in five minutes. */
const OBJECTS_MAX = 1_000;

/** https://developers.cloudflare.com/api/resources/r2/subresources/buckets/methods/delete/ */
const BUCKET_NOT_EMPTY = 10_008;

interface Teardown {
  readonly platform: Platform;
  readonly account: string;
  readonly project: Project;
  readonly found: Found;
  readonly removeSecrets: () => void;
}

/** Takes the Worker out of service. Everything that holds data stays. */
const OUT_OF_SERVICE: readonly Step<Teardown>[] = [
  { name: "attached", look: lookAttached },
  { name: "consumers", look: lookConsumers },
  { name: "cron", look: lookCron },
  { name: "address", look: lookAddress },
];

/** Deletes what is left. */
const DELETE_DATA: readonly Step<Teardown>[] = [
  { name: "Worker", look: lookWorker },
  { name: "queues", look: lookQueues },
  { name: "bucket", look: lookBuckets },
  { name: "secrets", look: async ({ removeSecrets }) => [local("delete the secrets on this machine", removeSecrets)] },
];

export interface TeardownOptions {
  readonly account: string | null;
  readonly deleteData: boolean;
  readonly isDry: boolean;
  readonly isConfirmed: boolean;
}

/** @returns whether it was done, or there was nothing to do. @throws SetupRefused, ProjectFault */
export async function runTeardown(
  outside: Outside & { readonly removeSecrets: () => void },
  { account: asked, deleteData, isDry, isConfirmed }: TeardownOptions,
): Promise<boolean> {
  const { say, ask, removeSecrets } = outside;
  const { project, platform, account } = await begin(outside, asked);
  const found = await findAll(platform, account, project);
  if (found.script !== null && !isOurs(found.script, project))
    throw new SetupRefused({ kind: "name_taken", name: project.name });
  const context = { platform, account, project, found, removeSecrets };
  const steps = deleteData ? [...OUT_OF_SERVICE, ...DELETE_DATA] : OUT_OF_SERVICE;
  say(`In the account ${account}:`);
  await takeSteps(steps, context, { say, isDry: true });
  say("");
  say(
    deleteData
      ? `This deletes everything, the records in the bucket ${bucketNames(project)} included.`
      : keptWords(project),
  );
  if (isDry) return true;
  if (!isConfirmed) {
    const wanted = deleteData ? project.name : "yes";
    const answer = await ask?.(`Type ${wanted} to continue: `);
    if (answer !== wanted) {
      say(
        ask === null
          ? "Nothing was changed: there is no terminal to ask; --yes continues without asking."
          : "Nothing was changed.",
      );
      return false;
    }
  }
  await takeSteps(steps, context, { say, isDry: false });
  return true;
}

function bucketNames({ r2_buckets }: Project): string {
  return r2_buckets.map(({ bucket_name: name }) => name).join(", ");
}

function keptWords(project: Project): string {
  return [
    `Kept: the Worker ${project.name} with the state of its Durable Objects (jobs, waiting records, ledgers),`,
    `the queues with their messages, the bucket ${bucketNames(project)}, and the secrets. \`npm run setup\` puts it into`,
    "service again; --delete-data deletes everything.",
  ].join("\n");
}

async function lookAttached({ platform, account, project, found }: Teardown): Promise<string> {
  if (found.script === null) return "none: there is no Worker";
  const Tails = z.array(
    z.object({ producer: z.object({ service: z.string().optional(), script: z.string().optional() }) }),
  );
  const tails = Tails.parse(
    await platform.call("GET", `/accounts/${account}/workers/tails/by-consumer/${project.name}`),
  );
  const workers = tails.map(({ producer }) => producer.service ?? producer.script ?? "a Worker without a name");
  if (workers.length > 0) throw new SetupRefused({ kind: "attached", workers });
  return "none";
}

async function lookConsumers({ platform, account, project, found }: Teardown): Promise<string | Action[]> {
  const actions = found.queues.flatMap(({ queue_id, queue_name, consumers }) =>
    consumers
      .filter((consumer) => workerOf(consumer) === project.name)
      .map(({ consumer_id }) =>
        removal(
          platform,
          `/accounts/${account}/queues/${queue_id}/consumers/${consumer_id}`,
          `consumer of ${queue_name}`,
        ),
      ),
  );
  return actions.length > 0 ? actions : "none";
}

async function lookCron({ platform, account, project, found }: Teardown): Promise<string | Action[]> {
  if (found.crons.length === 0) return "none";
  const path = `${scriptPath(account, project.name)}/schedules`;
  return [change("removed", `PUT ${path} []`, () => platform.call("PUT", path, []))];
}

async function lookAddress({ platform, account, project, found }: Teardown): Promise<string | Action[]> {
  if (!found.isOnWorkersDev) return "off";
  const path = `${scriptPath(account, project.name)}/subdomain`;
  const body = { enabled: false, previews_enabled: false };
  return [change("switched off", `POST ${path} ${JSON.stringify(body)}`, () => platform.call("POST", path, body))];
}

async function lookWorker({ platform, account, project, found }: Teardown): Promise<string | Action[]> {
  if (found.script === null) return "none";
  // Without `force`, a Worker with durable objects is refused.
  return [removal(platform, `${scriptPath(account, project.name)}?force=true`, "Worker and its Durable Objects")];
}

async function lookQueues({ platform, account, project, found }: Teardown): Promise<string | Action[]> {
  const actions = queueNames(project).flatMap((name) => {
    const queue = found.queues.find(({ queue_name }) => queue_name === name);
    return queue === undefined ? [] : [removal(platform, `/accounts/${account}/queues/${queue.queue_id}`, name)];
  });
  return actions.length > 0 ? actions : "none";
}

async function lookBuckets({ platform, account, found }: Teardown): Promise<string | Action[]> {
  const actions = found.buckets.map((name) => {
    const path = bucketPath(account, name);
    return change(`deleted ${name}`, `DELETE ${path}, its objects first`, () => removeBucket(platform, path, name));
  });
  return actions.length > 0 ? actions : "none";
}

/** @throws SetupRefused if it has too many objects to delete. */
async function removeBucket(platform: Platform, path: string, bucket: string): Promise<void> {
  if (await isRemoved(platform, path)) return;
  const Objects = z.array(z.object({ key: z.string() }));
  const objects = Objects.parse(await platform.call("GET", `${path}/objects?per_page=${OBJECTS_MAX}`));
  if (objects.length < OBJECTS_MAX)
    for (const { key } of objects)
      await platform.remove(`${path}/objects/${key.split("/").map(encodeURIComponent).join("/")}`);
  if (!(await isRemoved(platform, path)))
    throw new SetupRefused({ kind: "bucket_full", bucket, account: platform.account });
}

/** @returns false: it is not empty. */
async function isRemoved(platform: Platform, path: string): Promise<boolean> {
  try {
    await platform.remove(path);
    return true;
  } catch (error) {
    if (!(error instanceof SetupRefused) || error.refusal.kind !== "answered") throw error;
    if (error.refusal.answer.code !== BUCKET_NOT_EMPTY) throw error;
    return false;
  }
}

function removal(platform: Platform, path: string, what: string): Action {
  return change(`deleted ${what}`, `DELETE ${path}`, () => platform.remove(path));
}

function local(what: string, run: () => void): Action {
  return { done: `${what.replace("delete", "deleted")}`, call: what, run: async () => run() };
}

function change(done: string, call: string, run: () => Promise<unknown>): Action {
  return { done, call, run: async () => void (await run()) };
}
