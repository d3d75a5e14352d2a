import { readFileSync, statSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { SetupRefused } from "../../../tools/setup/refusals.ts";
import { readSecrets, readUrl } from "../../../tools/setup/secrets-file.ts";
import { WORKER_URL, World } from "./world.ts";

/** Calls that change something. */
const CHANGE = /^(?:POST|PUT|PATCH|DELETE) (?!.*\/(?:flush|exists)$)/;

/** The refusal; null: it went through. */
async function refusalOf(running: Promise<unknown>): Promise<string | null> {
  const error = await running.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error === null) return null;
  if (!(error instanceof SetupRefused)) throw error;
  return error.refusal.kind;
}

it("goes from an empty account to a canary that was read back", async () => {
  const world = new World();
  await world.setup();
  const { platform, jobs } = world;
  expect([...platform.queues.values()].map((queue) => queue.settings.message_retention_period)).toEqual([
    1_209_600, 1_209_600,
  ]);
  expect([...platform.buckets.keys()]).toEqual(["traces"]);
  expect(jobs).toMatchObject([{ enabled: true, canary: true, destination_conf: "binding://TRACES/logs/{DATE}" }]);
  // With stacks, which the file switches on.
  expect(jobs).toMatchObject([{ output_options: { field_names: ["*", "ExceptionStacks", "LogErrors"] } }]);
  expect(readFileSync(world.config, "utf8")).toContain('"EXTRA_FIELDS": "ExceptionStacks,LogErrors"');
  expect(readUrl(world.secretsPath)).toBe(WORKER_URL);
  const said = world.said.join("\n");
  expect(said).toContain(`Sign in    ${WORKER_URL}/sign-in?code=`);
  const secrets = readSecrets(world.secretsPath);
  expect(Object.fromEntries(platform.scripts.get("logship")?.secrets ?? [])).toEqual(secrets);
  expect(secrets.ADMIN_TOKEN).toMatch(/^[\w-]{40,80}$/);
  expect(statSync(world.secretsPath).mode & 0o777).toBe(0o600);
  for (const secret of Object.values(secrets)) expect(said).not.toContain(secret);
  expect(await world.check()).toBe(true);
});

it("changes nothing but the deployed version when it is run again", async () => {
  const world = new World();
  await world.setup();
  const [before, secrets] = [world.state(), readSecrets(world.secretsPath)];
  world.calls.length = 0;
  await world.setup();
  expect(world.state()).toEqual(before);
  expect(readSecrets(world.secretsPath)).toEqual(secrets);
  const changes = world.calls.filter((call) => CHANGE.test(call));
  expect(
    changes.filter((call) => !/\/workers\/scripts\/logship(\/subdomain|\/schedules)?$|\/consumers\//.test(call)),
  ).toEqual([]);
});

it("comes to the same end after breaking off at any call, with nothing there twice", async () => {
  const whole = new World();
  await whole.setup();
  const wanted = whole.state();
  // The reads of the first run are calls, too.
  expect(whole.calls.length).toBeGreaterThan(20);
  for (const when of ["before", "after"] as const)
    for (let call = 1; call <= whole.calls.length; call++) {
      const world = new World();
      world.breakAt = { call, when };
      const broken = await refusalOf(world.setup());
      world.breakAt = null;
      // Waiting for the first answer goes over one that is lost.
      const isPatient =
        whole.calls[call - 1] === `GET ${WORKER_URL}/client/v4/accounts/${world.platform.account}/logship/jobs`;
      if (!isPatient) expect([call, when, broken]).not.toContain(null);
      await world.setup();
      expect(world.state(), `broken ${when} ${whole.calls[call - 1]}`).toEqual(wanted);
    }
});

it("switches no field on in a deployment of an earlier release, nor where the file says which are on", async () => {
  const world = new World();
  await world.setup();
  const earlier = readFileSync(world.config, "utf8").replace(/,\s*"EXTRA_FIELDS": "[^"]*"/, "");
  writeFileSync(world.config, earlier);
  const [job] = world.jobs;
  await world.setup();
  expect([readFileSync(world.config, "utf8"), world.jobs]).toEqual([earlier, [job]]);
  world.jobs.length = 0;
  await world.setup();
  expect(world.jobs[0]).not.toHaveProperty("output_options");

  const own = new World();
  const text = readFileSync(own.config, "utf8").replace('"vars": {', '"vars": { "EXTRA_FIELDS": "Source, LogErrors",');
  writeFileSync(own.config, text);
  await own.setup();
  expect(own.jobs).toMatchObject([{ output_options: { field_names: ["*", "LogErrors"] } }]);
  expect(readFileSync(own.config, "utf8")).toContain('"EXTRA_FIELDS": "Source, LogErrors"');
});

it("says each call of a dry run, and makes none that changes anything", async () => {
  const world = new World();
  const file = readFileSync(world.config, "utf8");
  await world.setup({ isDry: true });
  expect(world.calls.filter((call) => CHANGE.test(call))).toEqual([]);
  expect(readFileSync(world.config, "utf8")).toBe(file);
  expect(readSecrets(world.secretsPath)).toEqual({});
  const said = world.said.join("\n");
  for (const call of [
    '+   "account_id"',
    'would POST /accounts/0123456789abcdef0123456789abcdef/queues {"queue_name":"logship-events","settings":{"message_retention_period":1209600}}',
    'would POST /accounts/0123456789abcdef0123456789abcdef/r2/buckets {"name":"traces"}',
    "would run wrangler deploy",
    "/workers/scripts/logship/secrets ADMIN_TOKEN",
    "ships to binding://TRACES/logs/{DATE}",
  ])
    expect(said).toContain(call);
});

it("sets a retention right, and keeps the user's jobs and all other lines of the file", async () => {
  const world = new World();
  const others = readFileSync(world.config, "utf8").split("\n");
  await world.setup();
  const queue = world.platform.queues.get("logship-events");
  if (queue !== undefined) queue.settings = { delivery_delay: 5, message_retention_period: 345_600 };
  world.jobs[0] = { id: 1, error_message: null, destination_conf: "objstore://theirs/{DATE}?access-key-id=a" };
  await world.setup();
  expect(queue?.settings).toEqual({ delivery_delay: 5, message_retention_period: 1_209_600 });
  expect(world.jobs).toHaveLength(1);
  const lines = readFileSync(world.config, "utf8").split("\n");
  // The account in both places, the fields of stacks, and the comma before them.
  expect(lines.filter((line) => !others.includes(line))).toHaveLength(4);
});

it("has six handlers of the queue for each shard of the log, and takes away none", async () => {
  const world = new World();
  const shards = (n: number) =>
    writeFileSync(
      world.config,
      readFileSync(world.config, "utf8").replace(
        /"vars": \{( "LOG_SHARDS": "\d+",)?/,
        `"vars": { "LOG_SHARDS": "${n}",`,
      ),
    );
  const handlers = () => /"max_concurrency": (\d+)/.exec(readFileSync(world.config, "utf8"))?.[1];
  for (const [n, wanted] of [
    [2, "20"],
    [8, "48"],
    [64, "250"],
    [1, "250"],
  ] as const) {
    shards(n);
    await world.setup();
    expect([n, handlers()]).toEqual([n, wanted]);
  }
  expect(await world.check()).toBe(true);
});

it("takes an ADMIN_TOKEN that it does not know only to replace it when asked", async () => {
  const world = new World();
  await world.setup();
  const { SECRETS_KEY, SIGNING_KEY } = readSecrets(world.secretsPath);
  await world.setup({ newToken: true });
  const { ADMIN_TOKEN: before, ...others } = readSecrets(world.secretsPath);
  expect(others).toEqual({ SECRETS_KEY, SIGNING_KEY });
  expect(readFileSync(world.secretsPath, "utf8")).toMatch(/^SIGNING_PUBLIC_KEY=MCowBQYDK2VwAyEA[A-Za-z0-9+/]{43}=$/m);
  writeFileSync(world.secretsPath, "");
  expect(await refusalOf(world.setup())).toBe("token_unknown");
  writeFileSync(world.secretsPath, "ADMIN_TOKEN=another-one-of-another-deployment-000000000\n");
  for (const isDry of [true, false]) expect(await refusalOf(world.setup({ isDry }))).toBe("token_wrong");
  await world.setup({ newToken: true });
  const { ADMIN_TOKEN: after } = readSecrets(world.secretsPath);
  expect(world.platform.scripts.get("logship")?.secrets.get("ADMIN_TOKEN")).toBe(after);
  expect(after).not.toBe(before);
});

it("ships elsewhere when asked, once, and shows none of the keys", async () => {
  const world = new World();
  const destination = "objstore://theirs/{DATE}?access-key-id=a&secret-access-key=very-secret";
  await world.setup({ destination });
  await world.setup({ destination });
  expect(world.jobs).toMatchObject([{ destination_conf: destination }]);
  expect(world.said.join("\n")).not.toContain("very-secret");
  const refused = new World();
  expect(await refusalOf(refused.setup({ destination: "s3://nowhere/{DATE}" }))).toBe("job_refused");
  expect(refused.jobs).toEqual([]);
});

it("says that a canary did not come back", async () => {
  const world = new World();
  world.canary = { state: "unreadable", why: "403 AccessDenied" };
  await expect(world.setup()).rejects.toThrow("The canary was not read back (unreadable): 403 AccessDenied.");
});

it("replaces no other Worker of the same name", async () => {
  const world = new World();
  const form = new FormData();
  form.set("metadata", JSON.stringify({ bindings: [] }));
  const { account } = world.platform;
  await world.platform.fetch(`https://platform.test/client/v4/accounts/${account}/workers/scripts/logship`, {
    method: "PUT",
    body: form,
  });
  expect(await refusalOf(world.setup())).toBe("name_taken");
  // Under another name it would ship its own events.
  writeFileSync(world.config, readFileSync(world.config, "utf8").replace('"name": "logship"', '"name": "traces"'));
  await expect(world.setup()).rejects.toThrow('vars.SELF_NAME must be "traces"');
  expect(world.platform.queues.size).toBe(0);
});

it("asks which account if there are several, and takes none by itself", async () => {
  const world = new World();
  const [only] = world.platform.accounts;
  world.platform.accounts = [{ id: "other", name: "Other" }, ...(only === undefined ? [] : [only])];
  await expect(world.setup()).rejects.toThrow("other (Other), 0123456789abcdef0123456789abcdef (Acme)");
  world.answers.push("2");
  await world.setup();
  expect(world.jobs).toHaveLength(1);
  // From now on the file says it.
  expect(await refusalOf(world.setup({ account: "other" }))).toBe("account_differs");
  world.platform.accounts = [];
  const none = new World();
  none.platform.accounts = [];
  expect(await refusalOf(none.setup())).toBe("accounts_none");
});

it("needs a workers.dev subdomain, unless the Worker has another address", async () => {
  const world = new World();
  world.platform.subdomain = null;
  expect(await refusalOf(world.setup())).toBe("subdomain_missing");
  await world.setup({ url: WORKER_URL });
  expect(world.jobs).toHaveLength(1);
});
