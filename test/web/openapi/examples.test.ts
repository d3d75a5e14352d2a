/** Sends every example of the document, as its command line says, to the running service. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { createHash } from "node:crypto";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type Platform, platform } from "../../../src/base/platform.ts";
import { watch } from "../../../src/operate/alerts/watch.ts";
import { EXAMPLE_DESTINATION } from "../../../src/web/api/docs/common.ts";
import { NOON } from "../../formats/record/samples.ts";
import { one } from "../../ship/consumer/scripted.ts";
import { ACCOUNT, ADMIN_TOKEN } from "../../support/constants.ts";
import { Oracle } from "../../support/oracle.ts";
import { putOnHold } from "../../support/runtime/hold.ts";
import { deliver, pack, setClock } from "../../support/runtime/pipeline.ts";
import { call, isFile, send } from "../api/harness.ts";
import { member, token } from "../api/principals.ts";
import { type Command, commandOf, wordsOf } from "./shell.ts";
import { OPERATIONS, pointerTo, validatorOf } from "./support.ts";

const kept = new Map<string, Uint8Array<ArrayBuffer>>();
afterEach(() => kept.clear());

/**
 * A world whose stores accept any key and, like real ones, create no object twice and answer a PUT
 * with the MD5 of its bytes.
 */
const generous: Platform = {
  ...platform,
  async fetch(url, { method, headers, body }) {
    if (new URL(url).host.includes("datadog")) return Response.json({}, { status: 202 });
    if (method === "GET") return new Response(kept.get(url) ?? null);
    if (kept.has(url) && new Headers(headers).has("if-none-match")) return new Response(null, { status: 412 });
    const taken = new Uint8Array(await new Response(body ?? null).arrayBuffer());
    kept.set(url, taken);
    return new Response(null, { headers: { etag: `"${createHash("md5").update(taken).digest("hex")}"` } });
  },
};

/** Delivers one object of job 1 to a store of that world. */
async function deliverOne(fetch = generous.fetch): Promise<void> {
  vi.spyOn(platform, "fetch").mockImplementation(fetch);
  await call("PUT", "/logship/jobs/1", { enabled: true });
  await deliver(pack(new Oracle({ at: platform.now() }).mint(3), platform.now()));
  await call("POST", "/logship/jobs/1/flush");
  await call("PUT", "/logship/jobs/1", { enabled: false });
}

/** @returns the id of a replay of job 1. */
async function replayJob(): Promise<string> {
  const span = { since: "2026-11-20T00:00:00Z", until: "2026-11-21T00:00:00Z", allow_duplicates: true };
  return (await call<{ id: string }>("POST", "/logship/jobs/1/replay", span)).body.result.id;
}

/** @returns the id of a problem. */
async function throwOnce(): Promise<string> {
  const [minted] = new Oracle({ at: platform.now() }).mint(1, { scriptName: "shop" });
  if (minted === undefined) throw new Error("none was made");
  const thrown = { Outcome: "exception" };
  const { event, record } = minted;
  const failed = { ...minted, event: { ...event, ...thrown }, record: { ...record, ...thrown } };
  await deliver(pack([failed], platform.now()));
  return (await call<{ id: string }[]>("GET", "/logship/problems")).body.result[0]?.id ?? "";
}

/** Of our own names: those of the vendor's have the same. */
const OWN = OPERATIONS.filter(({ operation }) => operation["x-alias-of"] === undefined);

const EXAMPLES = OWN.flatMap(({ method, path, operation }) =>
  operation["x-codeSamples"].map(({ label, source }) => ({ method, path, operation, label, source })),
);

/**
 * Creates the job, function, webhook, replay, token, member and message that examples name or
 * imply. Resources whose variable an example does not use are skipped: there are more than a
 * hundred examples.
 */
async function prepare(source: string, method: string): Promise<{ [variable: string]: string }> {
  const names = (variable: string): boolean => source.includes(`$${variable}`);
  const job = await call<{ id: number }>(
    "POST",
    "/logship/jobs",
    { destination_conf: EXAMPLE_DESTINATION },
    { platform: generous },
  );
  expect([job.status, job.body.errors, job.body.result?.id]).toEqual([201, [], 1]);
  await call("PATCH", "/functions/scripts/shop/script-settings", { logship: true });
  await call("PUT", "/logship/webhook", { url: "https://hooks.example.com/logship" });
  await call("POST", "/logship/alerts", {
    name: "on call",
    format: "slack",
    address: "https://hooks.slack.com/services/T0/B0/X",
  });
  const SEARCH_ID = names("SEARCH_ID") ? await savedSearch() : "";
  if (names("INCIDENT_ID")) await openIncident("inc_1");
  if (names("OBJECT_NUMBER")) await deliverOne();
  const REPLAY_ID = names("REPLAY_ID") ? await replayJob() : "";
  const TOKEN_ID = names("TOKEN_ID") ? (await token(["logs:read"])).id : "";
  const MEMBER_ID = names("MEMBER_ID") ? (await member("Log Share Reader")).id : "";
  const PROBLEM_ID = names("PROBLEM_ID") ? await throwOnce() : "";
  if (names("ASIDE_ID")) await putOnHold(one(1));
  const isUpload = names("ASIDE_ID") && method === "PUT";
  if (isUpload) await deliverOne(async () => new Response(null, { status: 503 }));
  return {
    BASE_URL: "http://logship.test",
    ACCOUNT_ID: ACCOUNT,
    TOKEN: ADMIN_TOKEN,
    TOKEN_ID,
    MEMBER_ID,
    REPLAY_ID,
    SEARCH_ID,
    ASIDE_ID: isUpload ? "object-1-1" : "message-1",
    INCIDENT_ID: "inc_1",
    PROBLEM_ID,
    OBJECT_NUMBER: "1",
  };
}

async function savedSearch(): Promise<string> {
  const body = { name: "Errors", query: "status:5xx", alert: { threshold: 10, over: "5m" } };
  return `${(await call<{ id: number }>("POST", "/logship/searches", body)).body.result.id}`;
}

/** One that is not over, as the watch stores it. */
async function openIncident(id: string): Promise<void> {
  const finding = {
    ...{ kind: "failing", subject: { type: "job", id: 1 }, severity: "error", sinceMs: NOON },
    ...{ affected: null, summary: "", advice: "" },
  };
  const state = { id, finding, sinceMs: NOON, firstSeenMs: NOON, openedMs: NOON, well: null, flaps: 0 };
  await runInDurableObject(watch(env.WATCH), (_watch, { storage }) => {
    const values = [id, JSON.stringify(state), NOON] as const;
    storage.sql.exec("INSERT INTO incident (id, state, opened_ms) VALUES (?, ?, ?)", ...values);
  });
}

/** A command line's body in the form of the document: a form is an object of its parts. */
async function bodyOf({ headers, body = "" }: Command): Promise<{ type: string; value: unknown }> {
  const parsed = (text: string, type: string): unknown => (type.endsWith("/json") ? JSON.parse(text) : text);
  const type = headers["Content-Type"] ?? "";
  if (typeof body === "string") return { type, value: parsed(body, type) };
  const parts: [name: string, value: unknown][] = [];
  for (const [name, part] of body)
    parts.push([name, typeof part === "string" ? part : parsed(await part.text(), part.type)]);
  return { type: "multipart/form-data", value: Object.fromEntries(parts) };
}

describe("every example", () => {
  it("is of an operation, and every operation has one", () => {
    expect(new Set(EXAMPLES.map(({ operation }) => operation.operationId)).size).toBe(OWN.length);
  });

  it.each(EXAMPLES)(
    "is accepted as it stands, and of the documented shape: $method $path, $label",
    async ({ method, path, operation, source }) => {
      // What a rerun names has to be kept then.
      setClock(Date.parse("2026-11-20T13:00:00Z"));
      const variables = await prepare(source, method);
      const command = commandOf(wordsOf(source, variables));
      expect(command.method).toBe(method);
      const answer = await send(command.url, command, {
        platform: generous,
        headers: command.headers,
        // An upload needs a place to run.
        settings: { LOCAL_FUNCTIONS: "http://localhost:8788" },
      });
      const documented = Object.keys(operation.responses).find((status) => status.startsWith("2")) ?? "";
      expect([answer.status, answer.body.errors]).toEqual([Number(documented), []]);
      const schemaOf = (...at: string[]) =>
        validatorOf(pointerTo("paths", path, method.toLowerCase(), ...at, "schema"));
      if (command.body !== undefined) {
        const { type, value } = await bodyOf(command);
        const validate = schemaOf("requestBody", "content", type);
        expect([validate(value), validate.errors]).toEqual([true, null]);
      }
      if (isFile(answer)) return;
      const validate = schemaOf("responses", documented, "content", "application/json");
      expect([validate(answer.body), validate.errors]).toEqual([true, null]);
    },
  );
});

describe("a failure", () => {
  it.each([
    [401, "GET", "/logship/jobs", undefined, { authorization: null }],
    [404, "GET", "/logship/jobs/9", undefined, {}],
    [400, "POST", "/logship/jobs", { name: 1, x: 2 }, {}],
  ] as const)("%i is of the documented shape", async (status, method, path, body, headers) => {
    const answer = await call(method, path, body, { headers });
    expect(answer.status).toBe(status);
    const validate = validatorOf("/components/schemas/Failure");
    expect([validate(answer.body), validate.errors]).toEqual([true, null]);
    expect(validate({ ...answer.body, success: true })).toBe(false);
  });
});
