/** Findings of the watch about itself and about the webhook. */

import { counted } from "../../base/counted.ts";
import type { Finding } from "../status/finding.ts";
import { head } from "../status/finding-text.ts";
import { WEBHOOK_FAILING } from "../status/kinds.ts";
import { isBusy, remedyFor } from "./alert-answers.ts";
import type { ReceiverState } from "./receiver-state.ts";
import { GIVE_UP_MS } from "./webhook.ts";

/** A webhook counts as failing after this many failures in a row, or after this long, in ms. */
const FAILURES = 3;
const FAILING_MS = 10 * 60_000;

export const CHECK_FAILED = "look_failed";

export function checkFailed(): Finding {
  return {
    subject: { type: "account" },
    ...head(CHECK_FAILED, "error"),
    summary: "The status check itself fails, so problems may go unnoticed.",
    advice:
      "The log line `status check failed` gives the reason. Until the check works again, open incidents stay open.",
  };
}

/** null: it works. @param opens whether a key decrypts it. */
export function webhookFinding(webhook: ReceiverState | null, opens: boolean, nowMs: number): Finding | null {
  if (webhook === null) return null;
  const what = webhook.format === "generic" ? "webhook" : `alert "${webhook.name}"`;
  const finding = (sinceMs: number | null, summary: string, advice: string): Finding => ({
    ...head(WEBHOOK_FAILING, "warning", sinceMs),
    subject: { type: "account" },
    receiver: { id: webhook.id, name: webhook.name },
    summary,
    advice,
  });
  const { gone_ms: goneMs, failures, failing_since_ms: failingSinceMs, last_answer: lastAnswer, waiting } = webhook;
  if (goneMs !== null) {
    return finding(
      goneMs,
      `The ${what} is off, because its address answered HTTP 410 (Gone).`,
      "Set another address, enable it again if that was a mistake, or delete it.",
    );
  }
  // Reported before a call fails on it: that call would be the first one needed.
  if (webhook.enabled && !opens)
    return finding(
      failingSinceMs,
      `logship cannot decrypt the stored ${what}, so it makes no calls.`,
      "Restore the key that encrypted it as SECRETS_KEY or SECRETS_KEY_PREVIOUS, or enter its address again.",
    );
  if (failingSinceMs === null || (failures < FAILURES && nowMs - failingSinceMs < FAILING_MS)) return null;
  return finding(
    failingSinceMs,
    `The address of the ${what} does not accept calls: ${lastAnswer ?? "there was none yet"}. ${counted(waiting, "calls")} waiting.`,
    `${remedyFor(lastAnswer)}${isBusy(lastAnswer) ? "" : " Then test it: once a test succeeds, waiting calls follow."} logship retries each call for ${GIVE_UP_MS / 86_400_000} days.`,
  );
}
