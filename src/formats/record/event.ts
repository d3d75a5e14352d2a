/** A record's `EventType` and `Event`. */
export interface EventDescription {
  type: string;
  event: Record<string, unknown>;
}

type Foreign = { readonly [key: string]: unknown };

/**
 * Reads typed values from foreign data. A missing value is the default; a wrong type is a fault, or
 * the default.
 */
export interface ValueReader {
  text(value: unknown, pointer: string): string;
  /** 0 or more; fractions are rounded. */
  number(value: unknown, pointer: string): number;
  boolean(value: unknown, pointer: string): boolean;
  /** In ms since the epoch. */
  time(value: unknown, pointer: string): number;
  object(value: unknown, pointer: string): Foreign;
  list(value: unknown, pointer: string): readonly unknown[];
}

/** null counts as missing. */
const isThere = (value: unknown): boolean => value !== undefined && value !== null;

/**
 * The runtime gives a cron's time as a number, an alarm's as an ISO string (other process) or a
 * Date (same process).
 */
function asMs(value: unknown): unknown {
  if (typeof value === "string") return Date.parse(value);
  return value instanceof Date ? value.getTime() : value;
}

/**
 * Recognises the kind of a trace item by the presence of one property. The order matters: an alarm
 * and a cron both have `scheduledTime`, only a cron has `cron`.
 * @param at JSON pointer of the event.
 * @returns `unknown` with an empty event for anything else, null included.
 * @see https://developers.cloudflare.com/workers/runtime-apis/handlers/tail/
 */
export function describeEvent(value: unknown, read: ValueReader, at: string): EventDescription {
  // An array has none of the properties, so it becomes `unknown`.
  const event: Foreign = typeof value === "object" && value !== null ? (value as Foreign) : {};
  const text = (key: string): string => read.text(event[key], `${at}/${key}`);
  const number = (key: string): number => read.number(event[key], `${at}/${key}`);
  const scheduledTime = (): number => read.time(asMs(event.scheduledTime), `${at}/scheduledTime`);

  if (isThere(event.request)) return { type: "fetch", event: describeFetch(event, read, at) };
  if (isThere(event.cron)) {
    return { type: "scheduled", event: { Cron: text("cron"), ScheduledTimeMs: scheduledTime() } };
  }
  if (isThere(event.scheduledTime)) return { type: "alarm", event: { ScheduledTimeMs: scheduledTime() } };
  if (isThere(event.queue)) return { type: "queue", event: { Queue: text("queue"), BatchSize: number("batchSize") } };
  if (isThere(event.mailFrom)) {
    const mail = { MailFrom: text("mailFrom"), RcptTo: text("rcptTo"), RawSize: number("rawSize") };
    return { type: "email", event: mail };
  }
  if (isThere(event.rpcMethod)) return { type: "worker_rpc", event: { RPCMethod: text("rpcMethod") } };
  if (isThere(event.getWebSocketEvent)) {
    const pointer = `${at}/getWebSocketEvent`;
    const socket = read.object(event.getWebSocketEvent, pointer);
    return { type: "hibernatable_web_socket", event: describeSocket(socket, read, pointer) };
  }
  if (isThere(event.consumedEvents)) {
    const pointer = `${at}/consumedEvents`;
    const consumed = read.list(event.consumedEvents, pointer).map((entry, i) => {
      const { scriptName } = read.object(entry, `${pointer}/${i}`);
      return { ScriptName: read.text(scriptName, `${pointer}/${i}/scriptName`) };
    });
    return { type: "tail", event: { ConsumedEvents: consumed } };
  }
  return { type: "unknown", event: {} };
}

function describeFetch(event: Foreign, read: ValueReader, at: string): Record<string, unknown> {
  const request = read.object(event.request, `${at}/request`);
  // No other header is shipped.
  const headers = request.headers as Foreign | null | undefined;
  const ray = read.text(headers?.["cf-ray"], `${at}/request/headers/cf-ray`);
  const response = read.object(event.response, `${at}/response`);
  return {
    // The header is `<ray id>-<data centre>`.
    RayID: ray.split("-", 1)[0] ?? "",
    Request: {
      URL: read.text(request.url, `${at}/request/url`),
      Method: read.text(request.method, `${at}/request/method`),
    },
    // A missing response (exception, aborted client, upgrade) is not a status 0.
    Response: isThere(event.response) ? { Status: read.number(response.status, `${at}/response/status`) } : {},
  };
}

/** Only a close event has a code and `wasClean`. */
function describeSocket(socket: Foreign, read: ValueReader, at: string): Record<string, unknown> {
  return {
    WebSocketEventType: read.text(socket.webSocketEventType, `${at}/webSocketEventType`),
    ...(isThere(socket.code) && { Code: read.number(socket.code, `${at}/code`) }),
    ...(isThere(socket.wasClean) && { WasClean: read.boolean(socket.wasClean, `${at}/wasClean`) }),
  };
}
