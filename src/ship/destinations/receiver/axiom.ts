import { parsedJson } from "../../../base/bytes.ts";
import { pathBelow } from "../destination-form.ts";
import { retryAfter } from "../retry-after.ts";
import { judgeAnswer, type Success, unclear, words } from "./answers.ts";
import type { Receiver, ReceiverAnswer, Verdict } from "./receiver.ts";
import { host, path, secretHeader } from "./receiver-form.ts";
import { listOf, objectOf, withFirst } from "./records.ts";

/** https://axiom.co/docs/reference/limits#ingest */
const EVENT_BYTES = 1_000_000;
const EVENTS = 10_000;
const BODY_BYTES = 8_000_000;

/**
 * Axiom's ingest API; the older path is that of the US edge.
 * https://axiom.co/docs/restapi/endpoints/ingestToDataset
 */
export const axiom: Receiver = {
  scheme: "axiom",
  name: "Axiom",
  id: "logship_id in each event",
  takes: { plainRecords: true, fields: ["EventTimestampMs"], limits: { records: EVENTS, bytes: 5_000_000 } },
  fault: ({ path }) =>
    /^v1\/(?:ingest\/[^/]{1,255}|datasets\/[^/]{1,255}\/ingest)$/.test(path)
      ? null
      : "the path must be /v1/ingest/<dataset> or /v1/datasets/<dataset>/ingest",
  form: () => ({
    contentType: "application/x-ndjson",
    frame: { open: "", betweenGroups: "", between: "\n", closeGroup: "\n", close: "" },
    limits: { records: EVENTS, bytes: BODY_BYTES, entryBytes: EVENT_BYTES, maxAgeMs: null },
    entry: ({ line, timeMs }, id) => ({
      group: "",
      text: withFirst(line, `"_time":"${new Date(timeMs).toISOString()}","logship_id":"${id}"`),
    }),
  }),
  asks: {
    about: "`axiom://`, with a dataset and an API token.",
    fields: [
      host({ hint: "The edge of its region, such as `us-east-1.aws.edge.axiom.co`, or `api.axiom.co`." }),
      path({ label: "Dataset", at: pathBelow("v1/ingest/"), missing: "Enter the dataset." }),
      secretHeader("Authorization", {
        label: "API token",
        prefix: "Bearer ",
        hint: "With the permission to ingest into the dataset.",
        missing: "Enter the API token.",
      }),
    ],
  },
  judge,
};

const TAKEN: Success = { statuses: [200], otherwise: "how many events were taken" };

/**
 * Of failed events an answer has times and errors, but not which they are: they are not named, and
 * what Axiom has of the others is not sent again.
 */
function judge(answer: ReceiverAnswer, count: number): Verdict {
  const byStatus = judgeAnswer({ ...answer, retryAfterS: answer.retryAfterS ?? resetOf(answer) }, TAKEN);
  if (byStatus.kind !== "taken") return byStatus;
  const said = objectOf(parsedJson(answer.text));
  const [ingested, failed] = [countIn(said.ingested), countIn(said.failed)];
  // Counts that do not add up say nothing of any event.
  if (ingested === null || failed === null || ingested + failed !== count) return unclear(answer, TAKEN.otherwise);
  if (listOf(said.failures).length > failed) return unclear(answer, TAKEN.otherwise);
  if (failed === 0) return { kind: "taken" };
  const why = `${words(answer)}, but events failed`;
  // Nothing was taken: halves show for which of them.
  if (ingested === 0)
    return { kind: "failed", error: { kind: "refused", words: why, cause: answer.status }, mayBeThere: false };
  return { kind: "partly", again: [], error: null, refused: [], unnamed: { records: failed, words: why } };
}

function countIn(value: unknown): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

/** When a limit ends, in seconds since the epoch. https://axiom.co/docs/restapi/api-limits */
function resetOf({ headers, atMs }: ReceiverAnswer): number | null {
  const reset = headers.get("x-ratelimit-reset") ?? headers.get("x-ingestlimit-reset");
  if (reset === null || !/^\d{1,10}$/.test(reset)) return null;
  return retryAfter(new Date(Number(reset) * 1_000).toISOString(), atMs);
}
