/**
 * The memory of the Worker while it takes in the largest requests and batches, and searches, alone
 * and at once: the peak of resident memory above what was resident before, each time in a fresh
 * process.
 */
import { MEMORY_MAX_BYTES, UPLOAD_BYTES, UPLOAD_RECORDS } from "../../src/base/limits.ts";
import { BODIES, type BodyName } from "./bodies.ts";
import { MemoryHarness, type Peak } from "./memory-harness.ts";
import { framed, packMessages } from "./messages.ts";
import { Sink } from "./sink.ts";

/** What is aimed at, in bytes. */
export const AIM_BYTES = MEMORY_MAX_BYTES;

interface Mix {
  bodies: readonly BodyName[];
  /** Full batches of the queue, of records that hardly compress. */
  batches: number;
  searches?: readonly SearchName[];
}

/** Of {@link SEARCHED_OBJECTS}: one reads all, the other is ended by the bounds of its hits. */
const SEARCHES = {
  "a search without a hit": { text: "no such text anywhere", isWhole: true },
  "a search with a hit in each record": { text: "a", limit: 1_000, isWhole: false },
};

type SearchName = keyof typeof SEARCHES;

/** Of the usual size, of typical records. */
const SEARCHED_OBJECTS = 8;

export interface MixMemory {
  what: string;
  /** As the runtime collects garbage. */
  peak: Peak;
  /** Collecting it at each large event, each message and each call of queue and log. */
  held: Peak;
}

/** The bodies that take most of those that are taken, and of those that are refused. */
const NOISE = "16 MiB of noise";
const EMPTIES = "16 MiB of empty objects";
const BOMB = "1 MB of gzip that holds 1 GB";
const [NOTHING, ALL] = Object.keys(SEARCHES) as [SearchName, SearchName];

const MIXES: readonly Mix[] = [
  ...(Object.keys(BODIES) as BodyName[]).map((name) => ({ bodies: [name], batches: 0 })),
  { bodies: [NOISE, NOISE], batches: 0 },
  { bodies: [NOISE, EMPTIES], batches: 0 },
  { bodies: [BOMB, BOMB], batches: 0 },
  { bodies: [], batches: 1 },
  { bodies: [], batches: 2 },
  { bodies: [NOISE], batches: 1 },
  { bodies: [EMPTIES], batches: 1 },
  { bodies: [BOMB], batches: 1 },
  { bodies: [NOISE], batches: 2 },
  { bodies: [], batches: 0, searches: [NOTHING] },
  { bodies: [], batches: 0, searches: [ALL] },
  { bodies: [], batches: 0, searches: [ALL, NOTHING] },
  { bodies: [], batches: 1, searches: [NOTHING] },
  { bodies: [], batches: 1, searches: [ALL, NOTHING] },
  { bodies: [NOISE], batches: 0, searches: [ALL, NOTHING] },
  { bodies: [NOISE], batches: 1, searches: [NOTHING] },
];

/** Messages of a full batch. */
const BATCH = 100;

/** The simulated time, far in the real future, so that no alarm fires by itself. */
const NOON = Date.parse("2100-11-20T12:00:00Z");

const SEARCHED_TIME = { since: "2100-11-20T00:00:00Z", until: "2100-11-22T00:00:00Z" };

/**
 * Into one job, whose log is in the same process. @param say gets progress as text.
 * @throws if the memory of the runtime cannot be read here, or something is answered otherwise.
 */
export async function measureMixes(say: (line: string) => void): Promise<MixMemory[]> {
  const frames = framed(packMessages("noise", BATCH, NOON).bodies);
  const sink = new Sink();
  const endpoint = encodeURIComponent(await sink.listen());
  const harness = await MemoryHarness.start();
  try {
    const destination = `s3://traces/logs/{DATE}?region=auto&endpoint=${endpoint}&access-key-id=bench&secret-access-key=bench`;
    sink.isKeeping = true;
    const searched = await objectsToSearch(harness, destination);
    sink.isKeeping = false;
    await harness.api("POST", "/logship/jobs", {
      destination_conf: destination,
      enabled: true,
      max_upload_interval_seconds: 300,
      max_upload_bytes: UPLOAD_BYTES.max,
      max_upload_records: UPLOAD_RECORDS.max,
    });
    const results: MixMemory[] = [];
    for (const mix of MIXES) {
      const batches = Array<string>(mix.batches).fill("a full batch");
      const what = [...(mix.searches ?? []), ...mix.bodies, ...batches].join(" + ");
      say(`Memory: ${what} …`);
      const peak = await measured(harness, mix, frames, searched, false);
      results.push({ what, peak, held: await measured(harness, mix, frames, searched, true) });
    }
    return results;
  } finally {
    await harness.close();
    await sink.close();
  }
}

/** @returns the job that has them. It takes nothing more. */
async function objectsToSearch(harness: MemoryHarness, destination: string): Promise<number> {
  const { id } = await harness.api<{ id: number }>("POST", "/logship/jobs", {
    destination_conf: destination,
    enabled: true,
    max_upload_interval_seconds: 300,
  });
  await harness.bring(framed(packMessages("logs", BATCH, NOON).bodies));
  await harness.ask("stack", { job: id, objects: SEARCHED_OBJECTS });
  const left = await harness.ask<number>("drive", id);
  if (left > 0) throw new Error(`${left} objects were not uploaded`);
  await harness.api("PUT", `/logship/jobs/${id}`, { enabled: false });
  return id;
}

async function searchIn(harness: MemoryHarness, job: number, name: SearchName): Promise<void> {
  const { isWhole, ...question } = SEARCHES[name];
  const end = await harness.search({ ...question, job_id: job, ...SEARCHED_TIME });
  if (end.not_searched.length > 0) throw new Error(`not searched: ${JSON.stringify(end.not_searched)}`);
  if (end.complete !== isWhole) throw new Error(`${name}: complete is ${end.complete}`);
}

async function measured(
  harness: MemoryHarness,
  { bodies, batches, searches = [] }: Mix,
  frames: Uint8Array<ArrayBuffer>,
  searched: number,
  collecting: boolean,
): Promise<Peak> {
  const made = bodies.map((name) => BODIES[name]());
  await harness.restart();
  if (batches > 0) await harness.bring(frames);
  await harness.ask("collectOften", collecting);
  return harness.peakWhile(() =>
    Promise.all([
      ...Array.from({ length: batches }, () => harness.ask("consume", { messages: BATCH, collecting })),
      ...made.map((body) => harness.post(body)),
      ...searches.map((name) => searchIn(harness, searched, name)),
    ]),
  );
}
