/**
 * Makes events, remembers which of them each job owes, and audits what was shipped (audit.ts). Uses
 * no code under test. Runs in Node and in the Workers runtime.
 */
import { audit, type Expectation, type Owed, type Report, utcDay } from "./audit.ts";

export {
  assertClean,
  audit,
  type Expectation,
  type Finding,
  keyTime,
  ndjson,
  type Owed,
  type Report,
  utcDay,
} from "./audit.ts";

const DAY_MS = 86_400_000;

/** An event as it is sent to intake, with what is known about it. */
export interface Minted extends Owed {
  readonly event: Record<string, unknown>;
  readonly record: Record<string, unknown>;
}

export interface MintOptions {
  /** Time of the first event, in milliseconds since the epoch; by default the oracle's own `at`. */
  readonly at?: number;
  /** Number of successive UTC days between which the events alternate; by default 1. */
  readonly days?: number;
  /**
   * Between one event and the next, in milliseconds; by default 1. Past midnight it continues at
   * the start of the same day.
   */
  readonly stepMs?: number;
  /**
   * `record` (default): the columns as the API takes and ships them. `trace`: an item as `tail()`
   * gets it.
   */
  readonly form?: "record" | "trace";
  readonly scriptName?: string;
  readonly outcome?: string;
  /** Characters of a second log argument, to make an event of any size. */
  readonly padding?: number;
}

export interface OracleOptions {
  /** First part of every id. Oracles whose events share a bucket need different names. */
  readonly name?: string;
  /** Time of the first event; by default 2026-11-20T12:00:00Z. */
  readonly at?: number;
  /** The last of so many events was answered with 503; by default none. */
  readonly failsEvery?: number;
}

/**
 * The events of one test. Each has a unique id in `Logs[0].Message[0]` and, over all calls of
 * `mint`, a unique millisecond in EventTimestampMs, so that a projection to either identifies the
 * event.
 */
export class Oracle {
  readonly #name: string;
  readonly #at: number;
  readonly #failsEvery: number;
  readonly #idByTime = new Map<number, string>();
  /**
   * From a used time to a later one; all times in between are used. Keeps many calls for one `at`
   * fast.
   */
  readonly #skipTo = new Map<number, number>();
  readonly #owed = new Map<string | number, Map<string, Owed>>();
  readonly #uncertain = new Map<string | number, Map<string, Owed>>();
  #count = 0;

  constructor({
    name = "event",
    at = Date.UTC(2026, 10, 20, 12),
    failsEvery = Number.POSITIVE_INFINITY,
  }: OracleOptions = {}) {
    this.#name = name;
    this.#at = at;
    this.#failsEvery = failsEvery;
  }

  /** Makes `count` new events; no job owes them yet. */
  mint(count: number, options: MintOptions = {}): Minted[] {
    const { at: firstAt = this.#at, days = 1, stepMs = 1 } = options;
    const midnight = firstAt - (firstAt % DAY_MS);
    return Array.from({ length: count }, (_, index) => {
      this.#count += 1;
      const id = `${this.#name}-${String(this.#count).padStart(6, "0")}`;
      const dayStart = midnight + (index % days) * DAY_MS;
      const at = this.#freeTime(dayStart + (((firstAt % DAY_MS) + index * stepMs) % DAY_MS));
      this.#idByTime.set(at, id);
      const how = { ...options, status: this.#count % this.#failsEvery === 0 ? 503 : 200 };
      const event = how.form === "trace" ? traceItem(id, at, how) : record(id, at, message(id, how), how);
      // The shipped record does not depend on the form.
      return { id, at, day: utcDay(at), event, record: record(id, at, cut(message(id, how)), how) };
    });
  }

  /** The first unused millisecond of the same UTC day, from `wanted` on. */
  #freeTime(wanted: number): number {
    const passed: number[] = [];
    let at = wanted;
    while (this.#idByTime.has(at)) {
      passed.push(at);
      at = this.#skipTo.get(at) ?? at - (at % DAY_MS) + (((at % DAY_MS) + 1) % DAY_MS);
    }
    for (const taken of passed) this.#skipTo.set(taken, at);
    return at;
  }

  /** Intake has acknowledged these while the job wanted them: it owes each of them, once. */
  acknowledged(job: string | number, events: readonly Owed[]): void {
    const owed = mapOf(this.#owed, job);
    for (const event of events) owed.set(event.id, event);
  }

  /**
   * These were sent without an acknowledgement: until one comes, the job may ship each of them at
   * most once.
   */
  unacknowledged(job: string | number, events: readonly Owed[]): void {
    const uncertain = mapOf(this.#uncertain, job);
    for (const event of events) uncertain.set(event.id, event);
  }

  /** The job no longer owes these, but may ship each of them at most once. */
  forgiven(job: string | number, events: readonly Owed[]): void {
    const owed = mapOf(this.#owed, job);
    for (const { id } of events) owed.delete(id);
    this.unacknowledged(job, events);
  }

  /**
   * What `job` must have shipped by now. The id is read from the log unless `options` says
   * otherwise.
   */
  expectation(job: string | number, options: Partial<Expectation> = {}): Expectation {
    return {
      idOf: this.idByMessage,
      ...options,
      owed: mapOf(this.#owed, job),
      uncertain: mapOf(this.#uncertain, job),
    };
  }

  audit(
    job: string | number,
    objects: Iterable<{ readonly key: string; readonly bytes: Uint8Array }>,
    options: Partial<Expectation> = {},
  ): Report {
    return audit(objects, this.expectation(job, options));
  }

  /** For records that hold `Logs`. */
  readonly idByMessage = (shipped: unknown): string | undefined => {
    const id = (shipped as { Logs?: { Message?: unknown[] }[] } | null)?.Logs?.[0]?.Message?.[0];
    return typeof id === "string" ? id : undefined;
  };

  /** For records that hold `EventTimestampMs`. */
  readonly idByTime = (shipped: unknown): string | undefined => {
    const at = (shipped as { EventTimestampMs?: unknown } | null)?.EventTimestampMs;
    return typeof at === "number" ? this.#idByTime.get(at) : undefined;
  };
}

interface How extends MintOptions {
  readonly status: number;
}

/** Whether it is one of those that failed: by how it ended, or by its status. */
export function hasFailed({ record: { Outcome: outcome, Event: event } }: Minted): boolean {
  return outcome !== "ok" || (event as { Response: { Status: number } }).Response.Status >= 500;
}

function record(id: string, at: number, texts: string[], options: How): Record<string, unknown> {
  return {
    CPUTimeMs: 3,
    DispatchNamespace: "",
    Entrypoint: "",
    Event: {
      RayID: "",
      Request: { URL: `https://shop.example/${id}`, Method: "GET" },
      Response: { Status: options.status },
    },
    EventTimestampMs: at,
    EventType: "fetch",
    Exceptions: [],
    Logs: [{ Level: "log", Message: texts, TimestampMs: at }],
    Outcome: options.outcome ?? "ok",
    ScriptName: options.scriptName ?? "shop",
    ScriptTags: [],
    ScriptVersion: { ID: "", Message: "", Tag: "" },
    WallTimeMs: 7,
  };
}

function traceItem(id: string, at: number, options: How): Record<string, unknown> {
  return {
    cpuTime: 3,
    wallTime: 7,
    truncated: false,
    executionModel: "stateless",
    outcome: options.outcome ?? "ok",
    scriptName: options.scriptName ?? "shop",
    diagnosticsChannelEvents: [],
    exceptions: [],
    logs: [{ level: "log", message: message(id, options), timestamp: at }],
    eventTimestamp: at,
    event: {
      request: { url: `https://shop.example/${id}`, method: "GET", headers: {} },
      response: { status: options.status },
    },
  };
}

function message(id: string, { padding = 0 }: MintOptions): string[] {
  return padding > 0 ? [id, "x".repeat(padding)] : [id];
}

/** The part of such a message that is shipped: 16,384 characters, all of them ASCII here. */
function cut([id = "", padding]: string[]): string[] {
  const left = 16_384 - id.length;
  if (padding === undefined || padding.length <= left) return padding === undefined ? [id] : [id, padding];
  return [id, `${padding.slice(0, left)}<<<Logship: messages truncated>>>`];
}

function mapOf(maps: Map<string | number, Map<string, Owed>>, job: string | number): Map<string, Owed> {
  const map = maps.get(job) ?? new Map<string, Owed>();
  maps.set(job, map);
  return map;
}
