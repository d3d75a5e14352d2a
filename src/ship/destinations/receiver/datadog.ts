import { judgeAnswer, type Success } from "./answers.ts";
import type { Receiver } from "./receiver.ts";
import { host, secretHeader, text } from "./receiver-form.ts";
import { messageOf, severityOf, withFirst } from "./records.ts";

/**
 * Of one request, and of one log: a longer one would be cut, and called a success. Logs older than
 * 18 hours, or two hours ahead, are not taken.
 * https://docs.datadoghq.com/api/latest/logs/send-logs/
 * https://docs.datadoghq.com/logs/log_configuration/processors/log_date_remapper/
 */
const LIMITS = {
  records: 1_000,
  bytes: 5_000_000,
  entryBytes: 1_000_000,
  maxAgeMs: 18 * 3_600_000,
  maxAheadMs: 2 * 3_600_000,
};

/** v1 answers 200, v2 202, each with an empty object. */
const EMPTY = /^\s*\{\s*\}\s*$/;
const TAKEN: Success = { statuses: [200, 202], says: (text) => EMPTY.test(text), otherwise: "as Datadog answers" };

const PATH = "api/v2/logs";

/** https://docs.datadoghq.com/getting_started/site/ */
const SITES = [
  ...["datadoghq.com", "us3.datadoghq.com", "us5.datadoghq.com", "datadoghq.eu"],
  ...["ap1.datadoghq.com", "ap2.datadoghq.com", "uk1.datadoghq.com", "ddog-gov.com"],
];

/**
 * Datadog's intake of logs, v1 and v2, in the vendor's string.
 * https://developers.cloudflare.com/logs/logpush/logpush-job/enable-destinations/datadog/
 */
export const datadog: Receiver = {
  scheme: "datadog",
  name: "Datadog",
  parameters: ["ddsource", "service", "host", "ddtags"],
  id: "attribute logship.id",
  // Each log also gets a message of up to 4,000 characters.
  takes: { plainRecords: true, fields: ["EventTimestampMs"], limits: { records: LIMITS.records, bytes: 3_000_000 } },
  fault: ({ path, headers }) => {
    if (!headers.has("dd-api-key")) return "header_DD-API-KEY is missing";
    return /^(?:api\/v2\/logs|v1\/input)?\/?$/.test(path) ? null : `the path must be ${PATH} or v1/input`;
  },
  requestPath: (path) => (path === "" ? PATH : path),
  form: ({ parameters }) => {
    const source = { ddsource: parameters.get("ddsource") ?? "cloudflare", hostname: parameters.get("host") };
    const constant = JSON.stringify(source).slice(1, -1);
    return {
      contentType: "application/json",
      frame: { open: "[", betweenGroups: "", between: ",", closeGroup: "", close: "]" },
      limits: LIMITS,
      entry: (record, id) => {
        const { fields, timeMs } = record;
        // https://docs.datadoghq.com/logs/log_configuration/attributes_naming_convention/
        const own = {
          message: messageOf(fields),
          timestamp: timeMs > 0 ? timeMs : undefined,
          status: severityOf(fields),
          service: parameters.get("service") ?? fields.ScriptName,
          logship: { id },
        };
        return { group: "", text: withFirst(record.line, `${JSON.stringify(own).slice(1, -1)},${constant}`) };
      },
    };
  },
  asks: {
    about: "`datadog://`, with a site and an API key.",
    start: `/${PATH}?ddsource=cloudflare`,
    fields: [
      host({ label: "Site", choices: SITES.map((site) => ({ value: `http-intake.logs.${site}`, label: site })) }),
      secretHeader("DD-API-KEY", { label: "API key", missing: "Enter the API key." }),
      text("service", { label: "Service", hint: "Empty: the name of the function." }),
      text("ddtags", { label: "Tags", hint: "Such as `env:production,team:shop`." }),
      text("ddsource", { label: "Source" }),
      text("host", { label: "Host" }),
    ],
  },
  judge: (answer) => judgeAnswer(answer, TAKEN, "Datadog"),
};
