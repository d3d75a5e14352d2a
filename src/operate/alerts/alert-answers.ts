/** What follows from a receiver's answer, and what may be repeated of its body. Pure. */
import { parsedJson } from "../../base/bytes.ts";
import type { FormatName } from "./alert-formats.ts";

/** What to do about an answer, as {@link answerWords} words it; null: none came. */
export function remedyFor(words: string | null): string {
  const status = statusIn(words);
  if (isBusy(words)) return "It asks for fewer calls. logship makes them later.";
  if (status === 401 || status === 403) return "The address or key may be revoked: enter a new one.";
  if (status === 404) return "Nothing is at that address: enter another one.";
  if (status === 410) return "The address no longer exists there: enter another one.";
  if (status >= 300 && status < 400) return "Enter the address that it redirects to.";
  if (status >= 400 && status < 500) return "Check that this address accepts the format.";
  if (words?.includes("e-mail") === true)
    return "Check the binding ALERT_EMAIL, the sender, and that it may write there.";
  return "Check that the service at this address is up.";
}

/** Whether the receiver accepted the call. */
export function isTakenIn(words: string): boolean {
  const status = statusIn(words);
  return status >= 200 && status < 300;
}

/** Whether the receiver asks for fewer calls. */
export function isBusy(words: string | null): boolean {
  return statusIn(words) === 429;
}

/** NaN: none. */
function statusIn(words: string | null): number {
  return Number(/^HTTP (\d{3})\b/.exec(words ?? "")?.[1] ?? Number.NaN);
}

/** https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks#handling_errors */
const SLACK_CODES: ReadonlySet<string> = new Set([
  "action_prohibited",
  "channel_is_archived",
  "channel_not_found",
  "invalid_blocks",
  "invalid_payload",
  "invalid_token",
  "no_active_hooks",
  "no_service",
  "no_service_id",
  "no_team",
  "no_text",
  "posting_to_general_channel_denied",
  "rollup_error",
  "team_disabled",
  "too_many_attachments",
  "user_not_found",
]);

/** A message of the others: some words, nothing that could be a key, an address or markup. */
const PLAIN = /^[A-Za-z][A-Za-z0-9 ,.'()_-]{0,99}$/;
const LIKE_A_KEY = /[A-Za-z0-9_-]{16}/;

/**
 * The short error code of a refusal, where it is one that may be shown: a known one of Slack, or
 * `message` of the JSON that the others answer. null: there is none.
 * @param body of the answer, or its beginning: foreign text.
 */
export function answerCode(format: FormatName, body: string): string | null {
  if (format === "slack") return SLACK_CODES.has(body.trim()) ? body.trim() : null;
  const { message } = (parsedJson(body) ?? {}) as { message?: unknown };
  return typeof message === "string" && PLAIN.test(message) && !LIKE_A_KEY.test(message) ? message : null;
}
