import { CODE, faultsError } from "../../base/errors.ts";
import { keepsSecrets } from "../../base/hosts.ts";
import type { Platform } from "../../base/platform.ts";
import type { Config } from "../../config.ts";
import { type ReceiverState, WEBHOOK_CHOICES } from "../../operate/alerts/receiver-state.ts";
import { watch } from "../../operate/alerts/watch.ts";
import { withNewSecret } from "../../operate/alerts/webhook.ts";
import { WEBHOOK } from "../../operate/status/kinds.ts";
import { bodyOf } from "./body.ts";
import { DELETE_WEBHOOK, PUT_WEBHOOK, READ_WEBHOOK, TEST_WEBHOOK, type Webhook } from "./docs/webhook.ts";
import { success } from "./envelope.ts";
import { addressFor, presentCalls, putReceiver, readReceiver, requireReceiver, testReceiver } from "./receivers.ts";
import type { AppContext, Resources } from "./route.ts";

export const webhookRoutes: Resources = {
  "/webhook": {
    GET: { permission: "logs:read", or: "logs:edit", doc: READ_WEBHOOK, handle: readWebhook },
    PUT: { permission: "logs:edit", action: "webhook.update", doc: PUT_WEBHOOK, handle: putWebhook },
    DELETE: { permission: "logs:edit", action: "webhook.delete", doc: DELETE_WEBHOOK, handle: deleteWebhook },
  },
  "/webhook/test": {
    POST: { permission: "logs:edit", action: "webhook.test", doc: TEST_WEBHOOK, handle: testWebhook },
  },
};

async function readWebhook(c: AppContext): Promise<Response> {
  const webhook = await readReceiver(c, WEBHOOK);
  return success(c, webhook && present(webhook));
}

async function deleteWebhook(c: AppContext): Promise<Response> {
  const { waiting } = await requireReceiver(c, WEBHOOK);
  await watch(c.env.WATCH).remove(WEBHOOK);
  return success(c, { waiting });
}

async function testWebhook(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const { id, outcome } = await testReceiver(c, WEBHOOK, config, platform);
  return success(c, { id, ...outcome });
}

async function putWebhook(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const sent = await bodyOf(c, PUT_WEBHOOK);
  const { asked, after } = await putReceiver(c, WEBHOOK, config, (stored) => {
    const { before, known } = stored;
    const url = addressFor("generic", sent.url, stored, { c, config });
    if (!url.ok) throw faultsError(400, CODE.invalid, [{ pointer: "/url", message: `url: ${url.why}` }]);
    const kept = known !== null && keepsSecrets(new URL(known.url), new URL(url.value)) ? known : null;
    const isNew = kept === null || sent.rotate === true;
    // Its receiver switched it off (410); a new address switches it on again.
    const isBack = before !== null && before.gone_ms !== null && url.value !== known?.url;
    const wasEnabled = before === null || before.enabled || isBack;
    return {
      secrets: isNew ? withNewSecret(url.value, kept, platform.now()) : { ...kept, url: url.value },
      enabled: sent.enabled ?? wasEnabled,
      staysGone: sent.enabled === undefined && !wasEnabled,
      isNew,
      chosen: WEBHOOK_CHOICES,
    };
  });
  return success(c, { ...present(after), ...(asked.isNew && { secret: asked.secrets.secret }) });
}

function present(webhook: ReceiverState): Webhook {
  return { url: webhook.shown, ...presentCalls(webhook) };
}
