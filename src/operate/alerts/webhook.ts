/**
 * The address, secrets and calls of a receiver, how the webhook's are signed, and what follows from
 * an answer. The rows are in alert-calls.ts.
 */
import * as z from "zod";
import { backoffMs } from "../../base/backoff.ts";
import { parseEndpoint } from "../../base/hosts.ts";
import { RETRY_AFTER_MAX_S, WEBHOOK_URL_MAX } from "../../base/limits.ts";
import { type Platform, within } from "../../base/platform.ts";
import { blankFault } from "../../formats/secrets/blanks.ts";
import { decrypt, type EncryptionKeys, encrypt } from "../../formats/secrets/encrypted.ts";
import type { Parsed } from "../../ship/destinations/destination.ts";
import { decoded, MASK } from "../../ship/destinations/masks.ts";
import { retryAfter } from "../../ship/destinations/retry-after.ts";
import type { Address, Post } from "./alert-formats.ts";
import { newWebhookSecret, signatureHeaders } from "./signature.ts";

/** How long the previous secret also signs, in ms: a day to deploy the new one at the receiver. */
const ROTATION_MS = 86_400_000;

/** How long one call may take, in ms. */
export const CALL_MS = 10_000;

/** How much of the body of a refused test is read, in bytes, and how long that may take, in ms. */
const BODY_MAX = 2_048;
const BODY_MS = 2_000;

/** Waits after a failure, in ms, plus or minus {@link JITTER}. */
const REST_MS = { first: 5_000, last: 3_600_000 };
const JITTER = 0.2;

/** The longest possible rest, in ms; a longer one comes from a wrong clock. */
export const REST_MAX_MS = Math.max(REST_MS.last * (1 + JITTER), RETRY_AFTER_MAX_S * 1_000);

/**
 * How long a call is retried, in ms: three days, about as long as the schedule that Standard
 * Webhooks recommends.
 */
export const GIVE_UP_MS = 3 * 86_400_000;

/** Stored encrypted. The address is secret too: its path often grants access. */
const Secrets = z.object({
  url: z.string(),
  secret: z.string(),
  previous: z.object({ secret: z.string(), untilMs: z.number() }).nullable(),
}) satisfies z.ZodType<Address>;
export type Secrets = z.infer<typeof Secrets>;

/**
 * An absolute https URL of a public host, or http of a local host where loopback is allowed.
 * @returns the normalized URL, or what is wrong, without any part of the URL.
 */
export function parseWebhookUrl(text: string, allowLoopback: boolean): Parsed<string> {
  if (text.length > WEBHOOK_URL_MAX) return { ok: false, why: `must have at most ${WEBHOOK_URL_MAX} characters` };
  if (!/^https?:\/\//i.test(text)) return { ok: false, why: "must begin with https://" };
  if (text.includes(MASK)) return { ok: false, why: "is masked but not as it was shown; send it in full" };
  if (text.includes("#")) return { ok: false, why: "must not contain a fragment" };
  // A URL parser drops some characters and reads others as a slash: the URL would differ from the
  // text.
  if (!/^[!-[\]-~]*$/.test(text)) return { ok: false, why: "must be ASCII without spaces and backslashes" };
  const blank = blankFault("", decoded(text), true);
  if (blank !== null) return { ok: false, why: blank.trimStart() };
  // Unlike an endpoint, it may have a query: some receivers expect their key there.
  const endpoint = parseEndpoint(text.replace(/\?.*$/, ""), "url", allowLoopback);
  if (!endpoint.ok) return { ok: false, why: endpoint.why.replace(/^url /, "") };
  return { ok: true, value: new URL(text).href };
}

/**
 * New secrets for an address. @param before the current ones; their secret keeps signing for a day.
 */
export function withNewSecret(url: string, before: Secrets | null, nowMs: number): Secrets {
  const previous = before === null ? null : { secret: before.secret, untilMs: nowMs + ROTATION_MS };
  return { url, secret: newWebhookSecret(), previous };
}

export function encryptSecrets(secrets: Secrets, accountId: string, keys: EncryptionKeys): string {
  return encrypt(JSON.stringify(secrets), purpose(accountId), keys);
}

/** null: no key decrypts it. */
export function decryptSecrets(sealed: string, accountId: string, keys: EncryptionKeys): Secrets | null {
  const text = decrypt(sealed, purpose(accountId), keys);
  return text === null ? null : Secrets.parse(JSON.parse(text));
}

function purpose(accountId: string): string {
  return `webhook of account ${accountId}`;
}

/** The result of one try. */
export type CallAnswer =
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly retryAfterS: number | null;
      /** What the receiver calls its refusal, cleaned; absent: nothing known. */
      readonly code?: string;
    }
  | {
      readonly kind: "unreachable";
      readonly cause: "timeout" | "connection failed" | "the e-mail was not accepted" | "no e-mail binding";
    };

/** Whether the receiver accepted the call. */
export function isTaken(answer: CallAnswer): boolean {
  return answer.kind === "answer" && answer.status >= 200 && answer.status < 300;
}

/** Whether the receiver asks for no further calls. */
export function isGone(answer: CallAnswer): boolean {
  return answer.kind === "answer" && answer.status === 410;
}

/** Whether the receiver does not accept what it was sent, and might accept something else. */
export function isRefused(answer: CallAnswer): boolean {
  return answer.kind === "answer" && [400, 413, 422].includes(answer.status);
}

/** An answer in words: its status and code, and no other text of the receiver. */
export function answerWords(answer: CallAnswer): string {
  if (answer.kind === "unreachable")
    return answer.cause === "timeout" ? `no answer within ${CALL_MS / 1_000} s` : answer.cause;
  const { status, code } = answer;
  const more = status >= 300 && status < 400 ? "redirects are not followed" : code;
  return more === undefined ? `HTTP ${status}` : `HTTP ${status}: ${more}`;
}

/**
 * How long to wait after a failure, in ms.
 * @param failures in a row, this one included.
 * @param chance in [0, 1).
 */
export function restMs(failures: number, retryAfterS: number | null, chance: number): number {
  const rest = Math.round(backoffMs(REST_MS, failures) * (1 - JITTER + 2 * JITTER * chance));
  return Math.max(rest, (retryAfterS ?? 0) * 1_000);
}

/**
 * One try of a call, signed with the current time. Never throws.
 */
export function callWebhook(
  { url, secret, previous }: Secrets,
  { id, body }: { id: string; body: string },
  platform: Pick<Platform, "fetch" | "now">,
): Promise<CallAnswer> {
  const nowMs = platform.now();
  const secrets = previous !== null && nowMs < previous.untilMs ? [secret, previous.secret] : [secret];
  const signature = signatureHeaders({ id, timestampS: Math.floor(nowMs / 1_000), body }, secrets);
  return callUrl({ url, headers: { "Content-Type": "application/json", ...signature }, body }, platform);
}

/**
 * One POST to a receiver. Follows no redirect, and reads only the status of the answer, unless a
 * code is wanted. Never throws.
 * @param codeIn finds the code of a refusal in the beginning of its body.
 */
export async function callUrl(
  { url, headers, body }: Post,
  platform: Pick<Platform, "fetch" | "now">,
  codeIn?: (body: string) => string | null,
): Promise<CallAnswer> {
  return inTime(async (signal) => {
    const response = await platform.fetch(url, {
      method: "POST",
      headers: { "User-Agent": "logship", ...headers },
      body,
      redirect: "manual",
      signal,
    });
    const { status, headers: answered } = response;
    const code = codeIn === undefined || response.ok ? null : codeIn(await beginning(response));
    discard(response);
    const retryAfterS = retryAfter(answered.get("retry-after"), platform.now());
    return { kind: "answer", status, retryAfterS, ...(code !== null && { code }) };
  });
}

/** Runs a call until its deadline. Of a failure only the kind is told: its text may hold URLs. */
export async function inTime(run: (signal: AbortSignal) => Promise<CallAnswer>): Promise<CallAnswer> {
  // Not `AbortSignal.timeout`: it cannot be cleared, and a pending timer keeps a durable object
  // awake and billed.
  const deadline = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<CallAnswer>((resolve) => {
    timer = setTimeout(() => {
      deadline.abort();
      resolve({ kind: "unreachable", cause: "timeout" });
    }, CALL_MS);
  });
  try {
    return await Promise.race([run(deadline.signal).catch(() => FAILED), late]);
  } finally {
    clearTimeout(timer);
  }
}

const FAILED: CallAnswer = { kind: "unreachable", cause: "connection failed" };

/** The beginning of a body as text; "" if it does not come in time. Never throws. */
async function beginning({ body }: Response): Promise<string> {
  const reader = body?.getReader();
  if (reader === undefined) return "";
  const decoder = new TextDecoder();
  const read = async (): Promise<string> => {
    let text = "";
    for (let bytes = 0; bytes < BODY_MAX; ) {
      const { done, value } = await reader.read();
      if (done) break;
      bytes += value.length;
      text += decoder.decode(value.subarray(0, BODY_MAX), { stream: true });
    }
    return text;
  };
  const text = await within(
    BODY_MS,
    read().catch(() => ""),
    "",
  );
  reader.cancel().catch(() => {});
  return text;
}

/** Not awaited: canceling a body may hang. */
function discard(response: Response): void {
  response.body?.cancel().catch(() => {});
}
