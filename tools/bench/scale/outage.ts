/**
 * A part of the platform that is down while events come: what is delivered afterwards, how soon,
 * and how long the part may be down.
 */
import { gunzipSync } from "node:zlib";
import { MESSAGE_MAX_AGE_MS, SHARD_MAX_BYTES } from "../../../src/base/limits.ts";
import { storedBytes } from "../meter.ts";
import { eventOf, type Load, Simulation } from "../simulation.ts";
import { BOUNDS } from "./figures.ts";

/** The job whose own parts go down, and one beside it. */
const SICK = 1;
const WELL = 2;

/** All is up for so long before, in s. */
const BEFORE_S = 60;

/** Whether all has arrived is looked at this often, in s, for at most so long. */
const LOOK_S = 15;
const PATIENCE_S = 24 * 3_600;

/** By then a job that nothing is wrong with has delivered an event, in s: two of its intervals. */
const ON_TIME_S = 60;

/** As at most deployments: some isolates of each function. */
const LOAD = { isolates: 20, shards: 1, packer: true };

/** The parts, and what holds the events while one is down. */
export const PARTS = {
  control: { title: "the control plane", heldIn: "nothing waits; changes are refused" },
  log: { title: "a shard of the log", heldIn: "the queue" },
  reader: { title: "a job's reader", heldIn: "the log" },
  store: { title: "a job's store", heldIn: "the job's reader" },
  consumer: { title: "the consumer", heldIn: "the queue" },
  queue: { title: "the queue", heldIn: "nothing waits; events go to the log" },
} as const;

export type PartName = keyof typeof PARTS;

export interface Outage {
  part: PartName;
  eventsPerSecond: number;
  downS: number;
  events: number;
  /** Of the job with the part that was down, or of both if the part is everyone's. */
  lost: number;
  doubled: number;
  /** What the other job had not in time, at the end of the outage; null: the part is everyone's. */
  otherLate: number | null;
  /** From the end of the outage until all had arrived, in s, on a platform of unlimited speed. */
  untilDeliveredS: number;
  /** What an event took of what held it, in bytes; and hours until that is full; null: never. */
  heldBytes: number;
  enduredHours: number | null;
}

/** What the queue holds at most, and for how long: then messages are set aside, or dropped. */
const QUEUED_MAX_HOURS = MESSAGE_MAX_AGE_MS / 3_600_000;

export async function measureOutage(part: PartName, eventsPerSecond: number, downS: number): Promise<Outage> {
  const load: Load = { ...LOAD, eventsPerSecond };
  // What it warns of while a part is down is what it should.
  const simulation = new Simulation(load, () => {});
  const stored = [new Arrivals(), new Arrivals(), new Arrivals()] as const;
  simulation.store.onBody = (url, body) => stored[Number(/\/job-(\d)\//.exec(url)?.[1] ?? 0) as 0 | 1 | 2].add(body);
  const of = (job: number): Arrivals => stored[job as 1 | 2];
  try {
    while (simulation.jobs.length < WELL) await simulation.createJob();
    await simulation.pass(BEFORE_S, true);
    const before = sizesOf(simulation);
    breakDown(simulation, part);
    await simulation.pass(downS - ON_TIME_S, true);
    const inTime = simulation.events;
    await simulation.pass(ON_TIME_S, true);
    const isShared = part !== "store" && part !== "reader";
    const otherLate = isShared ? null : Math.max(0, inTime - of(WELL).different);
    const held = sizesOf(simulation);
    const { events } = simulation;
    mend(simulation);
    const endMs = simulation.scheduler.nowMs;
    const isThere = (): boolean => [SICK, WELL].every((job) => of(job).different >= events);
    while (!isThere() && simulation.scheduler.nowMs < endMs + PATIENCE_S * 1_000) await simulation.pass(LOOK_S, false);
    const untilDeliveredS = (simulation.scheduler.nowMs - endMs) / 1_000;
    // What comes a second time comes when an answer was lost: some time later.
    await simulation.pass(20 * LOOK_S, false);
    const concerned = (isShared ? [SICK, WELL] : [SICK]).map(of);
    const heldBytes =
      (part === "reader" ? held.log - before.log : held.queue - before.queue) / (events - before.events);
    return {
      ...{ part, eventsPerSecond, downS, events, otherLate, untilDeliveredS, heldBytes },
      lost: concerned.reduce((sum, { different }) => sum + events - different, 0),
      doubled: concerned.reduce((sum, { records, different }) => sum + records - different, 0),
      enduredHours: enduredHours(part, eventsPerSecond * heldBytes),
    };
  } finally {
    simulation.end();
  }
}

function sizesOf({ accounts, queue, events }: Simulation): { log: number; queue: number; events: number } {
  const [log] = [...accounts.objects.keys()].filter(({ kind }) => kind === "TRACE_LOG");
  return { log: log === undefined ? 0 : storedBytes(log.disk), queue: queue.waitingBytes, events };
}

/** @param bytesPerSecond that come to what holds the events. */
function enduredHours(part: PartName, bytesPerSecond: number): number | null {
  switch (part) {
    case "store":
    case "control":
    case "queue":
      return null;
    case "reader":
      return SHARD_MAX_BYTES / bytesPerSecond / 3_600;
    case "log":
    case "consumer":
      return Math.min(BOUNDS.queueBacklog.limit / bytesPerSecond / 3_600, QUEUED_MAX_HOURS);
  }
}

function breakDown({ objects, store, queue }: Simulation, part: PartName): void {
  if (part === "store") store.isDown = (url) => url.includes(`/job-${SICK}/`);
  if (part === "reader") objects.isDown = ({ kind, id }) => kind === "READERS" && id.name.startsWith(`job ${SICK} `);
  if (part === "log") objects.isDown = ({ kind }) => kind === "TRACE_LOG";
  if (part === "control") objects.isDown = ({ kind }) => kind === "CONTROL";
  queue.refuses = part === "queue";
  queue.holds = part === "consumer";
}

function mend({ objects, store, queue }: Simulation): void {
  store.isDown = () => false;
  objects.isDown = () => false;
  queue.refuses = false;
  queue.holds = false;
}

const VERSION = /"ScriptVersion":\{"ID":"([^"]+)"/g;

/** What the store has of a job: records, and different ones among them. */
class Arrivals {
  records = 0;
  readonly #events = new Set<number>();

  get different(): number {
    return this.#events.size;
  }

  add(body: Uint8Array): void {
    // Probes have no records.
    if (body[0] !== 0x1f || body[1] !== 0x8b) return;
    for (const [, version = ""] of gunzipSync(body).toString().matchAll(VERSION)) {
      this.records += 1;
      this.#events.add(eventOf(version));
    }
  }
}
