/**
 * What the webhook and the receivers beside it have in common: reading, changing and testing one.
 * Each is known by its id; that of the webhook is fixed.
 */

import { CODE, notFound, oneError, unavailable } from "../../base/errors.ts";
import { errorText, log } from "../../base/logger.ts";
import type { Platform } from "../../base/platform.ts";
import type { Config } from "../../config.ts";
import { alert, type MailEnv, parseAddress } from "../../operate/alerts/alert.ts";
import { remedyFor } from "../../operate/alerts/alert-answers.ts";
import { FORMAT, type ReceiverFormat } from "../../operate/alerts/alert-formats.ts";
import { testBody } from "../../operate/alerts/call-body.ts";
import { dashboardOrigin } from "../../operate/alerts/link.ts";
import type { ReceiverDraft, ReceiverState } from "../../operate/alerts/receiver-state.ts";
import { RECEIVERS_MAX } from "../../operate/alerts/receivers.ts";
import { type Watch, watch } from "../../operate/alerts/watch.ts";
import { answerWords, decryptSecrets, encryptSecrets, isTaken, type Secrets } from "../../operate/alerts/webhook.ts";
import { WEBHOOK } from "../../operate/status/kinds.ts";
import type { Parsed } from "../../ship/destinations/destination.ts";
import { maskUrl } from "../../ship/destinations/parse.ts";
import type { Webhook } from "./docs/webhook.ts";
import { isoTime } from "./envelope.ts";
import type { AppContext } from "./route.ts";

/** The answer of {@link Watch.put}. */
type Put = ReturnType<Watch["put"]>;

/** Attempts at a change while others change the same receiver. */
const PUT_TRIES = 3;

/** null: there is none. */
export async function readReceiver(c: AppContext, id: number): Promise<ReceiverState | null> {
  const all: ReceiverState[] = await watch(c.env.WATCH).receivers();
  return all.find((each) => each.id === id) ?? null;
}

/** @throws ApiError 404 if there is none. */
export async function requireReceiver(c: AppContext, id: number): Promise<ReceiverState> {
  const found = await readReceiver(c, id);
  if (found !== null) return found;
  throw notFound(`there is no ${id === WEBHOOK ? "webhook" : "such receiver of alerts"}`);
}

/** What a receiver is. */
export interface Stored {
  /** null: a new receiver. */
  before: ReceiverState | null;
  /** null: there are none, or no key opens them. */
  known: Secrets | null;
}

/** What a receiver is to become. */
export interface Asked extends Omit<ReceiverDraft, "sealed" | "shown" | "origin"> {
  secrets: Secrets;
}

/**
 * Stores a receiver.
 * @param id null: a new one. The webhook is made if there is none.
 * @param askedOf is called again if another change comes first.
 * @throws ApiError 404 if there is none; 409 if there are too many, or others keep changing it.
 */
export async function putReceiver<T extends Asked>(
  c: AppContext,
  id: number | null,
  config: Config,
  askedOf: (stored: Stored) => T,
): Promise<{ asked: T; after: ReceiverState }> {
  const { accountId, keys } = config;
  for (let tries = 0; tries < PUT_TRIES; tries++) {
    const before = await beforePut(c, id);
    const known = before && decryptSecrets(before.sealed, accountId, keys);
    const asked = askedOf({ before, known });
    const { secrets, enabled, staysGone, chosen } = asked;
    const draft: ReceiverDraft = {
      ...{ enabled, staysGone, origin: originOf(c, config), chosen },
      sealed: encryptSecrets(secrets, accountId, keys),
      shown: chosen.format === "email" ? secrets.url : maskUrl(secrets.url),
    };
    const isMoved = secrets.url !== known?.url;
    const stored: Put = await watch(c.env.WATCH).put(id, before?.mark ?? null, draft, isMoved);
    if (typeof stored === "number") return { asked, after: await requireReceiver(c, stored) };
    if (stored === "full")
      throw oneError(409, CODE.conflict, `there are ${RECEIVERS_MAX} receivers of alerts already; delete one first`);
  }
  const which = id === WEBHOOK ? "webhook" : "receiver";
  throw oneError(409, CODE.conflict, `the ${which} is being changed concurrently; try again`);
}

async function beforePut(c: AppContext, id: number | null): Promise<ReceiverState | null> {
  if (id === null) return null;
  return id === WEBHOOK ? readReceiver(c, id) : requireReceiver(c, id);
}

/** The address that a body asks for, checked; the stored one where it is left out, or masked. */
export function addressFor(
  format: ReceiverFormat,
  sent: string | undefined,
  { before, known }: Stored,
  { c, config }: { c: AppContext; config: Config },
): Parsed<string> {
  if (before !== null && (sent === undefined || sent === before.shown))
    return known === null
      ? { ok: false, why: "no key opens the stored one; send it again" }
      : { ok: true, value: known.url };
  const usual = format === "generic" ? null : FORMAT[format].url;
  if (!sent) return usual === null ? { ok: false, why: "is missing" } : { ok: true, value: usual };
  return parseAddress(format, sent, config.destinations.allowLoopback, c.env as MailEnv);
}

/**
 * Makes a test call, and notes how it went.
 * @returns its outcome, the id of the call, and how many calls waited.
 * @throws ApiError 404 if there is none; 503 if no key opens it; 429 within five seconds of a test.
 */
export async function testReceiver(c: AppContext, id: number, config: Config, platform: Platform) {
  const state = await requireReceiver(c, id);
  const { sealed, mark, origin, format } = state;
  const secrets = decryptSecrets(sealed, config.accountId, config.keys);
  const lost = id === WEBHOOK ? "webhook; send its URL" : "receiver; send its address";
  if (secrets === null) throw unavailable(`no key opens the stored ${lost} again`, 60);
  if (!(await watch(c.env.WATCH).testTurn(id)))
    throw oneError(429, CODE.tooMany, "Wait 5 s, then test again.", { "Retry-After": "5" });
  const call = {
    id: `test_${crypto.randomUUID().replaceAll("-", "")}`,
    body: testBody(platform.now(), originOf(c, config) ?? origin ?? null),
  };
  const answer = await alert(format, secrets, call, c.env as MailEnv, platform, true);
  const [delivered, message] = [isTaken(answer), answerWords(answer)];
  // The test was made, whether or not it is noted.
  await watch(c.env.WATCH)
    .noteTest(id, mark, { taken: delivered, words: message })
    .catch((error: unknown) => log.warn("a test of a receiver was not noted", { error: errorText(error) }));
  const status = answer.kind === "answer" ? answer.status : null;
  const outcome = { delivered, status, message, advice: delivered ? null : remedyFor(message) };
  return { id: call.id, waiting: state.waiting, outcome };
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

/**
 * Of the dashboard, as its own forms tell; null: the request is none of them. The host of any other
 * is what its sender wrote: a Worker with a service binding calls with one of its choice.
 */
function originOf(c: AppContext, { destinations }: Config): string | null {
  return c.var.caller.masked === true ? dashboardOrigin(c.req.url, destinations.allowLoopback) : null;
}
