/** Records and lines for tests: a plain one, and arbitrary ones for properties. */
import * as fc from "fast-check";
import type { Fault } from "../../../src/base/errors.ts";
import { jsonText, recordLine } from "../../../src/formats/record/encode.ts";
import { CF_KEYS, HEADERS, PREVIEW_KEYS, vettedExtras } from "../../../src/formats/record/extras.ts";
import { FIELD_NAMES, type TraceRecord } from "../../../src/formats/record/fields.ts";
import { type MappingContext, toRecord } from "../../../src/formats/record/record.ts";

/** 2026-11-20T12:00:00Z. */
export const NOON = Date.UTC(2026, 10, 20, 12);

/** Time of intake in {@link map}: no input has this time. */
export const TAKEN = 1_795_000_000_123;

export const DAY_MS = 86_400_000;

export interface Mapped {
  record: TraceRecord | null;
  faults: Fault[];
  unknownKeys: string[];
}

/** Maps one event as HTTP intake does, or, if `lenient`, as `tail()` does. */
export function map(input: unknown, context: Partial<MappingContext> = {}, at = ""): Mapped {
  const findings = { faults: [], unknownKeys: new Set<string>() };
  const whole = { takenInMs: TAKEN, defaultScriptName: "unnamed", lenient: false, ...context };
  const record = toRecord(input, whole, at, findings);
  return { record, faults: findings.faults, unknownKeys: [...findings.unknownKeys] };
}

export const mapLenient = (input: unknown): Mapped => map(input, { lenient: true });

/** The record of a valid event. @throws if it is refused. */
export function recordOf(input: unknown, context: Partial<MappingContext> = {}): TraceRecord {
  const { record, faults } = map(input, context);
  if (record === null) throw new Error(`refused: ${JSON.stringify(faults)}`);
  return record;
}

/** A record of defaults, except the named fields. */
export function traceRecord(fields: Partial<TraceRecord> = {}): TraceRecord {
  return {
    CPUTimeMs: 0,
    DispatchNamespace: "",
    Entrypoint: "",
    Event: {},
    EventTimestampMs: NOON,
    EventType: "fetch",
    Exceptions: [],
    Logs: [],
    Outcome: "ok",
    ScriptName: "shop",
    ScriptTags: [],
    ScriptVersion: { ID: "", Message: "", Tag: "" },
    WallTimeMs: 0,
    ...fields,
  };
}

/** `bytes` incompressible characters, from a generator. */
export function noise(bytes: number, seed = 1): string {
  let state = seed;
  let text = "";
  while (text.length < bytes) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    // 64 printable one-byte characters: six bits of noise each.
    text += String.fromCharCode(0x30 + ((state >>> 24) & 0x3f)).replace("\\", "~");
  }
  return text;
}

/** A record line of about `bytes` bytes that compresses badly. */
export function noisyLine(bytes: number, seed: number): string {
  return recordLine(traceRecord({ Outcome: `${seed}`, ScriptName: noise(Math.max(0, bytes - 280), seed + 1) }));
}

const text = fc.string({ unit: "binary", maxLength: 40 });
const time = fc.integer({ min: NOON - 2 * DAY_MS, max: NOON + 2 * DAY_MS });

/** Any record that intake may produce: all of Unicode, several days. */
export const anyRecord: fc.Arbitrary<TraceRecord> = fc.record({
  CPUTimeMs: fc.nat(),
  DispatchNamespace: text,
  Entrypoint: text,
  Event: fc.dictionary(fc.constantFrom("RayID", "Cron", "Queue"), text),
  EventTimestampMs: time,
  EventType: fc.constantFrom("fetch", "scheduled", "unknown"),
  Exceptions: fc.array(fc.record({ name: text, message: text, TimestampMs: time }), { maxLength: 2 }),
  Logs: fc.array(fc.record({ Level: text, Message: fc.array(text, { maxLength: 3 }), TimestampMs: time }), {
    maxLength: 2,
  }),
  Outcome: text,
  ScriptName: text,
  ScriptTags: fc.array(text, { maxLength: 2 }),
  ScriptVersion: fc.record({ ID: text, Message: text, Tag: text }),
  WallTimeMs: fc.nat(),
});

/** Any extra fields that intake may produce, as `extrasOf` has them; often some are missing. */
export const anyExtra: fc.Arbitrary<string> = fc
  .record(
    {
      RequestHeaders: fc.dictionary(fc.constantFrom(...HEADERS), text),
      RequestCF: fc.dictionary(fc.constantFrom(...CF_KEYS), fc.oneof(text, fc.boolean(), fc.double())),
      ExceptionStacks: fc.array(text, { maxLength: 3 }),
      DurableObjectID: text,
      ExecutionModel: fc.constantFrom("stateless", "durableObject", "workflow"),
      Truncated: fc.boolean(),
      LogErrors: fc.array(fc.record({ Log: fc.nat(3), Argument: fc.nat(), name: text, message: text, stack: text }), {
        maxLength: 2,
      }),
      Preview: fc.dictionary(fc.constantFrom(...PREVIEW_KEYS), text),
    },
    { requiredKeys: [] },
  )
  .map((values) => vettedExtras(jsonText(values)));

/** Texts that look like separators, as far as a text can. */
const trap = fc.constantFrom(
  ',"Outcome":',
  '","Outcome":"x","ScriptName":"',
  '\\",\\"Logs\\":',
  '"Event":{',
  '},"EventTimestampMs":1,"EventType":"',
  "}",
  "\\",
  '\\"',
  "\u2028",
);

/** An `Event` of any shape, with keys of the record itself. */
const foreign = fc.dictionary(
  // Without backslashes in keys: V8 (13.6 at least) confuses such a key with a later one that
  // begins with the same JSON characters: after `{"\\\"":1}`, `{"\"_":1}` is parsed as the first.
  // Here that would be the parser's fault, not ours.
  fc.oneof(fc.constantFrom(...FIELD_NAMES), trap, fc.string({ maxLength: 5 })).filter((key) => !key.includes("\\")),
  fc.oneof(
    trap,
    fc.jsonValue({ maxDepth: 3 }),
    fc.dictionary(fc.constantFrom(...FIELD_NAMES), fc.jsonValue({ maxDepth: 2 })),
  ),
  { maxKeys: 6, noNullPrototype: true },
);

/** Records with texts and keys that look like parts of a line. */
export const treacherous = fc.tuple(anyRecord, foreign, trap, trap, trap).map(([record, Event, a, b, c]) => ({
  ...record,
  Event,
  DispatchNamespace: a,
  Entrypoint: b,
  Outcome: a + b,
  ScriptName: c,
  ScriptTags: [a, b, c],
  Logs: [...record.Logs, { Level: a, Message: [b, c, a + c], TimestampMs: 1 }],
  Exceptions: [...record.Exceptions, { name: b, message: c, TimestampMs: 1 }],
}));
