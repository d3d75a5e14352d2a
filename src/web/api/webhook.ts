import type * as z from "zod";
import { CODE, faultsError, oneError, unavailable } from "../../base/errors.ts";
import type { Platform } from "../../base/platform.ts";
import type { Config } from "../../config.ts";
import { testBody } from "../../operate/status/call-body.ts";
import { WEBHOOK } from "../../operate/status/kinds.ts";
import type { ReceiverState } from "../../operate/status/receiver-state.ts";
import { watch } from "../../operate/status/watch.ts";
import {
  callWebhook,
  openSecrets,
  parseWebhookUrl,
  sealSecrets,
  type WebhookSecrets,
  withNewSecret,
} from "../../operate/status/webhook.ts";
import { maskUrl } from "../../ship/destinations/parse.ts";
import { noteTest, originOf, outcomeOf, type Put, presentCalls, testedJustNow } from "./alert-tests.ts";
import { jsonBody } from "./body.ts";
import { DELETE_WEBHOOK, PUT_WEBHOOK, PutWebhook, READ_WEBHOOK, TEST_WEBHOOK, type Webhook } from "./docs/webhook.ts";
import { success } from "./envelope.ts";
import type { AppContext, Resources } from "./route.ts";

/** Attempts at a change while others change the webhook concurrently. */
const PUT_TRIES = 3;

export const webhookRoutes: Resources = {
  "/webhook": {
    GET: { permission: "logs:edit", doc: READ_WEBHOOK, handle: readWebhook },
    PUT: { permission: "logs:edit", action: "webhook.update", doc: PUT_WEBHOOK, handle: putWebhook },
    DELETE: { permission: "logs:edit", action: "webhook.delete", doc: DELETE_WEBHOOK, handle: deleteWebhook },
  },
  "/webhook/test": { POST: { permission: "logs:edit", action: null, doc: TEST_WEBHOOK, handle: testWebhook } },
};

async function readWebhook(c: AppContext): Promise<Response> {
  const webhook = await stored(c);
  return success(c, webhook === null ? null : present(webhook));
}

async function deleteWebhook(c: AppContext): Promise<Response> {
  const { waiting } = await required(c);
  await watch(c.env.WATCH).remove(WEBHOOK);
  return success(c, { waiting });
}

async function putWebhook(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const sent = await jsonBody(c.req.raw, PutWebhook);
  for (let tries = 0; tries < PUT_TRIES; tries++) {
    const before = await stored(c);
    const known = before === null ? null : openSecrets(before.sealed, config.accountId, config.keys);
    const url = urlOf(sent, before, known, config);
    const isNew = known === null || sent.rotate === true;
    const secrets: WebhookSecrets = isNew ? withNewSecret(url, known, platform.now()) : { ...known, url };
    const isMoved = url !== known?.url;
    // Its receiver switched it off (410); a new address switches it on again.
    const wasEnabled = before === null || before.enabled || (before.gone_ms !== null && isMoved);
    const draft = {
      sealed: sealSecrets(secrets, config.accountId, config.keys),
      shown: maskUrl(url),
      enabled: sent.enabled ?? wasEnabled,
      staysGone: sent.enabled === undefined && !wasEnabled,
      origin: originOf(c, config),
    };
    const kept: Put = await watch(c.env.WATCH).put(WEBHOOK, before?.mark ?? null, draft, isMoved);
    if (kept === WEBHOOK)
      return success(c, { ...present(await required(c)), ...(isNew && { secret: secrets.secret }) });
  }
  throw oneError(409, CODE.conflict, "the webhook is being changed concurrently; try again");
}

/**
 * The URL that a body asks for. @throws ApiError 400 if it is missing, bad, or masked without a
 * stored one.
 */
function urlOf(
  { url }: z.infer<typeof PutWebhook>,
  before: ReceiverState | null,
  known: WebhookSecrets | null,
  config: Config,
): string {
  const bad = (message: string) => faultsError(400, CODE.invalid, [{ pointer: "/url", message: `url: ${message}` }]);
  const isKept = url === undefined || (before !== null && url === before.shown);
  if (isKept) {
    if (known !== null) return known.url;
    throw bad(before === null ? "is missing" : "no key opens the stored URL; send it again");
  }
  const parsed = parseWebhookUrl(url, config.destinations.allowLoopback);
  if (!parsed.ok) throw bad(parsed.why);
  return parsed.value;
}

async function testWebhook(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const { sealed, mark, origin } = await required(c);
  const secrets = openSecrets(sealed, config.accountId, config.keys);
  if (secrets === null) throw unavailable("no key opens the stored webhook; send its URL again", 60);
  if (!(await watch(c.env.WATCH).testTurn(WEBHOOK))) throw testedJustNow();
  const id = `test_${crypto.randomUUID().replaceAll("-", "")}`;
  const body = testBody(platform.now(), originOf(c, config) ?? origin ?? null);
  const answer = await callWebhook(secrets, { id, body }, platform);
  await noteTest(c, { id: WEBHOOK, mark }, answer);
  return success(c, { id, ...outcomeOf(answer) });
}

async function stored(c: AppContext): Promise<ReceiverState | null> {
  return watch(c.env.WATCH).webhook();
}

/** @throws ApiError 404 if there is none. */
async function required(c: AppContext): Promise<ReceiverState> {
  const webhook = await stored(c);
  if (webhook === null) throw oneError(404, CODE.noRoute, "there is no webhook");
  return webhook;
}

function present(webhook: ReceiverState): Webhook {
  return { url: webhook.shown, ...presentCalls(webhook) };
}
