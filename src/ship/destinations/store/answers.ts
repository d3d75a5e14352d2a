import type { Body, ReadAnswer, Unread } from "../destination.ts";
import type { Failure, FailureCause } from "../failure.ts";
import type { StoreAnswer } from "./client.ts";

/**
 * 4xx that never mean a header: they are about credentials, payment, the bucket, the object's size,
 * or the law.
 */
const NEVER_A_HEADER: ReadonlySet<number> = new Set([401, 402, 403, 404, 407, 410, 413, 414, 451]);

/** Of the 4xx, those that say something of the moment. */
export const MOMENTARY: ReadonlySet<number> = new Set([408, 409, 412, 425, 429]);

/** Whether a store says that it took what it was sent. */
export function isSuccess(answer: StoreAnswer): answer is Extract<StoreAnswer, { kind: "answer" }> {
  return answer.kind === "answer" && answer.status >= 200 && answer.status < 300;
}

/** Whether a PUT was refused because an object stands under its key. */
export function isThere(answer: StoreAnswer): boolean {
  return hasStatus(answer, 412) || (answer.kind === "answer" && answer.means === "there");
}

/** 403 and 409, as stores say it of what is locked; 412, of what may be created only. */
export function forbidsOverwriting(answer: StoreAnswer): boolean {
  return hasStatus(answer, 403) || hasStatus(answer, 409) || isThere(answer);
}

export function hasStatus(answer: StoreAnswer, status: number): boolean {
  return answer.kind === "answer" && answer.status === status;
}

/**
 * A failed answer in words, which `answerIn` of remedies.ts reads: status, code and region, nothing
 * else of what the store said.
 */
export function answerWords(answer: StoreAnswer): string {
  if (answer.kind === "unreachable") return answer.cause === "timeout" ? "no answer in time" : "connection failed";
  const { status, code, region } = answer;
  return `HTTP ${status}${code === null ? "" : ` ${code}`}${region === undefined ? "" : ` (region ${region})`}`;
}

/** What an answer that is not good enough is counted by. The status of a success says nothing. */
export function causeOf(answer: StoreAnswer): FailureCause {
  if (answer.kind === "unreachable") return answer.cause === "timeout" ? "timeout" : "connection_failed";
  const { status } = answer;
  return isSuccess(answer) ? "not_kept" : status;
}

/** What an answer to a PUT means; null: the store says that it took it. */
export function classify(answer: StoreAnswer): Failure | null {
  const words = answerWords(answer);
  const cause = causeOf(answer);
  if (answer.kind === "unreachable") return { kind: "unreachable", words, cause };
  if (isSuccess(answer)) return null;
  const { status, means, retryAfterS } = answer;
  if (means === "moment") return { kind: "busy", words, retryAfterS, cause };
  if (means === "destination") return { kind: "misconfigured", words, cause };
  if (means === "object") return { kind: "refused", words, cause };
  if ((status >= 500 && status !== 501) || MOMENTARY.has(status)) return { kind: "busy", words, retryAfterS, cause };
  if (status === 400 || status === 413) return { kind: "refused", words, cause };
  return { kind: "misconfigured", words, cause };
}

/**
 * Whether a PUT may have been refused for one of its headers: some stores know no `If-None-Match`
 * or no `Content-MD5`, and each says so in its own way.
 */
export function mayMeanHeader(answer: StoreAnswer): boolean {
  if (answer.kind === "unreachable") return false;
  const { status, means } = answer;
  if (means !== undefined) return false;
  if (status === 501) return true;
  return status >= 400 && status < 500 && !MOMENTARY.has(status) && !NEVER_A_HEADER.has(status);
}

/** What an answer to a GET means. @param body with a success alone. */
export function readAnswer(answer: StoreAnswer, body: Body | null): ReadAnswer {
  const { bytes, sha256, retryAfterS } =
    answer.kind === "answer" ? answer : { bytes: null, sha256: null, retryAfterS: null };
  if (body !== null) return { ok: true, body, bytes, sha256 };
  const cause = answer.kind === "answer" ? answer.status : causeOf(answer);
  return { ok: false, why: whyUnread(answer), words: answerWords(answer), retryAfterS, cause };
}

function whyUnread(answer: StoreAnswer): Unread["why"] {
  if (answer.kind === "unreachable") return "unreachable";
  const { status, means } = answer;
  if (isSuccess(answer)) return "empty";
  if (status >= 300 && status < 400) return "redirected";
  if (status === 401 || status === 403) return "forbidden";
  if (status === 404 || status === 410) return means === "destination" ? "no_bucket" : "gone";
  return status >= 500 || MOMENTARY.has(status) ? "busy" : "refused";
}
