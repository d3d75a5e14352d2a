import type { Failure } from "../failure.ts";
import type { ReceiverAnswer, Verdict } from "./receiver.ts";

/** What a receiver calls a refusal; null: nothing. */
type Code = string | number | null;

/** What is over in a while. */
const MOMENTARY: ReadonlySet<number> = new Set([408, 409, 425, 429]);
/** What says something of the body that was sent. */
const OF_THE_BODY: ReadonlySet<number> = new Set([400, 413, 415, 422]);

/** An answer in words. Of a stranger's text nothing but a plain code is repeated. */
export function words({ status }: Pick<ReceiverAnswer, "status">, code: Code = null): string {
  const plain = code !== null && /^[A-Za-z0-9_.-]{1,64}$/.test(`${code}`);
  return `HTTP ${status}${plain ? ` ${code}` : ""}`;
}

/** How a receiver says that it took a body, as its vendor documents it. */
export interface Success {
  readonly statuses: readonly number[];
  /** Whether the body says so as well; absent: the caller looks. */
  says?(text: string): boolean;
  /** What an answer of success is not that says anything else, behind "but not". */
  readonly otherwise: string;
}

/** A body of nothing. */
export const isEmpty = (text: string): boolean => text.trim() === "";

/**
 * What an answer means that is no list of records: by its status, and with a 2xx by its body too.
 * A 2xx that is not documented is unclear, and so is a body that did not arrive whole. After a 5xx
 * or 408 the body may have been taken: a gateway gives up while what is behind it goes on.
 * @param success null: every 2xx.
 */
export function judgeAnswer(answer: ReceiverAnswer, success: Success | null, code: Code = null): Verdict {
  const { status, text, isWhole } = answer;
  if (status < 200 || status > 299)
    return { kind: "failed", error: failureOf(answer, code), mayBeThere: status >= 500 || status === 408 };
  const isSaid = success === null || (success.statuses.includes(status) && isWhole && success.says?.(text) !== false);
  return isSaid ? { kind: "taken" } : unclear(answer, success.otherwise, code);
}

/** The failure that an answer other than a success is. */
export function failureOf(answer: ReceiverAnswer, code: Code = null): Failure {
  const { status, retryAfterS } = answer;
  const said = { words: words(answer, code), cause: status };
  if (status >= 500 || MOMENTARY.has(status)) return { kind: "busy", retryAfterS, ...said };
  return { kind: OF_THE_BODY.has(status) ? "refused" : "misconfigured", ...said };
}

/** An answer of success that does not say what a success has to: whether it is one is unknown. */
export function unclear(answer: ReceiverAnswer, what: string, code: Code = null): Verdict {
  const said = `${words(answer, code)}, but not ${what}`;
  return {
    kind: "failed",
    error: { kind: "busy", words: said, retryAfterS: answer.retryAfterS, cause: "not_kept" },
    mayBeThere: true,
  };
}
