import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { GROUPS } from "../../../src/web/app.ts";
import { ADMIN_TOKEN } from "../../support/constants.ts";
import { destinationConf } from "../../support/runtime/api.ts";
import {
  type Bucket,
  type CallOptions,
  call,
  errorsOf,
  expectNothingStored,
  filled,
  freshBucket,
  intake,
  type Job,
  raw,
} from "./harness.ts";

/** Under the first of their names: what another name leads to is the same. */
const BASES = GROUPS.flatMap(({ names: [name = ""], resources }) =>
  Object.entries(resources).map(([path, methods]) => ({ path: name + filled(path), methods })),
);

/** Methods that may have a body. */
const CHANGES = BASES.flatMap(({ path, methods }) =>
  Object.keys(methods).flatMap((method) => (method === "GET" ? [] : [{ method, path }])),
);

const SECRET = "SeCrEtOfACustomer";
const DEPTH = 100_000;
const nested = (open: string, close: string, depth = DEPTH): string => `${open.repeat(depth)}1${close.repeat(depth)}`;

/** Keys of bodies, known and unknown. */
const KEYS = ["id", "name", "destination_conf", "filter", "output_options", "logpush", "email", "role", "permissions"];
const everyKey = (value: string): string => `{${KEYS.map((key) => `"${key}":${value}`).join(",")}}`;

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);
const gzipped = (body: string | Uint8Array): Uint8Array => new Uint8Array(gzipSync(body));
const GZIP = { "content-encoding": "gzip" };

/** Values that are wrong for every key. */
const HOSTILE: [what: string, body: string | Uint8Array, headers?: Record<string, string>][] = [
  ["nothing", ""],
  ["lists, a hundred thousand deep", nested("[", "]")],
  ["objects, tens of thousands deep", nested('{"a":', "}", 40_000)],
  ["every value nested ten thousand deep", everyKey(nested("[", "]", 10_000))],
  ["a prototype", `{"__proto__":{"polluted":"${SECRET}","enabled":true},"constructor":{"prototype":{"polluted":1}}}`],
  ["a prototype in every value", everyKey('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}')],
  ["numbers beyond all bounds", everyKey("1e999")],
  ["whole numbers of a thousand digits", everyKey("9".repeat(1_000))],
  ["NUL in every text and key", `{"\\u0000":1,${everyKey('{"\\u0000":"\\u0000"}').slice(1)}`],
  ["NUL itself", bytes(0x7b, 0, 0x7d)],
  ["half of a surrogate pair for a key", '{"\\ud800":1}'],
  ["bytes that are no UTF-8", bytes(0x7b, 0x22, 0xc3, 0x28, 0x22, 0x3a, 0x31, 0x7d)],
  ["UTF-16", bytes(0xff, 0xfe, 0x7b, 0, 0x7d, 0)],
  ["ten thousand unknown keys", `{${Array.from({ length: 10_000 }, (_, i) => `"key${i}":${i}`).join(",")}}`],
  ["gzip that was packed twice", gzipped(gzipped("{}")), GZIP],
  ["gzip that breaks off", gzipped("{}").slice(0, -4), GZIP],
  ["gzip with something behind it", Uint8Array.of(...gzipped("{}"), 0x78), GZIP],
  ["gzip that nobody was told of", gzipped("{}")],
  ["text that calls itself gzip", "{}", GZIP],
  ["a bomb", gzipped(new Uint8Array(20_000_000)), GZIP],
  ["a form", `destination_conf=${SECRET}`, { "content-type": "application/x-www-form-urlencoded" }],
  ["several parts that are none", SECRET, { "content-type": "multipart/form-data; boundary=x" }],
  ["XML", `<job>${SECRET}</job>`, { "content-type": "application/xml" }],
];

/** Configured to run functions locally, so that uploads are read. */
function settingsOf({ settings }: CallOptions): NonNullable<CallOptions["settings"]> {
  return { ...settings, LOCAL_FUNCTIONS: "http://localhost:8788" };
}

/** Sends it to every route, with a queue that must stay empty. */
async function everywhere(body: unknown, headers: Record<string, string> = {}): Promise<void> {
  const { options, queue } = intake();
  for (const { method, path } of CHANGES) {
    const sent: CallOptions = { settings: settingsOf(options), headers };
    const answer = await call(method, path, typeof body === "function" ? body() : body, sent);
    const text = JSON.stringify(answer.body);
    expect([`${method} ${path}`, answer.status, text.length < 100_000]).toEqual([
      `${method} ${path}`,
      expect.toSatisfy((status: number) => status >= 400 && status < 500),
      true,
    ]);
    expect(text).not.toContain(SECRET);
    for (const { message } of answer.body.errors) expect(message.length).toBeLessThan(500);
  }
  expect(queue.calls).toEqual([]);
}

async function expectNothingThere(): Promise<void> {
  for (const path of ["/logship/jobs", "/functions/scripts", "/tokens", "/members", "/logship/audit"])
    expect([path, (await call("GET", path)).body.result]).toEqual([path, []]);
  expect(Reflect.get({}, "polluted")).toBeUndefined();
}

describe("a hostile body", () => {
  it.each(HOSTILE)("is refused by every route, and leaves nothing: %s", async (_what, body, headers) => {
    await everywhere(body, headers);
    await expectNothingThere();
  });

  const ZEROS = 262_144;
  /** The body, and how much of it was read. */
  function blanks(bytes: number): { body: ReadableStream; seen: { pulled: number } } {
    const seen = { pulled: 0 };
    const body = new ReadableStream({
      pull(controller) {
        if (seen.pulled >= bytes) return controller.close();
        seen.pulled += ZEROS;
        controller.enqueue(new Uint8Array(ZEROS).fill(0x20));
      },
    });
    return { body, seen };
  }

  it.each([
    ["that says how large it is", { "content-length": "20000000" }],
    ["that does not", {}],
  ])("of 20 MB %s is refused by every route, and heard to its end all the same", async (_what, headers) => {
    const { options } = intake();
    for (const { method, path } of CHANGES) {
      const { body, seen } = blanks(20_000_000);
      const answer = await call(method, path, body, { settings: settingsOf(options), headers });
      expect([method, path, answer.status]).toEqual([method, path, expect.toBeOneOf([404, 413, 415])]);
      expect(seen.pulled).toBeGreaterThanOrEqual(20_000_000);
    }
    await expectNothingThere();
  });

  it("without an end is heard for a while, whoever sends it and whether or not it is read, and then refused", async () => {
    const { options } = intake();
    const some = CHANGES.filter(({ path }) => /^\/logship\/(jobs|.*\/(flush|events))$/.test(path));
    expect(some.length).toBe(3);
    for (const { method, path } of [...some, { method: "POST", path: "/nowhere" }]) {
      for (const authorization of [`Bearer ${ADMIN_TOKEN}`, "Bearer nobody"]) {
        const { body, seen } = blanks(Number.POSITIVE_INFINITY);
        const answer = await call(method, path, body, { settings: settingsOf(options), headers: { authorization } });
        expect([method, path, answer.status]).toEqual([method, path, expect.toBeOneOf([401, 404, 413, 415])]);
        expect(seen.pulled).toBeLessThanOrEqual(52_000_000);
      }
    }
    await expectNothingThere();
  });
});

describe("a job's body", () => {
  const bucketOf = (): { bucket: Bucket; conf: string } => {
    const bucket = freshBucket();
    return { bucket, conf: JSON.stringify(destinationConf(bucket.name)) };
  };

  it("that has a key twice means the last one, for the job as for the audit", async () => {
    const { bucket, conf } = bucketOf();
    const other = freshBucket();
    const first = JSON.stringify(destinationConf(other.name));
    const text = `{"destination_conf":${first},"enabled":true,"name":"a","destination_conf":${conf},"name":"b","enabled":false}`;
    const { status, body } = await call<Job>("POST", "/logship/jobs", text);
    expect([status, body.result]).toMatchObject([
      201,
      { name: "b", enabled: false, destination_conf: JSON.parse(conf) },
    ]);
    expect(await other.control.requests()).toEqual([]);
    expect((await bucket.control.requests()).length).toBe(1);
    const audit = await call<{ body: object }[]>("GET", "/logship/audit");
    expect(audit.body.result[0]?.body).toMatchObject({ name: "b", enabled: false });
  });

  it("may have anything in what is only read, however deep, and it is nowhere afterwards", async () => {
    const { conf } = bucketOf();
    const deep = nested("[", "]", 50_000);
    const text = `{"destination_conf":${conf},"id":${deep},"time_created":{"__proto__":{"x":"${SECRET}"}}}`;
    const answer = await call<Job>("POST", "/logship/jobs", text);
    expect([answer.status, answer.body.result]).toMatchObject([201, { id: 1 }]);
    expect(JSON.stringify(answer.body).length).toBeLessThan(2_000);
    expect((await call("PUT", "/logship/jobs/1", `{"id":${deep},"name":"x"}`)).status).toBe(200);
    const audit = await call("GET", "/logship/audit");
    expect([audit.status, JSON.stringify(audit.body).length < 10_000]).toEqual([200, true]);
  });

  it("may not have a number that is none or is too large, and one that becomes 0 is 0", async () => {
    const { bucket, conf } = bucketOf();
    for (const number of ["1e999", "-1e999", "9007199254740993", "30.5"])
      for (const field of ["max_upload_bytes", "max_upload_records", "max_upload_interval_seconds"]) {
        const answer = await call("POST", "/logship/jobs", `{"destination_conf":${conf},"${field}":${number}}`);
        const faults = new Set(errorsOf(answer).map(([code, pointer]) => `${code} ${pointer}`));
        expect([number, answer.status, faults]).toEqual([number, 400, new Set([`1001 /${field}`])]);
      }
    await expectNothingStored(bucket);
    const { body } = await call<Job>(
      "POST",
      "/logship/jobs",
      `{"destination_conf":${conf},"max_upload_bytes":-1e-999}`,
    );
    expect(body.result).toMatchObject({ max_upload_bytes: 0 });
  });

  it("may have NUL in its name, which comes back, and nowhere in its destination", async () => {
    const { bucket, conf } = bucketOf();
    const place = JSON.parse(conf) as string;
    for (const wrong of [
      place.replace("logs", "lo\0gs"),
      place.replace("s3:", "s3\0:"),
      place.replace("auto", "au%00to"),
    ])
      expect((await call("POST", "/logship/jobs", { destination_conf: wrong })).status).toBe(400);
    await expectNothingStored(bucket);
    const name = "a\0b\u{10ffff}\u202e";
    expect((await call<Job>("POST", "/logship/jobs", { destination_conf: place, name })).body.result).toMatchObject({
      name,
    });
    expect((await call<Job>("GET", "/logship/jobs/1")).body.result).toMatchObject({ name });
  });
});

describe("a hostile request without a body", () => {
  const NOBODY = { authorization: null };

  it("from another origin gets no leave to be read, by any method, of any route", async () => {
    // A locally running function's page, a foreign page, a sandboxed page, and another port.
    const origins = ["http://shop.localhost:8788", "https://evil.example", "null", "http://localhost:3000"];
    const sealed = ({ headers }: Response): boolean =>
      ![...headers.keys()].some((name) => /^(access-control-.*|timing-allow-origin|set-cookie)$/.test(name));
    for (const [n, { path, methods }] of [...BASES, { path: "/nowhere", methods: {} }].entries()) {
      const preflight = {
        ...{ origin: origins[n % 4] ?? "", "access-control-request-method": "DELETE" },
        ...{ "access-control-request-headers": "authorization", "access-control-request-private-network": "true" },
      };
      const known = Object.keys(methods);
      const [allowed, stranger] = [
        await raw(path, preflight, "OPTIONS"),
        await raw(path, { ...preflight, ...NOBODY }, "OPTIONS"),
      ];
      expect([path, allowed.status, stranger.status]).toEqual([path, ...(known.length > 0 ? [405, 401] : [404, 404])]);
      expect(allowed.headers.get("allow")).toBe(known.join(", ").replace("GET", "GET, HEAD") || null);
      const answers = [allowed, stranger];
      for (const method of known) answers.push(await raw(path, preflight, method));
      expect([path, answers.every(sealed)]).toEqual([path, true]);
    }
  });

  it("by a cookie gains nothing", async () => {
    const cookie = `Authorization=Bearer ${ADMIN_TOKEN}; token=${ADMIN_TOKEN}`;
    for (const { path } of BASES)
      for (const method of ["GET", "POST"])
        expect([path, (await raw(path, { ...NOBODY, cookie, origin: "http://logship.test" }, method)).status]).toEqual([
          path,
          401,
        ]);
  });

  it("by HEAD is answered as by GET, without a body, and refused as 405 where there is no GET", async () => {
    for (const { path, methods } of BASES) {
      const [head, get] = [await raw(path, {}, "HEAD"), await raw(path)];
      expect([path, head.status, await head.text()]).toEqual([path, "GET" in methods ? get.status : 405, ""]);
      expect((await raw(path, NOBODY, "HEAD")).status).toBe(401);
    }
  });

  it("that asks for another method in a header or in the query is what its method says", async () => {
    const bucket = freshBucket();
    await call("POST", "/logship/jobs", { destination_conf: destinationConf(bucket.name), name: "there" });
    for (const header of ["x-http-method-override", "x-http-method", "x-method-override"]) {
      const answer = await raw("/logship/jobs/1?_method=DELETE", { [header]: "DELETE" });
      expect(await answer.json()).toMatchObject({ success: true, result: { id: 1, name: "there" } });
    }
    expect((await call<Job[]>("GET", "/logship/jobs")).body.result.length).toBe(1);
  });
});
