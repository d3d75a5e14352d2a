/**
 * The memory of the Worker while objects of every size are taken in, cut and uploaded: the peak of
 * resident memory above what was resident before. Batches, cuts and uploads each begin in a fresh
 * process, as freed memory may stay resident and would hide what comes next.
 */
import { APPEND_MAX_RAW_BYTES, UPLOAD_BYTES, UPLOAD_RECORDS } from "../../src/base/limits.ts";
import { MemoryHarness, type Peak } from "./memory-harness.ts";
import { framed, type Packed, packMessages } from "./messages.ts";
import type { CutSize, Texture } from "./protocol.ts";
import { FAST, type Manner, Sink } from "./sink.ts";

/** How much is measured. */
export interface MemoryEffort {
  /** Sizes of objects, as `max_upload_bytes`. */
  sizes: readonly number[];
  /** The same for the objects that are uploaded side by side. */
  together: number;
}

export const FULL_MEMORY: MemoryEffort = { sizes: [10_000_000, 100_000_000, UPLOAD_BYTES.max], together: 500_000_000 };
export const QUICK_MEMORY: MemoryEffort = { sizes: [100_000_000], together: 100_000_000 };

export interface ObjectMemory {
  texture: Texture;
  object: CutSize;
  cut: Peak;
  /** `GET /objects`. */
  list: Peak;
  /** The store reads as fast as it can; the highest of three, of which two end with a 503. */
  upload: Peak;
  /** The store reads slowly, and answers 503. */
  slow: Peak;
  /** What had piled up while it read nothing for a while. */
  stalled: Peak;
  /** After the last byte of the last upload: the log counts it, and deletes the rows. */
  delivery: Peak;
}

export interface BatchMemory {
  texture: Texture;
  messages: number;
  rawBytes: number;
  jobs: number;
  /** As the runtime collects garbage. */
  peak: Peak;
  /** Collecting it before each message and each call of a log. */
  held: Peak;
}

export interface MemoryResult {
  /** Resident memory of a fresh process, in bytes. */
  idle: number;
  batches: BatchMemory[];
  objects: ObjectMemory[];
  together: Together;
  /** The same to receivers that get a body of their own, by scheme. */
  receivers: { [scheme: string]: Together };
}

export interface Together {
  objects: CutSize[];
  atOnce: number;
  peak: Peak;
}

/** As many messages as a batch has at most. */
const BATCH = 100;

/** The simulated time, far in the real future, so that no alarm fires by itself. */
const NOON = Date.parse("2100-11-20T12:00:00Z");

/** Time between two jobs, longer than the tolerance for clocks, so that they share no event. */
const BETWEEN_JOBS_MS = 3_600_000;

const TEXTURES = ["logs", "noise"] as const;

const LARGEST = { max_upload_bytes: UPLOAD_BYTES.max, max_upload_records: UPLOAD_RECORDS.max };

/** 100 MB a second at most, and nothing at all for a second early on. */
const SLOW: Manner = { status: 503, restMs: 10, stall: { atBytes: 1_000_000, forMs: 1_000 } };

/** Objects of a log that are uploaded side by side; see src/ship/reader/job-reader.ts. */
const UPLOADS_AT_ONCE = 4;

/** The largest bodies for an object, and the largest objects. */
const RECEIVERS = [
  ["loki", "/loki/api/v1/push"],
  ["otlp", "/v1/logs"],
  ["https", "/records"],
] as const;

/** Jobs that a consumer commits to side by side; see src/ship/pipeline/commit.ts. */
const JOBS_AT_ONCE = 8;

class Measurement {
  readonly #harness: MemoryHarness;
  readonly #sink: Sink;
  readonly #endpoint: string;
  readonly #packed: { readonly [texture in Texture]: Packed };
  #passedMs = 0;

  constructor(harness: MemoryHarness, sink: Sink, endpoint: string, packed: { readonly [texture in Texture]: Packed }) {
    this.#harness = harness;
    this.#sink = sink;
    this.#endpoint = endpoint;
    this.#packed = packed;
  }

  /** Resident memory of a fresh process. */
  async idle(): Promise<number> {
    await this.#fresh(null);
    return (await this.#peak(async () => {})).before;
  }

  /** A batch of the queue. @param rawBytes at most so many bytes of records; null: a full batch. */
  async batch(texture: Texture, rawBytes: number | null, jobs: number): Promise<BatchMemory> {
    const { bytes } = this.#perMessage(texture);
    const messages = rawBytes === null ? BATCH : Math.floor(rawBytes / bytes);
    const consume = async (collecting: boolean): Promise<Peak> => {
      await this.#fresh(texture);
      return this.#peak(() => this.#harness.ask("consume", { messages, collecting }));
    };
    const peak = await consume(false);
    const held = await consume(true);
    return { texture, messages, rawBytes: messages * bytes, jobs, peak, held };
  }

  /** Everything about one object of almost this size. */
  async object(texture: Texture, maxBytes: number): Promise<ObjectMemory> {
    const { bytes, records } = this.#perMessage(texture);
    const messages = Math.floor(Math.min(maxBytes / bytes, UPLOAD_RECORDS.max / records));
    // Exactly these: nothing is left to be cut with the next upload.
    const job = await this.create({ max_upload_bytes: maxBytes, max_upload_records: messages * records });
    await this.#bring(texture);
    for (let left = messages - 1; left > 0; left -= BATCH) {
      await this.#harness.ask("consume", { messages: Math.min(left, BATCH), collecting: false });
      await this.#harness.ask("collect");
    }
    await this.#fresh(texture);
    let object: CutSize | null = null;
    const cut = await this.#peak(async () => {
      object = await this.#harness.ask<CutSize>("cut", job);
    });
    if (object === null) throw new Error("nothing was cut");
    await this.disable(job);
    await this.#fresh(null);
    const list = await this.#peak(() => this.#harness.api("GET", `/logship/jobs/${job}/objects`));
    return { texture, object, cut, list, ...(await this.#uploads(job)) };
  }

  /**
   * All in one process, compared with the memory before the first: leftovers count for the next.
   */
  async #uploads(job: number): Promise<Pick<ObjectMemory, "upload" | "stalled" | "slow" | "delivery">> {
    const { memory } = this.#harness;
    let atStall = 0;
    this.#sink.manner = SLOW;
    this.#sink.events.stalled = () => {
      atStall = memory.peak();
    };
    const slow = await this.#peak(() => this.#upload(job, 1));
    if (atStall === 0) throw new Error("the upload did not wait for the store");
    this.#sink.manner = { ...FAST, status: 503 };
    const uploads: number[] = [];
    for (let i = 0; i < 2; i++) uploads.push((await this.#peak(() => this.#upload(job, 1))).peak);
    this.#sink.manner = FAST;
    this.#sink.events.received = () => {
      uploads.push(memory.peak());
      memory.forgetPeak();
    };
    const delivery = await this.#peak(() => this.#upload(job, 0));
    this.#sink.events = {};
    const { before } = slow;
    return {
      upload: { before, peak: Math.max(...uploads) },
      slow,
      stalled: { before, peak: atStall },
      delivery: { before, peak: delivery.peak },
    };
  }

  /** Objects that are uploaded side by side. */
  async together(texture: Texture, maxBytes: number, objects: number): Promise<Together> {
    return this.#stacked(texture, objects, { max_upload_bytes: maxBytes, max_upload_records: UPLOAD_RECORDS.max });
  }

  /** The largest that a receiver gets. @param path with the scheme: of its address. */
  async receiver(scheme: string, path: string, objects: number): Promise<Together> {
    const { host } = new URL(this.#endpoint);
    return this.#stacked("logs", objects, { destination_conf: `${scheme}://${host}${path}` });
  }

  async #stacked(texture: Texture, objects: number, fields: object): Promise<Together> {
    const job = await this.create(fields);
    await this.#bring(texture);
    const sizes = await this.#harness.ask<CutSize[]>("stack", { job, objects });
    await this.disable(job);
    await this.#fresh(null);
    this.#sink.mostAtOnce = 0;
    this.#sink.manner = FAST;
    const peak = await this.#peak(() => this.#upload(job, 0));
    return { objects: sizes, atOnce: this.#sink.mostAtOnce, peak };
  }

  /** @returns the id of a new job, which takes all that is consumed until it is disabled. */
  async create(fields: object): Promise<number> {
    const endpoint = encodeURIComponent(this.#endpoint);
    const { id } = await this.#harness.api<{ id: number }>("POST", "/logship/jobs", {
      destination_conf: `s3://traces/logs/{DATE}?region=auto&endpoint=${endpoint}&access-key-id=bench&secret-access-key=bench`,
      enabled: true,
      max_upload_interval_seconds: 300,
      ...fields,
    });
    return id;
  }

  async disable(job: number): Promise<void> {
    await this.#harness.api("PUT", `/logship/jobs/${job}`, { enabled: false });
    this.#passedMs += BETWEEN_JOBS_MS;
    await this.#harness.ask("pass", BETWEEN_JOBS_MS);
  }

  /** @throws if another number of objects of a job still waits after an upload of all. */
  async #upload(job: number, waiting: number): Promise<void> {
    const left = await this.#harness.ask<number>("drive", job);
    this.#assertSound();
    if (left !== waiting) throw new Error(`after the upload ${left} objects wait, not ${waiting}`);
  }

  /** @throws if a body differs from its announced length or hash. */
  #assertSound(): void {
    if (this.#sink.faults.length > 0) throw new Error(`the store got ${this.#sink.faults.join(", ")}`);
  }

  /** A fresh process. @param texture of the messages that it gets. */
  async #fresh(texture: Texture | null): Promise<void> {
    await this.#harness.restart();
    await this.#harness.ask("pass", this.#passedMs);
    if (texture !== null) await this.#bring(texture);
  }

  #bring(texture: Texture): Promise<void> {
    return this.#harness.bring(framed(this.#packed[texture].bodies));
  }

  /** Of any of them: all are full. */
  #perMessage(texture: Texture): { bytes: number; records: number } {
    const { rawBytes, records, messages } = this.#packed[texture].size;
    return { bytes: rawBytes / messages, records: records / messages };
  }

  #peak(run: () => Promise<unknown>): Promise<Peak> {
    return this.#harness.peakWhile(run);
  }
}

/**
 * @param say gets progress as text.
 * @throws if the memory of the runtime cannot be read here, or an upload differs from its announced
 *   length or hash.
 */
export async function measureMemory(effort: MemoryEffort, say: (line: string) => void): Promise<MemoryResult> {
  const packed = { logs: packMessages("logs", BATCH, NOON), noise: packMessages("noise", BATCH, NOON) };
  const sink = new Sink();
  const endpoint = await sink.listen();
  const harness = await MemoryHarness.start();
  try {
    const measurement = new Measurement(harness, sink, endpoint, packed);
    return await measureAll(measurement, effort, say);
  } finally {
    await harness.close();
    await sink.close();
  }
}

async function measureAll(
  measurement: Measurement,
  { sizes, together }: MemoryEffort,
  say: (line: string) => void,
): Promise<MemoryResult> {
  const batches: BatchMemory[] = [];
  const objects: ObjectMemory[] = [];
  say("Memory: batches of the queue …");
  const jobs = [await measurement.create(LARGEST)];
  for (const texture of TEXTURES) {
    batches.push(await measurement.batch(texture, APPEND_MAX_RAW_BYTES, jobs.length));
    batches.push(await measurement.batch(texture, null, jobs.length));
  }
  while (jobs.length < JOBS_AT_ONCE) jobs.push(await measurement.create(LARGEST));
  batches.push(await measurement.batch("noise", null, jobs.length));
  for (const job of jobs) await measurement.disable(job);
  for (const texture of TEXTURES) {
    for (const size of sizes) {
      say(`Memory: an object of ${size / 1e6} MB of ${texture} …`);
      objects.push(await measurement.object(texture, size));
    }
  }
  say("Memory: uploads side by side …");
  const receivers: MemoryResult["receivers"] = {};
  for (const [scheme, path] of RECEIVERS)
    receivers[scheme] = await measurement.receiver(scheme, `${path}?tls=off`, 3 * UPLOADS_AT_ONCE);
  return {
    idle: await measurement.idle(),
    batches,
    objects,
    together: await measurement.together("noise", together, UPLOADS_AT_ONCE),
    receivers,
  };
}
