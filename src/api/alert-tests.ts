/** Tests of receivers of alerts: what the webhook and the targets beside it have in common. */
import type { Config } from "../config.ts";
import { type ApiError, CODE, oneError } from "../errors.ts";
import { errorText, log } from "../log.ts";
import { remedyFor } from "../status/answer-words.ts";
import { dashboardOrigin } from "../status/link.ts";
import { watch } from "../status/watch.ts";
import { answerWords, type CallAnswer, isTaken } from "../status/webhook.ts";
import type { AppContext } from "./route.ts";

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

/** Of the dashboard, as far as a request tells. */
export function originOf(c: AppContext, { destinations }: Config): string | null {
  return dashboardOrigin(c.req.url, destinations.allowLoopback);
}
