/** Events as documented; src/formats/record reads and checks them. */
import * as z from "zod";
import {
  EVENT_MAX_BYTES,
  EVENTS_BODY_MAX_BYTES,
  EVENTS_MAX_COUNT,
  EVENTS_MAX_DAYS,
  IDEMPOTENCY_KEY_MAX,
  TIME_MAX_MS,
} from "../../../base/limits.ts";
import { FIELD_DESCRIPTIONS } from "../../../formats/record/fields.ts";
import type { RouteDoc } from "../route.ts";
import { Count } from "./common.ts";

const text = z.string().nullable().optional();
const number = z.number().min(0).max(Number.MAX_SAFE_INTEGER).nullable().optional();
const object = z.looseObject({}).nullable().optional();
const time = z.number().min(0).max(TIME_MAX_MS).nullable().optional();
const list = z.array(object).nullable().optional();

const EventRecord = z
  .looseObject({
    CPUTimeMs: number.describe(FIELD_DESCRIPTIONS.CPUTimeMs),
    DispatchNamespace: text.describe(FIELD_DESCRIPTIONS.DispatchNamespace),
    Entrypoint: text.describe(FIELD_DESCRIPTIONS.Entrypoint),
    Event: object.describe(FIELD_DESCRIPTIONS.Event),
    EventTimestampMs: time.describe(`${FIELD_DESCRIPTIONS.EventTimestampMs}; the time of intake by default`),
    EventType: text.describe(FIELD_DESCRIPTIONS.EventType),
    Exceptions: list.describe(FIELD_DESCRIPTIONS.Exceptions),
    Logs: list.describe(FIELD_DESCRIPTIONS.Logs),
    Outcome: text.describe(FIELD_DESCRIPTIONS.Outcome),
    ScriptName: text.describe(FIELD_DESCRIPTIONS.ScriptName),
    ScriptTags: z.array(text).nullable().optional().describe(FIELD_DESCRIPTIONS.ScriptTags),
    ScriptVersion: object.describe(FIELD_DESCRIPTIONS.ScriptVersion),
    WallTimeMs: number.describe(FIELD_DESCRIPTIONS.WallTimeMs),
  })
  .meta({ id: "EventRecord", description: "A record as it is shipped: an object with at least one of these keys." });

const TraceItem = z
  .looseObject({
    event: z.unknown().describe("What the function was called with; its keys determine the kind."),
    eventTimestamp: time.describe("In milliseconds since the epoch. Default: the time of intake."),
    exceptions: list.describe("Each with `name`, `message` and `timestamp`; a `stack` is an extra field."),
    logs: list.describe("Each with `level`, `message` and `timestamp`; an `errorInfo` is an extra field."),
    outcome: text,
    scriptName: text,
    scriptTags: z.array(text).nullable().optional(),
    scriptVersion: object,
    cpuTime: number.describe("In milliseconds."),
    wallTime: number.describe("In milliseconds."),
    dispatchNamespace: text,
    entrypoint: text,
    preview: object.describe("With `id`, `slug` and `name`; an extra field."),
  })
  .meta({ id: "TraceItem", description: "A trace item as a tail handler receives it." });

const Event = z.union([EventRecord, TraceItem]);

const EXAMPLE = {
  EventTimestampMs: 1_795_176_000_000,
  EventType: "fetch",
  Outcome: "ok",
  ScriptName: "shop",
  Event: { RayID: "", Request: { URL: "https://shop.example/cart", Method: "GET" }, Response: { Status: 200 } },
  Logs: [{ Level: "log", Message: ["hello"], TimestampMs: 1_795_176_000_000 }],
};

export const SEND_EVENTS = {
  summary: "Send events",
  description: `One event, events one after the other, an array, or NDJSON, optionally gzipped: at most ${EVENTS_MAX_COUNT} events of ${EVENTS_MAX_DAYS} days in ${EVENTS_BODY_MAX_BYTES} bytes, ${EVENT_MAX_BYTES} bytes each, before compression. 202: all events are accepted. 400: none is. After any other answer some may be: repeat the request with the same \`Idempotency-Key\`. Unknown keys are dropped and named in \`messages\`, as are times that can only be in another unit than milliseconds.`,
  headers: z.object({
    "Idempotency-Key": z
      .string()
      .min(1)
      .max(IDEMPOTENCY_KEY_MAX)
      .optional()
      .describe("A repeated request with the same key adds nothing."),
    "Content-Encoding": z.enum(["gzip", "identity"]).optional().describe("Compression of the body."),
  }),
  body: {
    "application/json": z.union([Event, z.array(Event).max(EVENTS_MAX_COUNT)]),
    "application/x-ndjson": z.string().describe("One event per line."),
  },
  result: z.object({ accepted: Count.describe("Number of accepted events.") }),
  status: 202,
  examples: [
    { name: "One event", body: EXAMPLE },
    { name: "Several", body: [EXAMPLE, { ...EXAMPLE, Outcome: "exception" }] },
    {
      name: "Several, as NDJSON",
      mediaType: "application/x-ndjson",
      body: `${JSON.stringify(EXAMPLE)}\n${JSON.stringify(EXAMPLE)}\n`,
    },
  ],
} satisfies RouteDoc;
