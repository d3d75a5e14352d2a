import { env, exports } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { ANSWER_MS } from "../../../src/base/limits.ts";
import { platform } from "../../../src/base/platform.ts";
import { readConfig } from "../../../src/config.ts";
import { GROUPS } from "../../../src/web/app.ts";
import { ADMIN_TOKEN } from "../../support/constants.ts";
import { api, destinationConf } from "../../support/runtime/api.ts";
import {
  call,
  errorsOf,
  expectNothingStored,
  expectRefused,
  filled,
  freshBucket,
  intake,
  listJobs,
  type Settings,
  send,
} from "./harness.ts";

/** Every method of every route under both of its names, with path parameters filled in. */
const ROUTES = GROUPS.flatMap(({ names: [ours, vendors = ours], resources }) =>
  Object.entries(resources).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, route]) => ({
      method,
      path: ours + filled(path),
      vendors: vendors + filled(path.replace(":dataset", "workers_trace_events")),
      permission: route.permission,
    })),
  ),
);
const FORMS = ": send Authorization: Bearer <token>, or X-Auth-Email with X-Auth-Key";
const CREATE = { destination_conf: "s3://x" };

describe("credentials", () => {
  const wrong: [what: string, authorization: string | null][] = [
    ["none", null],
    ["an empty header", ""],
    ["another token", "Bearer another-token-of-the-tests"],
    ["half of the token", `Bearer ${ADMIN_TOKEN.slice(0, -1)}`],
    ["more than the token", `Bearer ${ADMIN_TOKEN}x`],
    ["the token in capitals", `Bearer ${ADMIN_TOKEN.toUpperCase()}`],
    ["no token", "Bearer "],
    ["two tokens", `Bearer ${ADMIN_TOKEN} ${ADMIN_TOKEN}`],
    ["the token alone", ADMIN_TOKEN],
    ["another scheme", `Basic ${btoa(`admin:${ADMIN_TOKEN}`)}`],
    ["the token as a name", `Token ${ADMIN_TOKEN}`],
  ];

  it.each(wrong)("that are not known are refused, and nothing is stored: %s", async (_what, authorization) => {
    const bucket = freshBucket();
    const answer = await call(
      "POST",
      "/logship/jobs",
      { destination_conf: destinationConf(bucket.name) },
      { headers: { authorization } },
    );
    expectRefused(answer, 401, [
      10000,
      undefined,
      `Authentication error${/^Bearer \S+$/.test(authorization ?? "") ? "" : FORMS}`,
    ]);
    expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    expect(await bucket.control.requests()).toEqual([]);
    await expectNothingStored(bucket);
  });

  it.each([`Bearer ${ADMIN_TOKEN}`, `bearer ${ADMIN_TOKEN}`, `BEARER  ${ADMIN_TOKEN} `])(
    "that are known are accepted: %s",
    async (authorization) => {
      expect((await call("GET", "/logship/jobs", undefined, { headers: { authorization } })).status).toBe(200);
    },
  );

  it("are not taken from the address", async () => {
    const path = `/logship/jobs?token=${ADMIN_TOKEN}&access_token=${ADMIN_TOKEN}`;
    expect((await call("GET", path, undefined, { headers: { authorization: null } })).status).toBe(401);
  });

  it("of the admin open every route, without anybody being asked", async () => {
    const ACCESS = { getByName: () => expect.unreachable() };
    for (const { method, path } of ROUTES.filter((route) => route.permission !== "access:edit")) {
      const { options } = intake();
      const body = method === "GET" ? undefined : { event: null };
      const answer = await call(method, path, body, { ...options, settings: { ...options.settings, ACCESS } });
      expect([path, [401, 403, 503].includes(answer.status)]).toEqual([path, false]);
    }
  });
});

describe("paths", () => {
  const unknown = [
    "/client/v4",
    "/client/v4/accounts/test-account",
    "/client/v4/accounts/test-account/logship/nothing",
    "/client/v4/accounts/test-account/logs/jobs",
    "/client/v4/accounts//logship/jobs",
    "/client/v4/accounts/test-account/logship/jobs/1/nothing",
    "/client/v4/accounts/test-account/LOGSHIP/jobs",
    "/client/v4/accounts/test-account/functions/scripts/",
    "/client/v4/accounts/test-account/functions/scripts/shop/nothing",
    "/client/v4/accounts/test-account/functions/scripts/shop/script-settings/nothing",
  ];

  it.each(unknown)("that are no route are 404, 7003: %s", async (path) => {
    for (const method of ["GET", "POST", "DELETE"]) {
      const answer = await send(`http://logship.test${path}`, { method });
      expectRefused(answer, 404, [7003, undefined, "no such route; /docs lists the routes"]);
    }
  });

  it.each(["another-account", "TEST-ACCOUNT", "test-account2", "test-accoun", "%20test-account", "test-account%2F.."])(
    "of another account are 404, 7003: %s",
    async (account) => {
      const bucket = freshBucket();
      const answer = await call(
        "POST",
        "/logship/jobs",
        { destination_conf: destinationConf(bucket.name) },
        { account },
      );
      expectRefused(answer, 404, [7003, undefined, "no such account"]);
      await expectNothingStored(bucket);
    },
  );

  it.each(["functions_trace_event", "FUNCTIONS_TRACE_EVENTS", "%20"])(
    "of another dataset are 404, 7003: %s",
    async (dataset) => {
      const { queue, options } = intake();
      for (const path of ["jobs", "events", "fields", "fields/default"]) {
        const [method, body] = path === "events" ? ["POST", { event: null }] : ["GET", undefined];
        const answer = await call(method, `/logship/datasets/${dataset}/${path}`, body, options);
        expectRefused(answer, 404, [7003, undefined, "no such dataset"]);
      }
      expect(queue.calls).toEqual([]);
    },
  );

  it.each(ROUTES.filter(({ path, vendors }) => path !== vendors))(
    "are known by the vendor's name as well: $method $path",
    async ({ method, path, vendors }) => {
      const { options } = intake();
      const body = method === "GET" || method === "DELETE" ? undefined : { event: null };
      // Some answers include the current time.
      vi.spyOn(platform, "now").mockReturnValue(Date.now());
      const [ours, theirs] = [await call(method, path, body, options), await call(method, vendors, body, options)];
      expect(theirs.body.errors.map(({ message }) => message)).not.toContainEqual(
        expect.stringMatching("no such route"),
      );
      expect([theirs.status, theirs.body]).toEqual([ours.status, ours.body]);
    },
  );
});

describe("methods", () => {
  const LOGS = ["/logship", "/logpush"];
  const SCRIPTS = ["/functions/scripts", "/workers/scripts"];
  const allowed: [path: string, allow: string[], bases: string[]][] = [
    ["/jobs", ["GET", "POST"], LOGS],
    ["/jobs/1/flush", ["POST"], LOGS],
    ["/members/1", ["PUT", "DELETE"], [""]],
    ["/shop", ["GET", "DELETE", "PUT"], SCRIPTS],
    ["/shop/script-settings", ["GET", "PATCH"], SCRIPTS],
  ];

  it.each(allowed)("that a route does not take are 405, 7001, with those it takes: %s", async (path, allow, bases) => {
    for (const base of bases) {
      for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].filter(
        (each) => !allow.includes(each),
      )) {
        const answer = await call(method, base + path);
        expect([method, answer.status, answer.body.errors[0]?.code]).toEqual([method, 405, 7001]);
        const withHead = allow.flatMap((each) => (each === "GET" ? ["GET", "HEAD"] : [each]));
        expect(answer.headers.get("allow")?.split(", ")).toEqual(withHead);
        // No one else is told.
        const stranger = await call(method, base + path, undefined, { headers: { authorization: null } });
        expect([stranger.status, stranger.headers.get("allow")]).toEqual([401, null]);
        const elsewhere = await call(method, base + path, undefined, { account: "another" });
        expect([elsewhere.status, elsewhere.headers.get("allow")]).toEqual([404, null]);
      }
    }
  });

  it("include HEAD wherever there is GET", async () => {
    const response = await exports.default.fetch("http://logship.test/client/v4/accounts/test-account/logship/jobs", {
      method: "HEAD",
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    });
    expect([response.status, await response.text()]).toEqual([200, ""]);
  });
});

describe("a misconfigured deployment", () => {
  const SIGNING = btoa("\x01".repeat(32));
  const faults: [name: string, values: unknown[], should: RegExp][] = [
    ["ACCOUNT_ID", [undefined, "", "a b", "ä", "a".repeat(65)], /1 to 64 letters, digits, dashes or underscores/],
    [
      "ADMIN_TOKEN",
      [undefined, "", "too-short", `with space ${"x".repeat(20)}`, "x".repeat(513)],
      /a secret of 16 to 512 printable ASCII characters/,
    ],
    [
      "SECRETS_KEY",
      [
        undefined,
        "",
        "not base64 of anything like a key",
        btoa("x".repeat(31)),
        btoa("x".repeat(33)),
        `${"A".repeat(43)}`,
        "A".repeat(44),
        "A".repeat(88),
      ],
      /base64 of 32 random bytes/,
    ],
    ["SECRETS_KEY_PREVIOUS", ["x", "A".repeat(44)], /base64 of 32 random bytes, or absent/],
    ["ALLOW_LOOPBACK_DESTINATIONS", ["yes", "TRUE", "1"], /"true", "false" or absent/],
    ["REQUIRE_OWNERSHIP_CHALLENGE", ["yes", "TRUE", "0"], /"true", "false" or absent/],
    ["PREVIEW_RECENT", ["no"], /"true", "false" or absent/],
    [
      "EXTRA_FIELDS",
      ["source", "Source,", "Source;Logs", "Outcome", "true", 7, ["Source"]],
      /names out of Source, Req/,
    ],
    [
      "UPSTREAM_API",
      [
        ...["api.platform.test", "http://api.platform.test", "https://10.0.0.1/", "https://a:b@api.platform.test/"],
        "https://api.platform.test/?a=b",
      ],
      /the base URL of Cloudflare's API, https:\/\/…\/client\/v4, or absent: UPSTREAM_API must /,
    ],
    [
      "UPSTREAM_TOKEN",
      [
        ...[ADMIN_TOKEN, `x${ADMIN_TOKEN.toUpperCase()}`, `logship_token_${"A".repeat(43)}`, "short", "x".repeat(513)],
        ...["with a blank in the middle", "Bearer-with-an-umlaut-ä", "line\nbreak-0123456789abc"],
      ],
      /a bearer token of Cloudflare, 16 to 512 printable ASCII characters, none of this service's own; or absent/,
    ],
    ["SIGNING_KEY", ["short", `${SIGNING}=`], /base64 of 32 random bytes, or absent/],
    [
      "SIGNING_KEYS_PREVIOUS",
      [SIGNING, "MCowBQYDK2VwAyEA"],
      /public keys as \/\.well-known\/logship-keys\.json has them/,
    ],
    ["DESTINATION_BINDINGS", ["a b", "TRACES,", "1X", 7, ["TRACES"]], /names of bindings/],
    ["LOG_KEEP_HOURS", ["a day", "337", "1.5", "-1", 337], /whole hours from 0 to 336, or absent/],
    ["SUBREQUESTS_MAX", ["many", "999", "10000001", "1e4", "-5", 0], /an integer from 1000 to 10000000, or absent/],
    [
      "OBJECT_STORED_MAX_BYTES",
      ["4999999", "1000000001", "95 MB", "1e8", "-1", "95000000.5", "0x5f5e100"],
      /a whole number of bytes from 5000000 to 1000000000, or absent/,
    ],
    [
      "OBJSTORE_ENDPOINT",
      ["http://store.example", "https://user:pass@store.example", "not a host", "https://store.example?x=1"],
      /an https:\/\/ URL, which may contain \{account-id\}/,
    ],
    [
      "LOCAL_FUNCTIONS",
      [
        "localhost:8788",
        "https://localhost:8788",
        "http://127.0.0.1:8788",
        "http://localhost.example",
        "http://localhost:1/x",
      ],
      /http:\/\/localhost:<port>, or absent/,
    ],
  ];
  const cases = faults.flatMap(([name, values, should]) => values.map((value) => ({ name, value, should })));

  it.each(cases)("says what $name should be instead of $value", ({ name, value, should }) => {
    // Without loopback, a loopback endpoint is also a fault.
    const read = readConfig({ ...env, OBJSTORE_ENDPOINT: "https://{account-id}.store.example", [name]: value });
    const fault = expect.stringMatching(new RegExp(`^${name}: .*${should.source}`));
    expect(read).toEqual({ ok: false, faults: [fault] });
    // The value may be a misplaced secret.
    if (typeof value === "string" && value.length > 8) expect(JSON.stringify(read)).not.toContain(value);
  });

  it("names every fault at once, and stores nothing", async () => {
    const bucket = freshBucket();
    const settings: Settings = Object.fromEntries(faults.map(([name, values]) => [name, values.at(-1)]));
    const body = { destination_conf: destinationConf(bucket.name) };
    const answer = await call("POST", "/logship/jobs", body, { settings });
    expect(answer.status).toBe(503);
    const named = errorsOf(answer).map(([code, , message]) => `${code} ${message.split(":", 2).join(":")}`);
    expect(named.sort()).toEqual(faults.map(([name]) => `1053 configuration: ${name}`).sort());
    await expectNothingStored(bucket);
  });

  it.each(["true", "false", "", undefined])("is not one whose ALLOW_LOOPBACK_DESTINATIONS is %j", (value) => {
    const settings = { ALLOW_LOOPBACK_DESTINATIONS: value, OBJSTORE_ENDPOINT: "https://{account-id}.store.example" };
    expect(readConfig({ ...env, ...settings })).toMatchObject({ ok: true });
  });

  const harmless = faults.filter(([name]) => name !== "ADMIN_TOKEN");
  it.each(harmless)(
    "takes events all the same, as long as it knows who is calling: a malformed %s",
    async (name, [value]) => {
      const { queue, options } = intake();
      const settings = { ...options.settings, [name]: value };
      const answer = await call(
        "POST",
        "/logship/datasets/functions_trace_events/events",
        { event: null },
        { ...options, settings },
      );
      expect([answer.status, queue.taken().length]).toEqual([202, 1]);
    },
  );
});

describe("a part of the platform that fails", () => {
  const failing = (error: () => Promise<never>) => ({
    getByName: () => new Proxy({}, { get: (_stub, name) => (name === "then" ? undefined : error) }),
  });
  const secret = () => Promise.reject(new Error(`no answer for ${ADMIN_TOKEN} at src/secret.ts:5`));

  it.each([
    ["GET", "/logship/jobs", "CONTROL", undefined],
    ["POST", "/logship/jobs", "CONTROL", CREATE],
    ["PUT", "/logship/jobs/1", "CONTROL", {}],
    ["DELETE", "/logship/jobs/1", "CONTROL", undefined],
    ["GET", "/logship/ledger", "TRACE_LOG", undefined],
    ["GET", "/functions/scripts", "CONTROL", undefined],
    ["GET", "/functions/scripts", "TRACE_LOG", undefined],
    ["PATCH", "/functions/scripts/shop/script-settings", "CONTROL", { logship: false }],
    ["DELETE", "/functions/scripts/shop", "TRACE_LOG", undefined],
  ])(
    "makes %s %s a 503 that may be repeated, and shows nothing of the failure",
    async (method, path, binding, body) => {
      const logged = vi.spyOn(console, "error").mockImplementation(() => {});
      const valid = body === CREATE ? { destination_conf: destinationConf(freshBucket().name) } : body;
      const answer = await call(method, path, valid, { settings: { [binding]: failing(secret) } });
      expectRefused(answer, 503, [1053, undefined, "temporarily unavailable; repeat the request"]);
      expect(logged).toHaveBeenCalled();
    },
  );

  it("does not keep a caller waiting for ever", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const CONTROL = { getByName: () => ({ get: () => new Promise(() => {}) }) };
    const answering = call("GET", "/logship/jobs/1", undefined, { settings: { CONTROL } });
    await vi.advanceTimersByTimeAsync(ANSWER_MS);
    vi.useRealTimers();
    const answer = await answering;
    expect(answer.status).toBe(503);
    expect(errorsOf(answer)).toEqual([[1053, undefined, "a part of the service does not answer; repeat the request"]]);
  });

  it("does not hide a job whose log does not answer: it is shown, and says so", async () => {
    vi.spyOn(console, "warn").mockImplementation(() => {});
    await api("POST", "/logship/jobs", { destination_conf: destinationConf(freshBucket().name) });
    const settings = { READERS: failing(secret) };
    for (const path of ["/logship/jobs/1", "/logship/jobs"]) {
      const answer = await call<unknown>("GET", path, undefined, { settings });
      expect(answer.status).toBe(200);
      expect([answer.body.result].flat()).toMatchObject([
        { id: 1, error_message: "the job's log does not answer", last_error: null },
      ]);
    }
    expect((await listJobs())[0]).toMatchObject({ error_message: null });
  });
});
