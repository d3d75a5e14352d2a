/** The events of the demo, and what each of them must look like in the bucket. */
import { type TraceRecord, urlOf } from "./show.ts";

export const SAMPLE_NAME = "sample-shop";

const DAY_MS = 86_400_000;

export interface Expected {
  /** Stands in the URL as `?event=<id>`. */
  readonly id: string;
  readonly outcome: string;
  readonly scriptName: string;
  readonly exception?: string;
  /** Number of log lines. */
  readonly logs: number;
}

export interface SampleRequest extends Expected {
  readonly path: string;
  /** HTTP status of the answer. */
  readonly status: number;
}

const KINDS = {
  orders: { path: "/orders", status: 200, outcome: "ok", logs: 1 },
  checkout: { path: "/checkout", status: 500, outcome: "exception", logs: 1, exception: "PaymentError" },
  report: { path: "/report", status: 200, outcome: "ok", logs: 121 },
  newsletter: { path: "/newsletter", status: 202, outcome: "ok", logs: 1, exception: "Error" },
} as const;

const ORDER_OF_REQUESTS = [
  ...["orders", "orders", "checkout", "newsletter", "orders", "report"],
  ...["orders", "checkout", "orders", "newsletter", "orders", "checkout"],
] as (keyof typeof KINDS)[];

export function sampleRequests(): SampleRequest[] {
  return ORDER_OF_REQUESTS.map((kind, i) => {
    const id = `sample-${i + 1}`;
    const folder = kind === "orders" ? `${KINDS[kind].path}/${i + 1}` : KINDS[kind].path;
    return { ...KINDS[kind], id, path: `${folder}?event=${id}`, scriptName: SAMPLE_NAME };
  });
}

export interface PostedEvent extends Expected {
  readonly event: Readonly<Record<string, unknown>>;
}

/** Events of a function elsewhere: one as `tail()` would give it, two as records, one of these of the day before. */
export function postedEvents(nowMs: number): PostedEvent[] {
  const scriptName = "billing";
  const url = (id: string): string => `https://shop.example/invoices?event=${id}`;
  const record = (id: string, at: number) => ({
    Event: { RayID: "", Request: { Method: "POST", URL: url(id) }, Response: { Status: 201 } },
    EventTimestampMs: at,
    EventType: "fetch",
    Logs: [{ Level: "log", Message: ["invoice written"], TimestampMs: at }],
    Outcome: "ok",
    ScriptName: scriptName,
  });
  const traceItem = (id: string, at: number) => ({
    event: { request: { method: "POST", url: url(id), headers: {} } },
    eventTimestamp: at,
    exceptions: [{ name: "TypeError", message: "amount is undefined", timestamp: at }],
    logs: [],
    outcome: "exception",
    scriptName,
  });
  return [
    { id: "posted-1", outcome: "ok", scriptName, logs: 1, event: record("posted-1", nowMs) },
    {
      id: "posted-2",
      outcome: "exception",
      scriptName,
      logs: 0,
      exception: "TypeError",
      event: traceItem("posted-2", nowMs),
    },
    { id: "posted-3", outcome: "ok", scriptName, logs: 1, event: record("posted-3", nowMs - DAY_MS) },
  ];
}

/** What is wrong with what arrived, in words; nothing if every event is there, once, as it was. */
export function faultsOf(expected: readonly Expected[], arrived: readonly TraceRecord[]): string[] {
  const faults: string[] = [];
  const byId = new Map<string, TraceRecord[]>();
  for (const record of arrived) {
    const url = urlOf(record);
    const id = URL.canParse(url) ? (new URL(url).searchParams.get("event") ?? "") : "";
    byId.set(id, [...(byId.get(id) ?? []), record]);
  }
  for (const event of expected) {
    const [record, ...more] = byId.get(event.id) ?? [];
    byId.delete(event.id);
    if (record === undefined) faults.push(`${event.id} did not arrive`);
    else if (more.length > 0) faults.push(`${event.id} arrived ${more.length + 1} times`);
    else faults.push(...differences(event, record));
  }
  for (const [id, records] of byId) faults.push(`${records.length} of ${id || "no id"} arrived, and nobody sent them`);
  return faults;
}

function differences(event: Expected, record: TraceRecord): string[] {
  const is = [record.Outcome, record.ScriptName, record.Logs.length, record.Exceptions[0]?.name];
  const should = [event.outcome, event.scriptName, event.logs, event.exception];
  const names = ["its outcome", "its script name", "its number of log lines", "its exception"];
  return names.flatMap((name, i) =>
    is[i] === should[i] ? [] : [`${event.id}: ${name} is ${is[i]}, should be ${should[i]}`],
  );
}
