/**
 * Bodies that are not read, or that never end, over real sockets to a real `wrangler dev`. It
 * answers with an error, stores nothing, leaks nothing, and keeps running.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { ask, type RawAnswer, type RawRequest, sendBytes } from "./raw-http.ts";
import { IsolatedShipper, randomSecretsKey } from "./shipper.ts";

const SECRETS_KEY = randomSecretsKey();
const EVENTS = "/logship/datasets/functions_trace_events/events";

const LARGE = Buffer.alloc(20_000_000, " ");
const BOMB = gzipSync(Buffer.alloc(100_000_000, " "));
const DEEP = `${"[".repeat(100_000)}1${"]".repeat(100_000)}`;

let shipper: IsolatedShipper;

beforeAll(async () => {
  shipper = await IsolatedShipper.start({ settings: { SECRETS_KEY } });
});
afterAll(() => shipper[Symbol.asyncDispose]());

/** A request to the account as the admin, with a JSON body by default. */
async function call(path: string, { headers = {}, ...request }: RawRequest = {}): Promise<RawAnswer> {
  const answer = await ask(`${shipper.url}/client/v4/accounts/local${path}`, {
    ...request,
    headers: { authorization: `Bearer ${shipper.token}`, "content-type": "application/json", ...headers },
  });
  expectSilence(answer.text);
  return answer;
}

/** No secret, no stack trace and no path of the machine. */
function expectSilence(text: string): void {
  for (const secret of [shipper.token, SECRETS_KEY, "local-secret-key"]) expect(text).not.toContain(secret);
  expect(text).not.toMatch(/\bat \S+ \(|\.ts:\d+|node_modules|\/(?:tmp|home|root|work|Users)\//);
}

/** The service answers, and no request has changed anything. */
afterEach(async () => {
  for (const path of ["/logship/jobs", "/tokens", "/members", "/functions/scripts", "/logship/audit"])
    expect([path, JSON.parse((await call(path)).text)]).toMatchObject([path, { success: true, result: [] }]);
  expect(await shipper.bucket.list("")).toEqual([]);
  expect(await shipper.api.accountLedger()).toMatchObject({ processed: 0 });
});

it("a body that nobody reads costs neither its own answer nor that to the next request", async () => {
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

it.each<[string, RawRequest, status: number]>([
  ["20 MB", { body: LARGE }, 413],
  ["20 MB, in chunks", { body: LARGE, chunked: true }, 413],
  ["a bomb", { body: BOMB, headers: { "content-encoding": "gzip" } }, 413],
  ["nested a hundred thousand deep", { body: DEEP }, 400],
])("a body is refused, as events and as a job: %s", async (_what, request, status) => {
  for (const path of [EVENTS, "/logship/jobs"]) {
    // The service reads an unwanted body for two seconds. On a busy machine that may not be all of
    // it, and then the client loses the answer.
    let answer = await call(path, { method: "POST", ...request });
    for (let again = 0; answer.status === null && again < 3; again++)
      answer = await call(path, { method: "POST", ...request });
    expect([path, answer.status]).toEqual([path, status]);
  }
});

it("a body that never ends keeps nobody else waiting, and leaves nothing when it is given up", async () => {
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
  // Locally the entry in front of the service answers in its place.
  expect(await broken.until(/\r\n\r\n/, 5_000)).toMatch(/^HTTP\/1\.1 (?:400|500) /);
  expect((await call("/logship/jobs")).status).toBe(200);
  broken.hangUp();
});

it("the process has printed nothing of all this that is a secret, nor died of it", () => {
  const printed = readFileSync(join(shipper.folder, "shipper.log"), "utf8");
  for (const secret of [shipper.token, SECRETS_KEY]) expect(printed).not.toContain(secret);
  expect(printed).not.toMatch(/Maximum call stack|RangeError|out of memory|segmentation/i);
  expect(shipper.lives).toBe(1);
});
