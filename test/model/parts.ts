import { type Config, type Job, passes, wasIn } from "./config.ts";

export interface Rec {
  id: string;
  fn: number;
  value: number;
  day: number;
}

/** Records that were handed over together under one id. */
export interface Part {
  id: string;
  /** Intake, by the clock of the machine that took it in. */
  takenMs: number;
  shard: number;
  keyed: boolean;
  records: Rec[];
  /** Making its records kills the process. */
  poison: boolean;
}

export interface Message {
  id: number;
  parts: Part[];
  /** Release 1 cannot read even its head. */
  newHead: boolean;
}

export interface Queued {
  message: Message;
  attempts: number;
  visibleAt: number;
  sentMs: number;
  dead: boolean;
  /** Its last delivery. */
  triedMs: number;
  /**
   * For the oracle: deliveries in which its shard answered, and yet it was neither taken nor held.
   */
  refused: number;
}

/** Functions whose logging was off when a part was taken in, by the part's id. */
export type Off = Record<string, number[]>;

export interface Made {
  received: number;
  filtered: number;
  /** Each of one day. */
  fragments: Rec[][];
}

/** The part of a record without a key, of whose id its own begins with that of its part. */
export const partOf = (rec: string): string => rec.slice(0, rec.indexOf("."));

/**
 * The pure function that handler and reader share. The cut into fragments depends on the format, so
 * that a fragment made under another one shows.
 */
export function prepare(job: Pick<Job, "mod" | "format">, parts: readonly Part[], off: Off): Made {
  const offered = parts.flatMap(({ id, records }) => records.filter(({ fn }) => !off[id]?.includes(fn)));
  const kept = offered.filter((rec) => passes(job.mod, rec));
  const fragments: Rec[][] = [];
  const most = 1 + (job.format % 3);
  for (const day of [0, 1]) {
    const own = kept.filter((rec) => rec.day === day);
    for (let i = 0; i < own.length; i += most) fragments.push(own.slice(i, i + most));
  }
  return { received: offered.length, filtered: offered.length - kept.length, fragments };
}

export function offOf(config: Config, parts: readonly Part[]): Off {
  const offAt = (t: number): number[] => config.off.filter(([, windows]) => wasIn(windows, t)).map(([fn]) => fn);
  return Object.fromEntries(parts.map(({ id, takenMs }) => [id, offAt(takenMs)]));
}

export const recordsOf = (parts: readonly Part[], off: Off): number =>
  prepare({ mod: 1, format: 1 }, parts, off).received;

export const idsOf = (parts: readonly Part[]): string => parts.map(({ id }) => id).join();

/** In records, as a measure of bytes. */
export const sizeOf = (parts: readonly Part[]): number => parts.reduce((sum, { records }) => sum + records.length, 0);
