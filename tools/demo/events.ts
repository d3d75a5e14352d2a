/** What the demo does, and the trace events that it must find in the bucket. */

export const SAMPLE_NAME = "sample-shop";

const DAY_MS = 86_400_000;

/** One record, identified by `type` and `id` together; check.ts finds the id of a record. */
export interface Expected {
  readonly type: string;
  readonly id: string;
  /** As `aboutOf` of show.ts gives it. */
  readonly about: string;
  readonly outcome: string;
  readonly scriptName: string;
  readonly logs: readonly LogLine[];
  /** As `<name>: <message>`. */
  readonly exceptions: readonly string[];
}

/** Level and arguments. */
type LogLine = readonly [level: string, ...message: string[]];

/** A request of a visitor, or a cron, and what the function ships for it. */
export interface Trigger {
  readonly url: string;
  /** HTTP status of the answer. */
  readonly status: number;
  readonly ships: readonly Expected[];
}

interface Visit {
  readonly path: string;
  readonly status: number;
  readonly logs?: readonly LogLine[];
  readonly outcome?: string;
  readonly exception?: string;
  /** Invocations that it causes, beside the request's own. */
  readonly leadsTo?: readonly FollowUp[];
}

interface FollowUp {
  readonly type: string;
  readonly about: string;
  /** Its one log line, without the last argument, an object with the id of the request. */
  readonly log: readonly [level: string, text: string];
  readonly passed: Readonly<Record<string, string>>;
}

const order = (number: number): Visit => ({
  path: `/orders/${number}`,
  status: 200,
  logs: [["log", "order looked up", JSON.stringify({ path: `/orders/${number}`, items: 3 })]],
});

const CHECKOUT: Visit = {
  path: "/checkout",
  status: 500,
  logs: [["log", "charging the card"]],
  outcome: "exception",
  exception: "PaymentError: the bank did not answer",
};

const NEWSLETTER: Visit = {
  path: "/newsletter",
  status: 202,
  logs: [["info", "signed up; the mail goes out after the answer"]],
  exception: "Error: the mail server is full",
};

const REPORT: Visit = {
  path: "/report",
  status: 200,
  logs: [
    ...Array.from({ length: 120 }, (_, i): LogLine => {
      const turnover = ((i + 1) * 37) % 1000;
      return ["debug", `row ${i + 1} of 120: turnover ${turnover} coins`];
    }),
    ["warn", "the report is slow"],
  ],
};

const PRICE: Visit = {
  path: "/prices/tea",
  status: 200,
  leadsTo: [{ type: "worker_rpc", about: "Prices.quote()", log: ["log", "price asked"], passed: { item: "tea" } }],
};

const PARCEL: Visit = {
  path: "/parcels/1",
  status: 202,
  logs: [["log", "order handed to the packers"]],
  leadsTo: [
    { type: "queue", about: "sample-parcels: 1 message", log: ["log", "parcel packed"], passed: { order: "1" } },
  ],
};

const RESERVATION: Visit = {
  path: "/reservations/tea",
  status: 202,
  leadsTo: [
    { type: "worker_rpc", about: "Reservation.hold()", log: ["log", "item held"], passed: { item: "tea" } },
    { type: "alarm", about: "Reservation", log: ["warn", "nobody came for it"], passed: { item: "tea" } },
  ],
};

/** Requests of visitors, in this order. */
const VISITS = [
  ...[order(1), CHECKOUT, NEWSLETTER, REPORT, PRICE, PARCEL, RESERVATION],
  ...[order(2), CHECKOUT, order(3)],
];

export function sampleVisits(sampleUrl: string): Trigger[] {
  return VISITS.map((visit, i) => {
    const id = `sample-${i + 1}`;
    const url = `${sampleUrl}${visit.path}?event=${id}`;
    const outcome = visit.outcome ?? "ok";
    const answer = outcome === "ok" ? ` → ${visit.status}` : "";
    const request: Expected = {
      type: "fetch",
      id,
      about: `GET ${url}${answer}`,
      outcome,
      scriptName: SAMPLE_NAME,
      logs: visit.logs ?? [],
      exceptions: visit.exception === undefined ? [] : [visit.exception],
    };
    const followed = (visit.leadsTo ?? []).map(
      ({ type, about, log, passed }): Expected => ({
        type,
        id,
        about,
        outcome: "ok",
        scriptName: SAMPLE_NAME,
        logs: [[...log, JSON.stringify({ ...passed, event: id })]],
        exceptions: [],
      }),
    );
    return { url, status: visit.status, ships: [request, ...followed] };
  });
}

/**
 * Both crons of the sample; the second one fails. A path of `wrangler dev` triggers what the
 * platform's clock would.
 */
export function sampleSchedules(sampleUrl: string): Trigger[] {
  const crons: [cron: string, status: number, outcome: string, exceptions: string[]][] = [
    ["0 3 * * *", 200, "ok", []],
    ["0 4 1 * *", 500, "exception", ["Error: the warehouse is closed"]],
  ];
  return crons.map(([cron, status, outcome, exceptions]) => ({
    url: `${sampleUrl}/cdn-cgi/handler/scheduled?cron=${cron.replaceAll(" ", "+")}`,
    status,
    ships: [
      {
        type: "scheduled",
        id: cron,
        about: cron,
        outcome,
        scriptName: SAMPLE_NAME,
        logs: [["log", "counting the stock", cron]],
        exceptions,
      },
    ],
  }));
}

export interface PostedEvent extends Expected {
  readonly event: Readonly<Record<string, unknown>>;
}

/**
 * Events of a function elsewhere: one as a trace item, two as records, one of these from the day
 * before.
 */
export function postedEvents(nowMs: number): PostedEvent[] {
  const scriptName = "billing";
  const url = (id: string): string => `https://shop.example/invoices?event=${id}`;
  const record = (id: string, at: number): PostedEvent => ({
    type: "fetch",
    id,
    about: `POST ${url(id)} → 201`,
    outcome: "ok",
    scriptName,
    logs: [["log", "invoice written"]],
    exceptions: [],
    event: {
      Event: { RayID: "", Request: { Method: "POST", URL: url(id) }, Response: { Status: 201 } },
      EventTimestampMs: at,
      EventType: "fetch",
      Logs: [{ Level: "log", Message: ["invoice written"], TimestampMs: at }],
      Outcome: "ok",
      ScriptName: scriptName,
    },
  });
  const traceItem = (id: string, at: number): PostedEvent => ({
    type: "fetch",
    id,
    about: `POST ${url(id)}`,
    outcome: "exception",
    scriptName,
    logs: [],
    exceptions: ["TypeError: amount is undefined"],
    event: {
      event: { request: { method: "POST", url: url(id), headers: {} } },
      eventTimestamp: at,
      exceptions: [{ name: "TypeError", message: "amount is undefined", timestamp: at }],
      logs: [],
      outcome: "exception",
      scriptName,
    },
  });
  return [record("posted-1", nowMs), traceItem("posted-2", nowMs), record("posted-3", nowMs - DAY_MS)];
}
