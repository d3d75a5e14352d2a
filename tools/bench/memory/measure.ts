/**
 * The memory of the Worker: the peak of resident memory above what was resident before. Batches,
 * cuts, uploads and mixes each begin in a fresh process, as freed memory may stay resident and
 * would hide what comes next.
 */
import {
  APPEND_MAX_RAW_BYTES,
  MEMORY_MAX_BYTES,
  OBJECT_STORED_BYTES,
  UPLOAD_BYTES,
  UPLOAD_RECORDS,
} from "../../../src/base/limits.ts";
import { canMeasureMemory } from "../proc.ts";
import { FAST, type Manner, Sink } from "../sink.ts";
import { table } from "../table.ts";
import { BODIES, type BodyName } from "./bodies.ts";
import { MemoryHarness, type Peak } from "./harness.ts";
import { packMessages, type Texture } from "./messages.ts";

/** How much is measured: sizes of objects, as `max_upload_bytes`, and what runs at once. */
export interface MemoryEffort {
  sizes: readonly number[];
  /** Of each object that is uploaded beside others, or searched. */
  stacked: number;
  mixes: readonly Mix[];
}

/** What is taken in and searched at once. */
interface Mix {
  bodies?: readonly BodyName[];
  /** Full batches of the queue, of records that hardly compress. */
  batches?: number;
  searches?: readonly SearchName[];
}

/** Of {@link SEARCHED_OBJECTS}: one reads all, the other is ended by the bounds of its hits. */
const SEARCHES = {
  "a search without a hit": { text: "no such text anywhere", isWhole: true },
  "a search with a hit in each record": { text: "a", limit: 1_000, isWhole: false },
};
type SearchName = keyof typeof SEARCHES;
const [WITHOUT, WITH] = Object.keys(SEARCHES) as [SearchName, SearchName];
const SEARCHED_TIME = { since: "2100-11-20T00:00:00Z", until: "2100-11-22T00:00:00Z" };

/** Of the usual size, of typical records. */
const SEARCHED_OBJECTS = 8;

/** The bodies that take most of those that are taken, and of those that are refused. */
const NOISE = "16 MiB of noise";
const EMPTIES = "16 MiB of empty objects";
const BOMB = "1 MB of gzip that holds 1 GB";

const MIXES: readonly Mix[] = [
  ...(Object.keys(BODIES) as BodyName[]).map((name) => ({ bodies: [name] })),
  ...[NOISE, EMPTIES].map((other) => ({ bodies: [NOISE, other] as BodyName[] })),
  ...[{ bodies: [BOMB, BOMB] as const }, { batches: 1 }, { batches: 2 }],
  ...([NOISE, EMPTIES, BOMB] as const).map((name) => ({ bodies: [name], batches: 1 })),
  ...[{ bodies: [NOISE] as const, batches: 2 }, { searches: [WITHOUT] }, { searches: [WITH] }],
  ...[{ searches: [WITH, WITHOUT] }, { batches: 1, searches: [WITHOUT] }, { batches: 1, searches: [WITH, WITHOUT] }],
  ...[{ bodies: [NOISE] as const, searches: [WITH, WITHOUT] }],
  ...[{ bodies: [NOISE] as const, batches: 1, searches: [WITHOUT] }],
];

export const FULL_MEMORY: MemoryEffort = {
  sizes: [10_000_000, 100_000_000, UPLOAD_BYTES.max],
  stacked: 100_000_000,
  mixes: MIXES,
};
export const QUICK_MEMORY: MemoryEffort = {
  sizes: [10_000_000],
  stacked: 10_000_000,
  mixes: [{ bodies: [NOISE], batches: 1 }, { searches: [WITHOUT] }],
};

/** As many messages as a batch has at most. */
const BATCH = 100;

/** Time between two jobs, longer than the tolerance for clocks, so that they share no event. */
const BETWEEN_JOBS_MS = 3_600_000;

const TEXTURES = ["logs", "noise"] as const;

/** 100 MB a second at most, and nothing at all for a second early on. */
const SLOW: Manner = { status: 503, restMs: 10, stall: { atBytes: 1_000_000, forMs: 1_000 } };

/** Objects of a log that are uploaded side by side; see src/ship/reader/job-reader.ts. */
const UPLOADS_AT_ONCE = 4;

/** Appends that may run at once, into logs of the same process. */
const JOBS_AT_ONCE = 8;

const LARGEST = { max_upload_bytes: UPLOAD_BYTES.max, max_upload_records: UPLOAD_RECORDS.max };

class Measurement {
  readonly #harness: MemoryHarness;
  readonly #sink: Sink;
  readonly #endpoint: string;
  #passedMs = 0;

  constructor(harness: MemoryHarness, sink: Sink, endpoint: string) {
    this.#harness = harness;
    this.#sink = sink;
    this.#endpoint = endpoint;
  }

  /** A row of a batch of the queue. @param rawBytes at most; null: a full batch. */
  async batch(texture: Texture, rawBytes: number | null, jobs: number): Promise<string[]> {
    const bytes = packMessages(texture, 1, 0).rawBytes;
    const messages = rawBytes === null ? BATCH : Math.floor(rawBytes / bytes);
    const consume = async (collecting: boolean): Promise<Peak> => {
      await this.#fresh();
      await this.#bring(texture, messages);
      return this.#harness.peakWhile(() => this.#harness.ask("consume", { messages, collecting }));
    };
    const peaks = [await consume(false), await consume(true)];
    return [texture, `${messages}`, megabytes(messages * bytes), `${jobs}`, ...peaks.map(increment)];
  }

  /** A row of one object of almost this size. */
  async object(texture: Texture, maxBytes: number): Promise<string[]> {
    const { rawBytes, records } = packMessages(texture, 1, 0);
    const messages = Math.floor(Math.min(maxBytes / rawBytes, UPLOAD_RECORDS.max / records));
    // Exactly these: nothing is left to be cut with the next upload.
    const job = await this.create({ max_upload_bytes: maxBytes, max_upload_records: messages * records });
    for (let left = messages - 1; left > 0; left -= BATCH) await this.#consume(texture, Math.min(left, BATCH));
    await this.#fresh();
    await this.#bring(texture, 1);
    const cut = await this.#harness.peakWhile(() => this.#harness.ask("consume", { messages: 1, collecting: false }));
    const object = await this.#cut(job);
    if (object.total !== 1) throw new Error(`${object.total} objects were cut`);
    await this.disable(job);
    await this.#fresh();
    const peaks = [cut, ...(await this.#uploads(job))];
    return [texture, megabytes(object.rawBytes), megabytes(object.bytes), ...peaks.map(increment)];
  }

  /**
   * All in one process, compared with the memory before the first: leftovers count for the next.
   * @returns the highest of three uploads of which two end with a 503; what had piled up when the
   *   store read nothing for a while; and while it read slowly.
   */
  async #uploads(job: number): Promise<Peak[]> {
    let atStall = 0;
    this.#sink.manner = SLOW;
    this.#sink.onStalled = () => {
      atStall = this.#harness.memory.peak();
    };
    const slow = await this.#harness.peakWhile(() => this.#upload(job, 1));
    if (atStall === 0) throw new Error("the upload did not wait for the store");
    const { before } = slow;
    let peak = 0;
    for (const status of [503, 503, 200] as const) {
      this.#sink.manner = { ...FAST, status };
      const upload = await this.#harness.peakWhile(() => this.#upload(job, status === 200 ? 0 : 1));
      peak = Math.max(peak, upload.peak);
    }
    return [{ before, peak }, { before, peak: atStall }, slow];
  }

  /** A line about objects that are uploaded side by side. */
  async together(bytes: number): Promise<string> {
    const job = await this.create({ max_upload_bytes: bytes, max_upload_records: UPLOAD_RECORDS.max });
    const stored = (await this.#stack("noise", job, UPLOADS_AT_ONCE)).bytes;
    this.#sink.mostAtOnce = 0;
    const peak = await this.#harness.peakWhile(() => this.#upload(job, 0));
    const { mostAtOnce } = this.#sink;
    return `${UPLOADS_AT_ONCE} objects of ${megabytes(stored)} MB as stored, ${mostAtOnce} at once: ${increment(peak)}`;
  }

  /** A row of a mix. @param searched a job with objects, which takes nothing more. */
  async mix({ bodies = [], batches = 0, searches = [] }: Mix, searched: number): Promise<string[]> {
    const what = [...searches, ...bodies, ...Array<string>(batches).fill("a full batch")].join(" + ");
    const peaks: Peak[] = [];
    for (const collecting of [true, false]) {
      const made = bodies.map((name) => BODIES[name]());
      await this.#fresh();
      if (batches > 0) await this.#bring("noise", batches * BATCH);
      await this.#harness.ask("collectOften", collecting);
      const all = (): Promise<unknown> =>
        Promise.all([
          ...Array.from({ length: batches }, () => this.#harness.ask("consume", { messages: BATCH, collecting })),
          ...made.map((body) => this.#harness.post(body)),
          ...searches.map((name) => this.#search(searched, name)),
        ]);
      peaks.push(await this.#harness.peakWhile(all));
    }
    return [what, ...peaks.map(increment)];
  }

  async #search(job: number, name: SearchName): Promise<void> {
    const { isWhole, ...question } = SEARCHES[name];
    const end = await this.#harness.search({ ...question, job_id: job, ...SEARCHED_TIME });
    if (end.not_searched.length > 0) throw new Error(`not searched: ${JSON.stringify(end.not_searched)}`);
    if (isWhole && end.read < SEARCHED_OBJECTS) throw new Error(`${end.read} objects were read`);
    if (end.complete !== isWhole) throw new Error(`${name}: complete is ${end.complete}`);
  }

  /** @returns a job with objects to search. It takes nothing more. */
  async searched(bytes: number): Promise<number> {
    // With sketches, objects without the text would not be read.
    const job = await this.create({ sketches: false, max_upload_bytes: bytes });
    await this.#stack("logs", job, SEARCHED_OBJECTS);
    this.#sink.isKeeping = true;
    await this.#upload(job, 0);
    this.#sink.isKeeping = false;
    return job;
  }

  /** @returns the id of a new job, which takes all that is consumed until it is disabled. */
  async create(fields: object): Promise<number> {
    const endpoint = encodeURIComponent(this.#endpoint);
    const { id } = await this.#harness.api.createJob({
      destination_conf: `s3://traces/logs/{DATE}?region=auto&endpoint=${endpoint}&access-key-id=bench&secret-access-key=bench`,
      ...{ enabled: true, max_upload_interval_seconds: 300, ...fields },
    });
    return id;
  }

  async disable(job: number): Promise<void> {
    await this.#harness.api.updateJob(job, { enabled: false });
    this.#passedMs += BETWEEN_JOBS_MS;
    await this.#harness.ask("pass", BETWEEN_JOBS_MS);
  }

  #cut(job: number): Promise<{ total: number; rawBytes: number; bytes: number }> {
    return this.#harness.ask("objects", job);
  }

  /** Has so many objects cut, and no more. @returns the first. A fresh process has them. */
  async #stack(texture: Texture, job: number, objects: number): Promise<{ bytes: number }> {
    while ((await this.#cut(job)).total < objects) await this.#consume(texture, BATCH);
    await this.disable(job);
    await this.#fresh();
    return this.#cut(job);
  }

  /** @throws if a body was not as announced, or another number of objects still waits. */
  async #upload(job: number, waiting: number): Promise<void> {
    const left = await this.#harness.ask<number>("drive", job);
    if (this.#sink.faults.length > 0) throw new Error(`the store got ${this.#sink.faults.join(", ")}`);
    if (left !== waiting) throw new Error(`after the upload ${left} objects wait, not ${waiting}`);
  }

  async #consume(texture: Texture, messages: number): Promise<void> {
    await this.#bring(texture, messages);
    await this.#harness.ask("consume", { messages, collecting: false });
    await this.#harness.ask("collect");
  }

  async #fresh(): Promise<void> {
    await this.#harness.restart();
    await this.#harness.ask("pass", this.#passedMs);
  }

  #bring(texture: Texture, messages: number): Promise<void> {
    return this.#harness.ask("bring", packMessages(texture, messages, this.#passedMs).frames);
  }
}

/** @throws if an upload differs from its announced length or hash, or something is not answered. */
export async function reportMemory(effort: MemoryEffort, say: (line: string) => void): Promise<string[]> {
  if (!canMeasureMemory())
    return ["MEMORY: not measured; it takes Linux, whose /proc says what a process has had resident"];
  const sink = new Sink();
  const endpoint = await sink.listen();
  const harness = await MemoryHarness.start(OBJECT_STORED_BYTES.max);
  try {
    return await reportAll(new Measurement(harness, sink, endpoint), effort, say);
  } finally {
    await harness.close();
    await sink.close();
  }
}

async function reportAll(
  measurement: Measurement,
  { sizes, stacked, mixes }: MemoryEffort,
  say: (line: string) => void,
): Promise<string[]> {
  say("Memory: batches of the queue …");
  const jobs = [await measurement.create(LARGEST)];
  const batches: string[][] = [];
  for (const texture of TEXTURES)
    for (const rawBytes of [APPEND_MAX_RAW_BYTES, null])
      batches.push(await measurement.batch(texture, rawBytes, jobs.length));
  while (jobs.length < JOBS_AT_ONCE) jobs.push(await measurement.create(LARGEST));
  batches.push(await measurement.batch("noise", null, jobs.length));
  for (const job of jobs) await measurement.disable(job);
  const objects: string[][] = [];
  for (const texture of TEXTURES)
    for (const size of sizes) {
      say(`Memory: an object of ${size / 1e6} MB of ${texture} …`);
      objects.push(await measurement.object(texture, size));
    }
  say("Memory: uploads side by side …");
  const together = await measurement.together(stacked);
  const searched = await measurement.searched(stacked);
  await measurement.create(LARGEST);
  const mixed: string[][] = [];
  for (const mix of mixes) {
    say(`Memory: mix ${mixed.length + 1} of ${mixes.length} …`);
    mixed.push(await measurement.mix(mix, searched));
  }
  return [
    "MEMORY that the runtime's process had resident at most, in MB above what it had before (other parts of the process not counted, an isolate may have 128)",
    "while one object is cut and uploaded",
    table(["data", "raw MB", "stored MB", "cut", "upload", "store stalls", "store slow"], objects),
    together,
    "while a batch of the queue is consumed, into logs of the same process",
    table(["data", "messages", "raw MB", "jobs", "as the runtime collects", "collected at each step"], batches),
    `while requests, batches and searches run (the aim, for what is held: below ${megabytes(MEMORY_MAX_BYTES)})`,
    table(["what", "held", "as the runtime collects"], mixed),
  ];
}

function increment({ before, peak }: Peak): string {
  return `${peak < before ? "" : "+"}${megabytes(peak - before)}`;
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
