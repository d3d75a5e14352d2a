/** The shippers that are compared: how each is started, and what it has promised by its answer. */
import { IsolatedShipper } from "../../../test/e2e/shipper.ts";
import { processCpuMs, runtimes } from "../cpu-clock.ts";
import {
  bentoConfig,
  fluentBitConfig,
  OBJECT_RECORDS,
  otelcolConfig,
  PEER_BUCKET,
  PEER_KEYS,
  type PeerPlace,
  vectorConfig,
} from "./configs.ts";
import { PEER_WORKS, type PeerWork } from "./input.ts";
import { ShipperProcess } from "./shipper-process.ts";

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

/** What it has written down when it has answered a request, and where that is documented. */
export interface Durable {
  /** In a few words. */
  what: string;
  more: string;
  source: string;
}

export interface Peer {
  title: string;
  durable: Durable;
  /** Names of the program, as it may be on the PATH. */
  programs: readonly string[];
  config(work: PeerWork, place: PeerPlace): object;
  args(file: string): readonly string[];
  /** What it takes as newline-delimited JSON. */
  contentType: string;
}

/** In the order of the table. */
export const PEERS = {
  bento: {
    title: "Bento",
    durable: {
      what: "nothing",
      more: "its buffer is in memory; without one it answers when the object is stored",
      source: "https://warpstreamlabs.github.io/bento/docs/components/buffers/memory",
    },
    programs: ["bento"],
    config: bentoConfig,
    args: (file) => ["-c", file],
    contentType: "application/x-ndjson",
  },
  "fluent-bit": {
    title: "Fluent Bit",
    durable: {
      what: "nothing",
      more: "its buffer is in memory, unless the input's storage is a file system",
      source: "https://docs.fluentbit.io/manual/administration/buffering-and-storage",
    },
    programs: ["fluent-bit"],
    config: fluentBitConfig,
    args: (file) => ["-c", file],
    contentType: "application/json",
  },
  vector: {
    title: "Vector",
    durable: {
      what: "nothing",
      more: "its buffer is in memory, unless it is on disk or acknowledgements are on",
      source: "https://vector.dev/docs/architecture/buffering-model/",
    },
    programs: ["vector"],
    config: vectorConfig,
    args: (file) => ["--quiet", "--config-yaml", file],
    contentType: "application/x-ndjson",
  },
  otelcol: {
    title: "OpenTelemetry Collector",
    durable: {
      what: "nothing",
      more: "its queue is in memory, unless it has a storage",
      source: "https://github.com/open-telemetry/opentelemetry-collector/blob/main/exporter/exporterhelper/README.md",
    },
    programs: ["otelcol-contrib", "otelcol"],
    config: otelcolConfig,
    args: (file) => ["--config", file],
    contentType: "application/x-ndjson",
  },
} as const satisfies Record<string, Peer>;

export type PeerName = keyof typeof PEERS;
export const PEER_NAMES = Object.keys(PEERS) as PeerName[];

export const LOGSHIP: Pick<Peer, "title" | "durable"> = {
  title: "logship",
  durable: {
    what: "every record",
    more: "in the queue, then as committed rows until it is stored once; the local queue is in memory, Cloudflare's is not",
    source: "docs/delivery.md",
  },
};

export async function startPeer(peer: Peer, binary: string, store: string, work: PeerWork): Promise<Running> {
  const started = await ShipperProcess.start(binary, store, (place) => peer.config(work, place), peer.args);
  return {
    url: started.url,
    headers: { "content-type": peer.contentType },
    cpuMs: () => processCpuMs([started.pid]),
    output: () => started.output,
    stop: () => started.stop(),
  };
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
export async function startLogship(store: string, work: PeerWork): Promise<Running> {
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
}
