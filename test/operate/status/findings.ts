/** Findings for tests. */
import type { Finding } from "../../../src/operate/status/finding.ts";

/** A finding of job 1; the argument overrides the defaults. */
export function finding(fields: Partial<Finding> = {}): Finding {
  return {
    kind: "failing",
    subject: { type: "job", id: 1 },
    severity: "error",
    sinceMs: null,
    affected: null,
    summary: "Uploads fail: HTTP 503.",
    advice: "Look at the store.",
    ...fields,
  };
}
