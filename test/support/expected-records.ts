/** Records of local development. They have no function version and no measurements. */

export type Json = Readonly<Record<string, unknown>>;

/** Stands for every time between the start of the test and its end. */
export const DURING = "during the test";

export function log(Level: string, ...Message: readonly string[]): Json {
  return { Level, Message, TimestampMs: DURING };
}

export function thrown(name: string, message: string): Json {
  return { name, message, TimestampMs: DURING };
}

/** A record of a successful invocation without logs, with the given changes. */
export function recordOf(ScriptName: string, EventType: string, Event: Json, more: Json = {}): Json {
  return {
    CPUTimeMs: 0,
    DispatchNamespace: "",
    Entrypoint: "",
    Event,
    EventTimestampMs: DURING,
    EventType,
    Exceptions: [],
    Logs: [],
    Outcome: "ok",
    ScriptName,
    ScriptTags: [],
    ScriptVersion: { ID: "", Message: "", Tag: "" },
    WallTimeMs: 0,
    ...more,
  };
}

/** `Event` of a request. @param Status null: it was not answered. */
export function requestEvent(
  URL: string,
  Status: number | null,
  { Method = "GET", RayID = "" }: { readonly Method?: string; readonly RayID?: string } = {},
): Json {
  return { RayID, Request: { URL, Method }, Response: Status === null ? {} : { Status } };
}

/**
 * Replaces every whole number of milliseconds in the window with {@link DURING}. Any other time
 * stays, and shows in the comparison.
 */
export function withoutTimes(record: unknown, fromMs: number, untilMs: number): unknown {
  const isDuring = (value: unknown): boolean =>
    Number.isInteger(value) && Number(value) >= fromMs && Number(value) <= untilMs;
  return JSON.parse(JSON.stringify(record), (key, value) =>
    key.endsWith("TimestampMs") || key === "ScheduledTimeMs" ? (isDuring(value) ? DURING : value) : value,
  );
}
