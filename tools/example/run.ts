/**
 * `npm run example`: the application of examples/ssr-app, built and served beside the shipper, with
 * a job that ships its traces into a bucket. Everything runs on this machine, in its own state
 * folder, until Ctrl-C.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { command, onlyOptions } from "../command.ts";
import { DEFAULT_PORT, EXAMPLE_APP, ROOT, shown } from "../paths.ts";
import { type Foreground, portWords, runInForeground } from "../servers/foreground.ts";
import type { LocalServer } from "../servers/local-server.ts";
import { type LocalShipper, shipInto, shipperLines, showAll, startLocalShipper } from "../servers/local-shipper.ts";
import { PORT_OPTION, portAfter, portOf } from "../servers/ports.ts";
import {
  arePackagesInstalled,
  BUILT_SECRETS,
  buildExample,
  copyExample,
  installPackages,
  SHOP_NAME,
  startShop,
} from "./app.ts";

const FOLDER = "tea-shop";

interface Running extends Pick<Foreground, "say" | "state"> {
  readonly shipper: LocalShipper;
  readonly shop: LocalServer;
}

async function start(foreground: Foreground, port: number): Promise<Running> {
  const { state, signal, say, keep } = foreground;
  if (!arePackagesInstalled()) {
    say(`Installing the packages of ${shown(EXAMPLE_APP)}: npm ci …`);
    await installPackages(signal);
  }
  const app = join(state, "app");
  say(`Building a copy of ${shown(EXAMPLE_APP)}: vite build …`);
  copyExample(app);
  const secrets = { PAYMENT_TOKEN: randomBytes(24).toString("base64url"), SHOP_ADDRESS: "Tea shop, Harbour Street 1" };
  await buildExample(app, secrets, { signal, logFile: join(state, "build.log") });
  const shipper = await startLocalShipper(foreground, SHOP_NAME, port);
  say(`Starting the shop ${SHOP_NAME}: vite preview, with logship as its tail consumer …`);
  const wanted = portAfter(shipper.server.port);
  const shop = await startShop({
    app,
    state: join(state, "shop"),
    registry: shipper.registry,
    port: wanted,
    logFile: join(state, "shop.log"),
    signal,
  });
  keep("the shop", shop);
  say(`The shop answers on ${portWords(shop, wanted)}.`);
  return { shipper, shop, say, state };
}

function sayWhereThingsAre({ shipper, shop, state }: Running, job: number): void {
  const lines = [
    "",
    "  Where things are:",
    `    Kinds   ${shop.url}/kinds: every kind of trace event, each with what causes it`,
    `    Shop    ${shop.url}/: its pages; ${shop.url}/about is an asset, which leaves no record`,
    `    Bank    POST ${shop.url}/payments; its token is PAYMENT_TOKEN in ${shown(join(state, "app", BUILT_SECRETS))}`,
    ...shipperLines(shipper),
    `    Job     ${shipper.server.url}/jobs/${job}; its records as they arrive: ${shipper.server.url}/live`,
    `    State   ${shown(state)}: removed at the end; logs are shipper.log and shop.log there`,
    "",
    "  Records of the shop are shipped, and shown here, within 45 s; or sooner, after the 12 s in the queue, by triggering the schedule:",
    `    curl '${shipper.api.scheduledUrl}'`,
    "  Press Ctrl-C to stop.",
  ];
  console.log(lines.join("\n"));
}

const USAGE = `usage: npm run example [-- --port <port>]

Builds and serves the application of examples/ssr-app beside logship, with a job that ships its
records into a bucket on this machine. Ctrl-C ends it.

  --port <port>  where logship listens, or the next free port after it (${DEFAULT_PORT})`;

await command(USAGE, PORT_OPTION, async ({ values, positionals }) => {
  onlyOptions(positionals);
  const port = portOf(values);
  const exitCode = await runInForeground<Running>({
    name: "The example",
    states: join(ROOT, ".wrangler/example"),
    start: (foreground) => start(foreground, port),
    work: async (running) => {
      sayWhereThingsAre(running, await shipInto(FOLDER, "example", running.shipper.api, running.say));
      return 0;
    },
    stay: ({ shipper }) => showAll(shipper.bucket, FOLDER),
  });
  // Not `process.exitCode`: connections and timers of interrupted work would keep it alive.
  process.exit(exitCode);
});
