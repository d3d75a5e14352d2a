import { judgeAnswer } from "./answers.ts";
import type { Receiver } from "./receiver.ts";
import { url } from "./receiver-form.ts";

/** What receivers call where records belong, and in which form they come. */
const HARMLESS: readonly string[] = [
  ...["api-version", "database", "dataset", "env", "environment", "format", "host", "index", "region"],
  ...["service", "source", "sourcetype", "table", "team", "version"],
];

/**
 * An address of its own: gzip of what the job writes, one POST an object; every 2xx is a success.
 * https://developers.cloudflare.com/logs/logpush/logpush-job/enable-destinations/http/
 */
export const https: Receiver = {
  scheme: "https",
  name: "this address",
  parameters: "any",
  harmless: HARMLESS,
  id: "header Idempotency-Key",
  takes: { plainRecords: false, fields: [], limits: null },
  judge: (answer) => judgeAnswer(answer, null),
  asks: {
    name: "HTTP endpoint",
    about: "Any `https://` address that accepts gzipped NDJSON.",
    fields: [url({ harmless: HARMLESS })],
  },
  // As the vendor's: receivers made for it know this one.
  probe: { line: '{"content":"tests","filename":"test.txt"}' },
};
