import type { Failure } from "../failure.ts";
import type { ReceiverAnswer, Verdict } from "./receiver.ts";

/** What is over in a while. */
const MOMENTARY: ReadonlySet<number> = new Set([408, 409, 425, 429]);
/** What says something of the body that was sent. */
const OF_THE_BODY: ReadonlySet<number> = new Set([400, 413, 415, 422]);

/** An answer in words. Of a stranger's text nothing but a plain code is repeated. */
export function words({ status }: Pick<ReceiverAnswer, "status">, code: string | number | null = null): string {
  const plain = code !== null && /^[A-Za-z0-9_.-]{1,64}$/.test(`${code}`);
  return `HTTP ${status}${plain ? ` ${code}` : ""}`;
}

/**
 * What an answer means by its status alone. After a 5xx or 408 the body may have been taken: a
 * gateway gives up while what is behind it goes on.
 * @param taken statuses of success; by default every 2xx.
 */
export function judgeByStatus(
  answer: ReceiverAnswer,
  { code = null, taken }: { code?: string | number | null; taken?: readonly number[] } = {},
): Verdict {
  const { status } = answer;
  const isTaken = taken === undefined ? status >= 200 && status < 300 : taken.includes(status);
  if (isTaken) return { kind: "taken" };
  return { kind: "failed", error: failureOf(answer, code), mayBeThere: status >= 500 || status === 408 };
}

/** The failure that an answer other than a success is. */
export function failureOf(answer: ReceiverAnswer, code: string | number | null = null): Failure {
  const { status, retryAfterS } = answer;
  const said = { words: words(answer, code), cause: status };
  if (status >= 500 || MOMENTARY.has(status)) return { kind: "busy", retryAfterS, ...said };
  return { kind: OF_THE_BODY.has(status) ? "refused" : "misconfigured", ...said };
}

/** An answer of success that does not say what a success has to: whether it is one is unknown. */
export function unclear(answer: ReceiverAnswer, what: string): Verdict {
  const said = `${words(answer)}, but not ${what}`;
  return {
    kind: "failed",
    error: { kind: "busy", words: said, retryAfterS: answer.retryAfterS, cause: "not_kept" },
    mayBeThere: true,
  };
}
