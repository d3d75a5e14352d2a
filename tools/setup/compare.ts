/** In what a deployment differs from the project file. Pure. */
import { plain } from "../project-files/text.ts";
import { type Binding, type Found, type FoundConsumer, type FoundScript, workerOf } from "./found.ts";
import { type Consumer, type Project, queueNames, RETENTION_S, SECRETS } from "./project.ts";

/** One line each; empty: the deployment is as the file says. Values of secrets are in none. */
export function differences(project: Project, found: Found): string[] {
  return [
    ...queueNames(project).flatMap((name) => queueDifferences(name, found)),
    ...project.queues.consumers.flatMap((consumer) => consumerDifferences(project.name, consumer, found)),
    ...project.r2_buckets
      .filter(({ bucket_name: name }) => !found.buckets.includes(name))
      .map(({ bucket_name: name }) => `bucket ${name}: missing`),
    ...(found.script === null ? [`Worker ${project.name}: missing`] : workerDifferences(project, found.script, found)),
  ];
}

function queueDifferences(name: string, { queues }: Found): string[] {
  const queue = queues.find(({ queue_name }) => queue_name === name);
  if (queue === undefined) return [`queue ${name}: missing`];
  return pair(`queue ${name}: retention in seconds`, RETENTION_S, queue.settings.message_retention_period);
}

function consumerDifferences(worker: string, wanted: Consumer, { queues }: Found): string[] {
  const queue = queues.find(({ queue_name }) => queue_name === wanted.queue);
  // A missing queue is named already.
  if (queue === undefined) return [];
  const what = `consumer of ${wanted.queue}`;
  const consumer = queue.consumers.find((each) => workerOf(each) === worker);
  if (consumer === undefined) return [`${what}: missing`];
  return settingsOf(consumer).flatMap(([name, value]) => pair(`${what}: ${name}`, wanted[name], value));
}

/** In the words of the project file. */
function settingsOf({ settings, dead_letter_queue }: FoundConsumer): [keyof Consumer, unknown][] {
  const waitMs = settings.max_wait_time_ms;
  return [
    ["max_batch_size", settings.batch_size],
    ["max_batch_timeout", waitMs === undefined ? undefined : waitMs / 1_000],
    ["max_retries", settings.max_retries],
    ["retry_delay", settings.retry_delay],
    ["max_concurrency", settings.max_concurrency ?? undefined],
    ["dead_letter_queue", dead_letter_queue || undefined],
  ];
}

function workerDifferences(project: Project, script: FoundScript, { crons, isOnWorkersDev }: Found): string[] {
  const { bindings } = script;
  const wanted = bindingsOf(project);
  const has = (name: string) => bindings.find((binding) => binding.name === name);
  const optional = (what: string, file: unknown, deployed: unknown) =>
    deployed === undefined ? [] : pair(what, file, deployed);
  return [
    ...wanted.flatMap(({ name, ...values }) => {
      const deployed = has(name);
      const what = `${kindOf(values.type)} ${name}`;
      if (deployed === undefined) return [`${what}: missing`];
      return Object.entries(values).flatMap(([key, value]) => pair(`${what}: ${key}`, value, deployed[key]));
    }),
    ...SECRETS.filter((name) => has(name)?.type !== "secret_text").map((name) => `secret ${name}: missing`),
    ...bindings
      .filter(({ name, type }) => type !== "secret_text" && !wanted.some((binding) => binding.name === name))
      .map(({ name, type }) => `${kindOf(type)} ${name}: not in the file`),
    ...pair("crons", project.triggers.crons.toSorted(), crons.toSorted()),
    ...pair("workers_dev", project.workers_dev, isOnWorkersDev),
    ...optional("compatibility_date", project.compatibility_date, script.compatibility_date),
    ...optional("compatibility_flags", project.compatibility_flags.toSorted(), script.compatibility_flags?.toSorted()),
    ...optional("limits.cpu_ms", project.limits.cpu_ms, script.limits?.cpu_ms),
  ];
}

/** All but secrets, as the API names them. */
export function bindingsOf({ vars, queues, durable_objects, r2_buckets, ratelimits }: Project): Binding[] {
  return [
    ...Object.entries(vars).map(([name, value]) =>
      typeof value === "string" ? { type: "plain_text", name, text: value } : { type: "json", name, json: value },
    ),
    ...queues.producers.map(({ binding, queue }) => ({ type: "queue", name: binding, queue_name: queue })),
    ...durable_objects.bindings.map(({ name, class_name }) => ({ type: "durable_object_namespace", name, class_name })),
    ...r2_buckets.map(({ binding, bucket_name }) => ({ type: "r2_bucket", name: binding, bucket_name })),
    ...ratelimits.map(({ name, namespace_id }) => ({ type: "ratelimit", name, namespace_id })),
  ];
}

function kindOf(type: string): string {
  return type === "plain_text" || type === "json" ? "var" : "binding";
}

function pair(what: string, file: unknown, deployed: unknown): string[] {
  const [a, b] = [file, deployed].map((value) => (value === undefined ? "none" : plain(JSON.stringify(value))));
  return a === b ? [] : [`${what}: ${b} in the deployment, ${a} in the file`];
}
