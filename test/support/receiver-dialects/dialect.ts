import type { Action } from "../s3-script.ts";

/** Stands in the text of a record that every receiver refuses. */
export const POISON = "poison";

/** A request, read. */
export interface Sent {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  /** Inflated. */
  readonly text: string;
  /** Whether the receiver refuses the n-th record, and with what status; null: it takes it. */
  refuses(n: number, line: string): number | null;
  /** Whether a record of this time, in ms since the epoch, is too old for it. */
  isOld(timeMs: number): boolean;
  /** By what it tells repeats: ids, tokens, or entries that it has, the oldest first. */
  readonly known: Set<string>;
  /** How many of them it remembers, if that has a bound. */
  readonly window: number | null;
}

/** `kept`: lines of NDJSON, as the job wrote them. */
export interface Taken {
  readonly kept: readonly string[];
  readonly status: number;
  /** A text is sent as it is, all else as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What one service takes, refuses and answers. A body that it cannot read throws. */
export interface Dialect {
  /** How many records a body has. */
  count(text: string): number;
  take(sent: Sent): Taken;
}

/** What the script of a receiver has it do wrong, as a dialect sees it. */
export function faultsOf(fault: Action | undefined): Pick<Sent, "refuses" | "isOld" | "window"> {
  return {
    refuses: (n, line) => {
      if (fault?.do === "refuse" && n % fault.each === fault.each - 1) return fault.status;
      return line.includes(POISON) ? 400 : null;
    },
    isOld: (timeMs) => fault?.do === "past" && timeMs < fault.beforeMs,
    window: fault?.do === "window" ? fault.inserts : null,
  };
}

export const refused = (status: number, body?: unknown): Taken => ({ kept: [], status, body });

export const linesOf = (text: string): string[] => text.split("\n").slice(0, -1);

/** The status with which one of these is refused, and thereby all of them; null: none is. */
export function firstRefusal(lines: readonly string[], { refuses }: Pick<Sent, "refuses">): number | null {
  return lines.map((line, n) => refuses(n, line)).find((status) => status !== null) ?? null;
}

/** A text of NDJSON that ends with a line; null: it is none. */
export function ndjsonLines(text: string): string[] | null {
  const lines = linesOf(text);
  return text.endsWith("\n") && lines.every(isJson) ? lines : null;
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The record and what a job put before its fields. @returns the record's own line. */
export function without(line: string, ...names: readonly string[]): string {
  const fields = JSON.parse(line) as Record<string, unknown>;
  for (const name of names) delete fields[name];
  return JSON.stringify(fields);
}

/** Of a record, in ms since the epoch; null: it has no time. */
export function timeIn(line: string): number | null {
  const { EventTimestampMs } = JSON.parse(line) as { EventTimestampMs?: unknown };
  return typeof EventTimestampMs === "number" ? EventTimestampMs : null;
}

export const bytesOf = (text: string): number => Buffer.byteLength(text);
