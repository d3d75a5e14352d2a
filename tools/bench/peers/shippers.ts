/** The shippers that are compared: how each is started, and what it has stored by its answer. */
import { spawnSync } from "node:child_process";
import { accessSync, constants, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { IsolatedShipper } from "../../../test/e2e/shipper.ts";
import { claimPort } from "../../servers/ports.ts";
import { SupervisedProcess, toolEnv } from "../../servers/supervised.ts";
import { until } from "../../until.ts";
import { processCpuMs, runtimes } from "../cpu-clock.ts";
import { bentoConfig, fluentBitConfig, OBJECT_RECORDS, PEER_BUCKET, PEER_KEYS, type PeerPlace } from "./configs.ts";
import { PEER_WORKS, type PeerWork } from "./records.ts";

/** A shipper that runs. */
export interface Running {
  /** Events are POSTed here… */
  url: string;
  /** …with these headers. */
  headers: Readonly<Record<string, string>>;
  cpuMs(): number;
  /** Its latest output. */
  output(): string;
  stop(): Promise<void>;
}

/** One that is compared. */
export interface Contender {
  title: string;
  /** What it has written down when it has answered a request. */
  durable: string;
  start(store: string, work: PeerWork): Promise<Running>;
}

interface Peer {
  title: string;
  durable: string;
  config(work: PeerWork, place: PeerPlace): object;
  /** What it takes as newline-delimited JSON. */
  contentType: string;
}

/** By the name of the program, in the order of the table. */
export const PEERS: { readonly [program: string]: Peer } = {
  bento: {
    title: "Bento",
    // https://warpstreamlabs.github.io/bento/docs/components/buffers/memory
    durable: "nothing: buffer in memory",
    config: bentoConfig,
    contentType: "application/x-ndjson",
  },
  "fluent-bit": {
    title: "Fluent Bit",
    // https://docs.fluentbit.io/manual/administration/buffering-and-storage
    durable: "nothing: buffer in memory",
    config: fluentBitConfig,
    contentType: "application/json",
  },
};

/** Where peers look for a free port first. */
const FIRST_PORT = 14_600;

const READY_WITHIN_MS = 30_000;

/** @param given paths of programs; the others are looked for on the PATH. */
export function contenders(given: Readonly<Record<string, string | undefined>>): {
  found: Contender[];
  without: string[];
} {
  const found: Contender[] = [LOGSHIP];
  const without: string[] = [];
  for (const [program, peer] of Object.entries(PEERS)) {
    const binary = given[program] ?? onPath(program);
    if (binary === undefined) without.push(`${peer.title}: not on the PATH; give it with --${program}=<path>`);
    else
      found.push({
        ...{ title: `${peer.title} ${versionOf(binary)}`, durable: peer.durable },
        start: (store, work) => startPeer(peer, binary, store, work),
      });
  }
  return { found, without };
}

/** @throws Error with its output if it does not answer in time. */
async function startPeer(
  { config, contentType }: Peer,
  binary: string,
  store: string,
  work: PeerWork,
): Promise<Running> {
  const folder = mkdtempSync(join(tmpdir(), "logship-peer-"));
  const { port, release } = await claimPort(FIRST_PORT);
  const data = join(folder, "data");
  mkdirSync(data);
  const file = join(folder, "config.yaml");
  writeFileSync(file, JSON.stringify(config(work, { port, store, folder: data }), null, 2));
  // No configuration or credentials of the user's own.
  const keys = { AWS_ACCESS_KEY_ID: PEER_KEYS.id, AWS_SECRET_ACCESS_KEY: PEER_KEYS.secret };
  const env = toolEnv({ HOME: folder, AWS_EC2_METADATA_DISABLED: "true", ...keys });
  const child = new SupervisedProcess({ argv: [binary, "-c", file], cwd: folder, env });
  const url = `http://127.0.0.1:${port}/`;
  const stop = async (): Promise<void> => {
    await child.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  let hasEnded = false;
  child.ended.then(() => {
    hasEnded = true;
  });
  try {
    await until({
      what: `${binary} to answer`,
      withinMs: READY_WITHIN_MS,
      look: () =>
        fetch(url, { signal: AbortSignal.timeout(2_000) }).then(
          () => true,
          () => hasEnded,
        ),
      enough: (isOver) => isOver,
    });
    if (hasEnded) throw new Error(`${binary} does not answer:\n${child.excerpt}`);
  } catch (error) {
    await stop();
    throw error;
  } finally {
    release();
  }
  const headers = { "content-type": contentType };
  return { url, headers, cpuMs: () => processCpuMs([child.group ?? 0]), output: () => child.excerpt, stop };
}

/** The job that does this work; its interval is the shortest that there is. */
export function logshipJob(work: PeerWork, store: string): Record<string, unknown> {
  const { filter, fieldNames } = PEER_WORKS[work];
  const query = new URLSearchParams({
    ...{ region: "auto", endpoint: store },
    ...{ "access-key-id": PEER_KEYS.id, "secret-access-key": PEER_KEYS.secret },
  });
  return {
    ...{ enabled: true, destination_conf: `s3://${PEER_BUCKET}/logship/{DATE}?${query}` },
    ...{ max_upload_records: OBJECT_RECORDS, max_upload_interval_seconds: 30 },
    ...(filter !== null && { filter }),
    ...(fieldNames !== null && { output_options: { field_names: fieldNames } }),
  };
}

/**
 * The Worker under `wrangler dev`, with the settings of wrangler.jsonc. Its CPU time is that of the
 * local runtime: with the proxy before the Worker, the queue, and the storage of all objects.
 */
export const LOGSHIP: Contender = {
  title: "logship",
  durable: "every record, in the queue",
  async start(store, work) {
    const shipper = await IsolatedShipper.start();
    try {
      await shipper.api.createJob(logshipJob(work, store));
      const pids = runtimes(process.pid);
      if (pids.length === 0) throw new Error("CPU time of processes cannot be read here: there is no /proc");
      return {
        url: `${shipper.api.url}/datasets/functions_trace_events/events`,
        headers: { "content-type": "application/x-ndjson", authorization: `Bearer ${shipper.token}` },
        cpuMs: () => processCpuMs(pids),
        output: () => shipper.output.slice(-4_000),
        stop: () => shipper[Symbol.asyncDispose](),
      };
    } catch (error) {
      await shipper[Symbol.asyncDispose]();
      throw error;
    }
  },
};

/** The path of a program on the PATH; undefined if there is none. */
export function onPath(name: string, path = process.env.PATH ?? ""): string | undefined {
  const files = path.split(delimiter).map((folder) => join(folder, name));
  return files.find((file) => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** @throws if there is no such program. */
function versionOf(binary: string): string {
  const { error, stdout, stderr } = spawnSync(binary, ["--version"], { encoding: "utf8", timeout: 10_000 });
  if (error !== undefined) throw new Error(`${binary}: ${error.message}`);
  return /\bv?(\d+\.\d+(?:\.\d+)?(?:[-+][\w.-]+)?)/.exec(`${stdout}\n${stderr}`)?.[1] ?? "unknown version";
}
