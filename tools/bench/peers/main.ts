/** `npm run bench -- --peers`: logship beside other shippers, with the same records and work. */
import { availableParallelism, cpus } from "node:os";
import { parseArgs } from "node:util";
import { settled } from "../../../src/base/platform.ts";
import { pause } from "../../until.ts";
import { summary } from "../stats.ts";
import { count, markdown, type Table, text } from "../table.ts";
import { type Checked, check, inputOf, PEER_WORKS, type PeerInput, type PeerWork, verdict } from "./records.ts";
import { type Contender, contenders, LOGSHIP, type Running } from "./shippers.ts";
import { Store } from "./store.ts";

interface Effort {
  /** Of a round, in requests of a thousand. */
  records: number;
  /** Measured rounds, after those that warm up. */
  rounds: number;
  warmUpRounds: number;
}

const FULL: Effort = { records: 100_000, rounds: 3, warmUpRounds: 1 };
const QUICK: Effort = { records: 10_000, rounds: 1, warmUpRounds: 0 };

/** Requests under way at once; before one is sent again, and for it with its repeats, in ms. */
const CLIENTS = 4;
const RETRY_MS = 200;
const REQUEST_MS = 60_000;

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

const TITLES: { readonly [work in PeerWork]: string } = {
  everything: "EVERYTHING, as gzipped NDJSON",
  filtered: "FILTERED: nine records of ten, 7 of 13 fields",
};

const say = (line: string): void => console.error(line);

export async function main(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      ...{ peers: { type: "boolean" }, quick: { type: "boolean" }, markdown: { type: "boolean" } },
      ...{ records: { type: "string" }, bento: { type: "string" }, "fluent-bit": { type: "string" } },
    },
  });
  const usual = values.quick ? QUICK : FULL;
  const effort = { ...usual, records: values.records === undefined ? usual.records : Number(values.records) };
  const { records, rounds } = effort;
  if (!Number.isInteger(records) || records < 1_000 || records % 1_000 !== 0)
    throw new Error("--records: a multiple of 1,000");
  const { found, without } = contenders({ bento: values.bento, "fluent-bit": values["fluent-bit"] });
  const machine = `${availableParallelism()} × ${cpus()[0]?.model.trim() ?? "an unknown CPU"}`;
  const parts = [`BESIDE OTHER SHIPPERS: ${count(records)} records, medians of ${rounds} rounds, ${machine}`];
  for (const work of Object.keys(PEER_WORKS) as PeerWork[]) {
    const measured = await measureWork(work, found, effort, without);
    parts.push(TITLES[work], resultTable(found, measured, effort, values.markdown ? markdown : text));
  }
  parts.push(
    "CPU: of the shipper's processes, from the first request to a second after the last object. logship's is that of the\nlocal runtime, with its proxy, its queue and its storage; the others' is all that they are.",
    "Compared: the id of each record, how often it is there, and all its values; the order of keys is ignored.",
    ...(without.length > 0 ? [["Left out:", ...without].join("\n  ")] : []),
  );
  console.log(parts.join("\n\n"));
}

/**
 * All tools side by side, one of them at work at a time. @returns the rounds of each.
 * @param without gets the reason where a peer fails. @throws if logship fails.
 */
async function measureWork(
  work: PeerWork,
  all: readonly Contender[],
  { records, rounds, warmUpRounds }: Effort,
  without: string[],
): Promise<Map<Contender, Round[]>> {
  const measured = new Map<Contender, Round[]>();
  const running: { contender: Contender; store: Store; tool: Running | null }[] = [];
  const leave = (contender: Contender, error: unknown, output = ""): void => {
    if (contender === LOGSHIP) throw error;
    measured.delete(contender);
    without.push(`${contender.title}, ${work}: ${error instanceof Error ? error.message : error}\n${output}`.trimEnd());
  };
  try {
    for (const contender of all) {
      const each = { contender, store: new Store(), tool: null as Running | null };
      running.push(each);
      try {
        each.tool = await contender.start(await each.store.listen(), work);
        measured.set(contender, []);
      } catch (error) {
        leave(contender, error);
      }
    }
    for (let round = 0; round < warmUpRounds + rounds; round++) {
      const input = inputOf(work, records, round);
      for (const { contender, store, tool } of running) {
        const before = measured.get(contender);
        if (before === undefined || tool === null) continue;
        say(`Peers: ${work}, round ${round + 1} of ${warmUpRounds + rounds}, ${contender.title} …`);
        try {
          before.push(await measureRound(input, store, tool));
        } catch (error) {
          leave(contender, error, tool.output());
        }
      }
    }
  } finally {
    for (const { store, tool } of running) {
      await tool?.stop();
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
  const objects = store.take();
  if (objects.length === 0) throw new Error("nothing was stored");
  const storedBytes = objects.reduce((sum, { length }) => sum + length, 0);
  const checked = check(objects, expected);
  return { cpuS, answeredS: (answeredMs - startMs) / 1_000, storedS, objects: objects.length, storedBytes, checked };
}

/** Sends the bodies, a few at a time. @throws if one is not taken in time. */
export async function postAll(
  bodies: readonly Buffer<ArrayBuffer>[],
  { url, headers }: Pick<Running, "url" | "headers">,
  retryMs = RETRY_MS,
): Promise<void> {
  const results = await settled(bodies, CLIENTS, async (body) => {
    const signal = AbortSignal.timeout(REQUEST_MS);
    for (;;) {
      const answer = await fetch(url, { method: "POST", headers, body, signal });
      const words = await answer.text();
      if (answer.ok) return;
      // Nothing of such a request was taken: a shipper under load asks to repeat it.
      if (answer.status !== 429 && answer.status !== 503) throw new Error(`${answer.status} ${words.slice(0, 300)}`);
      await pause(retryMs);
    }
  });
  for (const result of results) if (result.status === "rejected") throw result.reason;
}

/** Medians of measured rounds; each ratio is taken within a round. A fault of any round shows. */
export function resultTable(
  all: readonly Pick<Contender, "title" | "durable">[],
  measured: ReadonlyMap<object, readonly Round[]>,
  { records, warmUpRounds }: Pick<Effort, "records" | "warmUpRounds">,
  table: Table,
): string {
  const own = measured.get(LOGSHIP)?.slice(warmUpRounds) ?? [];
  const rows = all.flatMap((contender) => {
    const every = measured.get(contender);
    if (every === undefined) return [];
    const rounds = every.slice(warmUpRounds);
    const median = (of: (round: Round, i: number) => number): number => summary(rounds.map(of)).median;
    const failed = every.find(({ checked }) => verdict(checked) !== verdict({} as Checked));
    return [
      [
        ...[contender.title, count(median(({ cpuS }) => records / cpuS))],
        median(({ cpuS }, i) => (own[i]?.cpuS ?? Number.NaN) / cpuS).toFixed(2),
        median(({ cpuS }) => cpuS).toFixed(2),
        ...[median(({ answeredS }) => answeredS), median(({ storedS }) => storedS)].map((s) => s.toFixed(1)),
        (median(({ storedBytes }) => storedBytes) / 1e6).toFixed(1),
        count(median(({ objects }) => objects)),
        ...[verdict((failed ?? every[0])?.checked ?? ({} as Checked)), contender.durable],
      ],
    ];
  });
  const head = [
    "",
    "records/CPU s",
    "× logship",
    "CPU s",
    "answered, s",
    "stored, s",
    "stored, MB",
    "objects",
    "records",
  ];
  return table([...head, "durable once it answers"], rows);
}
