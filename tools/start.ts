/** The shipper on this machine, and the host of uploaded functions beside it: `wrangler dev` with `.dev.vars`, state kept in `.wrangler/state`, until Ctrl-C. */
import { join, relative } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { localDestination } from "./client/bucket.ts";
import { foldObjects } from "./fold.ts";
import { DEV_VARS, localObjectStore, ROOT, SHIPPER_CONFIG } from "./paths.ts";
import { startDevServer } from "./servers/dev-server.ts";
import { ensureDevVars, readDevVars } from "./servers/dev-vars.ts";
import { NO_EXPLORER, startFunctionHost } from "./servers/function-host.ts";
import type { LocalServer } from "./servers/local-server.ts";
import { portAfter, readPort } from "./servers/ports.ts";

/** An OBJSTORE_ENDPOINT that is the local bucket behind some port, and not a store of the developer's own. */
const LOCAL_ENDPOINT = /^https?:\/\/localhost(:\d+)?\/cdn-cgi\/local\/r2\/s3\/?$/;

async function main(): Promise<number> {
  const wanted = readPort("npm start");
  const interruption = new AbortController();
  const interrupted = new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      process.on(signal, () => {
        interruption.abort(new Error("interrupted"));
        resolve();
      });
    }
  });

  const file = relative(process.cwd(), DEV_VARS);
  console.log(ensureDevVars() ? `Created ${file}, with fresh random secrets.` : `Using the secrets of ${file}.`);
  const { accountId = "local", objstoreEndpoint = "" } = readDevVars();
  const isLocal = LOCAL_ENDPOINT.test(objstoreEndpoint);
  const state = join(ROOT, ".wrangler/state");
  let isStopping = false;
  const show = (text: string): void => {
    // A build that is under way dies loudly.
    if (isStopping) return;
    process.stdout.write(process.stdout.isTTY ? text : stripVTControlCharacters(text));
  };
  const [onOutput, onHostOutput] = [foldObjects(show), foldObjects(show)];
  const servers: LocalServer[] = [];
  const stop = async (): Promise<void> => {
    isStopping = true;
    await Promise.all(servers.map((each) => each.stop()));
  };
  let server: LocalServer;
  let host: LocalServer;
  try {
    // First: the shipper is told where it is. From its start on it prints what the functions log.
    let hostRuns = false;
    host = await startFunctionHost({
      port: portAfter(wanted),
      persistTo: join(state, "functions"),
      probe: "/",
      onOutput: (text) => hostRuns && onHostOutput(text),
      signal: interruption.signal,
    });
    servers.push(host);
    const functions = host.url;
    server = await startDevServer({
      config: SHIPPER_CONFIG,
      port: wanted,
      persistTo: state,
      probe: "/",
      vars: (url): Record<string, string> => ({
        LOCAL_FUNCTIONS: functions,
        // The local bucket is wherever this server is.
        ...(isLocal && { OBJSTORE_ENDPOINT: localObjectStore(url) }),
      }),
      // Pages of functions are foreign: one could show the explorer in a frame, and have its visitor click there.
      environment: NO_EXPLORER,
      onOutput,
      signal: interruption.signal,
    });
    servers.push(server);
    hostRuns = true;
  } catch (error) {
    await stop();
    if (interruption.signal.aborted) return 130;
    console.error(
      `\nThe shipper did not start. ${error instanceof Error ? error.message.split("\n")[0] : String(error)}`,
    );
    return 1;
  }
  const account = `${server.url}/client/v4/accounts/${accountId}`;
  const api = `${account}/logship`;
  const body = JSON.stringify({ name: "first", enabled: true, destination_conf: localDestination("logs/{DATE}") });
  const lines = [
    "",
    `The shipper runs${server.port === wanted ? "" : `; port ${wanted} is taken`}.`,
    `  Dashboard ${server.url}/`,
    `  API       ${api}/jobs`,
    `  Docs      ${server.url}/docs`,
    `  Functions http://<script_name>.localhost:${host.port}/, once uploaded to ${account}/functions/scripts/<script_name>`,
    `  Token     ADMIN_TOKEN in ${file}`,
    `  State     ${relative(process.cwd(), state)}, kept from start to start`,
    ...(isLocal
      ? [`  Bucket    ${localObjectStore(server.url)}/traces`]
      : [`  objstore:// leads to OBJSTORE_ENDPOINT of ${file}, not to the local bucket`]),
    "",
    "Sign in to the dashboard with the token, and create a job there; or here, one that ships into the local bucket:",
    "",
    `  TOKEN=$(sed -n 's/^ADMIN_TOKEN=//p' ${file} | tr -d '"')`,
    `  curl -sS ${api}/jobs -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" -d '${body}'`,
    "",
    "Press Ctrl-C to stop.",
    "",
  ];
  console.log(lines.join("\n"));
  const how = await Promise.race([
    interrupted,
    server.ended.then((end) => `The shipper ended by itself (${end}).`),
    host.ended.then((end) => `The host of the functions ended by itself (${end}).`),
  ]);
  console[how === undefined ? "log" : "error"](`\n${how ?? "Stopping."}`);
  await stop();
  return how === undefined ? 0 : 1;
}

process.exit(await main());
