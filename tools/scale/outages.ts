/** How long each part may be down: what holds the events meanwhile, and when all is delivered. */
import { MESSAGE_MAX_AGE_MS, SHARD_MAX_BYTES } from "../../src/base/limits.ts";
import { BOUNDS } from "./bounds.ts";
import { type Figure, measureCell, measureLoad } from "./cell.ts";
import { type Taken, takeIn } from "./stages/intake.ts";
import { endure, type Outage, type PartName, unreadBytes } from "./stages/outage.ts";

export const OUTAGE_RATES = [10, 1_000, 10_000];

/** How long a part is down in the simulation, in hours. */
export const OUTAGE_HOURS = 1;

/** As at most deployments: some isolates of each function. */
const SHARED = { isolates: 20, shards: 1 };
const EFFORT = { seconds: 300, cpuSeconds: 20 };

/** Simulated time of intake whose messages come again and again, in s. */
const PATTERN_S = 20;

/** What is measured once for each rate. */
interface Measured {
  taken: Taken;
  /** Of one event, in bytes: in the queue, and in the log while a job has not read it. */
  bytes: { queued: number; unread: number };
  /** The fullest part of the way, of its limit. */
  busiest: number;
}

/** A row of the table of endurance. */
export interface Endured extends Outage {
  eventsPerSecond: number;
  /** Until something is refused or lost, in hours; null: for good. */
  enduredHours: number | null;
}

const MS_PER_HOUR = 3_600_000;

async function measured(eventsPerSecond: number, say: (line: string) => void): Promise<Measured> {
  const load = { eventsPerSecond, ...SHARED };
  const result = await measureLoad(load, [2], EFFORT, say);
  const { figures } = await measureCell(result, 2, say);
  const { taken } = result;
  const queued = taken.messages.reduce((sum, { body }) => sum + body.byteLength, 0) / taken.events;
  return {
    taken: await takeIn(load, PATTERN_S, say),
    bytes: { queued, unread: await unreadBytes(taken) },
    busiest: Math.max(...figures.filter(isOnTheWay).map(({ share }) => share)),
  };
}

/** What bounds how fast a backlog goes through. */
function isOnTheWay({ bound, of }: Figure): boolean {
  if (bound === "consumers" || bound === "queueMessages") return true;
  return (bound === "objectCpu" || bound === "objectRequests") && of !== "tail()";
}

/** What holds events while a part is down, in bytes of which kind; null: no end. */
function room(part: PartName): { bytes: number; of: "queued" | "unread" } | null {
  switch (part) {
    case "store":
    case "control":
    case "queue":
      return null;
    case "reader":
      return { bytes: SHARD_MAX_BYTES, of: "unread" };
    case "log":
    case "consumer":
      return { bytes: BOUNDS.queueBacklog.limit, of: "queued" };
  }
}

/** The longest that the queue may hold anything: then messages are set aside, or dropped. */
const QUEUED_MAX_HOURS = MESSAGE_MAX_AGE_MS / MS_PER_HOUR;

/** @param say gets what the shipper warns of on the good day before. */
export async function outage(
  part: PartName,
  eventsPerSecond: number,
  hours: number,
  say: (line: string) => void,
): Promise<Endured> {
  const { taken, bytes, busiest } = await measured(eventsPerSecond, say);
  // What it warns of while a part is down is what it should.
  const simulated = await endure(part, hours, taken, () => {});
  const held = room(part);
  const untilFull = held === null ? null : held.bytes / (eventsPerSecond * bytes[held.of]) / 3_600;
  const enduredHours = untilFull === null || held?.of !== "queued" ? untilFull : Math.min(untilFull, QUEUED_MAX_HOURS);
  // The simulated platform is as fast as it is asked to be; the real one has limits, of which the
  // events that come meanwhile use a share.
  const backlogS = busiest < 1 ? (hours * 3_600 * busiest) / (1 - busiest) : Number.POSITIVE_INFINITY;
  const untilDeliveredS = Math.max(simulated.untilDeliveredS, backlogS);
  return { ...simulated, eventsPerSecond, enduredHours, untilDeliveredS };
}

/** How long a reader may not answer before it harms other jobs. */
export interface Unread {
  eventsPerSecond: number;
  /** Of one event, in bytes: in the log, while one job has not read it. */
  bytes: number;
  /** Until a shard is full, in hours, by the number of shards. */
  hours: { shards: number; hours: number }[];
}

export const UNREAD_RATES = [1, 10, 100, 1_000, 10_000, 100_000];
const UNREAD_SHARDS = [1, 8];

export async function unread(eventsPerSecond: number, say: (line: string) => void): Promise<Unread> {
  const seconds = eventsPerSecond < 10 ? 10 * PATTERN_S : eventsPerSecond > 10_000 ? 3 : PATTERN_S;
  const bytes = await unreadBytes(await takeIn({ eventsPerSecond, ...SHARED }, seconds, say));
  // Each event goes to one of them.
  const full = SHARD_MAX_BYTES / (eventsPerSecond * bytes) / 3_600;
  return { eventsPerSecond, bytes, hours: UNREAD_SHARDS.map((shards) => ({ shards, hours: full * shards })) };
}
