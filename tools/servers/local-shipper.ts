/**
 * The shipper beside one function whose trace events it gets: the base of the demo and the example.
 */
import { join } from "node:path";
import { ApiClient } from "../client/api-client.ts";
import { Bucket, LOCAL_BUCKET, localDestination } from "../client/bucket.ts";
import { objectLines, recordsOf, type TraceRecord } from "../client/show.ts";
import { DEFAULT_PORT, DEV_VARS, localObjectStore, SHIPPER_CONFIG, shown } from "../paths.ts";
import { pause } from "../until.ts";
import { startDevServer } from "./dev-server.ts";
import { ensureDevVars, readDevVars, signInLine } from "./dev-vars.ts";
import { type Foreground, portWords } from "./foreground.ts";
import type { LocalServer } from "./local-server.ts";

const ACCOUNT = "local";

const LOOK_FOR_OBJECTS_MS = 2_000;

export interface LocalShipper {
  readonly server: LocalServer;
  readonly api: ApiClient;
  readonly bucket: Bucket;
  /** Folder in which it and the function find each other. */
  readonly registry: string;
  /** A link that signs in once. */
  readonly signIn: string;
}

/**
 * @param functionName for every trace event: the local runtime does not name the function.
 * @throws Error with wrangler's output if it does not start.
 */
export async function startLocalShipper(
  { state, signal, say, keep }: Foreground,
  functionName: string,
  port: number = DEFAULT_PORT,
): Promise<LocalShipper> {
  const created = ensureDevVars();
  if (created) say(`Created ${shown(DEV_VARS)}, with random secrets.`);
  const devVars = readDevVars();
  say("Starting logship, with a local queue, durable objects and S3 endpoint …");
  const registry = join(state, "registry");
  const server = await startDevServer({
    config: SHIPPER_CONFIG,
    port,
    persistTo: join(state, "shipper"),
    registry,
    logFile: join(state, "shipper.log"),
    probe: "/",
    vars: (url) => ({
      ACCOUNT_ID: ACCOUNT,
      OBJSTORE_ENDPOINT: localObjectStore(url),
      ALLOW_LOOPBACK_DESTINATIONS: "true",
      DEFAULT_SCRIPT_NAME: functionName,
    }),
    signal,
  });
  keep("logship", server);
  say(`logship is running on ${portWords(server, port)}.`);
  const api = new ApiClient(server.url, { token: devVars.adminToken, account: ACCOUNT });
  return { server, api, bucket: new Bucket(server.url), registry, signIn: signInLine(server.url, devVars) };
}

/** How to get at the pages, the API and the bucket. */
export function shipperLines({ server, api, bucket, signIn }: LocalShipper): string[] {
  return [
    `    Sign in ${signIn}`,
    `    Pages   ${server.url}/`,
    `    API     ${api.url}, token: ADMIN_TOKEN in ${shown(DEV_VARS)}`,
    `    Bucket  ${bucket.url}`,
    `            S3, region auto, keys ${LOCAL_BUCKET.accessKeyId} / ${LOCAL_BUCKET.secretAccessKey}`,
  ];
}

/** The shortest interval of a job, in s. */
const INTERVAL_S = 30;

/** Creates a job that ships into a folder of the local bucket. @returns its id. */
export async function shipInto(folder: string, name: string, api: ApiClient, say: Foreground["say"]): Promise<number> {
  const { id } = await api.createJob({
    ...{ name, enabled: true, destination_conf: localDestination(`${folder}/{DATE}`) },
    max_upload_interval_seconds: INTERVAL_S,
  });
  const place = `objstore://${LOCAL_BUCKET.name}/${folder}/{DATE}`;
  say(`POST /jobs: job ${id} ships to ${place}, after ${INTERVAL_S} s at the latest.`);
  return id;
}

/** Reads and shows the objects of a folder that are not known yet. */
export async function showNew(
  bucket: Bucket,
  folder: string,
  known: ReadonlySet<string>,
): Promise<{ key: string; records: TraceRecord[] }[]> {
  const keys = (await bucket.list(`${folder}/`)).filter((key) => !known.has(key) && key.endsWith(".log.gz"));
  const read = [];
  for (const key of keys) {
    const object = { key, bytes: await bucket.get(key) };
    const records = recordsOf(object);
    console.log(["", ...objectLines(object, records).map((line) => `  ${line}`)].join("\n"));
    read.push({ key, records });
  }
  return read;
}

/** Shows every object written into a folder from now on, and adds it to `known`. */
export async function showAll(bucket: Bucket, folder: string, known: Set<string> = new Set()): Promise<never> {
  for (;;) {
    for (const { key } of await showNew(bucket, folder, known)) known.add(key);
    await pause(LOOK_FOR_OBJECTS_MS);
  }
}
