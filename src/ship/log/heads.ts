import { cut } from "../../base/bytes.ts";
import { type Cause, causeOf, NAME_MAX, problemId } from "../../formats/errors/fingerprint.ts";
import type { Loaded } from "../../formats/queue/load-records.ts";
import { idOf } from "../../formats/queue/message.ts";
import type { RecordLine } from "../../formats/record/line.ts";
import { eventMs } from "../../formats/record/record.ts";
import type { Source } from "../../formats/record/source.ts";
import type { PartFunction, PartHead } from "./append-types.ts";
import {
  bucketOf,
  type ErrorCount,
  type Health,
  isFailed,
  keptStatuses,
  OTHER,
  OTHER_OUTCOMES,
  OUTCOMES_KEPT,
  type Sketch,
  TEXT_MAX,
} from "./function-health.ts";
import { keyOf } from "./health-keys.ts";
import { KindTally } from "./seen-kinds.ts";

interface Tallied {
  count: Omit<PartFunction, "health">;
  health: HealthTally;
  kinds: KindTally;
}

/** What the log is told of a part beside its records: its id, and its events by function. */
export function headOf({ message, records, bytes }: Loaded): PartHead {
  const functions = new Map<string, FunctionTally>();
  const { source = "" } = message;
  let inSeconds = 0;
  for (const { whole } of records) {
    const { ScriptName: scriptName } = whole;
    let own = functions.get(scriptName);
    if (own === undefined) {
      own = new FunctionTally(scriptName, source);
      functions.set(scriptName, own);
    }
    const atMs = eventMs(whole.EventTimestampMs);
    inSeconds += Number(atMs !== whole.EventTimestampMs);
    own.add(whole, atMs);
  }
  return {
    ...idOf(message),
    ...(source !== "" && { source }),
    bytes,
    functions: [...functions.values()].flatMap((own) => own.functions()),
    ...(inSeconds > 0 && { inSeconds }),
  };
}

/** Different versions of one function in a message that are told apart; the others have none. */
const VERSIONS_SEEN = 8;

/** Longest id and tag of a version that are kept, in UTF-16 code units. */
const VERSION_MAX = 64;

const ASCII = /^[\x20-\x7e]*$/;

function textIn(value: unknown): string {
  return typeof value === "string" ? cut(value, VERSION_MAX) : "";
}

interface Version {
  id: string;
  tag: string;
  isAscii: boolean;
}

/** What was read last: the same few versions run all the time. */
const read = new Map<string, Version>();
const READ_MAX = 500;

function versionIn(json: string): Version {
  const known = read.get(json);
  if (known !== undefined) return known;
  const { ID: id, Tag: tag } = JSON.parse(json) as Record<string, unknown>;
  const version = { id: textIn(id), tag: textIn(tag), isAscii: ASCII.test(json) };
  // Senders choose them.
  if (read.size >= READ_MAX) read.clear();
  read.set(json, version);
  return version;
}

/** The events of one function, by version. Neighbours are mostly of the same. */
class FunctionTally {
  readonly #scriptName: string;
  readonly #source: Source;
  /** By version. */
  readonly #each = new Map<string, Tallied>();
  /** Of the latest event: the JSON of its version; "": it is not compared. */
  #json = "";
  #latest: Tallied | null = null;

  constructor(scriptName: string, source: Source) {
    this.#scriptName = scriptName;
    this.#source = source;
  }

  /** @param atMs time of the event, in ms since the epoch. */
  add(record: RecordLine, atMs: number): void {
    const { count, health, kinds } = this.#of(record);
    count.records += 1;
    count.lastEventMs = Math.max(count.lastEventMs, atMs);
    health.add(record);
    kinds.add(record, atMs);
  }

  functions(): PartFunction[] {
    return [...this.#each.values()].map(({ count, health, kinds }) => ({
      ...count,
      ...{ health: health.sum(), kinds: kinds.kinds() },
    }));
  }

  #of(record: RecordLine): Tallied {
    if (this.#latest !== null && this.#json !== "" && record.isText("ScriptVersion", this.#json)) return this.#latest;
    const json = record.text("ScriptVersion") ?? "";
    const { id, tag, isAscii } = versionIn(json);
    // It is compared by bytes.
    this.#json = isAscii ? json : "";
    this.#latest = this.#version(id, tag);
    return this.#latest;
  }

  #version(id: string, tag: string): Tallied {
    // Senders say which versions there are.
    const isTold = this.#each.has(id) || this.#each.size < VERSIONS_SEEN;
    const version = isTold ? id : "";
    const before = this.#each.get(version);
    if (before !== undefined) return before;
    const [scriptName, source] = [this.#scriptName, this.#source];
    const named = { ...(version !== "" && { version }), ...(isTold && tag !== "" && { tag }) };
    const tallied = {
      count: { scriptName, ...named, records: 0, lastEventMs: 0 },
      health: new HealthTally(keyOf({ scriptName, source, version: "" })),
      kinds: new KindTally(),
    };
    this.#each.set(version, tallied);
    return tallied;
  }
}

/** Problems of one function that are told apart in a message. */
const ERRORS_KEPT = 64;

const NO_EXCEPTIONS = "[]";
const LOGGED = '"LogErrors":[{';
const OK = '"ok"';

/** The health of one function. Of most records a few bytes are read, and nothing is parsed. */
export class HealthTally {
  readonly #outcomes = new Map<string, number>();
  /** By bucket. */
  readonly #wall = new Map<number, number>();
  readonly #cpu = new Map<number, number>();
  readonly #statuses = new Map<number, number>();
  /** By id. */
  readonly #errors = new Map<string, Omit<ErrorCount, "id">>();
  readonly #ids = new Map<string, string>();
  readonly #key: string;
  #ok = 0;
  #failed = 0;
  #firstFailureMs = Number.POSITIVE_INFINITY;
  #serverErrors = 0;

  /** @param key of the function, see {@link keyOf}. */
  constructor(key: string) {
    this.#key = key;
  }

  add(record: RecordLine): void {
    const isOk = record.isText("Outcome", OK);
    if (isOk) this.#ok += 1;
    else increase(this.#outcomes, record.Outcome);
    increase(this.#wall, bucketOf(record.number("WallTimeMs")));
    increase(this.#cpu, bucketOf(record.number("CPUTimeMs")));
    const status = statusOf(record);
    if (status > 0 && status < 1_000) increase(this.#statuses, status);
    const isServerError = status >= 500 && status <= 599;
    if (isServerError) this.#serverErrors += 1;
    const hasThrown = !record.isText("Exceptions", NO_EXCEPTIONS);
    const hasLogged = record.extra.includes(LOGGED);
    if (isOk && !isServerError && !hasThrown && !hasLogged) return;
    const isBad = isFailed(record.Outcome, isServerError ? status : 0);
    if (isBad) {
      this.#failed += 1;
      this.#firstFailureMs = Math.min(this.#firstFailureMs, eventMs(record.EventTimestampMs));
    }
    if (isBad || hasThrown || hasLogged) this.#addError(record, causeIn(record, status, hasThrown, hasLogged));
  }

  /** The ids of as many texts as there are problems are made once. */
  #idOf(cause: Cause): string {
    const text = `${cause.name}\n${cause.message}\n${cause.frame}`;
    const known = this.#ids.get(text);
    if (known !== undefined) return known;
    const id = problemId(this.#key, cause);
    if (this.#ids.size < ERRORS_KEPT) this.#ids.set(text, id);
    return id;
  }

  #addError(record: RecordLine, cause: Cause): void {
    const id = this.#idOf(cause);
    const key = this.#errors.has(id) || this.#errors.size < ERRORS_KEPT ? id : OTHER;
    const { EventTimestampMs: atMs } = record;
    const ray = cut(rayIdOf(record), TEXT_MAX.rayId);
    const error = this.#errors.get(key);
    if (error === undefined) {
      const of = key === OTHER ? { name: "", message: "", frame: "" } : cause;
      this.#errors.set(key, { ...of, count: 1, firstMs: atMs, lastMs: atMs, firstRay: ray, lastRay: ray });
      return;
    }
    error.count += 1;
    if (eventMs(atMs) < eventMs(error.firstMs)) Object.assign(error, { firstMs: atMs, firstRay: ray });
    if (eventMs(atMs) < eventMs(error.lastMs)) return;
    error.lastMs = atMs;
    error.lastRay = ray;
  }

  sum(): Health {
    const outcomes = new Map<string, number>();
    if (this.#ok > 0) outcomes.set("ok", this.#ok);
    for (const [outcome, count] of this.#outcomes) {
      const name = cut(outcome, TEXT_MAX.outcome);
      const isKept = outcomes.has(name) || outcomes.size < OUTCOMES_KEPT;
      increase(outcomes, isKept ? name : OTHER_OUTCOMES, count);
    }
    return {
      outcomes: [...outcomes].map(([outcome, count]) => ({ outcome, count })),
      failed: this.#failed,
      ...(this.#failed > 0 && { firstFailureMs: this.#firstFailureMs }),
      serverErrors: this.#serverErrors,
      statuses: keptStatuses(inOrder(this.#statuses)),
      wall: inOrder(this.#wall),
      cpu: inOrder(this.#cpu),
      errors: [...this.#errors].map(([id, error]) => ({ id, ...error })),
    };
  }
}

/** Its first exception, or the first error that it logged, or how it ended, or the status. */
function causeIn(record: RecordLine, status: number, hasThrown: boolean, hasLogged: boolean): Cause {
  const [thrown] = hasThrown ? record.Exceptions : [];
  if (thrown !== undefined)
    return causeOf({ ...thrown, stack: record.extra === "" ? "" : (record.ExceptionStacks[0] ?? "") });
  const [logged] = hasLogged ? record.LogErrors : [];
  if (logged !== undefined) return causeOf(logged);
  const { Outcome: outcome } = record;
  return {
    name: cut(outcome === "ok" && status >= 500 ? `HTTP ${status}` : outcome, NAME_MAX),
    message: "",
    frame: "",
  };
}

/** Intake writes it first in the event. */
const RAY_ID = /^\{"RayID":"([^"\\]*)"/;

function rayIdOf(record: RecordLine): string {
  const [, first] = RAY_ID.exec(record.text("Event") ?? "") ?? [];
  if (first !== undefined) return first;
  const { RayID: rayId } = record.Event;
  return typeof rayId === "string" ? rayId : "";
}

const FETCH = '"fetch"';

/**
 * Status of the answer; 0: none. Intake writes it last in the event, so nothing is parsed: what
 * ends with two braces behind it is the event's own. Elsewhere it is looked for in all of it.
 */
export function statusOf(record: Pick<RecordLine, "isText" | "numberAtEnd" | "text" | "Event">): number {
  if (!record.isText("EventType", FETCH)) return 0;
  const status = record.numberAtEnd("Event", '"Response":{"Status":', "}}");
  if (!Number.isNaN(status)) return status;
  return record.text("Event")?.includes('"Status"') ? parsedStatus(record) : 0;
}

function parsedStatus({ Event: { Response: response } }: Pick<RecordLine, "Event">): number {
  const { Status: status } = (response ?? {}) as { Status?: unknown };
  return typeof status === "number" ? status : 0;
}

/** Number, count, number, count, …: of one function in a message there are few. */
function inOrder(counts: ReadonlyMap<number, number>): Sketch {
  const all = [...counts];
  return all.length < 2 ? (all[0] ?? []) : all.sort(([a], [b]) => a - b).flat();
}

function increase<K>(counts: Map<K, number>, key: K, by = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + by);
}
