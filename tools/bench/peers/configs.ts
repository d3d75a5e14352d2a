/**
 * The configuration of each peer, from its documentation: NDJSON in by POST, gzipped NDJSON out by
 * PUT. Pure. JSON is YAML, so every file is written as JSON.
 */
import { EVERYTHING, FILTERED, type JobShape } from "../job-shapes.ts";

/** What a shipper is to do. */
export const PEER_WORKS = { everything: EVERYTHING, filtered: FILTERED } as const satisfies Record<string, JobShape>;
export type PeerWork = keyof typeof PEER_WORKS;

/** The filter of FILTERED, in the terms that each shipper's language needs. */
export const DROPPED_SCRIPTS = ["images", "feeds"] as const;
export const ERROR_STATUS = 400;

export interface PeerPlace {
  /** It listens here, on 127.0.0.1. */
  port: number;
  /** URL of the S3 endpoint. */
  store: string;
  /** For files of its own. */
  folder: string;
}

/** An object holds as many records at most… */
const OBJECT_RECORDS = 20_000;
/** …or, where only bytes are counted, some 20,000 of the mix… */
const OBJECT_BYTES = 16_000_000;
/** …and is written when its first record has waited this long, in s. */
const OBJECT_WAIT_S = 5;

const PEER_BUCKET = "bench";

/** Any pair will do: the store verifies nothing. */
export const PEER_KEYS = { id: "bench", secret: "bench-secret" } as const;

/** The job that does this work; its interval is the shortest that there is. */
export function logshipJob(work: PeerWork, store: string): Record<string, unknown> {
  const { filter, fieldNames } = PEER_WORKS[work];
  const query = new URLSearchParams({
    ...{ region: "auto", endpoint: store },
    ...{ "access-key-id": PEER_KEYS.id, "secret-access-key": PEER_KEYS.secret },
  });
  return {
    ...{ enabled: true, destination_conf: `s3://${PEER_BUCKET}/logship/{DATE}?${query}` },
    ...{ max_upload_records: OBJECT_RECORDS, max_upload_interval_seconds: 30 },
    ...(filter !== null && { filter }),
    ...(fieldNames !== null && { output_options: { field_names: fieldNames } }),
  };
}

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
