/**
 * Datadog, New Relic, Splunk and Sumo Logic, in memory. What the real one would cut or drop behind
 * a success is not stored here either, so that a test misses it.
 */
import { utf8Length } from "../../../src/base/bytes.ts";
import { SECRETS } from "./kinds.ts";
import { asked, marksIn, POISON, type ReceiverFixture, type ReceiverService } from "./receiver-service.ts";

/** The time of these services, unless another one is given. */
const NOW = Date.UTC(2026, 10, 20, 12);
const HOUR = 3_600_000;
const [KEY] = SECRETS as [string];
const GUID = "FE0ECFAD-13D5-401B-847D-77833BD77131";

const json = (status: number, body: unknown): Response => Response.json(body, { status });

/** What is true of a JSON text, or false where it is none. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A service of requests that it has looked into. @param answer stores, and says what it stored. */
function serviceOf(
  answer: (request: Awaited<ReturnType<typeof asked>>, store: (text: string) => void) => Response,
): ReceiverService {
  const taken: string[] = [];
  return {
    taken: () => taken,
    fetch: async (url, init) => answer(await asked(url, init), (text) => taken.push(...marksIn(text))),
  };
}

/** https://docs.datadoghq.com/api/latest/logs/send-logs/ */
export function datadogIntake(nowMs = NOW): ReceiverService {
  return serviceOf(({ url, headers, text }, store) => {
    if (url.pathname !== "/api/v2/logs" && url.pathname !== "/v1/input") return json(404, {});
    if (!headers.has("dd-api-key")) return json(401, {});
    if (headers.get("dd-api-key") !== KEY) return json(403, { errors: [{ status: "403", title: "Forbidden" }] });
    if (headers.get("content-type") !== "application/json") return json(400, {});
    if (utf8Length(text) > 5_000_000) return json(413, {});
    const logs = parsed(text);
    if (!Array.isArray(logs) || logs.length > 1_000 || text.includes(POISON)) return json(400, {});
    for (const log of logs) {
      const { message, timestamp, status, service, ddsource, logship } = log;
      const isNew = timestamp >= nowMs - 18 * HOUR && timestamp <= nowMs + 2 * HOUR;
      const isIndexed = [message, status, service, ddsource, logship.id].every((value) => typeof value === "string");
      const whole = JSON.stringify(log);
      if (isNew && isIndexed && parsed(message) === undefined && utf8Length(whole) <= 1_000_000) store(whole);
    }
    return url.pathname === "/v1/input" ? json(200, {}) : json(202, {});
  });
}

/** https://docs.newrelic.com/docs/logs/log-api/introduction-log-api/ */
export function newRelic(nowMs = NOW): ReceiverService {
  return serviceOf(({ url, headers, text }, store) => {
    if (url.pathname !== "/log/v1" || url.search !== "") return json(404, {});
    if (headers.get("api-key") !== KEY) return json(403, {});
    if (headers.get("content-type") !== "application/json") return json(415, {});
    if (utf8Length(text) > 1_000_000) return json(413, {});
    const body = parsed(text);
    if (!Array.isArray(body) || !Array.isArray(body[0]?.logs) || text.includes(POISON)) return json(400, {});
    for (const { timestamp, message, attributes } of body[0].logs) {
      const named = Object.entries(attributes);
      const isKept = named.every(([name, value]) => {
        const isPlain = typeof value === "number" || typeof value === "boolean" || typeof value === "string";
        return isPlain && name.length <= 255 && utf8Length(`${value}`) <= 131_072;
      });
      const isShort = typeof message === "string" && message.length <= 4_094 && parsed(message) === undefined;
      if (isKept && isShort && named.length <= 250 && timestamp >= nowMs - 48 * HOUR) store(JSON.stringify(attributes));
    }
    return json(202, { requestId: "0f0f0f0f-0001-b000-0000-018c2f6a1d2e" });
  });
}

interface Hec {
  /** Events before one that is bad are indexed, and only then it is refused. */
  takesPrefix: boolean;
}

/** https://docs.splunk.com/Documentation/Splunk/latest/Data/TroubleshootHTTPEventCollector */
export function splunkCollector({ takesPrefix }: Hec = { takesPrefix: false }): ReceiverService {
  const invalid = (number?: number): Response =>
    json(400, {
      text: "Invalid data format",
      code: 6,
      ...(number !== undefined && { "invalid-event-number": number }),
    });
  return serviceOf(({ url, headers, text }, store) => {
    const token = headers.get("authorization");
    if (token === null) return json(401, { text: "Token is required", code: 2 });
    if (!token.startsWith("Splunk ")) return json(401, { text: "Invalid authorization", code: 3 });
    if (token !== `Splunk ${KEY}`) return json(403, { text: "Invalid token", code: 4 });
    if (url.searchParams.has("insecure-skip-verify")) return json(400, { text: "No data", code: 5 });
    if (utf8Length(text) > 1_000_000) return new Response("<html>too large</html>", { status: 413 });
    if (url.pathname === "/services/collector/raw") {
      if (!url.searchParams.has("channel")) return json(400, { text: "Data channel is missing", code: 10 });
      if (!url.searchParams.has("source") || text.includes(POISON)) return invalid();
      store(text);
      return json(200, { text: "Success", code: 0 });
    }
    if (!/^\/services\/collector(?:\/event)?$/.test(url.pathname)) return json(404, { text: "Not found", code: 404 });
    const events = text
      .split("\n")
      .map((line) => ({ line, event: parsed(line) as Record<string, unknown> | undefined }));
    const bad = events.findIndex(({ line, event }) => line.includes(POISON) || typeof event?.event !== "object");
    const fields = (event: Record<string, unknown> | undefined) => event?.fields as Record<string, unknown>;
    if (events.some(({ event }) => typeof fields(event)?.logship_id !== "string"))
      return json(400, { text: "Error in handling indexed fields", code: 15, "invalid-event-number": 0 });
    if (bad === -1 || takesPrefix)
      for (const { line, event } of bad === -1 ? events : events.slice(0, bad))
        if (typeof event?.time === "number" && event.time > 1e9 && event.time < 1e10) store(line);
    return bad === -1 ? json(200, { text: "Success", code: 0 }) : invalid(bad);
  });
}

/** https://www.sumologic.com/help/docs/send-data/hosted-collectors/http-source/troubleshooting/ */
export function sumoSource(): ReceiverService {
  return serviceOf(({ url, headers, text }, store) => {
    if (url.pathname !== `/receiver/v1/http/${KEY}`) return new Response(null, { status: 401 });
    if (url.search !== "" || !headers.has("x-sumo-name")) return new Response(null, { status: 400 });
    if (utf8Length(text) > 1_000_000) return new Response(null, { status: 413 });
    if (text.includes(POISON)) return new Response(null, { status: 400 });
    store(text);
    return new Response(null, { status: 200 });
  });
}

export const HOSTED: { readonly [name: string]: ReceiverFixture } = {
  datadog: {
    conf: `datadog://http-intake.logs.datadoghq.eu/api/v2/logs?header_DD-API-KEY=${KEY}&ddsource=cloudflare&ddtags=env:prod`,
    service: datadogIntake,
    tellsRepeats: false,
    recordBytes: 1_000_000,
  },
  "New Relic": {
    conf: `https://log-api.newrelic.com/log/v1?Api-Key=${KEY}&format=cloudflare`,
    service: newRelic,
    tellsRepeats: false,
    recordBytes: 128_000,
  },
  splunk: {
    conf: `splunk://splunk.example:8088/services/collector/raw?channel=${GUID}&insecure-skip-verify=false&sourcetype=cloudflare:json&header_Authorization=Splunk%20${KEY}`,
    service: () => splunkCollector(),
    tellsRepeats: false,
    recordBytes: 1_000_000,
  },
  "splunk, events": {
    conf: `splunk://splunk.example:8088/services/collector/event?sourcetype=_json&header_Authorization=Splunk%20${KEY}`,
    service: () => splunkCollector(),
    tellsRepeats: false,
    recordBytes: 1_000_000,
  },
  sumo: {
    conf: `sumo://endpoint4.collection.sumologic.com/receiver/v1/http/${KEY}?header_X-Sumo-Category=prod%2Fworkers`,
    service: sumoSource,
    tellsRepeats: false,
    recordBytes: 1_000_000,
  },
};
