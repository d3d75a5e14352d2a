/** One alert to one receiver, in its format. */

import type { Platform } from "../../base/platform.ts";
import type { Parsed } from "../../ship/destinations/destination.ts";
import { answerCode } from "./alert-answers.ts";
import { FORMAT, type Mail, type ReceiverFormat, readCall } from "./alert-formats.ts";
import { type CallAnswer, callUrl, callWebhook, inTime, isTaken, parseWebhookUrl, type Secrets } from "./webhook.ts";

/**
 * The optional binding and var for e-mail. https://developers.cloudflare.com/email-service/
 */
export interface MailEnv {
  ALERT_EMAIL?: { send(mail: Mail & { from: string }): Promise<unknown> };
  ALERT_EMAIL_FROM?: string;
}

/**
 * One try. Never throws.
 * @param call its body as call-body.ts makes it.
 * @param isTest a refusal is told with its code, where the format has codes.
 */
export async function alert(
  format: ReceiverFormat,
  to: Secrets,
  call: { id: string; body: string },
  env: MailEnv,
  platform: Pick<Platform, "fetch" | "now">,
  isTest = false,
): Promise<CallAnswer> {
  if (format === "generic") return callWebhook(to, call, platform);
  const codeIn = isTest ? (text: string) => answerCode(format, text) : undefined;
  const written = FORMAT[format].write(readCall(call.body), to);
  if ("subject" in written) return mail(written, env);
  let answer: CallAnswer = { kind: "unreachable", cause: "connection failed" };
  for (const post of written) {
    answer = await callUrl(post, platform, codeIn);
    if (!isTaken(answer)) break;
  }
  return answer;
}

/** The platform refuses with an error, whose text may name the recipient. */
async function mail(mail: Mail, { ALERT_EMAIL: binding, ALERT_EMAIL_FROM: from }: MailEnv): Promise<CallAnswer> {
  if (binding === undefined || !from) return { kind: "unreachable", cause: "no e-mail binding" };
  return inTime(async () => {
    try {
      await binding.send({ from, ...mail });
      return { kind: "answer", status: 202, retryAfterS: null };
    } catch {
      return { kind: "unreachable", cause: "the e-mail was not accepted" };
    }
  });
}

/** One address, without a display name: what may stand in a header. RFC 5321, section 4.5.3.1. */
const RECIPIENT = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])$/;

/** The address of a receiver as it is sent, checked. */
export function parseAddress(
  format: ReceiverFormat,
  sent: string,
  allowLoopback: boolean,
  env: MailEnv,
): Parsed<string> {
  if (format !== "email") return parseWebhookUrl(sent, allowLoopback);
  if (env.ALERT_EMAIL === undefined || !env.ALERT_EMAIL_FROM)
    return {
      ok: false,
      why: 'this deployment sends no e-mail yet: add "send_email": [{ "name": "ALERT_EMAIL" }] and "vars": { "ALERT_EMAIL_FROM": "<sender>" } to wrangler.jsonc, and deploy',
    };
  return RECIPIENT.test(sent) ? { ok: true, value: sent } : { ok: false, why: "must be one e-mail address" };
}
