/**
 * Reads shipped objects back and compares them with what had to be shipped. Pure: no code under
 * test and no clock. Runs in Node and in the Workers runtime.
 */
import { readSingleMember } from "./gzip-member.ts";

/** An event as it must appear in an object. */
export interface Owed {
  readonly id: string;
  /** EventTimestampMs: milliseconds since the epoch. */
  readonly at: number;
  /** The UTC day of `at`, YYYYMMDD. */
  readonly day: string;
  /** The record as it must be shipped, with every field; without it the fields are not compared. */
  readonly record?: Readonly<Record<string, unknown>>;
}

export interface Expectation {
  /** Acknowledged events that the job wanted: each is in the objects exactly once. */
  readonly owed: ReadonlyMap<string, Owed>;
  /** Sent but never acknowledged: each is there at most once. An event in both is owed. */
  readonly uncertain?: ReadonlyMap<string, Owed>;
  /** The id in a shipped record, whatever its projection; undefined if it holds none. */
  readonly idOf: (record: unknown) => string | undefined;
  /**
   * EventTimestampMs of a shipped record; undefined if it was not projected. By default the field
   * of that name.
   */
  readonly timeOf?: (record: unknown) => number | undefined;
  /**
   * How a shipped record differs from the event, in words; null: it does not. By default each
   * shipped field is compared with the same one of {@link Owed.record}, so that a projection is no
   * fault.
   */
  readonly differenceOf?: (shipped: unknown, event: Owed) => string | null;
  /**
   * The records in the bytes of an object; by default `ndjson`. If it throws, the object is
   * corrupted.
   */
  readonly parse?: (raw: Uint8Array) => readonly unknown[];
  /**
   * The path of the destination, without the bucket, with its placeholders as configured: every key
   * must lie there, and no object may mix what they tell apart. Without it, an 8-digit day in a
   * key's folder must be that of the events.
   */
  readonly path?: string;
  /** What a receiver kept of requests: NDJSON as it is, without gzip, a folder or a name. */
  readonly areBodies?: boolean;
}

/** Something wrong with an object, or with a record in it. */
export interface Finding {
  readonly key: string;
  readonly reason: string;
}

/** What an audit found. An unreadable object is corrupted, and its records count as missing too. */
export interface Report {
  readonly missing: Owed[];
  /** One key per occurrence. */
  readonly duplicated: { readonly id: string; readonly keys: readonly string[] }[];
  /** Records of no known event. */
  readonly invented: Finding[];
  /**
   * Not one strict gzip member, not readable by `parse`, empty, or with a record that differs from
   * its event.
   */
  readonly corrupted: Finding[];
  readonly misfiled: Finding[];
  readonly mixedDays: Finding[];
  /**
   * The key's name is not `<start>_<end>_<8 hex>.log.gz`, or its times are not those of the events.
   */
  readonly wrongKeyTimes: Finding[];
  /** Records read, and the objects that hold them; without probes. */
  readonly records: number;
  readonly objects: number;
}

const KEY_NAME = /^(\d{8}T\d{6}Z)_(\d{8}T\d{6}Z)_[0-9a-f]{8}(?:_r\d+)?\.log\.gz$/;
const PROBE_NAME = /^(test(-[0-9a-f]+)?\.txt\.gz|ownership-challenge-[0-9a-f]{8}\.txt)$/;
/** The day in a probe's path, if the path has one. */
const PROBE_DAY = "00010101";

export function audit(
  objects: Iterable<{ readonly key: string; readonly bytes: Uint8Array }>,
  expectation: Expectation,
): Report {
  const { owed, uncertain = new Map<string, Owed>(), idOf, timeOf = eventTimestampMs, parse = ndjson } = expectation;
  const { differenceOf = fieldDifference, areBodies = false } = expectation;
  const invented: Finding[] = [];
  const corrupted: Finding[] = [];
  const misfiled: Finding[] = [];
  const mixedDays: Finding[] = [];
  const wrongKeyTimes: Finding[] = [];
  const seenIn = new Map<string, string[]>();
  let recordCount = 0;
  let objectCount = 0;
  let firstHeader: { readonly key: string; readonly header: string } | undefined;

  for (const { key, bytes } of objects) {
    if (isProbe(key)) continue;
    objectCount += 1;
    const member = areBodies ? ({ ok: true, raw: bytes, header: "" } as const) : readSingleMember(bytes);
    if (!member.ok) {
      corrupted.push({ key, reason: member.reason });
      continue;
    }
    firstHeader ??= { key, header: member.header };
    if (member.header !== firstHeader.header) {
      corrupted.push({ key, reason: `header ${member.header}, but ${firstHeader.header} in ${firstHeader.key}` });
    }
    let records: readonly unknown[];
    try {
      records = parse(member.raw);
    } catch (error) {
      corrupted.push({ key, reason: error instanceof Error ? error.message : String(error) });
      continue;
    }
    if (records.length === 0) corrupted.push({ key, reason: "no record in it" });

    const times: number[] = [];
    const scripts = new Set<string>();
    for (const record of records) {
      recordCount += 1;
      const id = idOf(record);
      const event = id === undefined ? undefined : (owed.get(id) ?? uncertain.get(id));
      const shippedAt = timeOf(record);
      const at = event?.at ?? shippedAt;
      if (at !== undefined) times.push(at);
      if (event?.record !== undefined) scripts.add(String(event.record.ScriptName));
      if (id === undefined || event === undefined) {
        invented.push({ key, reason: `${id ?? "a record without an id"}: not owed: ${excerpt(record)}` });
        continue;
      }
      if (shippedAt !== undefined && shippedAt !== event.at) {
        corrupted.push({ key, reason: `${id}: EventTimestampMs is ${shippedAt}, was ${event.at}` });
      } else {
        const difference = differenceOf(record, event);
        if (difference !== null) corrupted.push({ key, reason: `${id}: ${difference}` });
      }
      seenIn.set(id, [...(seenIn.get(id) ?? []), key]);
    }
    if (areBodies) continue;
    checkDays(key, { times, scripts }, expectation.path, mixedDays, misfiled);
    checkKeyTimes(key, times, wrongKeyTimes);
  }

  return {
    missing: [...owed.values()].filter(({ id }) => !seenIn.has(id)),
    duplicated: [...seenIn].filter(([, keys]) => keys.length > 1).map(([id, keys]) => ({ id, keys })),
    invented,
    corrupted,
    misfiled,
    mixedDays,
    wrongKeyTimes,
    records: recordCount,
    objects: objectCount,
  };
}

/**
 * @param waiting how many owed events the ledger shows as pending; exactly this many may be
 * missing.
 * @throws Error that counts every kind of fault and shows the first few of each.
 */
export function assertClean(report: Report, { waiting = 0 }: { readonly waiting?: number } = {}): void {
  const faults: [string, readonly string[]][] = [
    ["missing", report.missing.length === waiting ? [] : report.missing.map(({ id, day }) => `${id} of ${day}`)],
    ["duplicated", report.duplicated.map(({ id, keys }) => `${id} in ${keys.join(" and ")}`)],
    ["invented", report.invented.map(describe)],
    ["corrupted", report.corrupted.map(describe)],
    ["misfiled", report.misfiled.map(describe)],
    ["mixed days", report.mixedDays.map(describe)],
    ["wrong key times", report.wrongKeyTimes.map(describe)],
  ];
  const wrong = faults.filter(([, list]) => list.length > 0);
  if (report.missing.length === 0 && waiting > 0) wrong.push(["waiting", [`${waiting}, but nothing is missing`]]);
  if (wrong.length === 0) return;
  const paragraphs = wrong.map(([name, list]) => {
    const more = list.length > 5 ? [`… and ${list.length - 5} more`] : [];
    return [`${list.length} ${name}:`, ...list.slice(0, 5), ...more].join("\n  ");
  });
  const expected = waiting > 0 ? `, ${waiting} still waiting` : "";
  throw new Error(`${report.records} records in ${report.objects} objects${expected}\n${paragraphs.join("\n")}`);
}

/**
 * The records of newline-delimited JSON.
 * @throws SyntaxError naming a line that is not a JSON object in valid UTF-8, or does not end in a
 * newline.
 */
export function ndjson(raw: Uint8Array): unknown[] {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const records: unknown[] = [];
  // Line by line over the bytes: the largest object is longer than a string can be.
  for (let start = 0; start < raw.length; ) {
    const end = raw.indexOf(0x0a, start);
    const line = records.length + 1;
    if (end === -1) throw new SyntaxError(`line ${line} is not ended by a newline`);
    let record: unknown;
    try {
      record = JSON.parse(decoder.decode(raw.subarray(start, end)));
    } catch (error) {
      throw new SyntaxError(`line ${line} is not JSON: ${error instanceof Error ? error.message : String(error)}`);
    }
    if (!isObject(record)) throw new SyntaxError(`line ${line} is not a JSON object`);
    records.push(record);
    start = end + 1;
  }
  return records;
}

/** YYYYMMDD. */
export function utcDay(ms: number): string {
  return keyTime(ms).slice(0, 8);
}

/** YYYYMMDDTHHMMSSZ, rounded down to the second. */
export function keyTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace(/[-:]/g, "")}Z`;
}

/**
 * @returns the first field in which the record differs from the owed one, null if there is none.
 */
function fieldDifference(shipped: unknown, { record }: Owed): string | null {
  if (record === undefined || !isObject(shipped)) return null;
  for (const [name, value] of Object.entries(shipped)) {
    if (!Object.hasOwn(record, name)) return `a field ${name} that no event has`;
    const [is, was] = [JSON.stringify(value), JSON.stringify(record[name])];
    if (is !== was) return `${name} is ${is.slice(0, 80)}, was ${was?.slice(0, 80)}`;
  }
  return null;
}

function checkDays(
  key: string,
  { times, scripts }: { readonly times: readonly number[]; readonly scripts: ReadonlySet<string> },
  path: string | undefined,
  mixedDays: Finding[],
  misfiled: Finding[],
): void {
  const days = [...new Set(times.map(utcDay))].sort();
  const [day] = days;
  if (day === undefined) return;
  if (days.length > 1) {
    mixedDays.push({ key, reason: days.join(", ") });
    return; // right or wrong, its folder cannot be that of all of them
  }
  const folder = key.slice(0, key.lastIndexOf("/") + 1);
  if (path === undefined) {
    const filedUnder = folderDay(folder);
    if (filedUnder !== undefined && filedUnder !== day) misfiled.push({ key, reason: `its events are of ${day}` });
    return;
  }
  const hours = new Set(times.map((ms) => keyTime(ms).slice(9, 11)));
  const mixed = [path.includes("{HOUR}") ? hours : [], path.includes("{SCRIPT}") ? scripts : []].map((set) => [...set]);
  for (const values of mixed) if (values.length > 1) mixedDays.push({ key, reason: values.join(", ") });
  if (mixed.some(({ length }) => length > 1)) return;
  const filled = path
    .replaceAll("{DATE}", day)
    .replaceAll("{DATE_ISO}", `${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6)}`)
    .replaceAll("{YYYY}", day.slice(0, 4))
    .replaceAll("{MM}", day.slice(4, 6))
    .replaceAll("{DD}", day.slice(6))
    .replaceAll("{HOUR}", mixed[0]?.[0] ?? "")
    .replaceAll("{SCRIPT}", encodeURIComponent(mixed[1]?.[0] ?? ""));
  const wanted = filled.replace(/\/?$/, "/").replace(/^\//, "");
  if (folder !== wanted) misfiled.push({ key, reason: `its events belong under ${wanted}` });
}

function checkKeyTimes(key: string, times: readonly number[], wrongKeyTimes: Finding[]): void {
  const [, start, end] = KEY_NAME.exec(nameOf(key)) ?? [];
  if (start === undefined || end === undefined) {
    wrongKeyTimes.push({ key, reason: "its name is not <start>_<end>_<8 hex>.log.gz" });
    return;
  }
  if (times.length === 0) return;
  // Not Math.min(...times): an object may hold more records than a call takes arguments.
  const first = keyTime(times.reduce((a, b) => Math.min(a, b)));
  const last = keyTime(times.reduce((a, b) => Math.max(a, b)));
  if (start !== first || end !== last) wrongKeyTimes.push({ key, reason: `its events are of ${first} to ${last}` });
}

/**
 * A probe lies under the day 0001-01-01, or in a folder without a day: under a real day it is
 * misfiled.
 */
function isProbe(key: string): boolean {
  const day = folderDay(key.slice(0, key.lastIndexOf("/") + 1));
  return PROBE_NAME.test(nameOf(key)) && (day === undefined || day === PROBE_DAY);
}

function folderDay(folder: string): string | undefined {
  return /(?<!\d)\d{8}(?!\d)/.exec(folder)?.[0];
}

function nameOf(key: string): string {
  return key.slice(key.lastIndexOf("/") + 1);
}

function eventTimestampMs(record: unknown): number | undefined {
  const value = isObject(record) ? record.EventTimestampMs : undefined;
  return typeof value === "number" ? value : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function describe({ key, reason }: Finding): string {
  return `${key}: ${reason}`;
}

function excerpt(record: unknown): string {
  return (JSON.stringify(record) ?? "undefined").slice(0, 120);
}
