/**
 * What the demo sends, and the trace events that it must find in the bucket, each once: named by
 * their kind, and the request or cron that caused them.
 */
import type { TraceRecord } from "../client/show.ts";

export const SAMPLE_NAME = "sample-shop";

const DAY_MS = 86_400_000;

/** A request of a visitor, or a cron, and the events that the function ships for it. */
export interface Trigger {
  readonly url: string;
  /** HTTP status of the answer. */
  readonly status: number;
  readonly ships: readonly string[];
}

/** Requests of visitors, in order, with the kinds of events that each causes beside its own. */
const VISITS: readonly (readonly [path: string, status: number, ...leadsTo: string[]])[] = [
  ...[["/orders/1", 200] as const, ["/checkout", 500] as const, ["/newsletter", 202] as const],
  ...[["/report", 200] as const, ["/prices/tea", 200, "worker_rpc"] as const, ["/parcels/1", 202, "queue"] as const],
  ...[["/reservations/tea", 202, "worker_rpc", "alarm"] as const, ["/orders/2", 200] as const],
  ...[["/checkout", 500] as const, ["/orders/3", 200] as const],
];

export function sampleVisits(sampleUrl: string): Trigger[] {
  return VISITS.map(([path, status, ...leadsTo], i) => {
    const id = `sample-${i + 1}`;
    return {
      url: `${sampleUrl}${path}?event=${id}`,
      status,
      ships: ["fetch", ...leadsTo].map((kind) => `${kind} ${id}`),
    };
  });
}

/**
 * Both crons of the sample; the second one fails. A path of `wrangler dev` triggers what the
 * platform's clock would.
 */
export function sampleSchedules(sampleUrl: string): Trigger[] {
  const crons = [["0 3 * * *", 200] as const, ["0 4 1 * *", 500] as const];
  return crons.map(([cron, status]) => ({
    url: `${sampleUrl}/cdn-cgi/handler/scheduled?cron=${cron.replaceAll(" ", "+")}`,
    ...{ status, ships: [`scheduled ${cron}`] },
  }));
}

/**
 * Events of a function elsewhere: one as a trace item, two as records, one of these from the day
 * before.
 */
export function postedEvents(nowMs: number): { ships: string; event: object }[] {
  const scriptName = "billing";
  const url = (id: string): string => `https://shop.example/invoices?event=${id}`;
  const record = (id: string, at: number): object => ({
    Event: { RayID: "", Request: { Method: "POST", URL: url(id) }, Response: { Status: 201 } },
    ...{ EventTimestampMs: at, EventType: "fetch", Outcome: "ok", ScriptName: scriptName },
    Logs: [{ Level: "log", Message: ["invoice written"], TimestampMs: at }],
  });
  const traceItem = (id: string, at: number): object => ({
    event: { request: { method: "POST", url: url(id), headers: {} } },
    ...{ eventTimestamp: at, logs: [], outcome: "exception", scriptName },
    exceptions: [{ name: "TypeError", message: "amount is undefined", timestamp: at }],
  });
  const events = [record("posted-1", nowMs), traceItem("posted-2", nowMs), record("posted-3", nowMs - DAY_MS)];
  return events.map((event, i) => ({ ships: `fetch posted-${i + 1}`, event }));
}

/** The faults in words; none if every record is there, once. */
export function faultsOf(expected: readonly string[], arrived: readonly TraceRecord[]): string[] {
  const counts = new Map(expected.map((name) => [name, 0]));
  for (const record of arrived) {
    const name = nameOf(record);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const wanted = new Set(expected);
  return [...counts].flatMap(([name, count]) => {
    if (!wanted.has(name)) return [`${count} of ${name} arrived, but were not sent`];
    if (count === 1) return [];
    return [count === 0 ? `${name} did not arrive` : `${name} arrived ${count} times`];
  });
}

/** The kind of an event, and its id. */
export function nameOf(record: TraceRecord): string {
  return `${record.EventType} ${idOf(record) || "(no id)"}`;
}

/**
 * A request has its id in the URL, a cron its expression; what follows from a request has logged
 * the id passed along.
 */
function idOf({ Event, Logs }: TraceRecord): string {
  const { URL: url = "" } = (Event.Request ?? {}) as { URL?: string };
  if (URL.canParse(url)) return new URL(url).searchParams.get("event") ?? "";
  if (typeof Event.Cron === "string") return Event.Cron;
  const logged = Logs.flatMap(({ Message }) => /"event":"([^"]+)"/.exec(Message.at(-1) ?? "")?.[1] ?? []);
  return logged[0] ?? "";
}
