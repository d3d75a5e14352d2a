/**
 * Programs from outside this project against a real `wrangler dev`: the vendor's own TypeScript SDK
 * with only its base URL changed, and a validator of API descriptions.
 */
import { Validator } from "@seriousme/openapi-schema-validator";
import Cloudflare, {
  APIError,
  AuthenticationError,
  BadRequestError,
  type ClientOptions,
  NotFoundError,
  PermissionDeniedError,
} from "cloudflare";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { localDestination } from "../../tools/client/bucket.ts";
import { IsolatedShipper, pathOf } from "./shipper.ts";

const ACCOUNT = { account_id: "local" };
const DATASET = "workers_trace_events";

/** Every kind of credentials is given, or the SDK would read them from the environment. */
const NO_CREDENTIALS = { apiToken: null, apiEmail: null, apiKey: null, userServiceKey: null } as const;

/** As in a program written for the vendor. It does not retry. */
function clientOf(shipper: IsolatedShipper, options: ClientOptions = {}): Cloudflare {
  return new Cloudflare({
    ...NO_CREDENTIALS,
    ...(options.apiEmail == null && { apiToken: shipper.token }),
    baseURL: `${shipper.url}/client/v4`,
    maxRetries: 0,
    logLevel: "off",
    ...options,
  });
}

/** As the vendor writes them. */
const vendorsDestination = (folder: string): string => localDestination(pathOf(folder)).replace("objstore:", "r2:");

/** The error of a call that must fail. */
async function failureOf(call: PromiseLike<unknown>): Promise<APIError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof APIError) return error;
    throw error;
  }
  throw new Error("it should have failed");
}

/** The SDK's view of a failure: its class, and the error entries that a program sees. */
async function readAs(call: PromiseLike<unknown>): Promise<unknown[]> {
  const failure = await failureOf(call);
  return [failure.constructor, ...failure.errors.map(({ code, message }) => [code, message])];
}

let shipper: IsolatedShipper;
beforeAll(async () => {
  shipper = await IsolatedShipper.start();
});
afterAll(() => shipper[Symbol.asyncDispose]());

describe("a program that uses the vendor's SDK", () => {
  let client: Cloudflare;
  beforeAll(() => {
    client = clientOf(shipper);
  });
  afterEach(async () => {
    for await (const job of client.logpush.jobs.list(ACCOUNT)) await client.logpush.jobs.delete(job?.id ?? 0, ACCOUNT);
  });

  it("creates, reads, lists, changes and deletes a job, and reads what it wrote, spelled as it wrote it", async () => {
    const sent = {
      name: "sdk",
      dataset: DATASET,
      kind: "",
      enabled: true,
      destination_conf: vendorsDestination("sdk"),
      filter: '{"where":{"key":"Outcome","operator":"!eq","value":"ok"}}',
      frequency: "high",
      logpull_options: "fields=Outcome&timestamps=rfc3339",
      max_upload_bytes: 5_000_000,
      max_upload_records: 1_000,
      max_upload_interval_seconds: 30,
      output_options: {
        output_type: "csv",
        field_names: ["EventTimestampMs", "Outcome"],
        timestamp_format: "rfc3339ms",
        sample_rate: 0.5,
        "CVE-2021-44228": true,
        batch_prefix: "EventTimestampMs,Outcome\n",
        record_template: null,
        merge_subrequests: false,
      },
    } satisfies Omit<Cloudflare.Logpush.JobCreateParams, "account_id">;
    const created = await client.logpush.jobs.create({ ...sent, ...ACCOUNT });
    const id = created?.id ?? 0;
    expect(created).toMatchObject(sent);
    expect(created).toMatchObject({ id: expect.any(Number), last_complete: null, error_message: null });
    expect(await client.logpush.jobs.get(id, ACCOUNT)).toMatchObject(sent);
    for (const list of [client.logpush.jobs.list(ACCOUNT), client.logpush.datasets.jobs.get(DATASET, ACCOUNT)]) {
      const names: unknown[] = [];
      for await (const job of list) names.push(job?.name);
      expect(names).toEqual(["sdk"]);
    }

    const change = { enabled: false, filter: null, max_upload_records: 0, output_options: null } as const;
    const changed = await client.logpush.jobs.update(id, { ...ACCOUNT, ...change });
    expect(changed).toMatchObject({ ...sent, ...change });
    // For an update without fields the SDK sends a body that changes nothing.
    expect(await client.logpush.jobs.update(id, ACCOUNT)).toMatchObject({ ...sent, ...change });
    expect(await client.logpush.jobs.delete(id, ACCOUNT)).toEqual({ id });
    expect(await readAs(client.logpush.jobs.get(id, ACCOUNT))).toEqual([NotFoundError, [1000, "job not found"]]);
  });

  it("checks its token, and finds the one account that there is", async () => {
    expect(await client.user.tokens.verify()).toEqual({ id: "admin", status: "active" });
    expect(await client.accounts.tokens.verify(ACCOUNT)).toEqual({ id: "admin", status: "active" });
    const ids: unknown[] = [];
    for await (const { id } of client.accounts.list()) ids.push(id);
    expect(ids).toEqual(["local"]);
    const stranger = clientOf(shipper, { apiToken: "an-unknown-token" });
    expect(await failureOf(stranger.user.tokens.verify())).toBeInstanceOf(AuthenticationError);
  });

  it("has a destination and options validated, and is told what is wrong without an exception", async () => {
    const { validate } = client.logpush;
    const destination_conf = vendorsDestination("validated");
    expect(await validate.destination({ ...ACCOUNT, destination_conf })).toEqual({ valid: true, message: "" });
    const wrong = destination_conf.replace("local-secret-key", "another-secret");
    expect(await validate.destination({ ...ACCOUNT, destination_conf: wrong })).toEqual({
      valid: false,
      message: expect.stringMatching(/HTTP 403 SignatureDoesNotMatch$/),
    });
    expect(await validate.destinationExists({ ...ACCOUNT, destination_conf })).toEqual({ exists: false });
    await client.logpush.jobs.create({ ...ACCOUNT, destination_conf });
    expect(await validate.destinationExists({ ...ACCOUNT, destination_conf })).toEqual({ exists: true });
    const logpull_options = "fields=Outcome,ScriptName&timestamps=rfc3339";
    expect(await validate.origin({ ...ACCOUNT, logpull_options })).toEqual({ valid: true, message: "" });
  });

  it("proves with a challenge that it reads its bucket", async () => {
    const { ownership } = client.logpush;
    const destination_conf = vendorsDestination("owned");
    const asked = await ownership.create({ ...ACCOUNT, destination_conf });
    expect(asked).toEqual({
      valid: true,
      message: "",
      filename: expect.stringMatching(/^owned\/00010101\/ownership-challenge-[0-9a-f]{8}\.txt$/),
    });
    const ownership_challenge = new TextDecoder().decode(await shipper.bucket.get(asked?.filename ?? ""));
    expect(await ownership.validate({ ...ACCOUNT, destination_conf, ownership_challenge })).toEqual({ valid: true });
    const elsewhere = { ...ACCOUNT, destination_conf: vendorsDestination("elsewhere"), ownership_challenge };
    expect(await ownership.validate(elsewhere)).toEqual({ valid: false });
  });

  it("gets each failure as the exception that it is, with codes and words", async () => {
    const { jobs } = client.logpush;
    const conf = vendorsDestination("failing");
    const many = await failureOf(
      jobs.create({ ...ACCOUNT, destination_conf: conf, name: "n".repeat(513), max_upload_bytes: 1, frequency: "low" }),
    );
    expect(many).toBeInstanceOf(BadRequestError);
    expect(many.errors.map(({ code, source }) => [code, source?.pointer]).sort()).toEqual([
      [1001, "/max_upload_bytes"],
      [1001, "/name"],
    ]);
    expect(await readAs(jobs.list({ account_id: "another" }))).toEqual([NotFoundError, [7003, "no such account"]]);
    expect(await readAs(jobs.update(4_711, { ...ACCOUNT, enabled: true }))).toEqual([
      NotFoundError,
      [1000, "job not found"],
    ]);
    const stranger = clientOf(shipper, { apiToken: "an-unknown-token" });
    expect(await readAs(stranger.logpush.jobs.list(ACCOUNT))).toEqual([
      AuthenticationError,
      [10000, "Authentication error"],
    ]);
    expect((await jobs.list(ACCOUNT)).result).toEqual([]);
  });

  it("calls as a member with address and key, may do what the role may, and sees no secret that it may not", async () => {
    const owner = await client.logpush.jobs.create({ ...ACCOUNT, destination_conf: vendorsDestination("owned") });
    const { result } = await client.post<{ result: { id: string; api_key: string } }>("/accounts/local/members", {
      body: { email: "ada@example.com", role: "Log Share Reader" },
    });
    const ada = clientOf(shipper, { apiEmail: "ada@example.com", apiKey: result.api_key });
    const page = await ada.logpush.jobs.list(ACCOUNT);
    expect(page.result).toMatchObject([{ id: owner?.id, destination_conf: expect.stringContaining("=****") }]);
    expect(JSON.stringify(page.result)).not.toContain("local-secret-key");
    expect(await readAs(ada.logpush.jobs.delete(owner?.id ?? 0, ACCOUNT))).toEqual([
      PermissionDeniedError,
      [10000, "Authorization error: this needs the permission logs:edit"],
    ]);
    await client.delete(`/accounts/local/members/${result.id}`);
    expect(await failureOf(ada.logpush.jobs.list(ACCOUNT))).toBeInstanceOf(AuthenticationError);
  });

  it("sets and reads what functions log, and lists them", async () => {
    const { scripts } = client.workers;
    const settings = { logpush: true, tail_consumers: [{ service: "logship" }] };
    expect(await scripts.settings.edit("shop", { ...ACCOUNT, ...settings })).toMatchObject(settings);
    expect(await scripts.settings.get("shop", ACCOUNT)).toMatchObject(settings);
    const ids: string[] = [];
    for await (const script of scripts.list(ACCOUNT)) if (script.logpush === true) ids.push(script.id ?? "");
    expect(ids).toEqual(["shop"]);
    expect(await scripts.settings.edit("shop", { ...ACCOUNT, logpush: false })).toMatchObject({ logpush: false });
    expect(await failureOf(scripts.settings.get("nobody", ACCOUNT))).toBeInstanceOf(NotFoundError);
  });
});

// Last: it takes seconds, after which the server closes the connections that were kept.
it("a validator of OpenAPI takes the description of the API", async () => {
  const document = await (await fetch(`${shipper.url}/openapi.json`)).text();
  const validator = new Validator();
  expect(await validator.validate(JSON.parse(document))).toEqual({ valid: true });
  expect(validator.version).toBe("3.1");
});
