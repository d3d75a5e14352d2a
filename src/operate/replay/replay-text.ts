import type { Unread } from "../../ship/destinations/destination.ts";
import type { Failure } from "../../ship/destinations/failure.ts";
import { parks } from "../../ship/reader/parking.ts";

/** Why an object cannot be read where it was delivered. */
export type SourceFault =
  | { kind: "missing"; words: string }
  | { kind: "damaged"; words: string }
  /** It cannot be read now: that says nothing of the object. */
  | { kind: "error"; error: Failure };

/** What follows from an answer without an object. */
export function sourceFault({ why, words: said, retryAfterS, cause }: Unread): SourceFault {
  const words = `the source cannot be read: ${said}`;
  switch (why) {
    case "gone":
      return {
        kind: "missing",
        words: `it is not there (${said}): it was removed, or the job had another destination when it was delivered`,
      };
    case "unreachable":
      return { kind: "error", error: { kind: "unreachable", words, cause } };
    case "busy":
      return { kind: "error", error: { kind: "busy", words, retryAfterS, cause } };
    default: {
      const gone = cause === 403 ? " (some stores also say so of objects that were removed)" : "";
      return { kind: "error", error: { kind: "misconfigured", words: words + gone, cause } };
    }
  }
}

/** How a replay that waits says what is wrong. */
export function waitingWords(error: Failure): string {
  const { words } = error;
  return parks(error)
    ? `${words}; nothing is lost, and logship retries every few minutes`
    : `${words}; logship is retrying`;
}
