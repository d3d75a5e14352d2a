/**
 * Answers that the vendors document, for docs/answers.md: what each of them means is computed by
 * the code that reads them. Three records are sent; a new destination is a section here.
 */
import { createHash } from "node:crypto";
import { axiom } from "../../../src/ship/destinations/receiver/axiom.ts";
import { clickhouse } from "../../../src/ship/destinations/receiver/clickhouse.ts";
import { datadog } from "../../../src/ship/destinations/receiver/datadog.ts";
import { elastic } from "../../../src/ship/destinations/receiver/elastic.ts";
import { https } from "../../../src/ship/destinations/receiver/https.ts";
import { loki } from "../../../src/ship/destinations/receiver/loki.ts";
import { newrelic } from "../../../src/ship/destinations/receiver/newrelic.ts";
import { otlp } from "../../../src/ship/destinations/receiver/otlp.ts";
import type { Receiver } from "../../../src/ship/destinations/receiver/receiver.ts";
import { splunkEvent, splunkRaw } from "../../../src/ship/destinations/receiver/splunk.ts";
import { sumo } from "../../../src/ship/destinations/receiver/sumo.ts";

/** Records of a request. */
export const SENT = 3;

export interface DocumentedAnswer {
  status: number;
  /** Bytes are protobuf. */
  body: string | Uint8Array<ArrayBuffer>;
  /** Where it is documented: a number of the section's sources. */
  source: number;
  headers?: Record<string, string>;
}

export interface AnswersOf {
  /** Of the kinds of destination. */
  schemes: readonly string[];
  sources: readonly string[];
  answers: readonly DocumentedAnswer[];
}

const of = (
  status: number,
  body: DocumentedAnswer["body"] = "",
  source = 0,
  headers: Record<string, string> = {},
): DocumentedAnswer => ({ status, body, source, headers });

const protobuf = (hex: string) => Uint8Array.from(hex.split(" "), (byte) => Number.parseInt(byte, 16));
const PROTOBUF = { "content-type": "application/x-protobuf" };

const items = (errors: boolean, ...results: readonly string[]): string =>
  `{"errors":${errors},"items":[${results.map((result) => `{"create":{${result}}}`).join()}]}`;
const CREATED = '"status":201';
const failedItem = (status: number, type: string): string => `"status":${status},"error":{"type":"${type}"}`;

const exception = (status: number, code: number, name: string): DocumentedAnswer =>
  of(status, `Code: ${code}. DB::Exception: … (${name})`, 1, { "x-clickhouse-exception-code": `${code}` });

const splunkSays = (status: number, code: number, text: string): DocumentedAnswer =>
  of(status, JSON.stringify({ text, code }));

/** Codes of a collector that say the same at both endpoints. */
const COLLECTOR = [
  splunkSays(200, 0, "Success"),
  splunkSays(200, 24, "Queue approaching capacity"),
  splunkSays(200, 25, "ACK approaching capacity"),
  splunkSays(403, 1, "Token disabled"),
  splunkSays(401, 2, "Token is required"),
  splunkSays(403, 4, "Invalid token"),
  splunkSays(400, 5, "No data"),
  splunkSays(400, 7, "Incorrect index"),
  splunkSays(500, 8, "Internal server error"),
  splunkSays(503, 9, "Server is busy"),
  splunkSays(400, 10, "Data channel is missing"),
  splunkSays(400, 15, "Error in handling indexed fields"),
  splunkSays(429, 26, "Queue at capacity"),
];

export const RECEIVERS: Readonly<Record<string, AnswersOf & { receiver: Receiver }>> = {
  HTTPS: {
    receiver: https,
    schemes: ["https"],
    sources: ["https://developers.cloudflare.com/logs/logpush/logpush-job/enable-destinations/http/"],
    answers: [of(200, "whatever it says"), of(204)],
  },
  "Elasticsearch, OpenSearch": {
    receiver: elastic,
    schemes: ["elastic"],
    sources: [
      "https://www.elastic.co/docs/api/doc/elasticsearch/operation/operation-bulk",
      "https://www.elastic.co/docs/manage-data/data-store/data-streams/failure-store",
    ],
    answers: [
      of(200, items(false, CREATED, CREATED, CREATED)),
      of(200, items(true, CREATED, failedItem(409, "version_conflict_engine_exception"), CREATED)),
      of(200, items(true, CREATED, failedItem(400, "document_parsing_exception"), CREATED)),
      of(200, items(true, CREATED, failedItem(429, "es_rejected_execution_exception"), CREATED)),
      of(200, items(true, CREATED, failedItem(503, "unavailable_shards_exception"), CREATED)),
      of(200, items(true, CREATED, failedItem(500, "exception"), CREATED)),
      of(200, items(false, CREATED, `${CREATED},"failure_store":"used"`, CREATED), 1),
      of(200, items(true, CREATED, CREATED, CREATED)),
      of(200, items(false, CREATED)),
      of(401, '{"error":{"type":"security_exception"},"status":401}'),
      of(403, '{"error":{"type":"security_exception"},"status":403}'),
      of(404, '{"error":{"type":"index_not_found_exception"},"status":404}'),
      of(413),
      of(429, '{"error":{"type":"circuit_breaking_exception"},"status":429}'),
    ],
  },
  Datadog: {
    receiver: datadog,
    schemes: ["datadog"],
    sources: ["https://docs.datadoghq.com/api/latest/logs/send-logs/"],
    answers: [
      of(202, "{}"),
      of(200, "{}"),
      of(400, '{"errors":[{"status":"400","title":"Bad Request"}]}'),
      of(401),
      of(403, '{"errors":[{"status":"403","title":"Forbidden"}]}'),
      of(408),
      of(413),
      of(429),
      of(500),
      of(503),
    ],
  },
  "New Relic": {
    receiver: newrelic,
    schemes: ["https"],
    sources: [
      "https://docs.newrelic.com/docs/data-apis/ingest-apis/metric-api/report-metrics-metric-api/",
      "https://github.com/newrelic/newrelic-telemetry-sdk-specs/blob/master/communication.md",
    ],
    answers: [
      of(202, '{"requestId":"0f0f0f0f-0001-b000-0000-018c2f6a1d2e"}'),
      of(400, "", 1),
      of(403, "", 1),
      of(408, "", 1),
      of(413, "", 1),
      of(429, "", 1),
    ],
  },
  "Splunk, raw": {
    receiver: splunkRaw,
    schemes: ["splunk"],
    sources: ["https://docs.splunk.com/Documentation/Splunk/latest/Data/TroubleshootHTTPEventCollector"],
    answers: [splunkSays(200, 0, "Success"), splunkSays(400, 6, "Invalid data format")],
  },
  "Splunk, events": {
    receiver: splunkEvent,
    schemes: ["splunk"],
    sources: ["https://docs.splunk.com/Documentation/Splunk/latest/Data/TroubleshootHTTPEventCollector"],
    answers: [
      ...COLLECTOR,
      of(200, '{"text":"Success","code":0,"ackId":7}'),
      of(400, '{"text":"Invalid data format","code":6,"invalid-event-number":1}'),
      of(400, '{"text":"Event field is required","code":12,"invalid-event-number":0}'),
    ],
  },
  "Sumo Logic": {
    receiver: sumo,
    schemes: ["sumo"],
    sources: [
      "https://www.sumologic.com/help/docs/send-data/hosted-collectors/http-source/troubleshooting/",
      "https://github.com/open-telemetry/opentelemetry-collector-contrib/blob/main/exporter/sumologicexporter/sender.go",
    ],
    answers: [
      of(200),
      of(204, "", 1),
      of(200, '{"status":200,"id":"…","errors":[{"code":"…","message":"…"}]}', 1),
      of(401),
      of(408),
      of(429),
      of(503),
      of(504),
    ],
  },
  Loki: {
    receiver: loki,
    schemes: ["loki"],
    sources: [
      "https://grafana.com/docs/loki/latest/reference/loki-http-api/#ingest-logs",
      "https://grafana.com/docs/loki/latest/operations/request-validation-rate-limits/",
      "https://github.com/VictoriaMetrics/VictoriaMetrics/issues/8505",
      "https://grafana.com/docs/loki/latest/configure/#limits_config",
    ],
    answers: [
      of(204),
      of(200, "", 2),
      of(260, "", 3),
      of(200, "ingestion blocked for user x until '2026-12-01T00:00:00Z' with status code '200'", 3),
      of(400, "entry for stream '{…}' has timestamp too old: …", 1),
      of(400, "entry too far behind, entry timestamp is: …", 1),
      of(400, "max entry size '262144' bytes exceeded for stream '{…}' …", 1),
      of(429, "ingestion rate limit exceeded for user x …", 1),
      of(429, "Maximum active stream limit exceeded …", 1),
      of(429, "Per stream rate limit exceeded …", 1),
    ],
  },
  OpenTelemetry: {
    receiver: otlp,
    schemes: ["otlp"],
    sources: [
      "https://opentelemetry.io/docs/specs/otlp/#otlphttp-response",
      "https://protobuf.dev/programming-guides/json/",
      "https://github.com/open-telemetry/opentelemetry-cpp/issues/2632",
    ],
    answers: [
      of(200, "{}"),
      of(200, '{"partialSuccess":{}}'),
      of(200, '{"partialSuccess":null}', 1),
      of(200, ""),
      of(204, "", 2),
      of(200, '{"partialSuccess":{"errorMessage":"a warning"}}'),
      of(200, '{"partialSuccess":{"rejectedLogRecords":"0","errorMessage":"a warning"}}'),
      of(200, '{"partialSuccess":{"rejectedLogRecords":"1","errorMessage":"…"}}'),
      of(200, '{"partialSuccess":{"rejectedLogRecords":1}}', 1),
      of(200, '{"partial_success":{"rejected_log_records":"3"}}', 1),
      of(200, protobuf("0a 02 08 01"), 0, PROTOBUF),
      of(200, protobuf("0a 00"), 0, PROTOBUF),
      of(200, '{"partialSuccess":{"rejectedLogRecords":"4"}}'),
      of(200, '{"code":3}'),
      of(200, protobuf("08 03"), 0, PROTOBUF),
      of(400, '{"code":3,"message":"…"}'),
      of(400, protobuf("08 03"), 0, PROTOBUF),
      of(401, '{"code":16,"message":"…"}'),
      of(413),
      of(429, '{"code":8,"message":"…"}'),
      of(500, '{"code":13,"message":"…"}'),
      of(503, '{"code":14,"message":"…"}'),
    ],
  },
  ClickHouse: {
    receiver: clickhouse,
    schemes: ["clickhouse"],
    sources: [
      "https://clickhouse.com/docs/interfaces/http#http_response_codes_caveats",
      "https://github.com/ClickHouse/ClickHouse/blob/master/src/Common/ErrorCodes.cpp",
    ],
    answers: [
      of(200),
      of(200, "Code: 241. DB::Exception: …"),
      exception(400, 27, "CANNOT_PARSE_INPUT_ASSERTION_FAILED"),
      exception(500, 691, "UNKNOWN_ELEMENT_OF_ENUM"),
      exception(500, 467, "CANNOT_PARSE_BOOL"),
      exception(500, 130, "CANNOT_READ_ARRAY_FROM_TEXT"),
      exception(500, 153, "ILLEGAL_DIVISION"),
      exception(500, 469, "VIOLATED_CONSTRAINT"),
      exception(404, 60, "UNKNOWN_TABLE"),
      exception(403, 497, "ACCESS_DENIED"),
      exception(403, 516, "AUTHENTICATION_FAILED"),
      exception(500, 164, "READONLY"),
      exception(500, 252, "TOO_MANY_PARTS"),
      exception(500, 241, "MEMORY_LIMIT_EXCEEDED"),
      exception(500, 1001, "STD_EXCEPTION"),
    ],
  },
  Axiom: {
    receiver: axiom,
    schemes: ["axiom"],
    sources: ["https://axiom.co/docs/restapi/endpoints/ingestToDataset", "https://axiom.co/docs/restapi/api-limits"],
    answers: [
      of(200, '{"ingested":3,"failed":0,"failures":[],"processedBytes":99}'),
      of(200, '{"ingested":2,"failed":1,"failures":[{"timestamp":"…","error":"…"}]}'),
      of(200, '{"ingested":0,"failed":3,"failures":[]}'),
      of(200, '{"ingested":2,"failed":0}'),
      of(400),
      of(403, '{"code":403,"message":"forbidden"}'),
      of(404),
      of(429, "", 1, { "x-ratelimit-reset": "90" }),
    ],
  },
};

/** What a store is sent. */
export const OBJECT = new TextEncoder().encode("an object");
const md5 = (encoding: "hex" | "base64"): string => createHash("md5").update(OBJECT).digest(encoding);

const s3 = (status: number, code: string, source = 1): DocumentedAnswer => of(status, `<Code>${code}</Code>`, source);
const azure = (status: number, code: string): DocumentedAnswer => of(status, "", 1, { "x-ms-error-code": code });

/** A destination as a string, and what its store answers to a PUT of {@link OBJECT}. */
export const STORES: Readonly<Record<string, AnswersOf & { conf: string }>> = {
  "S3, R2 and what speaks S3": {
    conf: "s3://traces/?region=auto&endpoint=store.example&access-key-id=a&secret-access-key=b",
    schemes: ["s3", "objstore", "r2"],
    sources: [
      "https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html",
      "https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html",
    ],
    answers: [
      of(200, "", 0, { etag: `"${md5("hex")}"` }),
      of(200, "", 0, { etag: '"another one"' }),
      of(200, "<html>"),
      s3(412, "PreconditionFailed"),
      s3(409, "ConditionalRequestConflict"),
      s3(400, "BadDigest"),
      s3(400, "RequestTimeout"),
      s3(400, "EntityTooLarge"),
      s3(400, "KeyTooLongError"),
      s3(400, "InvalidRequest"),
      s3(400, "AuthorizationHeaderMalformed"),
      s3(403, "AccessDenied"),
      s3(403, "SignatureDoesNotMatch"),
      s3(404, "NoSuchBucket"),
      s3(301, "PermanentRedirect"),
      s3(501, "NotImplemented"),
      s3(500, "InternalError"),
      s3(503, "SlowDown"),
    ],
  },
  "Google Cloud Storage": {
    conf: "gs://traces/?access-key-id=GOOGa&secret-access-key=b",
    schemes: ["gs"],
    sources: [
      "https://docs.cloud.google.com/storage/docs/xml-api/put-object-upload",
      "https://docs.cloud.google.com/storage/docs/xml-api/reference-status",
    ],
    answers: [
      of(200, "", 0, { "x-goog-hash": `crc32c=AAAAAA==,md5=${md5("base64")}` }),
      of(200),
      s3(412, "PreconditionFailed"),
      s3(400, "BadDigest"),
      s3(400, "EntityTooLarge"),
      s3(400, "KeyTooLong"),
      s3(400, "UserProjectMissing"),
      s3(403, "RetentionPolicyNotMet"),
      s3(404, "NoSuchBucket"),
      s3(429, "SlowDown"),
      s3(503, "ServiceUnavailable"),
    ],
  },
  "Azure Blob Storage": {
    conf: "azure://account1.blob.core.windows.net/traces/?sv=2021-12-02&ss=b&srt=o&sp=rcw&se=2031-12-31T00%3A00%3A00Z&sig=s",
    schemes: ["azure"],
    sources: [
      "https://learn.microsoft.com/rest/api/storageservices/put-blob",
      "https://learn.microsoft.com/rest/api/storageservices/blob-service-error-codes",
    ],
    answers: [
      of(201, "", 0, { "content-md5": md5("base64") }),
      of(201),
      azure(409, "BlobAlreadyExists"),
      azure(403, "UnauthorizedBlobOverwrite"),
      azure(409, "BlobImmutableDueToPolicy"),
      azure(400, "Md5Mismatch"),
      azure(413, "RequestBodyTooLarge"),
      azure(403, "AuthenticationFailed"),
      azure(403, "AuthorizationPermissionMismatch"),
      azure(404, "ContainerNotFound"),
      azure(409, "ContainerBeingDeleted"),
      azure(500, "OperationTimedOut"),
      azure(503, "ServerBusy"),
    ],
  },
};

/** What a bound bucket throws, by the number in its message; null: it returns null. */
export const BINDING = {
  schemes: ["binding"],
  sources: [
    "https://developers.cloudflare.com/r2/api/workers/workers-api-reference/",
    "https://developers.cloudflare.com/r2/api/error-codes/",
  ],
  thrown: [null, 10_001, 10_003, 10_006, 10_020, 10_037, 10_042, 10_058, 10_069, 100_100, 99_999],
} as const;
