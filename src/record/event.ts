/** What a trace item was about: the record's `EventType` and `Event`. */
export interface EventDescription {
  type: string;
  event: Record<string, unknown>;
}

type Foreign = { readonly [key: string]: unknown };

const object = (value: unknown): Foreign | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Foreign) : undefined;
const string = (value: unknown): string => (typeof value === "string" ? value : "");
const integer = (value: unknown): number =>
  typeof value === "number" && Number.isFinite(value) ? Math.round(value) : 0;

/** The runtime gives a cron's time as a number, an alarm's as an ISO string (another process) or a Date (the same one). */
function asMs(value: unknown): unknown {
  if (typeof value === "string") return Date.parse(value);
  return value instanceof Date ? value.getTime() : value;
}

/**
 * Recognises the kind of a trace item by the presence of one property, in the order in which the kinds exclude each other: an alarm and a
 * cron both have `scheduledTime`, only a cron has `cron`.
 * @param readTime checks a time in ms, and says what stands for one that is missing or wrong.
 * @returns `unknown` with an empty event for anything else, null included.
 * @see https://developers.cloudflare.com/workers/runtime-apis/handlers/tail/
 */
export function describeEvent(value: unknown, readTime: (value: unknown) => number): EventDescription {
  const event = object(value);
  if (event === undefined) return { type: "unknown", event: {} };
  const request = object(event.request);
  if (request !== undefined) return { type: "fetch", event: describeFetch(request, object(event.response)) };
  if (event.cron !== undefined) {
    return {
      type: "scheduled",
      event: { Cron: string(event.cron), ScheduledTimeMs: readTime(asMs(event.scheduledTime)) },
    };
  }
  if (event.scheduledTime !== undefined)
    return { type: "alarm", event: { ScheduledTimeMs: readTime(asMs(event.scheduledTime)) } };
  if (event.queue !== undefined) {
    return { type: "queue", event: { Queue: string(event.queue), BatchSize: integer(event.batchSize) } };
  }
  if (event.mailFrom !== undefined) {
    const mail = { MailFrom: string(event.mailFrom), RcptTo: string(event.rcptTo), RawSize: integer(event.rawSize) };
    return { type: "email", event: mail };
  }
  if (event.rpcMethod !== undefined) return { type: "worker_rpc", event: { RPCMethod: string(event.rpcMethod) } };
  const socket = object(event.getWebSocketEvent);
  if (socket !== undefined) return { type: "hibernatable_web_socket", event: describeSocket(socket) };
  if (Array.isArray(event.consumedEvents)) {
    const consumed = event.consumedEvents.map((entry) => ({ ScriptName: string(object(entry)?.scriptName) }));
    return { type: "tail", event: { ConsumedEvents: consumed } };
  }
  return { type: "unknown", event: {} };
}

function describeFetch(request: Foreign, response: Foreign | undefined): Record<string, unknown> {
  const headers = object(request.headers);
  const ray = string(headers?.["cf-ray"]);
  return {
    // The header is `<ray id>-<data centre>`.
    RayID: ray.split("-", 1)[0] ?? "",
    Request: { URL: string(request.url), Method: string(request.method) },
    // No response is what happened (an exception, an aborted client, an upgrade), not a status 0.
    Response: response === undefined ? {} : { Status: integer(response.status) },
  };
}

function describeSocket(socket: Foreign): Record<string, unknown> {
  return {
    WebSocketEventType: string(socket.webSocketEventType),
    ...(typeof socket.code === "number" && { Code: integer(socket.code) }),
    ...(typeof socket.wasClean === "boolean" && { WasClean: socket.wasClean }),
  };
}
