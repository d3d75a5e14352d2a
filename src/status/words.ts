import type { Kind } from "./kinds.ts";
import type { Finding } from "./types.ts";

/** A finding, of which the kind is one of the closed list. */
export type Found = Finding & { readonly kind: Kind };

/** One, before it is said of whom. */
export type Rest = Omit<Found, "subject">;

/** What a store last answered, as a job's error message has it: our own words, of which only status and code are the store's. */
export interface StoreAnswer {
  status: number;
  /** Letters and digits; null: it said none. */
  code: string | null;
}

/** null: no answer decided. */
export function answerIn(errorMessage: string | null): StoreAnswer | null {
  const match = /\bHTTP (\d{3})(?: ([A-Za-z0-9]{1,64})\b)?/.exec(errorMessage ?? "");
  return match === null ? null : { status: Number(match[1]), code: match[2] ?? null };
}

/** What uploads fail on, for the middle of a sentence. Nothing of the message is repeated but what {@link answerIn} reads. */
export function causeIn(errorMessage: string | null): string {
  const answer = answerIn(errorMessage);
  if (answer !== null && (answer.status < 200 || answer.status > 299))
    return `the store answers HTTP ${answer.status}${answer.code === null ? "" : ` ${answer.code}`}`;
  const message = errorMessage ?? "";
  if (/timeout|no answer/.test(message)) return "the store does not answer in time";
  if (/connection failed/.test(message)) return "the connection to the store fails";
  if (/the store (keeps|does not show)|does not keep|not there/.test(message))
    return "the store does not keep what it takes";
  if (/another object stands/.test(message)) return "the store says of every key that another object stands there";
  if (/configuration:/.test(message)) return "the configuration is malformed";
  return "the error_message of the job says why";
}

/** What to do about a job whose uploads are parked. */
export function parkedAdvice(answer: StoreAnswer | null): string {
  const send = "send destination_conf again (PUT /jobs/{id})";
  const kept = "Nothing is lost: it is tried again every few minutes, and at once when the job is changed.";
  if (answer === null)
    return `Read the job's error_message, and mend what it names, or ${send} with what is right. ${kept}`;
  const { status, code } = answer;
  if (status >= 300 && status < 400)
    return `The bucket is somewhere else; redirects are not followed. Find its region and endpoint, and ${send} with them. ${kept}`;
  if (status === 404)
    return code === "NoSuchBucket" || code === null
      ? `The bucket is not there. Create it again under its name, or ${send} with another. ${kept}`
      : `The store does not know what it is asked for. Check bucket and endpoint, and ${send}. ${kept}`;
  if (code === "AuthorizationHeaderMalformed")
    return `The region does not fit the bucket. Find its region, and ${send} with it. ${kept}`;
  if (code === "SignatureDoesNotMatch" || code === "InvalidAccessKeyId" || code === "InvalidToken" || status === 401)
    return `The store does not know the key, or its secret is another. Make a new pair of keys, and ${send} with it. ${kept}`;
  if (status === 403)
    return `The key may not write there. Allow it to write objects to the bucket, or ${send} with a key that may. ${kept}`;
  return `The store refuses every upload. Check bucket, endpoint and region, and ${send}. ${kept}`;
}

/** A function's name as it may stand in a sentence: senders choose it. */
export function shown(name: string): string {
  const plain = name.toWellFormed().replace(/[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}"]/gu, "\ufffd");
  const cut = [...plain].slice(0, 64).join("");
  return `"${cut}${cut.length < plain.length ? "…" : ""}"`;
}

/** A span of time in words, rounded down to its largest unit. */
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

/** `1 record`, `2 records`. */
export function counted(count: number, what: string): string {
  return `${count} ${count === 1 ? what.replace(/s$/, "") : what}`;
}
