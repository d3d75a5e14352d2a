/**
 * A part of the platform that is down for hours while events come: what is delivered afterwards,
 * and how soon. The messages come as those of a load do, each with one small record in place of its
 * hundreds: what is counted is messages, appends and objects, and that every one of them arrives
 * once.
 */
import { gunzipSync } from "node:zlib";
import { platform } from "../../../src/base/platform.ts";
import { encodeParts } from "../../../src/formats/queue/message.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { toRecord } from "../../../src/formats/record/record.ts";
import { appendCall, appendMessages } from "../../../src/ship/intake/direct.ts";
import { randomIds } from "../../../src/ship/intake/ids.ts";
import type { PackedMessage } from "../../../src/ship/intake/packing.ts";
import { type Source, World } from "../runtime/world.ts";
import { createJobs } from "./consume.ts";
import type { Taken } from "./intake.ts";

/** The job whose own parts go down, and one beside it. */
const SICK = 1;
const WELL = 2;

/** All is up for so long before, in ms. */
const BEFORE_MS = 60_000;

/** Whether all has arrived is looked at this often, in ms, for at most so long. */
const LOOK_MS = 15_000;
const PATIENCE_MS = 24 * 3_600_000;

/** By then a job that nothing is wrong with has delivered an event, in ms: two of its intervals. */
const ON_TIME_MS = 60_000;

/** Nothing is measured here, and calls to a part that is down wait for the clock, in ms. */
const STUCK_MS = 50;

export const PARTS = {
  store: "a job's store",
  reader: "a job's reader",
  log: "a shard of the log",
  control: "the control plane",
  queue: "the queue",
  consumer: "the consumer",
} as const;

export type PartName = keyof typeof PARTS;

export interface Outage {
  part: PartName;
  hours: number;
  messages: number;
  /** Of the job with the part that was down, or of both if the part is everyone's. */
  lost: number;
  doubled: number;
  /** What the other job had not in time, at the end of the outage; null: the part is everyone's. */
  otherLate: number | null;
  /** From the end of the outage until all had arrived, in s. */
  untilDeliveredS: number;
}

/** @param taken what a load becomes in the queue: its messages come again and again. */
export async function endure(
  part: PartName,
  hours: number,
  taken: Taken,
  say: (line: string) => void,
): Promise<Outage> {
  const world = new World(say);
  world.stuckMs = STUCK_MS;
  world.enter();
  try {
    await createJobs(world, WELL);
    const { clock } = world;
    const arrivals = new Arrivals(world, taken);
    await world.pass(clock.nowMs + BEFORE_MS, [arrivals]);
    const isUp = breakDown(world, part, arrivals);
    await world.pass(clock.nowMs + hours * 3_600_000, [arrivals]);
    const isShared = part !== "store" && part !== "reader";
    const arrivedInTime = arrivals.sentBy(clock.nowMs - ON_TIME_MS);
    const otherLate = isShared ? null : Math.max(0, arrivedInTime - seen(world, WELL).different);
    isUp();
    arrivals.end();
    const endMs = clock.nowMs;
    const jobs = isShared ? [SICK, WELL] : [SICK];
    const isThere = (): boolean => [SICK, WELL].every((job) => seen(world, job).different >= arrivals.sent);
    while (!isThere() && clock.nowMs < endMs + PATIENCE_MS) await world.pass(clock.nowMs + LOOK_MS);
    const untilDeliveredS = (clock.nowMs - endMs) / 1_000;
    // What comes a second time comes when an answer was lost: some time later.
    await world.pass(clock.nowMs + 20 * LOOK_MS);
    let lost = 0;
    let doubled = 0;
    for (const job of jobs) {
      const { records, different } = seen(world, job);
      lost += arrivals.sent - different;
      doubled += records - different;
    }
    return { part, hours, messages: arrivals.sent, lost, doubled, otherLate, untilDeliveredS };
  } finally {
    world.leave();
  }
}

/** Until the queue has delivered the last message, in ms. */
const DELIVERED_MS = 15_000;

/**
 * What an event takes in the log while no reader answers, with all else that a shard stores, in
 * bytes: once it is kept no longer, as blocks then have only what was prepared.
 */
export async function unreadBytes({ messages }: Taken): Promise<number> {
  const world = new World(() => {});
  Object.assign(world.env, { LOG_KEEP_HOURS: "0" });
  world.stuckMs = STUCK_MS;
  world.enter();
  try {
    await createJobs(world, 1);
    breakDown(world, "reader", { isKept: false });
    for (const message of messages) world.queue.put(message);
    await world.pass(Math.max(...messages.map(({ sentMs }) => sentMs)) + DELIVERED_MS);
    const [shard] = world.objects.filter(({ account }) => account.className === "TraceLog");
    if (shard === undefined || !world.queue.isEmpty) throw new Error("the log has not taken all");
    const events = messages.reduce((sum, { records }) => sum + records, 0);
    return shard.storage.sql.databaseSize / events;
  } finally {
    world.leave();
  }
}

/** @returns what mends it. */
function breakDown(world: World, part: PartName, arrivals: Pick<Arrivals, "isKept">): () => void {
  const down = (what: string): never => {
    throw new Error(`${what} is down`);
  };
  const objects = (isDown: (className: string, name: string) => boolean): (() => void) => {
    world.onCall = ({ className, name }) => (isDown(className, name) ? down(name) : null);
    return () => {
      world.onCall = null;
    };
  };
  switch (part) {
    case "store":
      world.store.isDown = (url) => url.includes(`/job-${SICK}/`);
      return () => {
        world.store.isDown = () => false;
      };
    case "reader":
      return objects((className, name) => className === "JobReader" && name.startsWith(`job ${SICK} `));
    case "log":
      return objects((className) => className === "TraceLog");
    case "control":
      return objects((className) => className === "ControlPlane");
    case "queue":
      world.queue.refuses = true;
      arrivals.isKept = true;
      return () => {
        world.queue.refuses = false;
        arrivals.isKept = false;
      };
    case "consumer":
      world.queue.holds = true;
      return () => {
        world.queue.holds = false;
      };
  }
}

/** What the store has of a job: records, and different ones among them. */
interface Seen {
  records: number;
  different: number;
}

const NUMBER = /"ScriptVersion":\{"ID":"(\d+)"/g;

/** Objects that were read, so that each is read once: they do not change. */
const readOf = new WeakMap<
  World,
  { urls: Set<string>; jobs: Map<number, { records: number; numbers: Set<string> }> }
>();

function seen(world: World, job: number): Seen {
  const read = readOf.get(world) ?? { urls: new Set<string>(), jobs: new Map() };
  readOf.set(world, read);
  for (const [url, body] of world.store.objects) {
    if (read.urls.has(url) || !url.endsWith(".log.gz")) continue;
    read.urls.add(url);
    const of = Number(/\/job-(\d+)\//.exec(url)?.[1]);
    const own = read.jobs.get(of) ?? { records: 0, numbers: new Set() };
    read.jobs.set(of, own);
    for (const [, number = ""] of gunzipSync(body).toString().matchAll(NUMBER)) {
      own.records += 1;
      own.numbers.add(number);
    }
  }
  const { records = 0, numbers } = read.jobs.get(job) ?? {};
  return { records, different: numbers?.size ?? 0 };
}

/** The messages of a load, again and again. */
class Arrivals implements Source {
  readonly #world: World;
  readonly #taken: Taken;
  readonly #beginMs: number;
  readonly #offsets: readonly number[];
  readonly #idOf = randomIds(1);
  readonly #sentMs: number[] = [];
  /** They go to the log, as those of `tail()` do which the queue refuses. */
  isKept = false;
  #hasEnded = false;

  constructor(world: World, taken: Taken) {
    this.#world = world;
    this.#taken = taken;
    this.#beginMs = world.clock.nowMs;
    const firstMs = Math.min(...taken.messages.map(({ sentMs }) => sentMs));
    this.#offsets = taken.messages.map(({ sentMs }) => sentMs - firstMs).sort((a, b) => a - b);
  }

  get sent(): number {
    return this.#sentMs.length;
  }

  sentBy(timeMs: number): number {
    return this.#sentMs.filter((sentMs) => sentMs <= timeMs).length;
  }

  end(): void {
    this.#hasEnded = true;
  }

  nextMs(): number {
    const { length } = this.#offsets;
    const rounds = Math.floor(this.sent / length);
    const offsetMs = this.#offsets[this.sent % length] ?? 0;
    return this.#hasEnded ? Number.POSITIVE_INFINITY : this.#beginMs + rounds * this.#taken.seconds * 1_000 + offsetMs;
  }

  async run(): Promise<void> {
    const { clock, queue, env } = this.#world;
    const takenInMs = Math.floor(clock.nowMs);
    const id = this.#idOf(0);
    const raw = new TextEncoder().encode(`${lineAt(takenInMs, this.sent)}\n`);
    const body = encodeParts([{ id, takenInMs, keyed: false, shards: 1, records: 1 }], raw);
    this.#sentMs.push(takenInMs);
    if (!this.isKept) return queue.put({ body: body.buffer, sentMs: takenInMs });
    const message: PackedMessage = { id, shard: 0, takenInMs, records: 1, body };
    const { cause } = await appendMessages([message], { append: appendCall(env), platform }, 10_000, () => {});
    if (cause !== undefined) throw cause;
  }
}

function lineAt(timeMs: number, number: number): string {
  const item = { event: { cron: "* * * * *", scheduledTime: timeMs }, eventTimestamp: timeMs, scriptName: "outage" };
  const context = { takenInMs: timeMs, defaultScriptName: "unnamed", lenient: true };
  const whole = { ...item, scriptVersion: { id: `${number}` }, logs: [], exceptions: [], outcome: "ok" };
  const record = toRecord(whole, context, "", { faults: [], unknownKeys: new Set() });
  if (record === null) throw new Error("a trace item is none");
  return recordLine(record);
}
