import { judgeAnswer } from "./answers.ts";
import type { Receiver } from "./receiver.ts";
import { url } from "./receiver-form.ts";

/**
 * An address of its own: gzip of what the job writes, one POST an object; every 2xx is a success.
 * https://developers.cloudflare.com/logs/logpush/logpush-job/enable-destinations/http/
 */
export const https: Receiver = {
  scheme: "https",
  name: "this address",
  parameters: "any",
  id: "header Idempotency-Key",
  takes: { plainRecords: false, fields: [], limits: null },
  judge: (answer) => judgeAnswer(answer, null),
  asks: {
    name: "HTTP endpoint",
    about: "Any `https://` address that accepts gzipped NDJSON.",
    fields: [url()],
  },
  // As the vendor's: receivers made for it know this one.
  probe: { line: '{"content":"tests","filename":"test.txt"}' },
};
