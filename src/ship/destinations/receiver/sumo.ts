import { isEmpty, judgeAnswer, type Success } from "./answers.ts";
import type { Receiver } from "./receiver.ts";
import { url } from "./receiver-form.ts";

/**
 * A body would say what was not taken: the vendor's own exporter.
 * https://github.com/open-telemetry/opentelemetry-collector-contrib/blob/main/exporter/sumologicexporter/sender.go
 */
const TAKEN: Success = { statuses: [200, 204], says: isEmpty, otherwise: "the empty answer of Sumo Logic" };

/** Its name of what a record comes from: `_sourceName` of a search. */
const NAME = "x-sumo-name";

/**
 * An HTTP Logs source of Sumo Logic, whose address is the secret. It ignores parameters.
 * https://www.sumologic.com/help/docs/send-data/hosted-collectors/http-source/logs-metrics/
 */
export const sumo: Receiver = {
  scheme: "sumo",
  name: "Sumo Logic",
  hasSecretPath: true,
  id: "X-Sumo-Name (_sourceName)",
  // At most 1 MB a request before compression: same page.
  takes: { plainRecords: false, fields: [], limits: { records: 10_000, bytes: 1_000_000 } },
  fault: ({ path }) =>
    /^receiver\/v1\/http\/[^/]+$/.test(path)
      ? null
      : "the path must be receiver/v1/http/ followed by the code of the source",
  request: ({ headers }, id) => (headers.has(NAME) ? {} : { headers: { [NAME]: id } }),
  asks: {
    about: "`sumo://`, with the address of an HTTP Logs source.",
    fields: [
      url({
        label: "HTTP source address",
        hint: "As Sumo Logic shows it. Its last part is the secret, and is shown as `****`.",
        hasCode: true,
      }),
    ],
  },
  // 408 is one that was accepted and timed out: it may be there.
  // https://www.sumologic.com/help/docs/send-data/hosted-collectors/http-source/troubleshooting/
  judge: (answer) => judgeAnswer(answer, TAKEN, "Sumo"),
};
