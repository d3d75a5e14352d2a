/** Compares what arrived with what was sent: every record once, and unchanged. Pure. */

import { aboutOf, type TraceRecord, urlOf } from "../client/show.ts";
import type { Expected } from "./events.ts";

/** Most of a value that is shown, in characters. */
const SHOWN = 200;

/** The faults in words; none if every record is there, once, unchanged. */
export function faultsOf(expected: readonly Expected[], arrived: readonly TraceRecord[]): string[] {
  const faults: string[] = [];
  const byName = new Map<string, TraceRecord[]>();
  for (const record of arrived) {
    const name = nameOf(record.EventType, idOf(record));
    byName.set(name, [...(byName.get(name) ?? []), record]);
  }
  for (const event of expected) {
    const name = nameOf(event.type, event.id);
    const [record, ...more] = byName.get(name) ?? [];
    byName.delete(name);
    if (record === undefined) faults.push(`${name} did not arrive`);
    else if (more.length > 0) faults.push(`${name} arrived ${more.length + 1} times`);
    else faults.push(...differences(name, event, record));
  }
  for (const [name, records] of byName) faults.push(`${records.length} of ${name} arrived, but were not sent`);
  return faults;
}

function nameOf(type: string, id: string): string {
  return `${type} ${id || "(no id)"}`;
}

/**
 * A request has its id in the URL, a cron its expression; what follows from a request has logged
 * the id passed along.
 */
function idOf(record: TraceRecord): string {
  const url = urlOf(record);
  if (URL.canParse(url)) return new URL(url).searchParams.get("event") ?? "";
  if (typeof record.Event.Cron === "string") return record.Event.Cron;
  for (const { Message } of record.Logs) {
    const id = passedAlong(Message.at(-1) ?? "");
    if (id !== undefined) return id;
  }
  return "";
}

/** The `event` of a logged object. */
function passedAlong(argument: string): string | undefined {
  try {
    const { event } = JSON.parse(argument) as { event?: unknown };
    return typeof event === "string" ? event : undefined;
  } catch {
    // Plain text, or no object.
    return undefined;
  }
}

function differences(name: string, event: Expected, record: TraceRecord): string[] {
  const logs = record.Logs.map(({ Level, Message }) => [Level, ...Message]);
  const line = logs.findIndex((log, i) => JSON.stringify(log) !== JSON.stringify(event.logs[i]));
  const pairs: [what: string, is: unknown, should: unknown][] = [
    ["what it is about", aboutOf(record), event.about],
    ["its outcome", record.Outcome, event.outcome],
    ["its script name", record.ScriptName, event.scriptName],
    ["its number of log lines", logs.length, event.logs.length],
    [`its log line ${line + 1}`, logs[line] ?? null, event.logs[line] ?? null],
    ["what it threw", record.Exceptions.map((thrown) => `${thrown.name}: ${thrown.message}`), event.exceptions],
  ];
  return pairs.flatMap(([what, is, should]) => {
    const [seen, wanted] = [JSON.stringify(is), JSON.stringify(should)];
    if (seen === wanted) return [];
    return [`${name}: ${what} is ${seen.slice(0, SHOWN)}, should be ${wanted.slice(0, SHOWN)}`];
  });
}
