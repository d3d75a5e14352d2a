/** What the project file says about the deployment. */
import { applyEdits, modify } from "jsonc-parser";
import * as z from "zod";
import { STACK_FIELDS } from "../first-job.ts";
import { jsonc } from "../project-files/jsonc.ts";
import { ProjectFault } from "../project-files/model.ts";
import { lineEnding } from "../project-files/text.ts";

/** Of the queues, in seconds: the most that the platform has. The guarantee relies on it. */
export const RETENTION_S = 14 * 86_400;

/** `vars.ACCOUNT_ID` of a project that was never set up. */
const LOCAL_ACCOUNT = "local";

/** Secrets of a deployment. It works without SIGNING_KEY, and then writes no manifests. */
export const SECRETS = ["ADMIN_TOKEN", "SECRETS_KEY", "SIGNING_KEY"] as const;
export type SecretName = (typeof SECRETS)[number];

const Consumer = z.object({
  queue: z.string(),
  max_batch_size: z.number(),
  max_batch_timeout: z.number(),
  max_retries: z.number(),
  retry_delay: z.number(),
  max_concurrency: z.number(),
  dead_letter_queue: z.string().optional(),
});
export type Consumer = z.infer<typeof Consumer>;

const Project = z.object({
  name: z.string().regex(/^[a-z0-9_][a-z0-9-_]*$/, "a script name: lower-case letters, digits, - and _"),
  account_id: z.string().optional(),
  workers_dev: z.boolean().default(true),
  compatibility_date: z.string(),
  compatibility_flags: z.array(z.string()).default([]),
  limits: z.object({ cpu_ms: z.number().optional() }).default({}),
  vars: z.record(z.string(), z.unknown()).default({}),
  queues: z.object({
    producers: z.array(z.object({ binding: z.string(), queue: z.string() })),
    consumers: z.array(Consumer),
  }),
  durable_objects: z.object({ bindings: z.array(z.object({ name: z.string(), class_name: z.string() })) }),
  r2_buckets: z.array(z.object({ binding: z.string(), bucket_name: z.string() })).default([]),
  ratelimits: z.array(z.object({ name: z.string(), namespace_id: z.string() })).default([]),
  triggers: z.object({ crons: z.array(z.string()) }),
});
export type Project = z.infer<typeof Project>;

/** @throws ProjectFault, for the author of the file. */
export function readProject(text: string): Project {
  const read = Project.safeParse(jsonc.parse(text));
  if (read.success) {
    const { name, vars } = read.data;
    if (vars.SELF_NAME !== name) throw new ProjectFault(`vars.SELF_NAME must be "${name}", the same as "name"`);
    return read.data;
  }
  const faults = read.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw new ProjectFault(faults.join("; "));
}

/** All queues, each once. */
export function queueNames({ queues: { producers, consumers } }: Project): string[] {
  const names = [...producers, ...consumers].map(({ queue }) => queue);
  const dead = consumers.flatMap(({ dead_letter_queue: name }) => name ?? []);
  return [...new Set([...names, ...dead])];
}

/**
 * The account that the file names; null: none yet.
 * @throws ProjectFault if it names two.
 */
export function accountOf({ account_id: top, vars: { ACCOUNT_ID } }: Project): string | null {
  const served = typeof ACCOUNT_ID === "string" && ACCOUNT_ID !== LOCAL_ACCOUNT ? ACCOUNT_ID : null;
  if (top !== undefined && served !== null && top !== served)
    throw new ProjectFault(`account_id is ${top}, and vars.ACCOUNT_ID is ${served}: they must be the same`);
  return top ?? served;
}

/** Handlers of the queue at once for each shard of the log, and the platform's most. */
const HANDLERS_PER_SHARD = 6;
const HANDLERS_MAX = 250;

/**
 * The file's text with as many handlers of the queue as the shards of the log take, if it has
 * fewer.
 */
export function withHandlers(text: string): string {
  const { vars, queues } = readProject(text);
  const wanted = Math.min(HANDLERS_MAX, HANDLERS_PER_SHARD * Number(vars.LOG_SHARDS ?? 1));
  const events = queues.producers.find(({ binding }) => binding === "EVENTS")?.queue;
  return queues.consumers.reduce(
    (before, { queue, max_concurrency: now }, i) =>
      queue === events && now < wanted ? edited(before, ["queues", "consumers", i, "max_concurrency"], wanted) : before,
    text,
  );
}

/**
 * The file's text with the account in both places: `account_id`, which wrangler deploys to, and
 * `vars.ACCOUNT_ID`, which the Worker serves. All else stays as it is.
 */
export function withAccount(text: string, account: string): string {
  return [["account_id"], ["vars", "ACCOUNT_ID"]].reduce((before, path) => edited(before, path, account), text);
}

/** The file's text with the fields of stacks, if it says nothing of extra fields. */
export function withStacks(text: string): string {
  return readProject(text).vars.EXTRA_FIELDS === undefined
    ? edited(text, ["vars", "EXTRA_FIELDS"], STACK_FIELDS)
    : text;
}

function edited(text: string, path: (string | number)[], value: unknown): string {
  const options = {
    formattingOptions: { insertSpaces: true, tabSize: 2, eol: lineEnding(text) },
    // The account is the second property of the file; all else is the last of its object.
    ...(path.length === 1 && { getInsertionIndex: (properties: string[]) => properties.indexOf("name") + 1 }),
  };
  return applyEdits(text, modify(text, path, value, options));
}
