/** The shipper alone, on this machine: `wrangler dev` with `.dev.vars`, state kept in `.wrangler/state`, until Ctrl-C. */
import { join, relative } from "node:path";
import { parseArgs, stripVTControlCharacters } from "node:util";
import { localDestination } from "./bucket.ts";
import { DevServer } from "./dev-server.ts";
import { ensureDevVars, readDevVars } from "./dev-vars.ts";
import { DEFAULT_PORT, DEV_VARS, localObjectStore, ROOT, SHIPPER_CONFIG } from "./paths.ts";

/** An OBJSTORE_ENDPOINT that is the local bucket behind some port, and not a store of the developer's own. */
const LOCAL_ENDPOINT = /^https?:\/\/localhost(:\d+)?\/cdn-cgi\/local\/r2\/s3\/?$/;

function readPort(): number {
  try {
    const { port } = parseArgs({ options: { port: { type: "string" } } }).values;
    if (port === undefined) return DEFAULT_PORT;
    if (/^\d{1,5}$/.test(port) && Number(port) > 0 && Number(port) <= 65_535) return Number(port);
  } catch {
    // Said below.
  }
  console.error("usage: npm start [-- --port <1 to 65535>]");
  process.exit(2);
}

async function main(): Promise<number> {
  const wanted = readPort();
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
  let server: DevServer;
  try {
    server = await DevServer.start({
      config: SHIPPER_CONFIG,
      port: wanted,
      persistTo: state,
      probe: "/",
      // The local bucket is wherever this server is.
      vars: (url): Record<string, string> => (isLocal ? { OBJSTORE_ENDPOINT: localObjectStore(url) } : {}),
      onOutput: (text) => process.stdout.write(process.stdout.isTTY ? text : stripVTControlCharacters(text)),
      signal: interruption.signal,
    });
  } catch (error) {
    if (interruption.signal.aborted) return 130;
    console.error(
      `\nThe shipper did not start. ${error instanceof Error ? error.message.split("\n")[0] : String(error)}`,
    );
    return 1;
  }
  const api = `${server.url}/client/v4/accounts/${accountId}/logship`;
  const body = JSON.stringify({ name: "first", enabled: true, destination_conf: localDestination("logs/{DATE}") });
  const lines = [
    "",
    `The shipper runs${server.port === wanted ? "" : `; port ${wanted} is taken`}.`,
    `  API    ${api}/jobs`,
    `  Token  ADMIN_TOKEN in ${file}`,
    `  State  ${relative(process.cwd(), state)}, kept from start to start`,
    ...(isLocal
      ? [`  Bucket ${localObjectStore(server.url)}/traces`]
      : [`  objstore:// leads to OBJSTORE_ENDPOINT of ${file}, not to the local bucket`]),
    "",
    "A job that ships into the local bucket:",
    "",
    `  TOKEN=$(sed -n 's/^ADMIN_TOKEN=//p' ${file} | tr -d '"')`,
    `  curl -sS ${api}/jobs -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" -d '${body}'`,
    "",
    "Press Ctrl-C to stop.",
    "",
  ];
  console.log(lines.join("\n"));
  const how = await Promise.race([interrupted, server.ended]);
  if (how !== undefined) {
    console.error(`\nThe shipper ended by itself (${how}).`);
    return 1;
  }
  console.log("\nStopping.");
  await server.stop();
  return 0;
}

process.exit(await main());
