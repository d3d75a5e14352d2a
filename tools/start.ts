/**
 * `npm start`: the shipper on this machine, and the host of uploaded functions beside it, until
 * Ctrl-C. Settings are in `.dev.vars`; state is kept in `.wrangler/state`.
 */
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ApiClient } from "./client/api-client.ts";
import { printable } from "./client/show.ts";
import { command, onlyOptions, Refusal } from "./command.ts";
import { firstJob, OWN_BUCKET, STACK_FIELDS } from "./first-job.ts";
import { DEFAULT_PORT, DEV_VARS, localObjectStore, ROOT, SHIPPER_CONFIG, shown } from "./paths.ts";
import { jsonc } from "./project-files/jsonc.ts";
import { type Json, own } from "./project-files/model.ts";
import { startDevServer } from "./servers/dev-server.ts";
import { ensureDevVars, readDevVars, signInLine } from "./servers/dev-vars.ts";
import { aborted, interruption } from "./servers/foreground.ts";
import { startFunctionHost } from "./servers/function-host.ts";
import type { LocalServer } from "./servers/local-server.ts";
import { PORT_OPTION, portAfter, portOf } from "./servers/ports.ts";
import { announce, claim } from "./servers/running.ts";
import { until } from "./until.ts";

const USAGE = `usage: npm start [-- --port <port>]

Runs logship on this machine, with a job that ships into a local bucket. Ctrl-C ends it.

  --port <port>  where it listens, or the next free port after it (${DEFAULT_PORT})`;

/** The Worker that a newcomer calls to see an error. */
const SAMPLE_NAME = "sample";
const SAMPLE = `class PaymentError extends Error {
  name = "PaymentError";
}

function charge(order) {
  throw new PaymentError(\`order \${order}: the bank did not answer\`);
}

export default {
  fetch(request) {
    console.log("an order arrives", { order: 4711 });
    console.error("the first try failed", new Error("timeout after 3000 ms"));
    charge(4711);
  },
};
`;

/** The shortest interval of a job, in s. */
const INTERVAL_S = 30;

const FOUND_WITHIN_MS = 15_000;

/**
 * An OBJSTORE_ENDPOINT that is the local bucket behind some port, and not the developer's own
 * store.
 */
const LOCAL_ENDPOINT = /^https?:\/\/localhost(:\d+)?\/cdn-cgi\/local\/r2\/s3\/?$/;

const STATE = join(ROOT, ".wrangler/state");
const LOGS = join(ROOT, ".wrangler/log");

/** EXTRA_FIELDS where neither `.dev.vars` nor wrangler.jsonc says what it is. */
function extraFieldsOf(inDevVars: string | undefined): string {
  const vars = own(jsonc.parse(readFileSync(SHIPPER_CONFIG, "utf8")), "vars") ?? {};
  const inConfig = own(vars as Json, "EXTRA_FIELDS");
  return inDevVars ?? (typeof inConfig === "string" ? inConfig : STACK_FIELDS);
}

/**
 * Gives a service without jobs its first one, and uploads the sample Worker where it is missing.
 * @returns the line that says so; a service that refuses it runs all the same.
 */
async function begin(api: ApiClient, extraFields: string): Promise<string> {
  try {
    const jobs = await api.jobs();
    const known = await api.functions();
    const first = { ...firstJob(OWN_BUCKET, extraFields), max_upload_interval_seconds: INTERVAL_S };
    const job = jobs[0] ?? (await api.createJob(first));
    if (!known.some(({ id }) => id === SAMPLE_NAME)) {
      const files = { "index.js": ["application/javascript+module", SAMPLE] } as const;
      await api.uploadFunction(SAMPLE_NAME, { main_module: "index.js", logship: true }, files);
    }
    return jobs.length > 1
      ? `${jobs.length} jobs`
      : `job ${job.id} ships to ${job.destination_conf.replace(/\?.*/s, "")}`;
  } catch (error) {
    return `none was created: ${printable(error instanceof Error ? error.message : String(error))}`;
  }
}

async function main(wanted: number): Promise<number> {
  const signal = interruption();
  const other = claim();
  if (other !== null) {
    const where = other.url === null ? "is starting already" : `is running already on ${other.url}`;
    throw new Refusal(`logship ${where}, as process ${other.pid}, on the state of this checkout: ${shown(STATE)}`);
  }
  if (ensureDevVars()) console.log(`Created ${shown(DEV_VARS)}, with random secrets.`);
  const devVars = readDevVars();
  const { accountId = "local", objstoreEndpoint = "" } = devVars;
  const EXTRA_FIELDS = extraFieldsOf(devVars.extraFields);
  const isLocal = LOCAL_ENDPOINT.test(objstoreEndpoint);
  const [shipperLog, functionsLog] = [join(LOGS, "shipper.log"), join(LOGS, "functions.log")];
  mkdirSync(LOGS, { recursive: true, mode: 0o700 });
  for (const file of [shipperLog, functionsLog]) rmSync(file, { force: true });
  console.log("Starting …");

  const servers: LocalServer[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((each) => each.stop()));
  };
  let server: LocalServer;
  let host: LocalServer;
  try {
    // First, as the shipper is told its port.
    host = await startFunctionHost({
      port: portAfter(wanted),
      persistTo: join(STATE, "functions"),
      probe: "/",
      logFile: functionsLog,
      onLine: (line) => console.log(line),
      signal,
    });
    servers.push(host);
    const LOCAL_FUNCTIONS = host.url;
    server = await startDevServer({
      config: SHIPPER_CONFIG,
      port: wanted,
      persistTo: STATE,
      probe: "/",
      vars: (url): Record<string, string> => ({
        LOCAL_FUNCTIONS,
        EXTRA_FIELDS,
        // The port of the local bucket is the server's own.
        ...(isLocal && { OBJSTORE_ENDPOINT: localObjectStore(url) }),
      }),
      logFile: shipperLog,
      signal,
    });
    servers.push(server);
    await until({
      what: "the host of the Workers to find logship",
      withinMs: FOUND_WITHIN_MS,
      look: async () => host.output,
      enough: (output) => /logship\S* .*\[connected\]/.test(output),
    });
  } catch (error) {
    await stop();
    if (signal.aborted) return 130;
    console.error(`\nlogship did not start: ${error instanceof Error ? error.message : String(error)}`);
    console.error(`\nAll output is in ${shown(LOGS)}.`);
    return 1;
  }
  const account = `${server.url}/client/v4/accounts/${accountId}`;
  const jobs = await begin(new ApiClient(server.url, { token: devVars.adminToken, account: accountId }), EXTRA_FIELDS);
  announce(server.url);
  const lines = [
    "",
    `logship is running on port ${server.port}${server.port === wanted ? "" : ` (${wanted} is in use)`}.`,
    `  Sign in    ${signInLine(server.url, devVars)}`,
    `  Dashboard  ${server.url}/`,
    `  Jobs       ${jobs}`,
    `  Try it     curl http://${SAMPLE_NAME}.localhost:${host.port}/   throws an error`,
    `             ${server.url}/search?outcome=exception   shows it about 10 s later`,
    `  API        ${account}/logship  (${server.url}/docs), token: ADMIN_TOKEN in ${shown(DEV_VARS)}`,
    `  Bucket     ${isLocal ? `${localObjectStore(server.url)}/traces, keys local-access-key, local-secret-key` : `OBJSTORE_ENDPOINT of ${shown(DEV_VARS)}`}`,
    `  Workers    http://<name>.localhost:${host.port}/, once uploaded: PUT ${account}/functions/scripts/<name>`,
    `  Attach     npm run attach -- <folder of a Worker> --local`,
    `  Logs       ${shown(shipperLog)}, ${shown(functionsLog)}`,
    "",
    "Press Ctrl-C to stop. Whatever uploaded Workers log is shown here.",
    "",
  ];
  console.log(lines.join("\n"));
  const how = await Promise.race([
    aborted(signal),
    server.ended.then((end) => [`logship ended by itself (${end})`, server] as const),
    host.ended.then((end) => [`The host of the Workers ended by itself (${end})`, host] as const),
  ]);
  if (how === undefined) console.log("\nStopping.");
  else console.error(`\n${how[0]}:\n${how[1].excerpt}\n\nAll output is in ${shown(LOGS)}.`);
  await stop();
  return how === undefined ? 0 : 1;
}

await command(USAGE, PORT_OPTION, async ({ values, positionals }) => {
  onlyOptions(positionals);
  // Not `process.exitCode`: connections and timers of interrupted work would keep it alive.
  process.exit(await main(portOf(values)));
});
