import { describe, expect, it } from "vitest";
import { deployRefusal, type Refusal, refusalOf, refusalSentence } from "../../../tools/setup/refusals.ts";

const ACCOUNT = "0123456789abcdef0123456789abcdef";
const account = ACCOUNT;

/** One of each kind, and what its sentence tells the user to do. */
const KINDS: { readonly [K in Refusal["kind"]]: readonly [Omit<Extract<Refusal, { kind: K }>, "kind">, string] } = {
  not_logged_in: [{}, "npx wrangler login"],
  unreachable: [{ call: "GET /accounts", why: "ECONNREFUSED" }, "Check the network"],
  token_invalid: [{}, "Set CLOUDFLARE_API_TOKEN to a valid one"],
  permission_missing: [{ permission: "Queues: Edit", account }, 'lacks the permission "Queues: Edit"'],
  account_unknown: [{ account }, "Pass it with --account"],
  accounts_none: [{}, "Account Settings: Read"],
  accounts_several: [{ accounts: [{ id: "a", name: "Acme" }] }, "Choose one with --account: a (Acme)"],
  account_differs: [{ file: "a", asked: "b" }, "copy wrangler.jsonc"],
  paid_plan_needed: [{ what: "Queues", account }, `${ACCOUNT}/workers/plans`],
  r2_disabled: [{ account }, `Enable it at https://dash.cloudflare.com/${ACCOUNT}/r2`],
  subdomain_missing: [{ account }, `${ACCOUNT}/workers-and-pages`],
  name_taken: [{ name: "logship" }, 'Choose another "name" in wrangler.jsonc'],
  exists_meanwhile: [{ call: "POST /queues" }, "Run the same command again"],
  consumer_taken: [{}, "Remove that consumer"],
  queue_in_use: [{}, "Remove its binding"],
  bucket_full: [{ bucket: "traces", account }, "lifecycle rule"],
  version_undeployed: [{}, "npx wrangler versions deploy"],
  throttled: [{}, "Wait five minutes"],
  platform_down: [{ call: "GET /accounts", status: 503 }, "cloudflarestatus.com"],
  answered: [{ answer: { call: "GET /a", status: 418, code: 7, message: "no tea" } }, "no tea (HTTP 418, code 7)"],
  deploy_failed: [{ output: "Build failed" }, "wrangler deploy failed:\nBuild failed"],
  secret_in_arguments: [{}, "--destination -"],
  token_unknown: [{ file: ".deployed.env" }, "--new-token"],
  token_wrong: [{ file: ".deployed.env" }, "--new-token"],
  silent: [{ url: "https://a", last: "HTTP 404" }, "pass it with --url"],
  job_refused: [{ why: "403 AccessDenied" }, "Correct the destination"],
  canary_not_ok: [{ state: "failed", why: "403" }, "docs/status.md"],
  attached: [{ workers: ["shop"] }, "Detach them first"],
};

it("has a sentence of its own for every refusal, which says what to do", () => {
  const sentences = Object.entries(KINDS).map(([kind, [facts, part]]) => {
    const sentence = refusalSentence({ kind, ...facts } as Refusal);
    expect(sentence).toContain(part);
    return sentence;
  });
  expect(new Set(sentences).size).toBe(sentences.length);
});

describe("an answer of the platform", () => {
  it.for([
    ["GET /accounts", 400, 6003, "Invalid request headers", "token_invalid"],
    ["GET /accounts", 401, 1000, "Invalid API Token", "token_invalid"],
    ["GET /accounts", 403, 9109, "Invalid access token", "token_invalid"],
    ["GET /accounts", 403, 10_000, "Authentication error", "permission_missing", "Account Settings: Read"],
    ["GET /accounts/a/queues", 403, 10_000, "Authentication error", "permission_missing", "Queues: Edit"],
    ["POST /accounts/a/r2/buckets", 403, 10_000, "Authentication error", "permission_missing", "R2 Storage: Edit"],
    ["GET /accounts/a/workers/subdomain", 403, 10_000, "no", "permission_missing", "Workers Scripts: Edit"],
    ["GET /accounts/a/queues", 403, 9109, "Unauthorized to access requested resource", "permission_missing"],
    ["GET /accounts/a/queues", 404, 7003, "Could not route to /accounts/a", "account_unknown"],
    ["POST /accounts/a/queues", 403, 100_129, "unavailable on the free plan", "paid_plan_needed", "Queues"],
    ["POST /accounts/a/queues", 403, 10_015, "workers.api.error.not_entitled", "paid_plan_needed", "Queues"],
    ["POST /accounts/a/queues", 400, 11_016, "message_retention_period is too large", "paid_plan_needed", "Queues"],
    ["GET /accounts/a/r2/buckets/b", 403, 10_042, "Please enable R2", "r2_disabled"],
    ["POST /accounts/a/r2/buckets", 409, 10_004, "exists", "exists_meanwhile"],
    ["POST /accounts/a/queues", 409, 11_009, "taken", "exists_meanwhile"],
    ["DELETE /accounts/a/queues/q", 400, 11_005, "referenced", "queue_in_use"],
    ["PUT /accounts/a/workers/scripts/s/secrets", 400, 10_215, "not deployed", "version_undeployed"],
    ["GET /accounts/a/queues", 429, 971, "Please wait", "throttled"],
    ["GET /accounts/a/queues", 429, 0, "no reason given", "throttled"],
    ["GET /accounts/a/queues", 502, 0, "no reason given", "platform_down"],
    ["GET /accounts/a/queues", 400, 12_345, "something else", "answered"],
  ] as const)("%s: %i, code %i (%s) means %s", ([call, status, code, message, kind, part = ""]) => {
    const refusal = refusalOf({ call, status, code, message }, ACCOUNT);
    expect(refusal.kind).toBe(kind);
    expect(refusalSentence(refusal)).toContain(part);
  });

  it.for([
    ["In order to use Durable Objects, you must switch to a paid plan [code: 10084]", "paid_plan_needed"],
    ["create a namespace using a `new_sqlite_classes` migration. [code: 10097]", "paid_plan_needed"],
    ["In order to use Queues, you must enable your account [code: 11002]", "paid_plan_needed"],
    ["You need to register a workers.dev subdomain [code: 10063]", "subdomain_missing"],
    ["(/accounts/a/workers/scripts/s) failed. Authentication error [code: 10000]", "permission_missing"],
    ["workers.api.error.consumer_exists [code: 11004]", "consumer_taken"],
    ["Uncaught Error: no such module [code: 10021]", "deploy_failed"],
    ["Build failed with 1 error", "deploy_failed"],
  ] as const)("is recognised in what wrangler prints: %s", ([output, kind]) => {
    expect(deployRefusal(output, ACCOUNT).kind).toBe(kind);
  });
});
