/** A webhook as it is kept, and one call of it. What follows from an answer, and when, is policy here; rows are not. */
import * as z from "zod";
import { parseEndpoint } from "../destinations/conf.ts";
import type { Parsed } from "../destinations/destination.ts";
import { MASK } from "../destinations/parse.ts";
import { retryAfter } from "../destinations/retry-after.ts";
import { type SealingKeys, seal, unseal } from "../job/secrets.ts";
import { RETRY_AFTER_MAX_S, WEBHOOK_URL_MAX } from "../limits.ts";
import type { Platform } from "../platform.ts";
import { newWebhookSecret, signatureHeaders } from "./signature.ts";

/** How long the secret before the last one signs beside it, in ms: a day to put the new one where calls are checked. */
const ROTATION_MS = 86_400_000;

/** How long one call may take, in ms. */
export const CALL_MS = 10_000;

/** Waits after a failure, in ms: doubling from the first to the last, a fifth more or less by chance, however many calls wait. */
const REST_MS = { first: 5_000, last: 3_600_000 };
const JITTER = 0.2;

/** A rest is never longer than this, in ms; one that seems to be was set by a clock of another time. */
export const REST_MAX_MS = Math.max(REST_MS.last * (1 + JITTER), RETRY_AFTER_MAX_S * 1_000);

/** How long a call is tried, in ms: three days, as long as the schedule that Standard Webhooks recommends. */
export const GIVE_UP_MS = 3 * 86_400_000;

/** What is secret of a webhook: its address as well, whose path opens things. */
const Secrets = z.object({
  url: z.string(),
  secret: z.string(),
  previous: z.object({ secret: z.string(), untilMs: z.number() }).nullable(),
});
export type WebhookSecrets = z.infer<typeof Secrets>;

/**
 * The address of a webhook: an absolute https URL of a public host, or http of a loopback address where that is allowed.
 * @returns it as it is called, or in words what is wrong; never with a part of it.
 */
export function parseWebhookUrl(text: string, allowLoopback: boolean): Parsed<string> {
  if (text.length > WEBHOOK_URL_MAX) return { ok: false, why: `must have at most ${WEBHOOK_URL_MAX} characters` };
  if (!/^https?:\/\//i.test(text)) return { ok: false, why: "must begin with https://" };
  if (text.includes(MASK)) return { ok: false, why: "is masked, and not as it was shown; send it again" };
  if (text.includes("#")) return { ok: false, why: "must not contain a fragment" };
  // A URL drops some characters and takes others for a slash: it would lead elsewhere than whoever reads it thinks.
  if (!/^[!-[\]-~]*$/.test(text)) return { ok: false, why: "must be of ASCII, without spaces and backslashes" };
  // Unlike an endpoint, it may have a query: some receivers have their key there.
  const endpoint = parseEndpoint(text.replace(/\?.*$/, ""), "url", allowLoopback);
  if (!endpoint.ok) return { ok: false, why: endpoint.why.replace(/^url /, "") };
  if (isInternalName(endpoint.value.hostname)) return { ok: false, why: "must be a public host" };
  return { ok: true, value: new URL(text).href };
}

/**
 * Whether a name is one of private networks alone: without a dot, or below a name that no public DNS has. Loopback is not looked at here.
 * https://www.iana.org/assignments/special-use-domain-names, and ICANN's resolution on `.internal`.
 */
function isInternalName(hostname: string): boolean {
  const name = hostname.replace(/\.+$/, "");
  if (name.startsWith("[") || name === "localhost") return false;
  return !name.includes(".") || /\.(?:internal|local|localdomain|lan|intranet|corp|home|svc|home\.arpa)$/.test(name);
}

/** New secrets for an address. @param before of the webhook so far; its secret goes on signing for a day. */
export function withNewSecret(url: string, before: WebhookSecrets | null, nowMs: number): WebhookSecrets {
  const previous = before === null ? null : { secret: before.secret, untilMs: nowMs + ROTATION_MS };
  return { url, secret: newWebhookSecret(), previous };
}

export function sealSecrets(secrets: WebhookSecrets, accountId: string, keys: SealingKeys): string {
  return seal(JSON.stringify(secrets), purpose(accountId), keys);
}

/** null: no key opens it. */
export function openSecrets(sealed: string, accountId: string, keys: SealingKeys): WebhookSecrets | null {
  const text = unseal(sealed, purpose(accountId), keys);
  return text === null ? null : Secrets.parse(JSON.parse(text));
}

function purpose(accountId: string): string {
  return `webhook of account ${accountId}`;
}

/** What became of one try. */
export type CallAnswer =
  | { readonly kind: "answer"; readonly status: number; readonly retryAfterS: number | null }
  | { readonly kind: "unreachable"; readonly cause: "timeout" | "connection failed" };

/** Whether the receiver has the call. */
export function isTaken(answer: CallAnswer): boolean {
  return answer.kind === "answer" && answer.status >= 200 && answer.status < 300;
}

/** Whether the receiver wants no calls any more. */
export function isGone(answer: CallAnswer): boolean {
  return answer.kind === "answer" && answer.status === 410;
}

/** What a receiver said, in words: its status, and nothing of its own. */
export function answerWords(answer: CallAnswer): string {
  if (answer.kind === "unreachable")
    return answer.cause === "timeout" ? `no answer within ${CALL_MS / 1_000} s` : answer.cause;
  const { status } = answer;
  return status >= 300 && status < 400 ? `HTTP ${status}: redirects are not followed` : `HTTP ${status}`;
}

/**
 * How long a receiver is left alone after a failure, in ms.
 * @param failures in a row, this one included.
 * @param chance in [0, 1).
 */
export function restMs(failures: number, retryAfterS: number | null, chance: number): number {
  const doubled = Math.min(REST_MS.first * 2 ** Math.min(failures - 1, 20), REST_MS.last);
  const rest = Math.round(doubled * (1 - JITTER + 2 * JITTER * chance));
  return Math.max(rest, (retryAfterS ?? 0) * 1_000);
}

/**
 * One try of one call, signed with the time of the try. No redirect is followed, and of the answer nothing but its status is read.
 * @returns never throws; an answer or its absence is data.
 */
export async function callWebhook(
  { url, secret, previous }: WebhookSecrets,
  { id, body }: { id: string; body: string },
  platform: Pick<Platform, "fetch" | "now">,
): Promise<CallAnswer> {
  const nowMs = platform.now();
  const secrets = previous !== null && nowMs < previous.untilMs ? [secret, previous.secret] : [secret];
  const signature = signatureHeaders({ id, timestampS: Math.floor(nowMs / 1_000), body }, secrets);
  // Not `AbortSignal.timeout`: its timer cannot be taken back, and a durable object with a timer pending is awake, and billed.
  const deadline = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => {
      deadline.abort();
      resolve(null);
    }, CALL_MS);
  });
  try {
    const request = platform.fetch(url, {
      method: "POST",
      headers: { "Content-Type": "application/json", "User-Agent": "logship", ...signature },
      body,
      redirect: "manual",
      signal: deadline.signal,
    });
    const response = await Promise.race([request, late]);
    if (response === null) {
      // It is waited for no more: that it fails now is known.
      request.then(discard, () => {});
      return { kind: "unreachable", cause: "timeout" };
    }
    discard(response);
    const { status, headers } = response;
    return { kind: "answer", status, retryAfterS: retryAfter(headers.get("retry-after"), platform.now()) };
  } catch {
    // Only the kind of failure is kept: the text may name the URL.
    return { kind: "unreachable", cause: "connection failed" };
  } finally {
    clearTimeout(timer);
  }
}

/** Not waited for: a body that hangs may hang here as well, and one that breaks off is as good as one that ends. */
function discard(response: Response): void {
  response.body?.cancel().catch(() => {});
}
