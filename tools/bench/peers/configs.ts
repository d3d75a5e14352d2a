/**
 * The configuration of each peer, from its documentation: NDJSON in by POST, gzipped NDJSON out by
 * PUT. Pure. JSON is YAML, so every file is written as JSON.
 */
import { FILTERED } from "../measure.ts";
import { DROPPED_SCRIPTS, ERROR_STATUS, type PeerWork } from "./input.ts";

export interface PeerPlace {
  /** It listens here, on 127.0.0.1. */
  port: number;
  /** URL of the S3 endpoint. */
  store: string;
  /** For files of its own. */
  folder: string;
}

/** An object holds as many records at most… */
export const OBJECT_RECORDS = 20_000;
/** …or, where only bytes are counted, some 20,000 of the mix… */
const OBJECT_BYTES = 16_000_000;
/** …and is written when its first record has waited this long, in s. */
export const OBJECT_WAIT_S = 5;

export const PEER_BUCKET = "bench";

/** Any pair will do: the store verifies nothing. */
export const PEER_KEYS = { id: "bench", secret: "bench-secret" } as const;

const FIELDS = FILTERED.fieldNames ?? [];
const SCRIPTS = JSON.stringify(DROPPED_SCRIPTS);

/**
 * @see https://warpstreamlabs.github.io/bento/docs/components/inputs/http_server
 * @see https://warpstreamlabs.github.io/bento/docs/components/buffers/memory
 * @see https://warpstreamlabs.github.io/bento/docs/components/outputs/aws_s3
 */
export function bentoConfig(work: PeerWork, { port, store }: PeerPlace): object {
  const fields = FIELDS.map((name) => `"${name}": this.${name}`).join(", ");
  const status = "(this.Event.Response.Status | 0)";
  const isDropped = `this.Outcome == "ok" && ${SCRIPTS}.contains(this.ScriptName) && ${status} < ${ERROR_STATUS}`;
  const mapping = `root = if ${isDropped} { deleted() } else { {${fields}} }`;
  return {
    http: { enabled: false },
    logger: { level: "WARN" },
    metrics: { none: {} },
    input: {
      http_server: { address: `127.0.0.1:${port}`, path: "/", timeout: "60s" },
      processors: [{ unarchive: { format: "lines" } }],
    },
    buffer: {
      memory: { batch_policy: { enabled: true, count: OBJECT_RECORDS, period: `${OBJECT_WAIT_S}s` } },
    },
    pipeline: { processors: work === "filtered" ? [{ mapping }] : [] },
    output: {
      aws_s3: {
        ...{ bucket: PEER_BUCKET, path: `bento/\${! uuid_v4() }.log.gz` },
        ...{ endpoint: store, region: "us-east-1", force_path_style_urls: true },
        credentials: PEER_KEYS,
        batching: {
          ...{ count: OBJECT_RECORDS, period: "1s" },
          processors: [{ archive: { format: "lines" } }, { compress: { algorithm: "gzip" } }],
        },
      },
    },
  };
}

/**
 * The filter is Lua: the filter `grep` compares texts alone.
 * @see https://docs.fluentbit.io/manual/data-pipeline/inputs/http
 * @see https://docs.fluentbit.io/manual/data-pipeline/filters/lua
 * @see https://docs.fluentbit.io/manual/data-pipeline/outputs/s3
 */
export function fluentBitConfig(work: PeerWork, { port, store, folder }: PeerPlace): object {
  const isDropped = DROPPED_SCRIPTS.map((name) => `r["ScriptName"] == "${name}"`).join(" or ");
  const code = [
    "function keep(tag, timestamp, r)",
    '  local response = r["Event"]["Response"]',
    '  local status = response and response["Status"] or 0',
    `  if r["Outcome"] == "ok" and (${isDropped}) and status < ${ERROR_STATUS} then return -1, 0, 0 end`,
    "  return 0, 0, 0",
    "end",
  ].join("\n");
  const filters = [
    { name: "lua", match: "*", code, call: "keep" },
    { name: "record_modifier", match: "*", allowlist_key: FIELDS },
  ];
  return {
    service: { flush: 1, log_level: "warn", grace: 5 },
    pipeline: {
      inputs: [{ name: "http", listen: "127.0.0.1", port }],
      ...(work === "filtered" && { filters }),
      outputs: [
        {
          ...{ name: "s3", match: "*", bucket: PEER_BUCKET, region: "us-east-1", endpoint: store },
          ...{ s3_key_format: "/fluent-bit/$UUID.log.gz", json_date_key: false, store_dir: `${folder}/s3` },
          ...{ use_put_object: true, compression: "gzip" },
          ...{ total_file_size: OBJECT_BYTES, upload_timeout: `${OBJECT_WAIT_S}s` },
        },
      ],
    },
  };
}

/**
 * @see https://vector.dev/docs/reference/configuration/sources/http_server/
 * @see https://vector.dev/docs/reference/configuration/transforms/remap/
 * @see https://vector.dev/docs/reference/configuration/sinks/aws_s3/
 */
export function vectorConfig(work: PeerWork, { port, store, folder }: PeerPlace): object {
  const status = "(int(.Event.Response.Status) ?? 0)";
  const condition = `.Outcome != "ok" || !includes(${SCRIPTS}, .ScriptName) || ${status} >= ${ERROR_STATUS}`;
  const source = `. = {${FIELDS.map((name) => `"${name}": .${name}`).join(", ")}}`;
  const isFiltered = work === "filtered";
  return {
    data_dir: folder,
    sources: {
      in: {
        ...{ type: "http_server", address: `127.0.0.1:${port}`, path: "/" },
        ...{ framing: { method: "newline_delimited" }, decoding: { codec: "json" } },
      },
    },
    ...(isFiltered && {
      transforms: {
        kept: { type: "filter", inputs: ["in"], condition },
        projected: { type: "remap", inputs: ["kept"], source },
      },
    }),
    sinks: {
      out: {
        ...{ type: "aws_s3", inputs: [isFiltered ? "projected" : "in"], bucket: PEER_BUCKET, key_prefix: "vector/" },
        ...{ endpoint: store, region: "us-east-1", force_path_style: true, healthcheck: { enabled: false } },
        auth: { access_key_id: PEER_KEYS.id, secret_access_key: PEER_KEYS.secret },
        ...{ compression: "gzip", framing: { method: "newline_delimited" } },
        // What the source adds.
        encoding: { codec: "json", except_fields: ["timestamp", "source_type", "path"] },
        batch: { max_events: OBJECT_RECORDS, timeout_secs: OBJECT_WAIT_S, max_bytes: 100_000_000 },
      },
    },
  };
}

/**
 * For the distribution `contrib`.
 * https://github.com/open-telemetry/opentelemetry-collector-contrib: receiver/webhookeventreceiver,
 * processor/transformprocessor, exporter/awss3exporter.
 */
export function otelcolConfig(work: PeerWork, { port, store }: PeerPlace): object {
  const scripts = DROPPED_SCRIPTS.map((name) => `body["ScriptName"] == "${name}"`).join(" or ");
  const status = 'body["Event"]["Response"]["Status"]';
  const isDropped = `body["Outcome"] == "ok" and (${scripts}) and (${status} == nil or ${status} < ${ERROR_STATUS})`;
  const transform = (statement: string): object => ({
    log_statements: [{ context: "log", statements: [statement] }],
  });
  const processors = {
    "transform/parse": transform("set(body, ParseJSON(body))"),
    filter: { logs: { log_record: [isDropped] } },
    "transform/project": transform(`keep_keys(body, ${JSON.stringify(FIELDS)})`),
  };
  const isFiltered = work === "filtered";
  return {
    receivers: {
      webhookevent: {
        ...{ endpoint: `127.0.0.1:${port}`, path: "/", split_logs_at_newline: true },
        // The longest that it allows.
        ...{ read_timeout: "10s", write_timeout: "10s" },
      },
    },
    ...(isFiltered && { processors }),
    exporters: {
      awss3: {
        s3uploader: {
          ...{ region: "us-east-1", s3_bucket: PEER_BUCKET, s3_prefix: "otelcol", endpoint: store },
          ...{ s3_force_path_style: true, disable_ssl: true, compression: "gzip" },
        },
        marshaler: "body",
        sending_queue: {
          ...{ enabled: true, sizer: "items", queue_size: 1_000_000 },
          batch: { flush_timeout: `${OBJECT_WAIT_S}s`, min_size: OBJECT_RECORDS, max_size: OBJECT_RECORDS },
        },
      },
    },
    service: {
      telemetry: { metrics: { level: "none" }, logs: { level: "warn" } },
      pipelines: {
        logs: {
          ...{ receivers: ["webhookevent"], processors: isFiltered ? Object.keys(processors) : [] },
          exporters: ["awss3"],
        },
      },
    },
  };
}
