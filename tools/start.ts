/**
 * `npm start`: the shipper on this machine, and the host of uploaded functions beside it, until
 * Ctrl-C. Settings are in `.dev.vars`; state is kept in `.wrangler/state`.
 */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DEV_VARS, localObjectStore, ROOT, SHIPPER_CONFIG, shown } from "./paths.ts";
import { startDevServer } from "./servers/dev-server.ts";
import { ensureDevVars, readDevVars, signInLine } from "./servers/dev-vars.ts";
import { aborted, interruption } from "./servers/foreground.ts";
import { startFunctionHost } from "./servers/function-host.ts";
import type { LocalServer } from "./servers/local-server.ts";
import { portAfter, readPort } from "./servers/ports.ts";

/**
 * An OBJSTORE_ENDPOINT that is the local bucket behind some port, and not the developer's own
 * store.
 */
const LOCAL_ENDPOINT = /^https?:\/\/localhost(:\d+)?\/cdn-cgi\/local\/r2\/s3\/?$/;

const STATE = join(ROOT, ".wrangler/state");
const LOGS = join(ROOT, ".wrangler/log");

async function main(): Promise<number> {
  const wanted = readPort("npm start");
  const signal = interruption();
  if (ensureDevVars()) console.log(`Created ${shown(DEV_VARS)}, with random secrets.`);
  const devVars = readDevVars();
  const { accountId = "local", objstoreEndpoint = "" } = devVars;
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
        // The port of the local bucket is the server's own.
        ...(isLocal && { OBJSTORE_ENDPOINT: localObjectStore(url) }),
      }),
      logFile: shipperLog,
      signal,
    });
    servers.push(server);
  } catch (error) {
    await stop();
    if (signal.aborted) return 130;
    console.error(`\nThe shipper did not start: ${error instanceof Error ? error.message : String(error)}`);
    console.error(`\nAll output is in ${shown(LOGS)}.`);
    return 1;
  }
  const account = `${server.url}/client/v4/accounts/${accountId}`;
  const lines = [
    "",
    `The shipper runs${server.port === wanted ? "" : `; port ${wanted} is taken`}.`,
    `  Sign in    ${signInLine(server.url, devVars)}`,
    `  Dashboard  ${server.url}/`,
    `  API        ${account}/logship  (${server.url}/docs), token: ADMIN_TOKEN in ${shown(DEV_VARS)}`,
    `  Bucket     ${isLocal ? `${localObjectStore(server.url)}/traces, keys local-access-key, local-secret-key` : `OBJSTORE_ENDPOINT of ${shown(DEV_VARS)}`}`,
    `  Functions  http://<name>.localhost:${host.port}/, once uploaded: PUT ${account}/functions/scripts/<name>`,
    `  Attach     npm run attach -- <folder of a Worker> --local`,
    `  Logs       ${shown(shipperLog)}, ${shown(functionsLog)}`,
    "",
    "Press Ctrl-C to stop. What functions log is shown here.",
    "",
  ];
  console.log(lines.join("\n"));
  const how = await Promise.race([
    aborted(signal),
    server.ended.then((end) => [`The shipper ended by itself (${end})`, server] as const),
    host.ended.then((end) => [`The host of the functions ended by itself (${end})`, host] as const),
  ]);
  if (how === undefined) console.log("\nStopping.");
  else console.error(`\n${how[0]}:\n${how[1].excerpt}\n\nAll output is in ${shown(LOGS)}.`);
  await stop();
  return how === undefined ? 0 : 1;
}

process.exit(await main());
