import type { SentRecord } from "./receiver.ts";
import { listOf, objectOf } from "./records.ts";

/** A value that an attribute may have. */
export type Json = string | number | boolean | readonly string[];

type Fields = SentRecord["fields"];
type Attributes = Record<string, Json | undefined>;

/**
 * What a record is in the words of the semantic conventions; what these have no word for, in those
 * of Cloudflare's own telemetry. Pure; a field that is missing or of another type gives nothing.
 * https://opentelemetry.io/docs/specs/semconv/registry/attributes/
 * https://developers.cloudflare.com/workers/observability/traces/spans-and-attributes/
 */
export function recordAttributes(fields: Fields): Attributes {
  const event = objectOf(fields.Event);
  const request = objectOf(event.Request);
  const method = textOf(request.Method);
  const [exception] = listOf(fields.Exceptions);
  const type = textOf(fields.EventType);
  return {
    "faas.trigger": type === undefined ? undefined : (TRIGGERS[type] ?? "other"),
    "faas.cron": textOf(event.Cron),
    "http.request.method": method === undefined || METHODS.has(method) ? method : "_OTHER",
    "http.request.method_original": method === undefined || METHODS.has(method) ? undefined : method,
    "url.full": textOf(request.URL),
    "http.response.status_code": numberOf(objectOf(event.Response).Status),
    "exception.type": textOf(exception?.name ?? exception?.Name),
    "exception.message": textOf(exception?.message ?? exception?.Message),
    "cloudflare.ray_id": textOf(event.RayID),
    "cloudflare.outcome": textOf(fields.Outcome),
    "cloudflare.handler_type": type,
    "cloudflare.entrypoint": textOf(fields.Entrypoint),
    "cloudflare.dispatch_namespace": textOf(fields.DispatchNamespace),
    "cloudflare.script_tags": textsOf(fields.ScriptTags),
    "cloudflare.cpu_time": numberOf(fields.CPUTimeMs),
    "cloudflare.wall_time": numberOf(fields.WallTimeMs),
    "cloudflare.scheduled_time": numberOf(event.ScheduledTimeMs),
    "cloudflare.queue.name": textOf(event.Queue),
    "cloudflare.queue.batch_size": numberOf(event.BatchSize),
    "cloudflare.jsrpc.method": textOf(event.RPCMethod),
    "cloudflare.email.from": textOf(event.MailFrom),
    "cloudflare.email.to": textOf(event.RcptTo),
    "cloudflare.email.size": numberOf(event.RawSize),
  };
}

/** What the records of a script have in common. */
export function resourceAttributes({ fields }: Pick<SentRecord, "fields">): Attributes {
  const name = textOf(fields.ScriptName);
  const version = textOf(objectOf(fields.ScriptVersion).ID);
  return {
    "service.name": name ?? "unknown_service",
    "service.version": version,
    "cloud.provider": "cloudflare",
    "cloud.platform": "cloudflare.workers",
    "faas.name": name,
    "faas.version": version,
  };
}

/** https://opentelemetry.io/docs/specs/semconv/registry/attributes/faas/#faas-trigger */
const TRIGGERS: Readonly<Record<string, string | undefined>> = {
  __proto__: null as never,
  fetch: "http",
  scheduled: "timer",
  alarm: "timer",
  queue: "pubsub",
};

/** https://opentelemetry.io/docs/specs/semconv/registry/attributes/http/#http-request-method */
const METHODS: ReadonlySet<string> = new Set([
  ...["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"],
]);

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function textsOf(value: unknown): string[] | undefined {
  return Array.isArray(value) && value.length > 0 && value.every((text) => typeof text === "string")
    ? value
    : undefined;
}
