/** What the account has of a deployment. */
import * as z from "zod";
import type { Platform } from "./platform.ts";
import { type Project, queueNames } from "./project.ts";

const Settings = z.object({
  batch_size: z.number().optional(),
  max_wait_time_ms: z.number().optional(),
  max_retries: z.number().optional(),
  retry_delay: z.number().optional(),
  max_concurrency: z.number().nullish(),
});

const Consumer = z.object({
  consumer_id: z.string().optional(),
  /** The API names the Worker in one of three ways. */
  script: z.string().optional(),
  service: z.string().optional(),
  script_name: z.string().optional(),
  dead_letter_queue: z.string().nullish(),
  settings: Settings.default({}),
});
export type FoundConsumer = z.infer<typeof Consumer>;

const Queue = z.object({
  queue_id: z.string(),
  queue_name: z.string(),
  settings: z.looseObject({ message_retention_period: z.number().optional() }).default({}),
  consumers: z.array(Consumer).default([]),
});
export type FoundQueue = z.infer<typeof Queue>;

const Binding = z.looseObject({ type: z.string(), name: z.string() });
export type Binding = z.infer<typeof Binding>;

const Script = z.object({
  bindings: z.array(Binding).default([]),
  compatibility_date: z.string().optional(),
  compatibility_flags: z.array(z.string()).optional(),
  limits: z.object({ cpu_ms: z.number().optional() }).nullish(),
});
export type FoundScript = z.infer<typeof Script>;

export interface Found {
  readonly queues: readonly FoundQueue[];
  /** Names of those buckets of the project that exist. */
  readonly buckets: readonly string[];
  /** null: there is no Worker of this name, and the rest is empty. */
  readonly script: FoundScript | null;
  readonly crons: readonly string[];
  /** Whether it answers at its workers.dev address. */
  readonly isOnWorkersDev: boolean;
}

/** Path of the Worker below an account. */
export function scriptPath(account: string, name: string): string {
  return `/accounts/${account}/workers/scripts/${name}`;
}

export function bucketPath(account: string, name: string): string {
  return `/accounts/${account}/r2/buckets/${name}`;
}

/** The Worker that a consumer belongs to. */
export function workerOf({ script, service, script_name }: FoundConsumer): string | undefined {
  return script ?? service ?? script_name;
}

export async function findScript(platform: Platform, account: string, name: string): Promise<FoundScript | null> {
  return Script.nullable().parse(await platform.find(`${scriptPath(account, name)}/settings`));
}

/** Those of these queues that exist. */
export async function findQueues(platform: Platform, account: string, names: readonly string[]): Promise<FoundQueue[]> {
  const query = new URLSearchParams(names.map((name) => ["name", name]));
  const queues = z.array(Queue).parse(await platform.list(`/accounts/${account}/queues?${query}`));
  return queues.filter(({ queue_name: name }) => names.includes(name));
}

export async function findAll(platform: Platform, account: string, project: Project): Promise<Found> {
  const queues = await findQueues(platform, account, queueNames(project));
  const buckets: string[] = [];
  for (const { bucket_name: name } of project.r2_buckets)
    if ((await platform.find(bucketPath(account, name))) !== null) buckets.push(name);
  const script = await findScript(platform, account, project.name);
  if (script === null) return { queues, buckets, script, crons: [], isOnWorkersDev: false };
  const path = scriptPath(account, project.name);
  const Schedules = z.object({ schedules: z.array(z.object({ cron: z.string() })) });
  const { schedules } = Schedules.parse(await platform.call("GET", `${path}/schedules`));
  const { enabled } = z.object({ enabled: z.boolean() }).parse(await platform.call("GET", `${path}/subdomain`));
  return { queues, buckets, script, crons: schedules.map(({ cron }) => cron), isOnWorkersDev: enabled };
}

/** Whether it is some release of this project: another Worker has none of its durable objects. */
export function isOurs({ bindings }: FoundScript, { durable_objects }: Project): boolean {
  const classes = durable_objects.bindings.map(({ class_name }) => class_name);
  return bindings.some(
    ({ type, class_name }) => type === "durable_object_namespace" && classes.includes(`${class_name}`),
  );
}
