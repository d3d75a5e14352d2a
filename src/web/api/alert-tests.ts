/** What the webhook and the targets beside it have in common: their calls, and tests of them. */

import { type ApiError, CODE, oneError } from "../../base/errors.ts";
import { errorText, log } from "../../base/logger.ts";
import type { Config } from "../../config.ts";
import { remedyFor } from "../../operate/status/answer-words.ts";
import { dashboardOrigin } from "../../operate/status/link.ts";
import type { ReceiverState } from "../../operate/status/receiver-state.ts";
import { type Watch, watch } from "../../operate/status/watch.ts";
import { answerWords, type CallAnswer, isTaken } from "../../operate/status/webhook.ts";
import type { Webhook } from "./docs/webhook.ts";
import { isoTime } from "./envelope.ts";
import type { AppContext } from "./route.ts";

/** The answer of {@link Watch.put}. */
export type Put = ReturnType<Watch["put"]>;

/** A receiver has had a test within the last five seconds. */
export function testedJustNow(): ApiError {
  return oneError(429, CODE.tooMany, "Wait 5 s, then test again.", { "Retry-After": "5" });
}

/** Never fails: the test was made either way. */
export async function noteTest(
  c: AppContext,
  { id, mark }: { id: number; mark: string },
  answer: CallAnswer,
): Promise<void> {
  await watch(c.env.WATCH)
    .noteTest(id, mark, { taken: isTaken(answer), words: answerWords(answer) })
    .catch((error: unknown) => log.warn("a test of a receiver was not noted", { error: errorText(error) }));
}

/** The result of a test. */
export function outcomeOf(answer: CallAnswer) {
  const delivered = isTaken(answer);
  const message = answerWords(answer);
  return {
    delivered,
    status: answer.kind === "answer" ? answer.status : null,
    message,
    advice: delivered ? null : remedyFor(message),
  };
}

/** What is known of its calls. */
export function presentCalls(state: ReceiverState): Omit<Webhook, "url"> {
  return {
    enabled: state.enabled,
    created_at: isoTime(state.created_ms),
    modified_at: isoTime(state.modified_ms),
    gone_at: isoTime(state.gone_ms),
    waiting: state.waiting,
    delivered: state.delivered,
    given_up: state.given_up,
    failures: state.failures,
    failing_since: isoTime(state.failing_since_ms),
    last_answer: state.last_answer,
    last_call_at: isoTime(state.last_try_ms),
    last_success_at: isoTime(state.last_ok_ms),
    last_test: state.test_answer,
    last_test_at: isoTime(state.tested_ms),
  };
}

/** Of the dashboard, as far as a request tells. */
export function originOf(c: AppContext, { destinations }: Config): string | null {
  return dashboardOrigin(c.req.url, destinations.allowLoopback);
}
