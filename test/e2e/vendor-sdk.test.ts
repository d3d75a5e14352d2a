/**
 * Clients from outside this project: the vendor's own TypeScript SDK with only its base URL
 * changed, and the requests of a declarative tool, against a real `wrangler dev`.
 */
import { isDeepStrictEqual } from "node:util";
import Cloudflare, {
  APIError,
  AuthenticationError,
  BadRequestError,
  type ClientOptions,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
} from "cloudflare";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { localDestination } from "../../tools/client/bucket.ts";
import { until } from "../../tools/until.ts";
import { assertClean, Oracle } from "../support/oracle.ts";
import { IsolatedShipper, pathOf, RECEIVED_WITHIN_MS, randomSecretsKey } from "./shipper.ts";

const ACCOUNT = { account_id: "local" };
const DATASET = "workers_trace_events";

/** Every kind of credentials is given, or the SDK would read them from the environment. */
const NO_CREDENTIALS = { apiToken: null, apiEmail: null, apiKey: null, userServiceKey: null } as const;

/** As in a program written for the vendor. It does not retry unless a test says so. */
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

/** A fetch that also records each request. */
function watched(): { seen: Request[]; fetch: typeof globalThis.fetch } {
  const seen: Request[] = [];
  return {
    seen,
    fetch: (input, init) => {
      seen.push(new Request(input, init));
      return fetch(input, init);
    },
  };
}

type Job = { readonly [field: string]: unknown };
type Enveloped = { result: Job };

/** The changes that a declarative tool would plan: declared fields that read differently. */
const plan = (declared: Job, read: Job): string[] =>
  Object.keys(declared).filter((key) => key !== "ownership_challenge" && !isDeepStrictEqual(declared[key], read[key]));

/** Fields that the server sets and may change at any time. */
const COMPUTED = ["last_complete", "last_error", "error_message", "time_modified"];

/** Changed fields of a job, except {@link COMPUTED} ones. */
const drift = (before: Job, after: Job): string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((key) => !COMPUTED.includes(key) && !isDeepStrictEqual(before[key], after[key]))
    .sort();

describe("a program that uses the vendor's SDK", () => {
  let shipper: IsolatedShipper;
  let client: Cloudflare;
  beforeAll(async () => {
    shipper = await IsolatedShipper.start();
    client = clientOf(shipper);
  });
  afterEach(async () => {
    for await (const job of client.logpush.jobs.list(ACCOUNT)) await client.logpush.jobs.delete(job?.id ?? 0, ACCOUNT);
  });
  afterAll(() => shipper[Symbol.asyncDispose]());

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

  it("gets every job in the one page that it asks for, and knows that there is no other", async () => {
    const ids: (number | undefined)[] = [];
    for (let n = 0; n < 30; n++) {
      const job = await client.logpush.jobs.create({ ...ACCOUNT, destination_conf: vendorsDestination(`many-${n}`) });
      ids.push(job?.id);
    }
    const page = await client.logpush.jobs.list(ACCOUNT);
    expect([page.hasNextPage(), page.result.map((job) => job?.id)]).toEqual([false, ids]);
  });

  it("sends keys of the newest schema that ask for nothing, and finds a job of another client spelled its own way", async () => {
    const destination_conf = vendorsDestination("newest");
    const sent = { destination_conf, dataset: DATASET, filter_attack_traffic: false } as const;
    const created = await client.logpush.jobs.create({ ...sent, ...ACCOUNT });
    expect(created).toMatchObject(sent);
    const attacks = await failureOf(
      client.logpush.jobs.update(created?.id ?? 0, { ...ACCOUNT, filter_attack_traffic: true }),
    );
    expect(attacks.errors).toMatchObject([{ code: 1001, source: { pointer: "/filter_attack_traffic" } }]);
    const { result } = await client.post<Enveloped>("/accounts/local/logship/jobs", { body: { destination_conf } });
    expect(result.dataset).toBe("functions_trace_events");
    expect(await client.logpush.jobs.get(Number(result.id), ACCOUNT)).toMatchObject({ dataset: DATASET });
    expect((await client.logpush.datasets.jobs.get("http_requests", ACCOUNT)).result).toEqual([]);
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

  it("reads the fields of the dataset, each with what it says, and hears of no other", async () => {
    const fields = await client.logpush.datasets.fields.get(DATASET, ACCOUNT);
    expect(Object.keys(fields).length).toBe(13);
    expect(fields).toMatchObject({ ScriptName: expect.any(String), Outcome: expect.any(String) });
    const other = client.logpush.datasets.fields.get("http_requests", ACCOUNT);
    expect(await readAs(other)).toEqual([NotFoundError, [7003, "no such dataset"]]);
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
    expect(await validate.origin({ ...ACCOUNT, logpull_options: "fields=RayID" })).toEqual({
      valid: false,
      message: expect.stringContaining("RayID"),
    });
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
    const filter = await failureOf(jobs.create({ ...ACCOUNT, destination_conf: conf, filter: "{" }));
    expect(filter).toBeInstanceOf(BadRequestError);
    expect(filter.errors).toMatchObject([
      { code: 1004, message: expect.stringMatching(/^creating a new job is not allowed: bad predicate: /) },
    ]);
    const store = await failureOf(jobs.create({ ...ACCOUNT, destination_conf: conf.replace("traces", "no-such") }));
    expect(store.errors).toMatchObject([{ code: 1004, message: expect.stringMatching(/HTTP 404 NoSuchBucket$/) }]);
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

  it("is told plainly of what belongs to other products: zones, logs at the edge, transformers, scripts' versions", async () => {
    const zone_id = "local";
    const { jobs, edge, ownership, transformers } = client.logpush;
    const destination_conf = vendorsDestination("zone");
    for (const call of [
      () => jobs.list({ zone_id }),
      () => jobs.create({ zone_id, destination_conf }),
      () => ownership.create({ zone_id, destination_conf }),
      () => edge.create({ zone_id, fields: "Outcome" }),
      () => edge.get({ zone_id }),
      () => transformers.list(ACCOUNT),
      () => client.logpush.datasets.jobs.get(DATASET, { zone_id }),
    ]) {
      expect(await readAs(call())).toEqual([NotFoundError, [7003, "no such route; /docs lists the routes"]]);
    }
    const instant = await failureOf(jobs.create({ ...ACCOUNT, destination_conf, kind: "edge" }));
    expect(instant).toBeInstanceOf(BadRequestError);
    expect(instant.errors).toMatchObject([{ code: 1001, source: { pointer: "/kind" } }]);
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
    const both = clientOf(shipper, { apiEmail: "ada@example.com", apiKey: result.api_key, apiToken: shipper.token });
    expect(await readAs(both.logpush.jobs.list(ACCOUNT))).toEqual([
      AuthenticationError,
      [10000, expect.stringMatching(/^Authentication error: send /)],
    ]);
    const half = clientOf(shipper, { apiEmail: "ada@example.com", apiKey: null });
    expect(await failureOf(half.logpush.jobs.list(ACCOUNT))).toBeInstanceOf(AuthenticationError);
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

  it("sends headers of its own that change nothing, and says once more what the answer to was lost", async () => {
    const { seen, fetch: watch } = watched();
    let lost = false;
    const shaky = clientOf(shipper, {
      maxRetries: 2,
      defaultHeaders: { "X-HTTP-Method-Override": "DELETE" },
      fetch: async (input, init) => {
        const response = await watch(input, init);
        if (lost) return response;
        lost = true;
        await response.body?.cancel();
        throw new TypeError("fetch failed");
      },
    });
    const page = await shaky.logpush.jobs.list(ACCOUNT);
    expect(page.result).toEqual([]);
    expect(seen.map(({ method, headers }) => [method, headers.get("x-stainless-retry-count")])).toEqual([
      ["GET", "0"],
      ["GET", "1"],
    ]);
    expect(seen[0]?.headers.get("api-version")).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    expect(seen[0]?.headers.get("idempotency-key")).toBeNull();
  });

  const spellings = [
    ["logpush", "r2", "workers_trace_events"],
    ["logship", "objstore", "functions_trace_events"],
  ] as const;

  it.each(spellings)(
    "declares a job below /%s, and finds it as declared after every change",
    async (name, scheme, dataset) => {
      const jobs = `/accounts/local/${name}/jobs`;
      const conf = (folder: string) => localDestination(pathOf(folder)).replace("objstore:", `${scheme}:`);
      let declared: Job = {
        name: "declared",
        dataset,
        enabled: true,
        destination_conf: conf("declared"),
        // A configuration may keep it long after it has expired.
        ownership_challenge: "0".repeat(20),
        filter: '{"where":{"key":"Outcome","operator":"eq","value":"exception"}}',
        kind: "",
        max_upload_records: 2_000,
        output_options: { field_names: ["Outcome", "Logs"], sample_rate: 0.25, timestamp_format: "rfc3339" },
      };
      const { id } = (await client.post<Enveloped>(jobs, { body: declared })).result;
      const read = async (): Promise<Job> => (await client.get<Enveloped>(`${jobs}/${id}`)).result;
      let state = await read();
      expect([plan(declared, state), drift(state, await read())]).toEqual([[], []]);

      const changes: Job[] = [
        { max_upload_records: 3_000 },
        { output_options: { field_names: ["Outcome"] } },
        { destination_conf: conf("moved") },
        { enabled: false },
        { name: null, filter: null, max_upload_records: null, output_options: null },
      ];
      for (const change of changes) {
        declared = { ...declared, ...change };
        expect(plan(declared, state)).toEqual(Object.keys(change));
        await client.put(`${jobs}/${id}`, { body: declared });
        const after = await read();
        expect([plan(declared, after), drift(after, await read())]).toEqual([[], []]);
        expect(drift(state, after)).toEqual(Object.keys(change).sort());
        state = after;
      }
      await client.delete(`${jobs}/${id}`);
      expect(await readAs(client.get(`${jobs}/${id}`))).toEqual([NotFoundError, [1000, "job not found"]]);
      expect(await readAs(client.delete(`${jobs}/${id}`))).toEqual([NotFoundError, [1000, "job not found"]]);
    },
  );
});

it("is asked to come again while the service cannot answer, proves that it reads its bucket, and has its events delivered", async () => {
  await using shipper = await IsolatedShipper.start({
    settings: { SECRETS_KEY: "too-short", REQUIRE_OWNERSHIP_CHALLENGE: "true" },
    queueWaitS: 1,
  });
  const kept: Response[] = [];
  const down = clientOf(shipper, {
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      kept.push(response.clone());
      return response;
    },
  });
  const failure = await failureOf(down.logpush.jobs.list(ACCOUNT));
  expect(failure).toBeInstanceOf(InternalServerError);
  expect(failure.errors).toMatchObject([{ code: 1053, message: expect.stringMatching(/^configuration: SECRETS_KEY/) }]);
  expect(failure.headers?.get("retry-after")).toBe("60");

  await shipper.crashAndRestart({ settings: { SECRETS_KEY: randomSecretsKey() } });
  const { seen, fetch: watch } = watched();
  const [told] = kept;
  const client = clientOf(shipper, {
    maxRetries: 1,
    fetch: async (input, init) => {
      const response = await watch(input, init);
      // The service's own earlier answer, with a shorter wait.
      return seen.length === 1 && told
        ? new Response(told.body, { status: 503, headers: { "retry-after": "1" } })
        : response;
    },
  });
  expect((await client.logpush.jobs.list(ACCOUNT)).result).toEqual([]);
  expect(seen.length).toBe(2);

  const { jobs, ownership } = client.logpush;
  const destination_conf = vendorsDestination("owned");
  const fields = {
    ...ACCOUNT,
    destination_conf,
    dataset: DATASET,
    enabled: true,
    max_upload_interval_seconds: 30,
  } as const;
  const unproven = [BadRequestError, [1002, "incorrect ownership challenge"]];
  expect(await readAs(jobs.create(fields))).toEqual(unproven);
  expect(await readAs(jobs.create({ ...fields, ownership_challenge: "0".repeat(20) }))).toEqual(unproven);
  expect(await shipper.bucket.list("owned/")).toEqual([]);
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
  expect(await readAs(jobs.create({ ...fields, ...elsewhere }))).toEqual(unproven);
  const job = await jobs.create({ ...fields, ownership_challenge });
  const id = job?.id ?? 0;
  expect(job).not.toHaveProperty("ownership_challenge");

  const oracle = new Oracle({ name: "sdk", at: Date.now() });
  const events = oracle.mint(20);
  await client.post(`/accounts/local/logpush/datasets/${DATASET}/events`, { body: events.map(({ event }) => event) });
  oracle.acknowledged(id, events);
  await until({
    what: "the events to be processed",
    withinMs: RECEIVED_WITHIN_MS,
    look: () => shipper.api.jobLedger(id),
    enough: ({ received }) => received >= events.length,
  });
  await client.post(`/accounts/local/logpush/jobs/${id}/flush`);
  assertClean(oracle.audit(id, await shipper.bucket.read("owned/"), { path: pathOf("owned") }));
  expect(await jobs.get(id, ACCOUNT)).toMatchObject({ last_error: null, error_message: null, destination_conf });
});
