import { describe, expect, it } from "vitest";
import { parseDestination } from "../../../src/ship/destinations/parse.ts";
import { PRODUCTION, refusal } from "./context.ts";

const url = (conf: string): string => {
  const parsed = parseDestination(conf, PRODUCTION);
  if (!parsed.ok) throw new Error(parsed.why);
  return (parsed.value.credentials as { url: string }).url;
};

describe("a receiver behind the path of a proxy", () => {
  it.each([
    ["elastic://es.example/logs", "https://es.example/logs/_bulk"],
    ["elastic://es.example/elasticsearch/logs", "https://es.example/elasticsearch/logs/_bulk"],
    ["elastic://es.example:9243/a/b/.logs-x", "https://es.example:9243/a/b/.logs-x/_bulk"],
    ["elastic://es.example/_proxy/logs?pipeline=p", "https://es.example/_proxy/logs/_bulk?pipeline=p"],
    [
      "loki://loki.example/gateway/loki/api/v1/push?header_X-Scope-OrgID=a",
      "https://loki.example/gateway/loki/api/v1/push",
    ],
    ["otlp://otel.example/collector?header_X=a", "https://otel.example/collector/v1/logs"],
    [
      "splunk://splunk.example/hec/services/collector/event?header_Authorization=Splunk%20a",
      "https://splunk.example/hec/services/collector/event",
    ],
  ])("is sent to below it: %s", (conf, right) => {
    expect(url(conf)).toBe(right);
  });

  it.each([
    "",
    "logs/",
    "proxy/",
    "/logs",
    "a//logs",
    "logs/_bulk",
    "logs/_doc",
    "-logs",
    "a/+logs",
    `a/${"x".repeat(256)}`,
  ])("ends with an index: %s is none", (path) => {
    expect(refusal(`elastic://es.example/${path}`)).toBe("the path must end with an index, alias or data stream");
  });
});
