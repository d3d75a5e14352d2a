/** Other shippers and logship, with the same records and the same work, by turns. */
import { availableParallelism, cpus } from "node:os";
import { pause } from "../../until.ts";
import { type Summary, summary } from "../stats.ts";
import { type Checked, check, isWhole } from "./check.ts";
import { postAll } from "./client.ts";
import { inputOf, PEER_WORKS, type PeerInput, type PeerWork } from "./input.ts";
import { onPath, versionOf } from "./shipper-process.ts";
import { Store } from "./store.ts";
import {
  type Durable,
  LOGSHIP,
  PEER_NAMES,
  PEERS,
  type PeerName,
  type Running,
  startLogship,
  startPeer,
} from "./tools.ts";

export { peersReport } from "./report.ts";
export { PEER_NAMES } from "./tools.ts";

export interface PeersEffort {
  /** Of a round, in requests of a thousand. */
  records: number;
  /** Measured rounds, after those that warm up. */
  rounds: number;
  warmUpRounds: number;
}

export const FULL_PEERS: PeersEffort = { records: 100_000, rounds: 3, warmUpRounds: 1 };
export const QUICK_PEERS: PeersEffort = { records: 10_000, rounds: 1, warmUpRounds: 0 };

/** For the last object after the last answer, in ms. */
const STORED_MS = 120_000;

/** After the last object: work that follows it counts too. In ms. */
const SETTLE_MS = 1_000;

/** One tool's round. */
export interface Round {
  cpuS: number;
  /** From the first request to the last answer, and to the last object, in s. */
  answeredS: number;
  storedS: number;
  objects: number;
  storedBytes: number;
  checked: Checked;
}

export interface PeerResult {
  title: string;
  version: string;
  durable: Durable;
  work: PeerWork;
  recordsPerCpuSecond: Summary;
  /** How many times logship's records a CPU second these are; round by round. */
  ratio: Summary;
  cpuS: number;
  answeredS: number;
  storedS: number;
  storedBytes: number;
  objects: number;
  /** Of all rounds, those that warm up as well. */
  checked: Checked;
}

export interface PeersResult {
  records: number;
  rounds: number;
  inputBytes: number;
  machine: string;
  results: PeerResult[];
  /** What was left out, and how to give it; or why it failed. */
  without: string[];
}

export type Binaries = Partial<Record<PeerName, string>>;

/** The program of each peer: as given, or from the PATH. */
export function binariesOf(given: Readonly<Partial<Record<PeerName, string | undefined>>>, path?: string): Binaries {
  const found = PEER_NAMES.map((name) => {
    const [onIt] = PEERS[name].programs.map((program) => onPath(program, path)).filter((file) => file !== undefined);
    return [name, given[name] ?? onIt] as const;
  });
  return Object.fromEntries(found.filter(([, file]) => file !== undefined));
}

interface Contender {
  title: string;
  version: string;
  durable: Durable;
  start(store: string, work: PeerWork): Promise<Running>;
}

/**
 * @param say gets progress as text.
 * @throws if logship fails; a peer that fails is left out, with its reason.
 */
export async function measurePeers(
  binaries: Binaries,
  effort: PeersEffort,
  say: (line: string) => void,
): Promise<PeersResult> {
  const without: string[] = [];
  const contenders: Contender[] = [{ ...LOGSHIP, version: "this checkout", start: startLogship }];
  for (const name of PEER_NAMES) {
    const peer = PEERS[name];
    const binary = binaries[name];
    if (binary === undefined) without.push(`${peer.title}: not on the PATH; give it with --${name}=<path>`);
    else
      contenders.push({
        ...{ title: peer.title, version: versionOf(binary), durable: peer.durable },
        start: (store, work) => startPeer(peer, binary, store, work),
      });
  }
  const { records, rounds, warmUpRounds } = effort;
  const results: PeerResult[] = [];
  for (const work of Object.keys(PEER_WORKS) as PeerWork[]) {
    const measured = await measureWork(work, contenders, effort, say, without);
    const own = measured.get(LOGSHIP.title)?.slice(warmUpRounds) ?? [];
    for (const { title, version, durable } of contenders) {
      const all = measured.get(title);
      if (all !== undefined)
        results.push({ title, version, durable, work, ...summed(records, all, warmUpRounds, own) });
    }
  }
  const machine = `${availableParallelism()} × ${cpus()[0]?.model.trim() ?? "an unknown CPU"}`;
  return { ...{ records, rounds, machine, results, without }, inputBytes: inputOf("everything", records, 0).bytes };
}

/** All tools side by side, one of them at work at a time. @returns the rounds of each, by title. */
async function measureWork(
  work: PeerWork,
  contenders: readonly Contender[],
  { records, rounds, warmUpRounds }: PeersEffort,
  say: (line: string) => void,
  without: string[],
): Promise<Map<string, Round[]>> {
  const measured = new Map<string, Round[]>();
  const running: { title: string; store: Store; tool: Running }[] = [];
  const leave = (title: string, error: unknown, output = ""): void => {
    if (title === LOGSHIP.title) throw error;
    measured.delete(title);
    without.push(
      `${title}, ${work}: ${error instanceof Error ? error.message : String(error)}${output && `\n${output}`}`,
    );
  };
  try {
    for (const { title, start } of contenders) {
      const store = new Store();
      const url = await store.listen();
      try {
        running.push({ title, store, tool: await start(url, work) });
        measured.set(title, []);
      } catch (error) {
        await store.close();
        leave(title, error);
      }
    }
    for (let round = 0; round < warmUpRounds + rounds; round++) {
      const input = inputOf(work, records, round);
      for (const { title, store, tool } of running) {
        const before = measured.get(title);
        if (before === undefined) continue;
        say(`Peers: ${work}, round ${round + 1} of ${warmUpRounds + rounds}, ${title} …`);
        try {
          before.push(await measureRound(input, store, tool));
        } catch (error) {
          leave(title, error, tool.output());
        }
      }
    }
  } finally {
    for (const { store, tool } of running) {
      await tool.stop();
      await store.close();
    }
  }
  return measured;
}

async function measureRound({ bodies, expected }: PeerInput, store: Store, tool: Running): Promise<Round> {
  const cpuMs = tool.cpuMs();
  const startMs = performance.now();
  await postAll(bodies, tool);
  const answeredMs = performance.now();
  while (store.lines < expected.size && performance.now() < answeredMs + STORED_MS) await pause(100);
  // A copy too many may follow.
  await pause(SETTLE_MS);
  const cpuS = (tool.cpuMs() - cpuMs) / 1_000;
  const storedS = (store.lastMs - startMs) / 1_000;
  const { objects, bytes: storedBytes } = store.take();
  if (objects.length === 0) throw new Error(`nothing was stored; refused: ${store.refused.join(", ") || "nothing"}`);
  return {
    ...{ cpuS, answeredS: (answeredMs - startMs) / 1_000, storedS, objects: objects.length, storedBytes },
    checked: check(objects, expected),
  };
}

/**
 * Rounds as medians.
 * @param own logship's measured rounds: each ratio is taken within a round.
 */
export function summed(
  records: number,
  all: readonly Round[],
  warmUpRounds: number,
  own: readonly Round[],
): Omit<PeerResult, "title" | "version" | "durable" | "work"> {
  const rounds = all.slice(warmUpRounds);
  const median = (of: (round: Round) => number): number => summary(rounds.map(of)).median;
  const failed = all.find(({ checked }) => !isWhole(checked));
  const [first] = all;
  if (first === undefined) throw new Error("no round was measured");
  return {
    recordsPerCpuSecond: summary(rounds.map(({ cpuS }) => records / cpuS)),
    ratio: summary(rounds.map(({ cpuS }, i) => (own[i]?.cpuS ?? Number.NaN) / cpuS)),
    cpuS: median((round) => round.cpuS),
    answeredS: median((round) => round.answeredS),
    storedS: median((round) => round.storedS),
    storedBytes: median((round) => round.storedBytes),
    objects: median((round) => round.objects),
    checked: (failed ?? first).checked,
  };
}
