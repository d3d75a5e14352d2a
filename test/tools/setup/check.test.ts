import { readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { World } from "./world.ts";

/** What was changed behind the file's back, and the line that says so. */
const CHANGES: readonly (readonly [what: string, change: (world: World) => void, line: string])[] = [
  [
    "another retention",
    ({ platform }) => {
      const queue = platform.queues.get("logship-events");
      if (queue !== undefined) queue.settings = { message_retention_period: 345_600 };
    },
    "queue logship-events: retention in seconds: 345600 in the deployment, 1209600 in the file",
  ],
  [
    "a missing queue",
    ({ platform }) => void platform.queues.delete("logship-events-dead"),
    "queue logship-events-dead: missing",
  ],
  ["a missing bucket", ({ platform }) => void platform.buckets.delete("traces"), "bucket traces: missing"],
  [
    "a missing secret",
    ({ platform }) => void platform.scripts.get("logship")?.secrets.delete("SECRETS_KEY"),
    "secret SECRETS_KEY: missing",
  ],
  [
    "another var",
    ({ config }) => edit(config, '"DEFAULT_SCRIPT_NAME": "unnamed"', '"DEFAULT_SCRIPT_NAME": "none"'),
    'var DEFAULT_SCRIPT_NAME: text: "unnamed" in the deployment, "none" in the file',
  ],
  [
    "one more var in the file",
    ({ config }) => edit(config, '"vars": {', '"vars": {\n    "FUNCTION_FAILING": "5%:20",'),
    "var FUNCTION_FAILING: missing",
  ],
  [
    "a var that the file does not have",
    ({ config }) => edit(config, '"DESTINATION_BINDINGS": "TRACES",', ""),
    "var DESTINATION_BINDINGS: not in the file",
  ],
  [
    "a binding to another bucket",
    ({ config, platform }) => {
      edit(config, '"bucket_name": "traces"', '"bucket_name": "others"');
      platform.buckets.set("others", new Set());
    },
    'binding TRACES: bucket_name: "traces" in the deployment, "others" in the file',
  ],
  [
    "a missing consumer",
    ({ platform }) => {
      const queue = platform.queues.get("logship-events");
      if (queue !== undefined) queue.consumers = [];
    },
    "consumer of logship-events: missing",
  ],
  [
    "a consumer with other settings",
    ({ config }) => edit(config, '"max_batch_timeout": 10', '"max_batch_timeout": 20'),
    "consumer of logship-events: max_batch_timeout: 10 in the deployment, 20 in the file",
  ],
  [
    "no cron",
    ({ platform }) => {
      const script = platform.scripts.get("logship");
      if (script !== undefined) script.schedules = [];
    },
    'crons: [] in the deployment, ["*/5 * * * *"] in the file',
  ],
  [
    "no address at workers.dev",
    ({ platform }) => {
      const script = platform.scripts.get("logship");
      if (script !== undefined) script.isOnWorkersDev = false;
    },
    "workers_dev: false in the deployment, true in the file",
  ],
  [
    "another limit",
    ({ config }) => edit(config, '"cpu_ms": 300000', '"cpu_ms": 30000'),
    "limits.cpu_ms: 300000 in the deployment, 30000 in the file",
  ],
  ["no Worker", ({ platform }) => void platform.scripts.delete("logship"), "Worker logship: missing"],
];

function edit(path: string, from: string, to: string): void {
  const text = readFileSync(path, "utf8");
  expect(text).toContain(from);
  writeFileSync(path, text.replace(from, to));
}

it.for(CHANGES)("finds %s, that alone, and setup mends it", async ([, change, line]) => {
  const world = new World();
  await world.setup();
  change(world);
  world.said.length = 0;
  expect(await world.check()).toBe(false);
  expect(world.said).toEqual([
    `  ${line}`,
    expect.stringContaining("differs from the file as listed; `npm run setup` fixes this"),
  ]);
  await world.setup();
  expect(await world.check()).toBe(true);
});
