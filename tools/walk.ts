/**
 * `npm run walk`: how many files and functions of `src` the first event of a job passes, from the
 * request that posts it to the object in the bucket; and one `GET /jobs`, which wakes the objects
 * that it asks. Functions are counted where they stand in the source, so that merging files does
 * not change their number.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ApiClient } from "./client/api-client.ts";
import { Bucket, localDestination } from "./client/bucket.ts";
import { argumentsOf } from "./command.ts";
import { localObjectStore, ROOT, SHIPPER_CONFIG } from "./paths.ts";
import { buildWorker, startDevServer } from "./servers/dev-server.ts";
import { pause, until } from "./until.ts";
import { instrument, type SourceFunction, WALKED_PATH } from "./walk/instrument.ts";

const USAGE = `usage: npm run walk [-- --list]

How many files and functions of src the first event of a job passes, and one GET /jobs.

  --list  names the functions, by file`;

/** An event is in the bucket within this, in ms: ten seconds in the queue, thirty in the log. */
const SHIPPED_MS = 90_000;

/** What follows an upload is done after this, in ms. */
const SETTLED_MS = 3_000;

/** The runtime evicts objects that were not called for ten seconds. */
const ASLEEP_MS = 20_000;

const { values } = argumentsOf(USAGE, { list: { type: "boolean", default: false } }, false);
const folder = mkdtempSync(join(tmpdir(), "logship-walk-"));
try {
  const built = await buildWorker(SHIPPER_CONFIG, folder);
  const functions = instrument(built.script, ROOT);
  const token = randomBytes(32).toString("base64url");
  const envFile = join(folder, "settings.env");
  const secrets = { ACCOUNT_ID: "local", ADMIN_TOKEN: token, SECRETS_KEY: randomBytes(32).toString("base64") };
  writeFileSync(
    envFile,
    Object.entries(secrets)
      .map((each) => `${each.join("=")}\n`)
      .join(""),
    { mode: 0o600 },
  );
  const server = await startDevServer({
    ...built,
    persistTo: join(folder, "state"),
    registry: join(folder, "registry"),
    envFile,
    probe: "/",
    vars: (url) => ({ OBJSTORE_ENDPOINT: localObjectStore(url), ALLOW_LOOPBACK_DESTINATIONS: "true" }),
  });
  try {
    const api = new ApiClient(server.url, { token });
    const bucket = new Bucket(server.url);
    const walked = async (): Promise<SourceFunction[]> => {
      const answer = await fetch(`${server.url}${WALKED_PATH}`);
      const passed = new Set(((await answer.json()) as number[]).flatMap((i) => functions[i] ?? []));
      return [...passed];
    };
    await api.createJob({ name: "walk", enabled: true, destination_conf: localDestination("walk/{DATE}") });
    await walked();
    await api.postEvents([event()]);
    await until({
      what: "an object",
      withinMs: SHIPPED_MS,
      look: () => bucket.list("walk/"),
      enough: (keys) => keys.some((key) => key.endsWith(".log.gz")),
    });
    await pause(SETTLED_MS);
    show("one POSTed event", await walked());
    await pause(ASLEEP_MS);
    await walked();
    await api.jobs();
    show("one GET /jobs", await walked());
  } finally {
    await server.stop();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** As a Worker's own sender posts one. */
function event(): object {
  const at = Date.now();
  return {
    ...{ ScriptName: "shop", EventTimestampMs: at, EventType: "fetch", Outcome: "ok" },
    Event: { Request: { URL: "https://shop.example/cart", Method: "GET" }, Response: { Status: 200 } },
    Logs: [{ Level: "log", Message: ["added"], TimestampMs: at }],
    Exceptions: [],
  };
}

function show(what: string, passed: readonly SourceFunction[]): void {
  const files = [...Map.groupBy(passed, ({ file }) => file)].sort();
  console.log(`${what}: ${files.length} files, ${passed.length} functions`);
  if (values.list)
    for (const [file, own] of files)
      console.log(
        `  ${file}: ${own
          .map(({ line }) => line)
          .sort((a, b) => a - b)
          .join(" ")}`,
      );
}
