/** The two processes of the demo, with all their state in a folder of its own. */
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { ApiClient } from "../tools/api-client.ts";
import { Bucket } from "../tools/bucket.ts";
import { type BuiltWorker, buildWorker, startDevServer } from "../tools/dev-server.ts";
import { ensureDevVars, readDevVars } from "../tools/dev-vars.ts";
import type { LocalServer } from "../tools/local-server.ts";
import { DEFAULT_PORT, DEV_VARS, localObjectStore, ROOT, SHIPPER_CONFIG } from "../tools/paths.ts";
import { until } from "../tools/until.ts";
import { SAMPLE_NAME } from "./events.ts";

const ACCOUNT = "local";
const STATES = join(ROOT, ".wrangler/demo");
const SAMPLE_CONFIG = join(ROOT, "demo/sample/wrangler.jsonc");

export interface Running {
  readonly shipper: LocalServer;
  readonly sample: LocalServer;
  readonly api: ApiClient;
  readonly bucket: Bucket;
}

export interface StartOptions {
  /** Of {@link freshState}. */
  readonly state: string;
  /** Ends a start that is under way. */
  readonly signal: AbortSignal;
  /** Told of each step. */
  readonly say: (text: string) => void;
  /** Gets each server as soon as it runs, for whoever must stop it. */
  readonly servers: LocalServer[];
}

/** A path as the user would write it. */
export function shown(path: string): string {
  return relative(process.cwd(), path) || ".";
}

/** A folder for this run; those of runs that were killed are removed. */
export function freshState(): string {
  mkdirSync(STATES, { recursive: true });
  for (const name of readdirSync(STATES)) {
    const pid = Number(/^run-(\d+)$/.exec(name)?.[1]);
    if (Number.isInteger(pid) && !isAlive(pid)) rmSync(join(STATES, name), { recursive: true, force: true });
  }
  const state = join(STATES, `run-${process.pid}`);
  mkdirSync(state);
  return state;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Somebody else's process is alive as well.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

function portWords(server: LocalServer, wanted: number): string {
  return server.port === wanted ? server.url : `${server.url} (port ${wanted} is taken)`;
}

/** @throws Error with wrangler's own words if one of them does not start. */
export async function start(options: StartOptions): Promise<Running> {
  const { state, say } = options;
  const created = ensureDevVars();
  say(
    created ? `Secrets: created ${shown(DEV_VARS)}, with fresh random ones.` : `Secrets: those of ${shown(DEV_VARS)}.`,
  );
  const { adminToken } = readDevVars();
  const building = buildWorker(SAMPLE_CONFIG, join(state, "sample"));
  try {
    const shipper = await startShipper(options);
    const sample = await startSample(await building, shipper.port + 1, options);
    const api = new ApiClient(shipper.url, { token: adminToken, account: ACCOUNT });
    return { shipper, sample, api, bucket: new Bucket(shipper.url) };
  } finally {
    // If the shipper did not start, that is what counts; but nothing may be left writing.
    await building.catch(() => {});
  }
}

async function startShipper({ state, signal, say, servers }: StartOptions): Promise<LocalServer> {
  say("Starting the shipper: wrangler dev, with a local queue, durable objects and S3 endpoint …");
  const shipper = await startDevServer({
    config: SHIPPER_CONFIG,
    persistTo: join(state, "shipper"),
    registry: join(state, "registry"),
    logFile: join(state, "shipper.log"),
    probe: "/",
    vars: (url) => ({
      ACCOUNT_ID: ACCOUNT,
      OBJSTORE_ENDPOINT: localObjectStore(url),
      ALLOW_LOOPBACK_DESTINATIONS: "true",
      // Local development does not say which function an event is of.
      DEFAULT_SCRIPT_NAME: SAMPLE_NAME,
    }),
    signal,
  });
  servers.push(shipper);
  say(`The shipper answers on ${portWords(shipper, DEFAULT_PORT)}.`);
  return shipper;
}

/**
 * After the shipper: what a function logs before its consumer is there, is lost. Built, not from source: there, wrangler dev swallows what a
 * function throws.
 */
async function startSample(
  built: BuiltWorker,
  port: number,
  { state, signal, say, servers }: StartOptions,
): Promise<LocalServer> {
  say(`Starting the sample function ${SAMPLE_NAME}, with the shipper as its tail consumer …`);
  const sample = await startDevServer({
    ...built,
    port,
    persistTo: join(state, "sample-state"),
    registry: join(state, "registry"),
    logFile: join(state, "sample.log"),
    signal,
  });
  servers.push(sample);
  await until({
    what: "the sample function to find the shipper",
    withinMs: 15_000,
    look: async () => sample.output.includes("logship [connected]"),
    enough: Boolean,
  });
  say(`The sample function answers on ${portWords(sample, port)}.`);
  return sample;
}
