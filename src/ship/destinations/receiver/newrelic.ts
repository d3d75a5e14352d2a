import { isObject, utf8Length } from "../../../base/bytes.ts";
import { judgeAnswer, type Success } from "./answers.ts";
import type { Receiver, SentRecord } from "./receiver.ts";
import { host, text } from "./receiver-form.ts";
import { messageOf, severityOf } from "./records.ts";

/**
 * Of one request; it does not say whether before compression, so before. What is older may be
 * dropped.
 * https://docs.newrelic.com/docs/logs/log-api/introduction-log-api/
 */
const LIMITS = { records: 5_000, bytes: 1_000_000, entryBytes: 990_000, maxAgeMs: 48 * 3_600_000 };

/**
 * Of a value, in bytes: "data beyond 128KB will be truncated".
 * https://docs.newrelic.com/docs/logs/log-api/log-event-data/
 */
const VALUE_MAX_BYTES = 128_000;

/** Same page: 255 attributes of an event, and of a name as many characters. */
const ATTRIBUTES_MAX = 200;
const NAME_MAX = 255;

/** What was taken has an id, and nothing else is said of it. */
const ID = /^\s*\{\s*"requestId"\s*:\s*"[^"\\]+"\s*\}\s*$/;
const TAKEN: Success = { statuses: [200, 202], says: (text) => ID.test(text), otherwise: "as New Relic answers" };

const KEY = "Api-Key";

/**
 * New Relic's Log API. With the vendor's `format=cloudflare` and without it, requests have the body
 * that New Relic documents: of what that parameter makes of a record it says nothing.
 * https://developers.cloudflare.com/logs/logpush/logpush-job/enable-destinations/new-relic/
 */
export const newrelic: Receiver = {
  scheme: "https",
  isAt: (host, path) => /^(?:gov-)?log-api\.(?:[a-z0-9-]+\.)?newrelic\.com$/.test(host) && /^\/log\/v1\/?$/.test(path),
  name: "New Relic",
  own: [KEY, "format"],
  secret: [KEY],
  id: "attribute logship.id",
  // Each log also gets a message of up to 4,000 characters.
  takes: { plainRecords: true, fields: ["EventTimestampMs"], limits: { records: LIMITS.records, bytes: 600_000 } },
  fault: ({ parameters, headers }) => {
    if ((parameters.get("format") ?? "cloudflare") !== "cloudflare") return "format must be cloudflare";
    const key = parameters.get(KEY);
    if (headers.has("api-key")) return key === undefined ? null : `${KEY} is given twice`;
    if (key === undefined || key === "") return `${KEY} is missing`;
    return /^[\u0021-\u007e]+$/.test(key) ? null : `${KEY} must be printable ASCII`;
  },
  form: () => ({
    contentType: "application/json",
    frame: { open: '[{"logs":[', betweenGroups: "", between: ",", closeGroup: "", close: "]}]" },
    limits: LIMITS,
    entry: (record, id) => {
      const { fields, timeMs } = record;
      const attributes = attributesOf(fields);
      const long = [...attributes].find(
        ([, value]) => typeof value === "string" && utf8Length(value) > VALUE_MAX_BYTES,
      );
      if (long !== undefined) {
        const bytes = utf8Length(`${long[1]}`);
        return { refused: `a record with a value of ${bytes} bytes; New Relic takes ${VALUE_MAX_BYTES}` };
      }
      const log = {
        timestamp: timeMs > 0 ? timeMs : undefined,
        message: messageOf(fields),
        attributes: { "logship.id": id, level: severityOf(fields), ...Object.fromEntries(attributes) },
      };
      return { group: "", text: JSON.stringify(log) };
    },
  }),
  // In a header, no log of a proxy has it.
  request: ({ parameters }) => {
    const key = parameters.get(KEY);
    return key === undefined ? {} : { headers: { [KEY]: key } };
  },
  asks: {
    about: "`https://log-api.newrelic.com/`, with a region and a license key.",
    start: "/log/v1?format=cloudflare",
    fields: [
      host({
        label: "Region",
        choices: [
          { value: "log-api.newrelic.com", label: "US" },
          { value: "log-api.eu.newrelic.com", label: "EU" },
          { value: "gov-log-api.newrelic.com", label: "US FedRAMP" },
        ],
      }),
      text(KEY, { label: "License key", hint: "An ingest license key.", isSecret: true }),
    ],
  },
  judge: (answer) => judgeAnswer(answer, TAKEN, "NewRelic"),
};

/**
 * The fields of a record as New Relic stores them: `Event.Request.URL` and so on. It knows no
 * arrays, so these are JSON; so is a field that would have too many attributes, too long names, or
 * two of one name.
 */
function attributesOf(fields: SentRecord["fields"]): Map<string, string | number | boolean> {
  const attributes = new Map<string, string | number | boolean>();
  for (const [name, value] of Object.entries(fields)) {
    const flat = new Map<string, string | number | boolean>();
    const isFlat = flatten(name, value, flat);
    for (const [key, leaf] of isFlat ? flat : [[name, JSON.stringify(value)] as const]) attributes.set(key, leaf);
  }
  return attributes;
}

/** @returns false: as attributes of their own, some of it would not be kept. */
function flatten(name: string, value: unknown, into: Map<string, string | number | boolean>): boolean {
  if (isObject(value)) {
    const members = Object.entries(value);
    if (members.length > 0) return members.every(([key, member]) => flatten(`${name}.${key}`, member, into));
  }
  if (into.has(name) || into.size >= ATTRIBUTES_MAX || name.length > NAME_MAX) return false;
  const isPlain = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  into.set(name, isPlain ? value : JSON.stringify(value));
  return true;
}
