/**
 * Malformed and oversized requests over real sockets to a real `wrangler dev`. It answers with an
 * error, stores nothing, leaks nothing, and keeps running.
 */
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { localDestination } from "../../tools/client/bucket.ts";
import { until } from "../../tools/until.ts";
import { rule } from "../support/s3-script.ts";
import { HostileStore } from "./hostile-store.ts";
import { runtimeMemoryMb } from "./processes.ts";
import { ask, type RawAnswer, type RawRequest, sendBytes } from "./raw-http.ts";
import { IsolatedShipper, jobInto, pathOf, RECEIVED_WITHIN_MS, randomSecretsKey } from "./shipper.ts";

const canSeeProcesses = process.platform === "linux";
const SECRETS_KEY = randomSecretsKey();
const OF_ANOTHER = { access_key_id: "DEST-X-KEY-ID", secret_access_key: "SeCrEtOfDestX" };
const OF_THE_STORE = "SeCrEtOfTheStore";
const OF_THE_CUSTOMER = "SeCrEtOfTheCustomer";

const ACCOUNT_PATH = "/client/v4/accounts/{account_id}";
/** The part of an operation's description that the tests read. */
interface Described {
  requestBody?: { content: { [mediaType: string]: unknown } };
}
const EVENTS = "/logship/datasets/functions_trace_events/events";

const LARGE = Buffer.alloc(20_000_000, " ");
const BOMB = gzipSync(Buffer.alloc(100_000_000, " "));
const DEEP = `${"[".repeat(100_000)}1${"]".repeat(100_000)}`;

let shipper: IsolatedShipper;
let store: HostileStore;
/** A server that must receive no request. */
let elsewhere: Server;
const arrived: string[] = [];

beforeAll(async () => {
  elsewhere = createServer((request, response) => {
    arrived.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`);
    response.end();
  });
  elsewhere.on("connection", () => arrived.push("a connection"));
  await new Promise<void>((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
  store = await HostileStore.start();
  const host = new URL(store.server.url).host.replace(/\d+$/, "1");
  shipper = await IsolatedShipper.start({
    // An address for functions, so that uploads are validated; nothing listens there.
    settings: { SECRETS_KEY, LOCAL_FUNCTIONS: "http://localhost:1", DEST_X: JSON.stringify({ host, ...OF_ANOTHER }) },
    queueWaitS: 1,
  });
});
afterAll(async () => {
  await shipper[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
  elsewhere.close();
});

const elsewhereUrl = (): string => `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;

/** A request to the account as the admin, with a JSON body by default. */
async function call(path: string, { headers = {}, ...request }: RawRequest = {}): Promise<RawAnswer> {
  const answer = await ask(`${shipper.url}/client/v4/accounts/local${path}`, {
    ...request,
    headers: { authorization: `Bearer ${shipper.token}`, "content-type": "application/json", ...headers },
  });
  expectSilence(answer.text);
  return answer;
}

/**
 * Every operation that may have a body, from the service's own description, with its media type.
 */
async function changes(): Promise<{ method: string; path: string; type: string }[]> {
  const { text } = await ask(`${shipper.url}/openapi.json`);
  const { paths } = JSON.parse(text) as { paths: { [path: string]: { [method: string]: Described } } };
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([method]) => method !== "get")
      .map(([method, { requestBody }]) => ({
        method: method.toUpperCase(),
        path: path
          .slice(ACCOUNT_PATH.length)
          .replace("{dataset}", "functions_trace_events")
          .replaceAll(/\{\w+\}/g, "7"),
        type: Object.keys(requestBody?.content ?? {})[0] ?? "application/json",
      })),
  );
}

/** No secret, no stack trace and no path of the machine. */
function expectSilence(text: string): void {
  for (const secret of [shipper.token, SECRETS_KEY, "local-secret-key", "SeCrEtOf", OF_ANOTHER.access_key_id])
    expect(text).not.toContain(secret);
  expect(text).not.toMatch(/\bat \S+ \(|\.ts:\d+|node_modules|\/(?:tmp|home|root|work|Users)\//);
}

const codesOf = ({ text }: RawAnswer): number[] =>
  (JSON.parse(text) as { errors: { code: number }[] }).errors.map(({ code }) => code);

/** The service answers, and no request has changed anything. */
async function expectUntouched(): Promise<void> {
  for (const path of ["/logship/jobs", "/tokens", "/members", "/functions/scripts", "/logship/audit"])
    expect([path, JSON.parse((await call(path)).text)]).toMatchObject([path, { success: true, result: [] }]);
  expect(await shipper.bucket.list("")).toEqual([]);
  expect(await shipper.api.accountLedger()).toMatchObject({ processed: 0 });
  expect(arrived).toEqual([]);
}

describe("a body", () => {
  afterEach(expectUntouched);

  it("of 20 MB is refused by every route, whether or not it says how large it is", async () => {
    const routes = await changes();
    expect(routes).toContainEqual({ method: "PUT", path: "/functions/scripts/7", type: "multipart/form-data" });
    for (const [n, { method, path, type }] of routes.entries()) {
      const headers = { "content-type": type.startsWith("multipart/") ? `${type}; boundary=x` : type };
      const request = { method, headers, body: LARGE, chunked: n % 2 === 1 };
      // The service reads an unwanted body for two seconds. On a busy machine that may not be all
      // of it, and then the client loses the answer.
      let { status } = await call(path, request);
      for (let again = 0; status === null && again < 3; again++) ({ status } = await call(path, request));
      expect([method, path, status]).toEqual([method, path, expect.toBeOneOf([404, 413])]);
    }
  });

  it("that nobody reads costs neither its own answer nor that to the next request", async () => {
    const unread: [path: string, headers: Record<string, string>, status: number][] = [
      ["/logship/jobs", { authorization: "Bearer x" }, 401],
      [EVENTS, { "content-type": "text/plain" }, 415],
      ["/logship/datasets/http_requests/events", {}, 404],
      ["/nowhere", {}, 404],
      ["/logship/ledger", {}, 405],
    ];
    for (const size of [3, 70_000, 2_000_000]) {
      for (const [path, headers, status] of unread) {
        const answers: unknown[] = [];
        for (let n = 0; n < 6; n++)
          answers.push((await call(path, { method: "POST", body: LARGE.subarray(0, size), headers })).status);
        expect([size, path, answers]).toEqual([size, path, new Array(6).fill(status)]);
      }
    }
  });

  const hostile: [what: string, request: () => RawRequest, status: number, code: number][] = [
    ["that is nested a hundred thousand deep", () => ({ body: DEEP }), 400, 1001],
    ["that has such a filter", () => ({ body: JSON.stringify({ destination_conf: "x", filter: DEEP }) }), 400, 1001],
    ["that is a bomb", () => ({ body: BOMB, headers: { "content-encoding": "gzip" } }), 413, 1013],
    [
      "that was packed twice",
      () => ({ body: gzipSync(gzipSync("[]")), headers: { "content-encoding": "gzip" } }),
      400,
      1001,
    ],
    [
      "that breaks off",
      () => ({ body: gzipSync("[]").subarray(0, -5), headers: { "content-encoding": "gzip" } }),
      400,
      1001,
    ],
    [
      "that has more behind its end",
      () => ({ body: Buffer.concat([gzipSync("[]"), gzipSync("[]")]), headers: { "content-encoding": "gzip" } }),
      400,
      1001,
    ],
    ["in two encodings", () => ({ body: gzipSync("[]"), headers: { "content-encoding": "gzip, gzip" } }), 415, 1015],
    ["that is no UTF-8", () => ({ body: Uint8Array.of(0x5b, 0x22, 0xff, 0x22, 0x5d) }), 400, 1001],
    [
      "that is a form",
      () => ({ body: "a=b", headers: { "content-type": "application/x-www-form-urlencoded" } }),
      400,
      1001,
    ],
    [
      "that is a form of parts",
      () => ({ body: "--x--", headers: { "content-type": "multipart/form-data; boundary=x" } }),
      415,
      1015,
    ],
  ];
  it.each(hostile)("%s is refused in plain words, as events and as a job", async (_what, request, status, code) => {
    for (const path of [EVENTS, "/logship/jobs"]) {
      const answer = await call(path, { method: "POST", ...request() });
      expect([path, answer.status, new Set(codesOf(answer))]).toEqual([path, status, new Set([code])]);
    }
  });

  it("that never ends keeps nobody else waiting, and leaves nothing when it is given up", async () => {
    const head = (path: string, how: string): string =>
      `POST /client/v4/accounts/local${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${shipper.token}\r\n` +
      `content-type: application/json\r\n${how}\r\n\r\n`;
    const open = [EVENTS, "/logship/jobs"].flatMap((path) => [
      sendBytes(shipper.url, `${head(path, "transfer-encoding: chunked")}5\r\n[{"a"\r\n`),
      sendBytes(shipper.url, `${head(path, "content-length: 100000")}[{"a"`),
    ]);
    for (let n = 0; n < 10; n++) expect((await call("/logship/jobs")).status).toBe(200);
    expect(open.map(({ received }) => received())).toEqual(["", "", "", ""]);
    for (const { hangUp } of open) hangUp();
    const broken = sendBytes(shipper.url, `${head("/logship/jobs", "transfer-encoding: chunked")}zz\r\n{}\r\n`);
    expect(await broken.until(/\r\n\r\n/, 5_000)).toMatch(/^HTTP\/1\.1 400 /);
    broken.hangUp();
  });
});

describe("a request", () => {
  afterEach(expectUntouched);

  it("with more parameters, longer headers or a longer address than anybody needs is answered, by whoever minds", async () => {
    const many = Array.from({ length: 10_000 }, (_, n) => `${n.toString(36)}=`).join("&");
    const asked: [path: string, headers: Record<string, string>, status: number][] = [
      [`/logship/jobs?${many}`, {}, 200],
      [`/logship/jobs?${"page=1&".repeat(5_000)}`, {}, 200],
      [`/logship/jobs?per_page=${"1".repeat(50_000)}`, {}, 400],
      [`/logship/jobs/${"1".repeat(50_000)}`, {}, 404],
      [`/logship/jobs/${"a".repeat(1_000_000)}`, {}, 431],
      [`/${"x/".repeat(25_000)}`, {}, 404],
      ["/logship/jobs", { "x-padding": "a".repeat(60_000) }, 200],
      ["/logship/jobs", { "x-padding": "a".repeat(1_000_000) }, 431],
      ["/logship/jobs", { authorization: `Bearer ${"a".repeat(60_000)}` }, 401],
      ["/logship/jobs", { authorization: `Bearer ${"a".repeat(1_000_000)}` }, 431],
    ];
    for (const [path, headers, status] of asked)
      expect([path.slice(0, 40), (await call(path, { headers })).status]).toEqual([path.slice(0, 40), status]);
  });

  it("of any method that a route does not have is refused, and nobody else's page may read an answer", async () => {
    const preflight = { origin: "https://evil.example", "access-control-request-method": "DELETE" };
    for (const [method, status] of [
      ["HEAD", 200],
      ["OPTIONS", 405],
      ["TRACE", 405],
      ["PROPFIND", 405],
      ["PATCH", 405],
    ] as const) {
      const answer = await call("/logship/jobs", { method, headers: { ...preflight, "max-forwards": "0" } });
      expect([method, answer.status]).toEqual([method, status]);
      expect(Object.keys(answer.headers).filter((name) => name.startsWith("access-control-"))).toEqual([]);
      if (status === 405) expect([codesOf(answer), answer.headers.allow]).toEqual([[7001], "GET, HEAD, POST"]);
      const stranger = await call("/logship/jobs", { method, headers: { ...preflight, authorization: "" } });
      expect([method, stranger.status, stranger.headers.allow]).toEqual([method, 401, undefined]);
    }
    for (const line of ["FROB /", "CONNECT evil.example:443", "GET http://evil.example/client/v4/", "GET /\0"]) {
      const sent = sendBytes(shipper.url, `${line} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
      expect([line, await sent.until(/\r\n\r\n/, 5_000)]).toEqual([
        line,
        expect.stringMatching(/^(HTTP\/1\.1 [45]\d\d |$)/),
      ]);
      expectSilence(sent.received());
      sent.hangUp();
    }
  });

  it("with credentials in any form but the two that there are is nobody's", async () => {
    const { token } = shipper;
    const email = "ada@example.com";
    const forms: [headers: Record<string, string>, path: string][] = [
      [{ authorization: token }, ""],
      [{ authorization: `Basic ${Buffer.from(`admin:${token}`).toString("base64")}` }, ""],
      [{ authorization: `Bearer ${token} ${token}` }, ""],
      [{ authorization: `Bearer ${token}, Bearer ${token}` }, ""],
      [{ authorization: `Bearer ${token}`, "x-auth-email": email, "x-auth-key": token }, ""],
      [{ authorization: `Bearer ${token}`, "x-auth-email": email }, ""],
      [{ authorization: "", "x-auth-email": email, "x-auth-key": token }, ""],
      [{ authorization: "", cookie: `token=${token}; authorization=Bearer ${token}` }, ""],
      [{ authorization: "", "x-forwarded-authorization": `Bearer ${token}`, "x-real-ip": "127.0.0.1" }, ""],
    ];
    for (const [headers, query] of forms) {
      const answer = await call(`/logship/jobs${query}`, { headers });
      expect([Object.keys(headers), answer.status, codesOf(answer)]).toEqual([Object.keys(headers), 401, [10000]]);
    }
    expect((await call("/logship/jobs", { headers: { authorization: `bEaReR   ${token} ` } })).status).toBe(200);
  });
});

describe("a destination", () => {
  afterEach(expectUntouched);

  /**
   * The destination is refused when a job is created, and reported as invalid to a validation
   * request.
   */
  async function expectRefused(destination_conf: string, why: RegExp): Promise<void> {
    const created = await call("/logship/jobs", {
      method: "POST",
      body: JSON.stringify({ destination_conf, enabled: true }),
    });
    expect([created.status, codesOf(created), created.text]).toEqual([400, [1004], expect.stringMatching(why)]);
    for (const path of ["/logship/ownership", "/logship/validate/destination"]) {
      const asked = await call(path, { method: "POST", body: JSON.stringify({ destination_conf }) });
      expect(JSON.parse(asked.text)).toMatchObject({ result: { valid: false, message: expect.stringMatching(why) } });
    }
  }

  it.each([301, 302, 303, 307, 308])("that redirects (%i) is not followed: nobody else hears of it", async (status) => {
    const bucket = `redirects-${status}`;
    store.server.script(bucket, [rule({ do: "redirect", status, location: `${elsewhereUrl()}/${bucket}/x` })]);
    await expectRefused(store.destination(bucket), new RegExp(`HTTP ${status} TemporaryRedirect`));
    expect(store.contents(bucket)).toEqual([]);
  });

  it("that answers with secrets of its own, or with a page, has its status passed on and nothing else", async () => {
    const bodies: [body: string, words: RegExp][] = [
      [`<html><script>alert(1)</script>${OF_THE_STORE}</html>`, /HTTP 403(?! )/],
      [`<Error><Code>${"A".repeat(65)}</Code><Message>${OF_THE_STORE}</Message></Error>`, /HTTP 403(?! )/],
      [`<Error><Code>Access-Denied ${OF_THE_STORE}</Code></Error>`, /HTTP 403(?! )/],
      [`<Error><Code>AccessDenied</Code><StringToSign>${OF_THE_STORE}</StringToSign></Error>`, /HTTP 403 AccessDenied/],
    ];
    for (const [body, words] of bodies) {
      store.server.script("chatty", [
        rule({ do: "answer", status: 403, body, headers: { "set-cookie": OF_THE_STORE } }),
      ]);
      await expectRefused(store.destination("chatty"), words);
    }
  });

  it("that leads elsewhere than it says, or takes keys that are not its own, is asked nothing", async () => {
    const place = store.destination("traces");
    const [base = ""] = place.split("?");
    const endpoint = (value: string): string =>
      `${base}?region=auto&access-key-id=k&secret-access-key=${OF_THE_CUSTOMER}&endpoint=${encodeURIComponent(value)}`;
    const url = elsewhereUrl();
    const { port } = new URL(url);
    const local = localDestination("x");
    const confs: [conf: string, why: RegExp][] = [
      [local.replace("account-id=local", "account-id=evil.example/x?"), /account-id must be/],
      [
        local.replace("account-id=local", `account-id=${encodeURIComponent(`127.0.0.1:${port}/`)}`),
        /account-id must be/,
      ],
      [`${local}&endpoint=${encodeURIComponent(url)}`, /unknown parameter/],
      [`${base}?region=auto&endpoint=${encodeURIComponent(url)}&credentials=env:ADMIN_TOKEN`, /must be env:DEST_/],
      [`${base}?region=auto&endpoint=${encodeURIComponent(url)}&credentials=env:SECRETS_KEY`, /must be env:DEST_/],
      [`${base}?region=auto&endpoint=${encodeURIComponent(url)}&credentials=env:DEST_X`, /is for another host/],
      [`${base}?region=auto&endpoint=${encodeURIComponent(url)}&credentials=env:DEST_NONE`, /there is no secret/],
      [endpoint(url.replace("//", "//user:password@")), /user information/],
      [endpoint(`http://${new URL(store.server.url).host}@127.0.0.1:${port}`), /user information/],
      [endpoint(`http://169.254.169.254:${port}`), /must be a public host/],
      [endpoint(`http://[::]:${port}`), /must be a public host/],
      [endpoint(`http://10.0.0.1:${port}`), /must be a public host/],
      [endpoint(`http://127.0.0.1.evil.example:${port}`), /must use https/],
      [endpoint(`${url}\r\nx-amz-acl: public-read`), /must be a host or an https/],
      [endpoint(`${url}?x=`), /must not contain a query/],
      [endpoint(url).replace("region=auto", `region=auto${encodeURIComponent("\r\nx: y")}`), /region must be/],
      [
        endpoint(url).replace("access-key-id=k", `access-key-id=${encodeURIComponent("k\r\nx: y")}`),
        /access-key-id must be/,
      ],
      [endpoint(url).replace("/traces/", "/traces\r\n/"), /the (bucket|path) must/],
      [endpoint(url).replace("/traces/", "/../../"), /must/],
    ];
    for (const [conf, why] of confs) await expectRefused(conf, why);
    expect(store.contents("traces")).toEqual([]);
  });
});

describe("the process", () => {
  it.runIf(canSeeProcesses)(
    "uses no more memory for having been asked for a while what nobody should ask",
    async () => {
      const memory = (): number => runtimeMemoryMb("MINIFLARE_REGISTRY_PATH", shipper.registry);
      const round = async (): Promise<number> => {
        for (let n = 0; n < 2; n++) {
          await call("/logship/jobs", { method: "POST", body: LARGE });
          await call(EVENTS, { method: "POST", body: LARGE, chunked: true });
          await call(EVENTS, { method: "POST", body: BOMB, headers: { "content-encoding": "gzip" } });
          await call("/logship/jobs", { method: "POST", body: DEEP });
          await call(EVENTS, { method: "POST", body: `[${`${DEEP},`.repeat(20)}1]` });
        }
        return memory();
      };
      const sizes = [await round()];
      for (let n = 0; n < 2; n++) sizes.push(await round());
      console.log(`memory of the runtimes after each round of 10 requests, in MB: ${sizes.join(", ")}`);
      const [first = 0] = sizes;
      expect(first).toBeGreaterThan(50);
      expect(sizes.at(-1)).toBeLessThan(2 * first + 100);
      await expectUntouched();
    },
  );

  it("ships what was sent meanwhile, though its store redirects and an event was made to break it", async () => {
    const { id } = await shipper.api.createJob(store.job("later"));
    const { id: local } = await shipper.api.createJob(jobInto("well"));
    store.server.script("later", [rule({ do: "redirect", location: `${elsewhereUrl()}/later/x` }, { method: "PUT" })]);
    const at = Date.now();
    const wild = `{"outcome":"ok","eventTimestamp":${at},"event":{"request":{"url":"https://x.example/\\u0000","method":"GET"}},
      "logs":[{"level":"log","timestamp":${at},"message":[${DEEP},"\\ud800",-0,1e999]}],"exceptions":[],
      "scriptName":"__proto__","__proto__":{"outcome":"polluted"},"constructor":{"prototype":{"polluted":1}}}`;
    const taken = await call(EVENTS, { method: "POST", body: wild });
    expect([taken.status, JSON.parse(taken.text)]).toMatchObject([202, { result: { accepted: 1 } }]);
    await until({
      what: "the event to be taken by both jobs",
      withinMs: RECEIVED_WITHIN_MS,
      look: async () => [await shipper.api.jobLedger(id), await shipper.api.jobLedger(local)],
      enough: (ledgers) => ledgers.every(({ received }) => received === 1),
    });
    await shipper.api.flush(local);
    expect(await shipper.recordsBelow("well")).toMatchObject([{ Outcome: "ok", ScriptName: "__proto__" }]);
    await shipper.api.flush(id);
    expect(await shipper.api.job(id)).toMatchObject({ error_message: expect.stringMatching(/HTTP 307/) });
    expect([arrived, (await shipper.api.jobLedger(id)).delivered]).toEqual([[], 0]);
    store.server.script("later", []);
    await shipper.api.flush(id);
    await until({
      what: "the event to be delivered",
      withinMs: RECEIVED_WITHIN_MS,
      look: () => shipper.api.jobLedger(id),
      enough: ({ delivered }) => delivered === 1,
    });
    expect(
      store.contents("later").filter(({ key }) => key.startsWith(pathOf("later").split("/")[0] ?? "")).length,
    ).toBe(2);
  });

  it("has printed nothing of all this that is a secret, nor died of it", () => {
    const printed = readFileSync(join(shipper.folder, "shipper.log"), "utf8");
    for (const secret of [shipper.token, SECRETS_KEY, "SeCrEtOf", OF_ANOTHER.access_key_id])
      expect(printed).not.toContain(secret);
    expect(printed).not.toMatch(/Maximum call stack|RangeError|out of memory|segmentation/i);
    expect(shipper.lives).toBe(1);
  });
});
