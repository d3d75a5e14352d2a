import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { openSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import type { OpenDestination } from "../../src/ship/destinations/destination.ts";
import { openDestination } from "../../src/ship/destinations/kinds.ts";
import { parseDestination } from "../../src/ship/destinations/parse.ts";
import { pickPort } from "../servers/ports.ts";
import { pause, until } from "../until.ts";

const USAGE = `npm run receivers

Ships 5,000 events of each of three days to every receiver that is installed, kills it in the
middle (SIGKILL), and asks it for each event.

  --events <n>   events of a day (5000)

LOKI and OTELCOL name the programs where they are not on the PATH:
  loki            github.com/grafana/loki/v3/cmd/loki
  otelcorecol     go.opentelemetry.io/collector/cmd/otelcorecol`;

const DAYS = 3;
const PART = 500;

interface Server {
  readonly name: string;
  readonly program: string;
  /** Its configuration, which is written into its folder. */
  config(port: number, folder: string): unknown;
  args(configFile: string): string[];
  readonly ready: string;
  conf(port: number): string;
  /** The ids that it shows, each as often as it does. */
  ids(port: number, folder: string, days: readonly number[]): Promise<string[]>;
}

const loki: Server = {
  name: "Loki",
  program: process.env.LOKI ?? "loki",
  config: (port, folder) => ({
    auth_enabled: false,
    analytics: { reporting_enabled: false },
    server: {
      ...{ http_listen_address: "127.0.0.1", http_listen_port: port, log_level: "error" },
      ...{ grpc_listen_address: "127.0.0.1", grpc_listen_port: port + 1 },
    },
    common: {
      instance_addr: "127.0.0.1",
      path_prefix: folder,
      storage: { filesystem: { chunks_directory: join(folder, "chunks"), rules_directory: join(folder, "rules") } },
      replication_factor: 1,
      ring: { kvstore: { store: "inmemory" } },
    },
    schema_config: {
      configs: [
        {
          ...{ from: "2020-10-24", store: "tsdb", object_store: "filesystem", schema: "v13" },
          index: { prefix: "index_", period: "24h" },
        },
      ],
    },
  }),
  args: (file) => [`-config.file=${file}`],
  ready: "/ready",
  conf: (port) => `loki://127.0.0.1:${port}/?tls=off`,
  ids: async (port, _folder, days) => {
    // What is older than three hours shows once it has been flushed.
    await fetch(`http://127.0.0.1:${port}/flush`, { method: "POST" });
    const ids: string[] = [];
    for (const day of days) {
      const url = new URL(`http://127.0.0.1:${port}/loki/api/v1/query_range?limit=5000&direction=forward`);
      url.searchParams.set("query", '{service_name=~"shop|cart"}');
      url.searchParams.set("start", `${day}000000`);
      url.searchParams.set("end", `${day + 3_600_000}000000`);
      const response = await fetch(url);
      const { data } = (await response.json()) as { data: { result: { values: [string, string][] }[] } };
      for (const { values } of data.result) for (const [, line] of values) ids.push(JSON.parse(line).logship_id);
    }
    return ids;
  },
};

const collector: Server = {
  name: "OpenTelemetry Collector",
  program: process.env.OTELCOL ?? "otelcorecol",
  config: (port) => ({
    receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
    exporters: { debug: { verbosity: "detailed" } },
    service: {
      telemetry: { metrics: { level: "none" } },
      pipelines: { logs: { receivers: ["otlp"], exporters: ["debug"] } },
    },
  }),
  args: (file) => ["--config", file],
  ready: "/",
  conf: (port) => `otlp://127.0.0.1:${port}?tls=off`,
  ids: async (_port, folder) => {
    const shown = readFileSync(join(folder, "output"), "utf8");
    return [...shown.matchAll(/logship\.record\.id: Str\(([^)]+)\)/g)].map(([, id]) => id as string);
  },
};

/** An event of the `number`th place of a day, within an hour of its begin. */
function line(number: number, day: number): string {
  return JSON.stringify({
    ...{ EventTimestampMs: day + number * 100, EventType: "fetch", Outcome: number % 9 === 0 ? "exception" : "ok" },
    ScriptName: number % 2 === 0 ? "shop" : "cart",
    Logs: [{ Level: "info", Message: [`order ${number}`], TimestampMs: day }],
  });
}

/** One upload, sent until it is taken. @returns the ids of its records. */
async function deliver(
  to: OpenDestination,
  id: string,
  lines: readonly string[],
  kill?: () => void,
): Promise<string[]> {
  const raw = lines.map((text) => `${text}\n`).join("");
  const body = new Uint8Array(gzipSync(raw));
  const hash = (name: string): string => createHash(name).update(body).digest("hex");
  const object = {
    ...{ key: `${id}.log.gz`, bytes: body.length, sha256: hash("sha256"), md5: hash("md5") },
    ...{ contentType: "application/x-ndjson", records: lines.length, rawBytes: Buffer.byteLength(raw) },
  };
  let toKill = kill;
  for (let doubtful = false; ; doubtful = true) {
    const writing = to.write(object, () => body, { doubtful, leaveOut: 0 });
    toKill?.();
    toKill = undefined;
    const outcome = await writing;
    if (outcome.kind === "delivered") return lines.map((_, number) => `${id}-${number}`);
    if (outcome.kind !== "failed" || outcome.error.kind === "refused") throw new Error(JSON.stringify(outcome));
    await pause(200);
  }
}

async function run(server: Server, events: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "logship-receiver-"));
  const port = await pickPort(14_400);
  const file = join(folder, "config.yaml");
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(server.config(port, folder)));
  let child: ChildProcess | null = null;
  const start = async (): Promise<void> => {
    const output = openSync(join(folder, "output"), "a");
    const started = spawn(server.program, server.args(file), { stdio: ["ignore", output, output] });
    child = started;
    const isReady = async (): Promise<boolean> => {
      if (started.exitCode !== null)
        throw new Error(`${server.name} has ended: ${readFileSync(join(folder, "output"))}`);
      const answer = await fetch(`http://127.0.0.1:${port}${server.ready}`).catch(() => null);
      return answer !== null && answer.status !== 503;
    };
    await until({ what: `${server.name} to answer`, withinMs: 90_000, look: isReady, enough: (ready) => ready });
  };
  try {
    await start();
    const parsed = parseDestination(server.conf(port), {
      ...{ objstoreEndpoint: "", allowLoopback: true, secret: () => undefined, binding: () => "unlisted" },
    });
    if (!parsed.ok) throw new Error(parsed.why);
    const to = openDestination(parsed.value, { now: Date.now, fetch: (url, init) => fetch(url, init) });
    const refused = await to.probe();
    if (refused !== null) throw new Error(refused);
    const today = Math.floor(Date.now() / 3_600_000 - 1) * 3_600_000;
    const days = Array.from({ length: DAYS }, (_, i) => today - (DAYS - 1 - i) * 86_400_000);
    const sent: string[] = [];
    let restarted: Promise<void> | null = null;
    for (const [d, day] of days.entries())
      for (let from = 0; from < events; from += PART) {
        const lines = Array.from({ length: Math.min(PART, events - from) }, (_, i) => line(from + i, day));
        const isMiddle = d === 1 && from >= events / 2 && restarted === null;
        const kill = (): void => {
          child?.kill("SIGKILL");
          restarted = start();
        };
        sent.push(...(await deliver(to, `day${d}-${from}`, lines, isMiddle ? kill : undefined)));
      }
    await restarted;
    const look = async (): Promise<{ missing: number; twice: number }> => {
      const shown = (await server.ids(port, folder, days)).filter((id) => id.startsWith("day"));
      const known = new Set(shown);
      return { missing: sent.filter((id) => !known.has(id)).length, twice: shown.length - known.size };
    };
    const all = { what: `${server.name} to show every event`, withinMs: 90_000 };
    const { twice } = await until({ ...all, look, enough: ({ missing }) => missing === 0 });
    console.log(`${server.name}: all of ${sent.length} events found, ${twice} of them twice`);
  } finally {
    (child as ChildProcess | null)?.kill("SIGKILL");
    await rm(folder, { recursive: true, force: true });
  }
}

const { values } = parseArgs({ options: { events: { type: "string", default: "5000" }, help: { type: "boolean" } } });
if (values.help) console.log(USAGE);
else
  for (const server of [loki, collector]) {
    if (spawnSync(server.program, ["--version"], { stdio: "ignore" }).error !== undefined)
      console.log(`${server.name}: not installed (${server.program})`);
    else await run(server, Number(values.events));
  }
