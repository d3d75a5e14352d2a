/** What the watch finds wrong with itself, and with whoever it tells. */
import type { Finding } from "./types.ts";
import { GIVE_UP_MS } from "./webhook.ts";
import type { WebhookState } from "./webhook-calls.ts";

/** A webhook is said to fail after so many failures in a row, and so long, in ms: less may be a restart of its receiver. */
const FAILURES = 3;
const FAILING_MS = 10 * 60_000;

export const WEBHOOK_FAILING = "webhook_failing";
export const LOOK_FAILED = "look_failed";

/** That nobody can tell what is wrong. */
export function lookFailed(): Finding {
  return {
    kind: LOOK_FAILED,
    subject: { type: "account" },
    severity: "error",
    sinceMs: null,
    affected: null,
    summary: "Nobody can tell what is wrong: looking at the service fails.",
    advice:
      "The line `a look at everything failed` says why. Until it goes well again, what else was wrong counts as going on.",
  };
}

/** What is wrong with the webhook; null: nothing. @param opens whether a key opens what is stored of it. */
export function webhookFinding(webhook: WebhookState | null, opens: boolean, nowMs: number): Finding | null {
  if (webhook === null) return null;
  const finding = (sinceMs: number | null, summary: string, advice: string): Finding => ({
    kind: WEBHOOK_FAILING,
    subject: { type: "account" },
    severity: "warning",
    sinceMs,
    affected: null,
    summary,
    advice,
  });
  const { goneMs, failures, failingSinceMs, lastAnswer, waiting } = webhook;
  if (goneMs !== null) {
    return finding(
      goneMs,
      "The webhook is switched off: its receiver answered HTTP 410, which says that it wants no calls any more.",
      "PUT /webhook with another url, or with enabled true if that was an error; or DELETE it.",
    );
  }
  // No need to wait until a call fails on it: that would be the first that somebody needs.
  if (webhook.enabled && !opens)
    return finding(
      failingSinceMs,
      "No key opens the stored webhook: nobody can be called.",
      "Set the key again that sealed it, as SECRETS_KEY or SECRETS_KEY_PREVIOUS; or PUT /webhook with its url.",
    );
  if (failingSinceMs === null || failures < FAILURES || nowMs - failingSinceMs < FAILING_MS) return null;
  return finding(
    failingSinceMs,
    `The webhook does not take its calls: ${lastAnswer ?? "it was not called"}. Waiting: ${waiting}.`,
    `Look at its receiver, then POST /webhook/test. Each call is tried for ${GIVE_UP_MS / 86_400_000} days.`,
  );
}
