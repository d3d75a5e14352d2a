/**
 * `npm run bench -- --peers`: logship beside other shippers, with the same records and work, for
 * docs/costs.md. All run side by side, one of them at work at a time.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { settled } from "../../../src/base/platform.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import type { TraceRecord } from "../../../src/formats/record/fields.ts";
import { IsolatedShipper } from "../../../test/e2e/shipper.ts";
import { claimPort } from "../../servers/ports.ts";
import { SupervisedProcess, toolEnv } from "../../servers/supervised.ts";
import { pause, until } from "../../until.ts";
import { processCpuMs, runtimes } from "../proc.ts";
import { recordOf } from "../record-of.ts";
import { RecordMix } from "../records.ts";
import { Sink } from "../sink.ts";
import { count, median, table } from "../table.ts";
import {
  bentoConfig,
  DROPPED_SCRIPTS,
  ERROR_STATUS,
  fluentBitConfig,
  logshipJob,
  PEER_KEYS,
  PEER_WORKS,
  type PeerWork,
} from "./configs.ts";

/** Records of a round; and rounds: of several, the first one warms up. */
const FULL = { records: 100_000, rounds: 4 };
const QUICK = { records: 10_000, rounds: 1 };

const REQUEST_RECORDS = 1_000;

/** Requests under way at once; before one is sent again, and for it with its repeats, in ms. */
const CLIENTS = 4;
const RETRY_MS = 200;
const REQUEST_MS = 60_000;

/** For the last object after the last answer; and after it: work that follows counts too. In ms. */
const STORED_MS = 120_000;
const SETTLE_MS = 1_000;

const READY_WITHIN_MS = 30_000;

/** Where peers look for a free port first. */
const FIRST_PORT = 14_600;

/** 2026-11-20T00:00:00Z. All rounds stay within the day. */
const MIDNIGHT = 1_795_132_800_000;

/** A shipper that runs: events are POSTed to it, and CPU time is that of its processes. */
interface Running {
  url: string;
  headers: Readonly<Record<string, string>>;
  cpuMs(): number;
  stop(): Promise<void>;
}

interface Contender {
  title: string;
  /** What it has written down when it has answered a request. */
  durable: string;
  start(store: string, work: PeerWork): Promise<Running>;
}

/**
 * The Worker under `wrangler dev`, with the settings of wrangler.jsonc. Its CPU time is that of the
 * local runtime: with the proxy before the Worker, the queue, and the storage of all objects.
 */
const LOGSHIP: Contender = {
  title: "logship",
  durable: "every record, in the queue",
  async start(store, work) {
    const shipper = await IsolatedShipper.start();
    await shipper.api.createJob(logshipJob(work, store));
    const pids = runtimes(process.pid);
    if (pids.length === 0) throw new Error("CPU time of processes cannot be read here: there is no /proc");
    return {
      url: `${shipper.api.url}/datasets/functions_trace_events/events`,
      headers: { "content-type": "application/x-ndjson", authorization: `Bearer ${shipper.token}` },
      cpuMs: () => processCpuMs(pids),
      stop: () => shipper[Symbol.asyncDispose](),
    };
  },
};

/** By the name of the program; each takes newline-delimited JSON under a type of its own. */
const PEERS = {
  // https://warpstreamlabs.github.io/bento/docs/components/buffers/memory
  bento: { title: "Bento", config: bentoConfig, contentType: "application/x-ndjson" },
  // https://docs.fluentbit.io/manual/administration/buffering-and-storage
  "fluent-bit": { title: "Fluent Bit", config: fluentBitConfig, contentType: "application/json" },
} as const;
type Program = keyof typeof PEERS;

/** @param program is looked for on the PATH, unless its path is given. @returns null: none. */
export function peerOf(program: Program, given: string | undefined): Contender | null {
  const binary = given ?? program;
  const { error, stdout, stderr } = spawnSync(binary, ["--version"], { encoding: "utf8", timeout: 10_000 });
  if (error !== undefined) return null;
  const version = /\bv?(\d+\.\d+(?:\.\d+)?(?:[-+][\w.-]+)?)/.exec(`${stdout}\n${stderr}`)?.[1] ?? "unknown version";
  return {
    title: `${PEERS[program].title} ${version}`,
    durable: "nothing: buffer in memory",
    start: (store, work) => startPeer(program, binary, store, work),
  };
}

/** @throws Error with its output if it does not answer in time. */
async function startPeer(program: Program, binary: string, store: string, work: PeerWork): Promise<Running> {
  const { config, contentType } = PEERS[program];
  const folder = mkdtempSync(join(tmpdir(), "logship-peer-"));
  const { port, release } = await claimPort(FIRST_PORT);
  const file = join(folder, "config.yaml");
  mkdirSync(join(folder, "data"));
  writeFileSync(file, JSON.stringify(config(work, { port, store, folder: join(folder, "data") }), null, 2));
  // No configuration or credentials of the user's own.
  const keys = { AWS_ACCESS_KEY_ID: PEER_KEYS.id, AWS_SECRET_ACCESS_KEY: PEER_KEYS.secret };
  const env = toolEnv({ HOME: folder, AWS_EC2_METADATA_DISABLED: "true", ...keys });
  const child = new SupervisedProcess({ argv: [binary, "-c", file], cwd: folder, env });
  const url = `http://127.0.0.1:${port}/`;
  const stop = async (): Promise<void> => {
    await child.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  const look = (): Promise<boolean> =>
    fetch(url, { signal: AbortSignal.timeout(2_000) }).then(
      () => true,
      () => false,
    );
  try {
    await Promise.race([
      until({ what: `${binary} to answer`, withinMs: READY_WITHIN_MS, look, enough: Boolean }),
      child.ended.then(() => Promise.reject(new Error(`${binary} does not answer:\n${child.excerpt}`))),
    ]);
  } catch (error) {
    await stop();
    throw error;
  } finally {
    release();
  }
  return { url, headers: { "content-type": contentType }, cpuMs: () => processCpuMs([child.group ?? 0]), stop };
}

/** Requests as NDJSON, and what must be in the objects, as {@link canonical} lines. */
interface Input {
  bodies: Buffer<ArrayBuffer>[];
  expected: Set<string>;
}

/**
 * The records of a round: the mix of tools/bench/records.ts, a millisecond apart, so that no two
 * are alike. @param round from 0.
 */
export function inputOf(work: PeerWork, records: number, round: number): Input {
  const mix = new RecordMix(round + 1);
  const all = Array.from({ length: records }, (_, i) => {
    const atMs = MIDNIGHT + round * records + i;
    return recordOf(mix.next(atMs), atMs);
  });
  const bodies = Array.from({ length: records / REQUEST_RECORDS }, (_, i) => {
    const some = all.slice(i * REQUEST_RECORDS, (i + 1) * REQUEST_RECORDS);
    return Buffer.from(some.map((record) => `${recordLine(record)}\n`).join(""));
  });
  const shipped = all.map((record) => shippedOf(work, record)).filter((record) => record !== null);
  return { bodies, expected: new Set(shipped.map(canonical)) };
}

/** The filter of FILTERED, written by hand: neither the shipper's nor any other's. */
function shippedOf(work: PeerWork, record: TraceRecord): Partial<TraceRecord> | null {
  if (work === "everything") return record;
  const { Outcome, ScriptName, Event } = record;
  const { Response: response } = Event as { Response?: { Status?: number } };
  const isDropped = DROPPED_SCRIPTS.some((name) => name === ScriptName);
  if (Outcome === "ok" && isDropped && (response?.Status ?? 0) < ERROR_STATUS) return null;
  return Object.fromEntries(Object.entries(record).filter(([name]) => PEER_WORKS[work].fieldNames?.includes(name)));
}

/** JSON with sorted keys: shippers may change the order of keys, and nothing else. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, entry: unknown) =>
    typeof entry === "object" && entry !== null && !Array.isArray(entry)
      ? Object.fromEntries(Object.entries(entry).sort(([a], [b]) => (a < b ? -1 : 1)))
      : entry,
  );
}

/** @throws unless each expected record is there, once, with all its values. */
export function check(lines: readonly string[], expected: ReadonlySet<string>): void {
  const stored = lines.map((line) => canonical(JSON.parse(line)));
  const right = new Set(stored.filter((line) => expected.has(line))).size;
  if (right === expected.size && stored.length === expected.size) return;
  throw new Error(`${stored.length} records were stored, ${right} as expected, instead of ${expected.size}`);
}

interface Round {
  cpuS: number;
  /** From the first request to the last object, in s. */
  storedS: number;
  storedBytes: number;
}

async function measureRound({ bodies, expected }: Input, sink: Sink, shipper: Running): Promise<Round> {
  sink.kept.clear();
  const lines: string[] = [];
  const objects = new Map<string, Buffer>();
  const readNew = (): void => {
    for (const [path, { body }] of sink.kept) {
      if (objects.has(path)) continue;
      // Gzip begins with this; whatever else comes is chunked.
      const content = body[0] === 0x1f ? body : unchunked(body);
      lines.push(...gunzipSync(content).toString().split("\n").filter(Boolean));
      objects.set(path, content);
    }
  };
  const cpuMs = shipper.cpuMs();
  const startMs = performance.now();
  await postAll(bodies, shipper);
  const untilMs = performance.now() + STORED_MS;
  for (; lines.length < expected.size && performance.now() < untilMs; await pause(100)) readNew();
  // A copy too many may follow.
  await pause(SETTLE_MS);
  const cpuS = (shipper.cpuMs() - cpuMs) / 1_000;
  readNew();
  check(lines, expected);
  const storedS = (Math.max(...[...sink.kept.values()].map(({ atMs }) => atMs)) - startMs) / 1_000;
  return { cpuS, storedS, storedBytes: [...objects.values()].reduce((sum, { length }) => sum + length, 0) };
}

/**
 * The content of a body in `aws-chunked` coding. @throws if a chunk has no size.
 * @see https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming.html
 */
export function unchunked(body: Buffer): Buffer<ArrayBuffer> {
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = body.indexOf("\r\n", at);
    const size = end === -1 ? Number.NaN : Number.parseInt(body.toString("latin1", at, end), 16);
    if (Number.isNaN(size)) throw new Error("a chunk without a size");
    if (size === 0) return Buffer.concat(chunks);
    chunks.push(body.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}

/** Sends the bodies, a few at a time. @throws if one is not taken in time. */
export async function postAll(
  bodies: readonly Buffer<ArrayBuffer>[],
  { url, headers }: Pick<Running, "url" | "headers">,
): Promise<void> {
  const results = await settled(bodies, CLIENTS, async (body) => {
    for (const signal = AbortSignal.timeout(REQUEST_MS); ; await pause(RETRY_MS)) {
      const answer = await fetch(url, { method: "POST", headers, body, signal });
      const words = await answer.text();
      if (answer.ok) return;
      // Nothing of such a request was taken: a shipper under load asks to repeat it.
      if (answer.status !== 429 && answer.status !== 503) throw new Error(`${answer.status} ${words.slice(0, 300)}`);
    }
  });
  for (const result of results) if (result.status === "rejected") throw result.reason;
}

/** @returns a row for each: medians; each ratio is taken within a round. */
async function measureWork(
  work: PeerWork,
  contenders: readonly Contender[],
  { records, rounds }: typeof FULL,
  say: (line: string) => void,
): Promise<string[][]> {
  const running: { shipper: Running; sink: Sink; measured: Round[] }[] = [];
  try {
    for (const { start } of contenders) {
      const sink = new Sink();
      sink.isKeeping = true;
      running.push({ sink, measured: [], shipper: await start(await sink.listen(), work) });
    }
    for (let round = 0; round < rounds; round++) {
      const input = inputOf(work, records, round);
      for (const [i, { shipper, sink, measured }] of running.entries()) {
        say(`Peers: ${work}, round ${round + 1} of ${rounds}, ${contenders[i]?.title} …`);
        const result = await measureRound(input, sink, shipper);
        if (round > 0 || rounds === 1) measured.push(result);
      }
    }
  } finally {
    for (const { shipper, sink } of running) {
      await shipper.stop();
      await sink.close();
    }
  }
  const own = running[0]?.measured ?? [];
  return running.map(({ measured }, i) => {
    const of = (value: (round: Round, i: number) => number): number => median(measured.map(value));
    return [
      ...[contenders[i]?.title ?? "", count(of(({ cpuS }) => records / cpuS))],
      of(({ cpuS }, i) => (own[i]?.cpuS ?? Number.NaN) / cpuS).toFixed(2),
      ...[of(({ cpuS }) => cpuS).toFixed(2), of(({ storedS }) => storedS).toFixed(1)],
      ...[(of(({ storedBytes }) => storedBytes) / 1e6).toFixed(1), contenders[i]?.durable ?? ""],
    ];
  });
}

/** @param given paths of programs. @throws if a record is missing, doubled or changed anywhere. */
export async function reportPeers(
  isQuick: boolean,
  given: Readonly<Record<Program, string | undefined>>,
  say: (line: string) => void,
): Promise<string[]> {
  const effort = isQuick ? QUICK : FULL;
  const peers = (Object.keys(PEERS) as Program[]).map((program) => ({
    program,
    peer: peerOf(program, given[program]),
  }));
  const head = ["", "records a CPU second", "× logship", "CPU s", "all stored after, s", "stored, MB"];
  const parts = [`BESIDE OTHER SHIPPERS: ${count(effort.records)} records, medians; all were stored once, unchanged`];
  for (const { program, peer } of peers)
    if (peer === null) parts.push(`${program} is not on the PATH; give it with --${program}=<path>`);
  const contenders = [LOGSHIP, ...peers.flatMap(({ peer }) => peer ?? [])];
  for (const work of Object.keys(PEER_WORKS) as PeerWork[])
    parts.push(work, table([...head, "durable once it answers"], await measureWork(work, contenders, effort, say)));
  return parts;
}
