import { parsedJson } from "../../../base/bytes.ts";
import { judgeAnswer, type Success, words } from "./answers.ts";
import type { Options, Receiver, ReceiverAnswer, Verdict } from "./receiver.ts";
import { host, secretHeader, text } from "./receiver-form.ts";
import { objectOf } from "./records.ts";

/**
 * Of one request: what Splunk Cloud takes. Splunk Enterprise takes 838,860,800 unless configured
 * otherwise: https://docs.splunk.com/Documentation/Splunk/latest/Admin/Limitsconf
 */
const LIMITS = { records: 10_000, bytes: 1_000_000 };

/** Metadata of all that a request holds. */
const METADATA = ["host", "source", "sourcetype", "index"];

const VERIFY = "insecure-skip-verify";
const PATH = /(?:^|\/)services\/collector(?:\/(?:raw|event)(?:\/1\.0)?)?$/;
const GUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** What both endpoints ask for. */
const FIELDS = [
  host({ hint: "The collector's host, such as `http-inputs-acme.splunkcloud.com:443` or `splunk.example:8088`." }),
  secretHeader("Authorization", { label: "Token", prefix: "Splunk ", missing: "Enter the token." }),
  text("sourcetype", { label: "Source type", hint: "Empty: the token's own. The same holds for the fields below." }),
  text("index", { label: "Index" }),
  text("source", { label: "Source" }),
  text("host", { label: "Host" }),
  text("channel", { label: "Channel", hint: "A GUID, for tokens with indexer acknowledgement." }),
];

/** Splunk's HTTP Event Collector, whichever of its endpoints. */
const collector = {
  scheme: "splunk",
  name: "Splunk",
  parameters: ["channel", ...METADATA],
  own: [VERIFY],
  fault,
};

/**
 * Its raw endpoint, in the vendor's string: objects as they are, which the source type divides into
 * events.
 * https://developers.cloudflare.com/logs/logpush/logpush-job/enable-destinations/splunk/
 */
export const splunkRaw: Receiver = {
  ...collector,
  isAt: (_host, path) => /\/raw(?:\/1\.0)?$/.test(path),
  id: "source",
  takes: { plainRecords: false, fields: [], limits: LIMITS },
  // As a file has its name there.
  request: ({ parameters }, id) => (parameters.has("source") ? {} : { query: { source: id } }),
  judge: (answer) => judge(answer, 0),
  asks: {
    name: "Splunk, raw",
    about: "`splunk://…/raw`, as Logpush ships: the source type divides the lines into events.",
    start: "/services/collector/raw",
    fields: FIELDS,
  },
};

/**
 * Its event endpoint: each record with its time and id.
 * https://help.splunk.com/en/splunk-enterprise/get-data-in/collect-http-event-data/format-events-for-http-event-collector
 */
export const splunkEvent: Receiver = {
  ...collector,
  id: "field logship_id",
  takes: { plainRecords: true, fields: ["EventTimestampMs"], limits: { records: LIMITS.records, bytes: 750_000 } },
  form: ({ parameters }) => {
    const given = METADATA.flatMap((name) => (parameters.has(name) ? [[name, parameters.get(name)] as const] : []));
    const metadata = given.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)},`).join("");
    return {
      contentType: "application/json",
      frame: { open: "", betweenGroups: "", between: "\n", closeGroup: "", close: "" },
      limits: { ...LIMITS, entryBytes: LIMITS.bytes - 1, maxAgeMs: null },
      entry: ({ line, timeMs }, id) => {
        const time = timeMs > 0 ? `"time":${(timeMs / 1_000).toFixed(3)},` : "";
        return { group: "", text: `{${time}${metadata}"fields":{"logship_id":"${id}"},"event":${line}}` };
      },
    };
  },
  judge,
  asks: {
    about: "`splunk://…/event`, one event per record, with time and id.",
    start: "/services/collector/event",
    fields: FIELDS,
  },
};

function fault({ path, parameters, headers }: Options): string | null {
  if (!PATH.test(path)) return "the path must be services/collector/raw or services/collector/event";
  const verify = parameters.get(VERIFY) ?? "false";
  if (verify === "true") return `${VERIFY} must be false: the certificate has to be signed by a public authority`;
  if (verify !== "false") return `${VERIFY} must be false`;
  if (!/^(?:Splunk|Bearer|Basic) \S/i.test(headers.get("authorization") ?? ""))
    return "header_Authorization must be Splunk%20 and the token";
  return GUID.test(parameters.get("channel") ?? "00000000-0000-0000-0000-000000000000")
    ? null
    : "channel must be a GUID";
}

/**
 * Codes of its answers; 24 and 25: taken, and its queue is nearly full.
 * https://docs.splunk.com/Documentation/Splunk/latest/Data/TroubleshootHTTPEventCollector
 */
const TAKEN: ReadonlySet<number> = new Set([0, 24, 25]);
const NO_SUCCESS: Success = { statuses: [], otherwise: "as Splunk says that it took them" };
const SUCCESS: Success = { ...NO_SUCCESS, statuses: [200] };
/** Token, index, channel, acknowledgement: whatever is sent. */
const OF_THE_COLLECTOR: ReadonlySet<number> = new Set([1, 2, 3, 4, 7, 10, 11, 14, 16, 21, 22]);
/** No data, no JSON, no event, bad fields: what is sent. */
const OF_THE_BODY: ReadonlySet<number> = new Set([5, 6, 12, 13, 15]);

/**
 * By code, then by status: proxies before it have no code. A success without one is none: it is the
 * page of something else, that took the records or did not.
 * @param count 0: it cannot name an event.
 */
function judge(answer: ReceiverAnswer, count: number): Verdict {
  const { code, entry } = codeOf(answer);
  const label = code === null ? "Splunk" : `Splunk.${code}`;
  const isTaken = code !== null && TAKEN.has(code) && entry === null;
  if (code === null || answer.status < 300) return judgeAnswer(answer, isTaken ? SUCCESS : NO_SUCCESS, label);
  const said = { words: words(answer, label), cause: answer.status };
  if (OF_THE_COLLECTOR.has(code))
    return { kind: "failed", error: { kind: "misconfigured", ...said }, mayBeThere: false };
  if (!OF_THE_BODY.has(code)) return judgeAnswer(answer, NO_SUCCESS, label);
  const named = entry !== null && entry < count ? { entry } : {};
  return { kind: "failed", error: { kind: "refused", ...said }, mayBeThere: false, ...named };
}

/** `{"text":"Invalid data format","code":6,"invalid-event-number":3}`, events counted from 0. */
function codeOf(answer: ReceiverAnswer): { code: number | null; entry: number | null } {
  const { code, "invalid-event-number": entry } = objectOf(parsedJson(answer.text));
  const isCode = typeof code === "number" && Number.isInteger(code) && code >= 0 && code < 1_000;
  const isEntry = typeof entry === "number" && Number.isInteger(entry) && entry >= 0;
  return { code: isCode ? code : null, entry: isEntry ? entry : null };
}
