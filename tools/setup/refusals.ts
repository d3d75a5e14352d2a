/** What may stop a setup, as data, and the sentence for each. */

/** A refusal of the platform: what was asked, and the answer. */
export interface Answer {
  /** "POST /accounts/…/queues". */
  readonly call: string;
  /** 0: unknown, as wrangler asked. */
  readonly status: number;
  readonly code: number;
  readonly message: string;
}

export type Refusal =
  | { readonly kind: "not_logged_in" }
  | { readonly kind: "unreachable"; readonly call: string; readonly why: string }
  | { readonly kind: "token_invalid" }
  | { readonly kind: "permission_missing"; readonly permission: string; readonly account: string }
  | { readonly kind: "account_unknown"; readonly account: string }
  | { readonly kind: "accounts_none" }
  | { readonly kind: "accounts_several"; readonly accounts: readonly Account[] }
  | { readonly kind: "account_differs"; readonly file: string; readonly asked: string }
  | { readonly kind: "paid_plan_needed"; readonly what: "Queues" | "Durable Objects"; readonly account: string }
  | { readonly kind: "r2_disabled"; readonly account: string }
  | { readonly kind: "subdomain_missing"; readonly account: string }
  | { readonly kind: "name_taken"; readonly name: string }
  | { readonly kind: "exists_meanwhile"; readonly call: string }
  | { readonly kind: "consumer_taken" }
  | { readonly kind: "queue_in_use" }
  | { readonly kind: "bucket_full"; readonly bucket: string; readonly account: string }
  | { readonly kind: "version_undeployed" }
  | { readonly kind: "throttled" }
  | { readonly kind: "platform_down"; readonly call: string; readonly status: number }
  | { readonly kind: "answered"; readonly answer: Answer }
  | { readonly kind: "deploy_failed"; readonly output: string }
  | { readonly kind: "secret_in_arguments" }
  | { readonly kind: "token_unknown"; readonly file: string }
  | { readonly kind: "token_wrong"; readonly file: string }
  | { readonly kind: "silent"; readonly url: string; readonly last: string }
  | { readonly kind: "job_refused"; readonly why: string }
  | { readonly kind: "canary_not_ok"; readonly state: string; readonly why: string }
  | { readonly kind: "attached"; readonly workers: readonly string[] };

export interface Account {
  readonly id: string;
  readonly name: string;
}

/** Stops the command; the refusal says why. */
export class SetupRefused extends Error {
  override name = "SetupRefused";
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusalSentence(refusal));
    this.refusal = refusal;
  }
}

const DASH = "https://dash.cloudflare.com";
const AGAIN = "Then run the same command again; it continues where it stopped.";

/** What happened, and what to do about it. */
export function refusalSentence(refusal: Refusal): string {
  switch (refusal.kind) {
    case "not_logged_in":
      return "Not logged in to Cloudflare. Run `npx wrangler login`, or set CLOUDFLARE_API_TOKEN.";
    case "unreachable":
      return `Cloudflare did not answer ${refusal.call}: ${refusal.why}. Check the network. ${AGAIN}`;
    case "token_invalid":
      return `Cloudflare does not recognise the token. Set CLOUDFLARE_API_TOKEN to a valid one, or unset it and run \`npx wrangler login\`.`;
    case "permission_missing":
      return `The token lacks the permission "${refusal.permission}" for the account ${refusal.account}. Add it at ${DASH}/profile/api-tokens, or choose another account with --account. ${AGAIN}`;
    case "account_unknown":
      return `Cloudflare does not know the account ${refusal.account}. The account's id is in the address of the dashboard: ${DASH}/<account id>. Pass it with --account.`;
    case "accounts_none":
      return 'The token has access to no account. Give it the permission "Account Settings: Read", or pass the id of the account with --account.';
    case "accounts_several":
      return `You have several accounts. Choose one with --account: ${refusal.accounts.map(({ id, name }) => `${id} (${name})`).join(", ")}.`;
    case "account_differs":
      return `wrangler.jsonc is for the account ${refusal.file}, but --account says ${refusal.asked}. For a second deployment, copy wrangler.jsonc, remove account_id and set vars.ACCOUNT_ID to "local" in the copy, and pass it with --config.`;
    case "paid_plan_needed":
      return `Cloudflare refuses ${refusal.what}: setup deploys for the Workers Paid plan (messages are kept for 14 days, and tail Workers need it), which this account does not have. Subscribe at ${DASH}/${refusal.account}/workers/plans. ${AGAIN} For the Free plan: docs/deploy.md, On the Free plan.`;
    case "r2_disabled":
      return `R2 is not enabled in this account. Enable it at ${DASH}/${refusal.account}/r2/overview. ${AGAIN}`;
    case "subdomain_missing":
      return `The account has no workers.dev subdomain. Open ${DASH}/${refusal.account}/workers-and-pages once to create one, or add a route to wrangler.jsonc and pass its address with --url. ${AGAIN}`;
    case "name_taken":
      return `The account already has another Worker named "${refusal.name}", which this would replace. Choose another "name" in wrangler.jsonc, and set vars.SELF_NAME to the same.`;
    case "exists_meanwhile":
      return `It was created meanwhile (${refusal.call}). Run the same command again; it uses what exists.`;
    case "consumer_taken":
      return "Another Worker consumes one of the queues. Remove that consumer, or name other queues in wrangler.jsonc.";
    case "queue_in_use":
      return "Another Worker is bound to the queue. Remove its binding, then run the same command again.";
    case "bucket_full":
      return `The bucket "${refusal.bucket}" has more objects than can be deleted one by one. Give it a lifecycle rule that deletes objects after a day, at ${DASH}/${refusal.account}/r2/default/buckets/${refusal.bucket}/settings, and run the same command again when it is empty.`;
    case "version_undeployed":
      return "The newest version of the Worker is not deployed, so its secrets cannot be changed. Deploy it with `npx wrangler versions deploy`, then run the same command again.";
    case "throttled":
      return "Cloudflare accepts no more calls from this user for now. Wait five minutes, then run the same command again.";
    case "platform_down":
      return `Cloudflare answered ${refusal.call} with ${refusal.status}. See https://www.cloudflarestatus.com. ${AGAIN}`;
    case "answered": {
      const { call, status, code, message } = refusal.answer;
      return `Cloudflare refused ${call}: ${message} (HTTP ${status}, code ${code}).`;
    }
    case "deploy_failed":
      return `wrangler deploy failed:\n${refusal.output}`;
    case "secret_in_arguments":
      return "The destination may hold a secret, and other users of this machine can read command lines. Pass `--destination -`, and enter the destination on standard input.";
    case "token_unknown":
      return `The deployment has an ADMIN_TOKEN that is not in ${refusal.file}. Set the environment variable ADMIN_TOKEN to it, or replace it with --new-token.`;
    case "token_wrong":
      return `The deployment does not accept the ADMIN_TOKEN in ${refusal.file}. Put the right one there, or replace it with --new-token.`;
    case "silent":
      return `The Worker does not answer at ${refusal.url} (${refusal.last}). A new workers.dev address may take a few minutes. ${AGAIN} If the Worker has another address, pass it with --url.`;
    case "job_refused":
      return `The Worker did not create the job: ${refusal.why}. Correct the destination. ${AGAIN}`;
    case "canary_not_ok":
      return `The canary was not read back (${refusal.state}): ${refusal.why}. docs/status.md explains each state. ${AGAIN}`;
    case "attached":
      return `These Workers are attached and would lose their events: ${refusal.workers.join(", ")}. Detach them first with \`npm run attach -- <folder> --detach\`, and deploy them.`;
  }
}

/** What an answer of the platform means. @param account its id; "" if it is not known yet. */
export function refusalOf(answer: Answer, account: string): Refusal {
  const { call, status, code, message } = answer;
  switch (code) {
    case 1000:
    case 6003:
    case 6111:
      return { kind: "token_invalid" };
    case 7003:
      return { kind: "account_unknown", account };
    case 10_015:
    case 11_002:
    case 100_129:
      return { kind: "paid_plan_needed", what: "Queues", account };
    case 10_084:
    case 10_097:
      return { kind: "paid_plan_needed", what: "Durable Objects", account };
    case 10_042:
      return { kind: "r2_disabled", account };
    case 10_063:
      return { kind: "subdomain_missing", account };
    case 11_004:
      return { kind: "consumer_taken" };
    case 11_005:
      return { kind: "queue_in_use" };
    case 10_004:
    case 11_009:
      return { kind: "exists_meanwhile", call };
    case 10_215:
      return { kind: "version_undeployed" };
    case 971:
      return { kind: "throttled" };
  }
  if (status === 429) return { kind: "throttled" };
  if (status >= 500) return { kind: "platform_down", call, status };
  if (code === 9109 && /access token/i.test(message)) return { kind: "token_invalid" };
  const permission = permissionFor(call);
  if (status === 401 && permission === null) return { kind: "token_invalid" };
  if (status === 401 || status === 403 || code === 10_000 || code === 9109)
    return { kind: "permission_missing", permission: permission ?? "Account Settings: Read", account };
  // A plan without it allows one day.
  if (/\/queues\b/.test(call) && /retention/i.test(message))
    return { kind: "paid_plan_needed", what: "Queues", account };
  return { kind: "answered", answer };
}

/** Names as the page of API tokens has them. null: a call that every valid token may make. */
function permissionFor(call: string): string | null {
  if (/\/queues\b/.test(call)) return "Queues: Edit";
  if (/\/r2\//.test(call)) return "Workers R2 Storage: Edit";
  if (/\/workers\//.test(call)) return "Workers Scripts: Edit";
  return null;
}

/** The refusal in what wrangler printed. */
export function deployRefusal(output: string, account: string): Refusal {
  const code = Number(/\[code: (\d+)\]/.exec(output)?.[1] ?? 0);
  const path = /\((\/accounts\/[^\s)]+)\)/.exec(output)?.[1] ?? "";
  if (code !== 0) {
    const refusal = refusalOf({ call: path, status: 0, code, message: "" }, account);
    if (refusal.kind !== "answered") return refusal;
  }
  return { kind: "deploy_failed", output };
}
