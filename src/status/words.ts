import { remedyFor } from "../destinations/remedies.ts";
import type { Kind } from "./kinds.ts";
import type { Finding } from "./types.ts";

/** A finding of one of the rules. */
export type Found = Finding & { readonly kind: Kind };

/** The same without its subject. */
export type Rest = Omit<Found, "subject">;

/**
 * The last answer of a store, read from the error message of a job: only status and code come from
 * the store.
 */
export interface StoreAnswer {
  status: number;
  /** Letters and digits; null: none. */
  code: string | null;
}

/** null: the message names no answer. */
export function answerIn(errorMessage: string | null): StoreAnswer | null {
  const match = /\bHTTP (\d{3})(?: ([A-Za-z0-9]{1,64})\b)?/.exec(errorMessage ?? "");
  return match === null ? null : { status: Number(match[1]), code: match[2] ?? null };
}

/**
 * Why uploads fail, for the middle of a sentence. Repeats nothing of the message but what
 * {@link answerIn} reads.
 */
export function causeIn(errorMessage: string | null): string {
  const answer = answerIn(errorMessage);
  if (answer !== null && (answer.status < 200 || answer.status > 299))
    return `the store answers HTTP ${answer.status}${answer.code === null ? "" : ` ${answer.code}`}`;
  const message = errorMessage ?? "";
  if (/timeout|no answer/.test(message)) return "the store does not answer in time";
  if (/connection failed/.test(message)) return "the connection to the store fails";
  if (/the store (keeps|does not show)|does not keep|not there/.test(message))
    return "the store does not keep what it accepts";
  if (/another object stands/.test(message)) return "another object already exists at every key";
  if (/configuration:/.test(message)) return "the configuration is malformed";
  return "see the error_message of the job";
}

/** Advice for a parked job. */
export function parkedAdvice(answer: StoreAnswer | null): string {
  const send = "send destination_conf again (PUT /jobs/{id})";
  const kept = "Nothing is lost: uploads are retried every few minutes, and at once when the job is changed.";
  if (answer === null) return `Read the job's error_message and fix what it names, or ${send}. ${kept}`;
  const { status, code } = answer;
  const remedy = remedyFor(code);
  if (remedy !== null) return `${remedy} With other settings or keys, ${send}. ${kept}`;
  if (status >= 300 && status < 400)
    return `The bucket is elsewhere; redirects are not followed. Find its region and endpoint, and ${send}. ${kept}`;
  if (status === 404)
    return code === "NoSuchBucket" || code === null
      ? `The bucket does not exist. Create it, or ${send} with another one. ${kept}`
      : `The store does not find what is asked for. Check bucket and endpoint, and ${send}. ${kept}`;
  if (code === "AuthorizationHeaderMalformed")
    return `The region is not that of the bucket. Find the right one, and ${send}. ${kept}`;
  if (code === "SignatureDoesNotMatch" || code === "InvalidAccessKeyId" || code === "InvalidToken" || status === 401)
    return `The store does not know the key, or the secret is wrong. Create a new key, and ${send}. ${kept}`;
  if (status === 403) return `${remedyFor("AccessDenied")} With another key, ${send}. ${kept}`;
  return `The store rejects every upload. Check bucket, endpoint and region, and ${send}. ${kept}`;
}

/** A function's name, made safe for a sentence: senders choose it. */
export function shown(name: string): string {
  const plain = name.toWellFormed().replace(/[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}"]/gu, "\ufffd");
  const cut = [...plain].slice(0, 64).join("");
  return `"${cut}${cut.length < plain.length ? "…" : ""}"`;
}

/** A duration, rounded down to its largest unit. */
export function span(ms: number): string {
  const units = [
    ["day", 86_400_000],
    ["hour", 3_600_000],
    ["minute", 60_000],
  ] as const;
  for (const [unit, unitMs] of units) {
    const n = Math.floor(ms / unitMs);
    if (n >= 1) return `${n} ${unit}${n === 1 ? "" : "s"}`;
  }
  return "less than a minute";
}

/** `4.2`, of bytes. */
export function shownGB(bytes: number): string {
  return (bytes / 1e9).toFixed(1);
}

/** `1 record`, `2 records`. */
export function counted(count: number, what: string): string {
  return `${count} ${count === 1 ? what.replace(/s$/, "") : what}`;
}
