import { parsedJson } from "../../../base/bytes.ts";
import { failureOf, judgeAnswer, type Success, unclear, words } from "./answers.ts";
import type { Receiver, ReceiverAnswer, Verdict } from "./receiver.ts";
import { host, path, secretHeader, text } from "./receiver-form.ts";
import { objectOf, withTime } from "./records.ts";

/** Elasticsearch's `http.max_content_length` is 100 MB by default; small bodies answer sooner. */
const BODY_BYTES = 10_000_000;
const RECORDS = 10_000;

/** What each record gets besides its own text, in bytes: an action with its id, and a time. */
const ADDED_BYTES = 150;

/** Of a `create` whose id is there. */
const CONFLICT = "version_conflict_engine_exception";

const TAKEN: Success = { statuses: [200], otherwise: "what became of each record" };

/**
 * Elasticsearch and OpenSearch, maybe behind the path of a proxy: bulk requests of `create` actions
 * with ids of ours, so that one index takes each record once.
 * https://www.elastic.co/docs/api/doc/elasticsearch/operation/operation-bulk
 */
export const elastic: Receiver = {
  scheme: "elastic",
  name: "Elasticsearch",
  parameters: ["pipeline", "routing", "require_data_stream", "require_alias"],
  id: "_id: once within one backing index",
  takes: { plainRecords: true, fields: ["EventTimestampMs"], limits: { records: RECORDS, bytes: 5_000_000 } },
  fault: ({ path }) =>
    /^(?:[^/]+\/)*[^/_+-][^/]{0,254}$/.test(path) ? null : "the path must end with an index, alias or data stream",
  requestPath: (path) => `${path}/_bulk`,
  form: () => ({
    contentType: "application/x-ndjson",
    frame: { open: "", betweenGroups: "", between: "\n", closeGroup: "\n", close: "" },
    limits: { records: RECORDS, bytes: BODY_BYTES, entryBytes: BODY_BYTES - ADDED_BYTES, maxAgeMs: null },
    entry: (record, id) => ({ group: "", text: `{"create":{"_id":"${id}"}}\n${withTime(record, "@timestamp")}` }),
  }),
  asks: {
    name: "Elasticsearch, OpenSearch",
    about: "`elastic://`, with an index and an API key.",
    fields: [
      host({ hint: "The host of the cluster, such as `my-cluster.es.example:9243`." }),
      path({
        label: "Index",
        hint: "An index, an alias or a data stream; behind a proxy with its path: `elasticsearch/logs`.",
        missing: "Enter the index.",
      }),
      secretHeader("Authorization", {
        label: "API key",
        prefix: "ApiKey ",
        hint: "As Elasticsearch shows it, in Base64. For a user instead: `Basic` and user:password in Base64.",
      }),
      text("pipeline", { label: "Ingest pipeline", hint: "Empty: the index's own." }),
    ],
  },
  // Of each record no more than what became of it.
  request: () => ({ query: { filter_path: "error,errors,items.*.status,items.*.error.type,items.*.failure_store" } }),
  judge,
};

/**
 * What the failure store of a data stream took is not where it is searched: it is set aside.
 * https://www.elastic.co/docs/manage-data/data-store/data-streams/failure-store
 */
function judge(answer: ReceiverAnswer, count: number): Verdict {
  const { items, errors, error: whole } = objectOf(parsedJson(answer.text));
  const byStatus = judgeAnswer(answer, TAKEN, typeIn(whole));
  if (byStatus.kind !== "taken") return byStatus;
  // A proxy's page, or an answer that was cut off: nothing is known of any record.
  if (!Array.isArray(items) || items.length !== count || typeof errors !== "boolean")
    return unclear(answer, TAKEN.otherwise);
  const again: number[] = [];
  const refused: { entry: number; words: string }[] = [];
  let first: { status: number; type: string | null } | null = null;
  let [mayBeThere, isRepeat] = [false, false];
  for (const [entry, item] of items.entries()) {
    const { status, type, isElsewhere } = resultOf(item);
    if (isElsewhere) refused.push({ entry, words: words({ status }, "failure_store") });
    // It is there from an earlier attempt.
    const isThere = status === 409 && (type ?? CONFLICT) === CONFLICT;
    isRepeat ||= isThere;
    if (status < 300 || isThere) continue;
    const failure = failureOf({ ...answer, status }, type);
    if (failure.kind === "refused") refused.push({ entry, words: words({ status }, type) });
    else {
      again.push(entry);
      // 503: its shard is not there, which is looked at before it is written.
      mayBeThere ||= status >= 500 && status !== 503;
      first ??= { status, type };
    }
  }
  if (first === null && refused.length === 0)
    return errors && !isRepeat ? unclear(answer, TAKEN.otherwise) : { kind: "taken" };
  const error = first === null ? null : failureOf({ ...answer, status: first.status }, first.type);
  // Nothing of it was taken: that is the body's failure, not that of some records.
  if (error !== null && again.length === count) return { kind: "failed", error, mayBeThere };
  return { kind: "partly", again, error, refused, unnamed: null, mayBeThere };
}

/** `{"create":{"status":201}}`; a status of 500 where none can be read, or beside an error. */
function resultOf(item: unknown): { status: number; type: string | null; isElsewhere: boolean } {
  const [result, ...others] = Object.values(objectOf(item));
  const { status, error, failure_store: store } = objectOf(result);
  const isTaken = (status === 200 || status === 201) && error === undefined && others.length === 0;
  const isRead = isTaken || (Number.isInteger(status) && Number(status) >= 300 && Number(status) <= 599);
  return { status: isRead ? Number(status) : 500, type: typeIn(error), isElsewhere: isTaken && store === "used" };
}

/** Of an error. */
function typeIn(error: unknown): string | null {
  const { type } = objectOf(error);
  return typeof type === "string" ? type : null;
}
