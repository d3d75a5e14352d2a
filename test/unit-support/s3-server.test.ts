import { createHash } from "node:crypto";
import { connect } from "node:net";
import { AwsClient, AwsV4Signer } from "aws4fetch";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bucketControl } from "../support/s3-control.ts";
import { type Action, type Rule, rule } from "../support/s3-script.ts";
import { type S3Server, startS3Server } from "../support/s3-server.ts";

const KEYS = { accessKeyId: "test-access-key", secretAccessKey: "test-secret-key", service: "s3", region: "auto" };
const BODY = "forty-two bytes that tell halves from wholes";

let server: S3Server;
beforeAll(async () => {
  server = await startS3Server();
});
afterAll(() => server.close());

/** A bucket of its own for every test: they share the server. */
let bucketCount = 0;
function newBucket(...rules: Rule[]): string {
  bucketCount += 1;
  const bucket = `bucket-${bucketCount}`;
  server.script(bucket, rules);
  return bucket;
}

function urlOf(bucket: string, key = "", on = server): string {
  return `${on.url}/${bucket}${key === "" ? "" : "/"}${key.split("/").map(encodeStrictly).join("/")}`;
}

function encodeStrictly(segment: string): string {
  return encodeURIComponent(segment).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

function sha256(body: string): string {
  return createHash("sha256").update(body).digest("hex");
}

interface Sending {
  method?: string;
  body?: string;
  headers?: Record<string, string>;
  keys?: Partial<typeof KEYS>;
  datetime?: string;
}

/** A rightly signed request, as the product sends it. */
function signed(
  url: string,
  { method = "GET", body, headers = {}, keys = {}, datetime }: Sending = {},
): Promise<Request> {
  return new AwsClient({ ...KEYS, ...keys }).sign(url, {
    method,
    headers: { "x-amz-content-sha256": sha256(body ?? ""), ...headers },
    ...(body === undefined ? {} : { body }),
    ...(datetime === undefined ? {} : { aws: { datetime } }),
  });
}

async function send(url: string, sending: Sending = {}): Promise<Response> {
  return fetch(await signed(url, sending), { redirect: "manual" });
}

function put(url: string, body = BODY, headers: Record<string, string> = {}): Promise<Response> {
  return send(url, { method: "PUT", body, headers });
}

async function codeOf(response: Response): Promise<string> {
  return `${response.status} ${/<Code>(\w+)<\/Code>/.exec(await response.text())?.[1]}`;
}

describe("signatures", () => {
  it.for(["plain", "date=20261120/a b", "a+b/ü/日本/🚢", "it's (very)!*/~_-.log.gz", "a//b", "100%25"])(
    "takes a signed PUT, GET and HEAD of %j and keeps the key as it was",
    async (key) => {
      const bucket = newBucket();
      expect((await put(urlOf(bucket, key))).status).toBe(200);
      expect(await (await send(urlOf(bucket, key))).text()).toBe(BODY);
      expect((await send(urlOf(bucket, key), { method: "HEAD" })).status).toBe(200);
      expect(server.objects(bucket).map((object) => object.key)).toEqual([key]);
    },
  );

  it.for<[string, string, Sending]>([
    ["an unknown access key", "403 InvalidAccessKeyId", { keys: { accessKeyId: "nobody" } }],
    ["a wrong secret", "403 SignatureDoesNotMatch", { keys: { secretAccessKey: "wrong" } }],
    ["another service", "400 AuthorizationHeaderMalformed", { keys: { service: "sqs" } }],
    ["an old signature", "403 RequestTimeTooSkewed", { datetime: "20200101T000000Z" }],
    ["an unsigned payload", "400 InvalidRequest", { headers: { "x-amz-content-sha256": "UNSIGNED-PAYLOAD" } }],
    ["another body's hash", "400 XAmzContentSHA256Mismatch", { headers: { "x-amz-content-sha256": sha256("other") } }],
    ["another body's Content-MD5", "400 BadDigest", { headers: { "content-md5": "AAAAAAAAAAAAAAAAAAAAAA==" } }],
  ])("refuses %s with %s, whatever the script says, and stores nothing", async ([, code, sending]) => {
    const bucket = newBucket(rule({ do: "answer", status: 200, store: true }));
    expect(await codeOf(await send(urlOf(bucket, "key"), { method: "PUT", body: BODY, ...sending }))).toBe(code);
    expect(server.puts(bucket)).toEqual([]);
    expect(server.requests(bucket)).toMatchObject([{ key: "key", status: Number(code.slice(0, 3)), stored: false }]);
  });

  it.for<[string, (request: Request, bucket: string) => Request]>([
    ["method", (request) => new Request(request, { method: "DELETE" })],
    ["key", (request, bucket) => new Request(urlOf(bucket, "other"), request)],
    ["query", (request, bucket) => new Request(`${urlOf(bucket, "key")}?x=1`, request)],
    ["signed header", (request) => withHeader(request, "if-none-match", "")],
    ["signature", (request) => withHeader(request, "authorization", otherSignature(request))],
  ])("refuses a request whose %s was changed after signing", async ([, change]) => {
    const bucket = newBucket();
    const request = await signed(urlOf(bucket, "key"), { headers: { "if-none-match": "*" } });
    expect(await codeOf(await fetch(change(request, bucket)))).toBe("403 SignatureDoesNotMatch");
  });

  it("refuses an x-amz- header that was not signed, and a request without a signature", async () => {
    const bucket = newBucket();
    const request = await signed(urlOf(bucket, "key"));
    request.headers.set("x-amz-meta-late", "1");
    expect(await codeOf(await fetch(request))).toBe("403 AccessDenied");
    expect(await codeOf(await fetch(urlOf(bucket, "key")))).toBe("403 AccessDenied");
  });

  it("takes the path as received: a raw = is refused, as by the platform's local endpoint", async () => {
    const url = `${server.url}/${newBucket()}/date=20261120/key`;
    expect(await codeOf(await put(url))).toBe("403 SignatureDoesNotMatch");
  });

  it("refuses aws4fetch's own default, an unsigned payload, unless told otherwise", async () => {
    const lenient = await startS3Server({ allowUnsignedPayload: true });
    for (const [on, status] of [
      [server, 400],
      [lenient, 200],
    ] as const) {
      const url = urlOf("unsigned", "key", on);
      const { method, headers } = await new AwsV4Signer({ ...KEYS, url, method: "PUT", body: BODY }).sign();
      expect((await fetch(url, { method, headers, body: BODY })).status).toBe(status);
    }
    await lenient.close();
  });

  it("judges the time by its own clock and knows the keys it was given", async () => {
    const strange = await startS3Server({ now: () => Date.UTC(2020, 0, 1, 0, 10), credentials: { a: "b" } });
    const keys = { accessKeyId: "a", secretAccessKey: "b", region: "eu-north-1" };
    const sending = { method: "PUT", body: BODY, keys, datetime: "20200101T000000Z" };
    expect((await send(urlOf("b", "k", strange), sending)).status).toBe(200);
    expect(strange.requests("b")).toMatchObject([{ accessKeyId: "a", region: "eu-north-1" }]);
    expect(await codeOf(await put(urlOf("b", "k", strange)))).toBe("403 InvalidAccessKeyId");
    await strange.close();
  });

  it("wants a Content-Length", async () => {
    const bucket = newBucket();
    const request = await signed(urlOf(bucket, "key"), { method: "PUT", body: BODY });
    const chunked = new Request(request.url, {
      method: "PUT",
      headers: request.headers,
      body: new Blob([BODY]).stream(),
      duplex: "half",
    } as RequestInit);
    expect(await codeOf(await fetch(chunked))).toBe("411 MissingContentLength");
  });
});

function withHeader(request: Request, name: string, value: string): Request {
  const headers = new Headers(request.headers);
  headers.set(name, value);
  return new Request(request, { headers });
}

function otherSignature(request: Request): string {
  return (request.headers.get("authorization") ?? "").replace(/.$/, (digit) => (digit === "0" ? "1" : "0"));
}

describe("store", () => {
  it("returns what was sent with the object, and tells nothing secret about the requests", async () => {
    const bucket = newBucket();
    const url = urlOf(bucket, "a/key.log.gz");
    await put(url, BODY, { "content-type": "application/x-ndjson", "content-encoding": "br", "x-amz-meta-job": "7" });
    const head = await send(url, { method: "HEAD" });
    const etag = `"${createHash("md5").update(BODY).digest("hex")}"`;
    expect(Object.fromEntries(head.headers)).toMatchObject({
      etag,
      "content-length": String(BODY.length),
      "content-type": "application/x-ndjson",
      "content-encoding": "br",
      "x-amz-meta-job": "7",
    });
    expect(server.objects(bucket)).toEqual([
      {
        key: "a/key.log.gz",
        version: 1,
        puts: 1,
        size: BODY.length,
        etag,
        sha256: sha256(BODY),
        contentType: "application/x-ndjson",
        contentEncoding: "br",
        meta: { "x-amz-meta-job": "7" },
      },
    ]);
    const seen = server.requests(bucket);
    expect(seen).toMatchObject([
      { seq: 1, method: "PUT", status: 200, stored: true, state: "answered", headers: { "x-amz-meta-job": "7" } },
      { seq: 2, method: "HEAD", status: 200, stored: false },
    ]);
    expect(JSON.stringify(seen)).not.toMatch(/authorization|Signature|test-secret-key/i);
  });

  it("overwrites, visibly; honours If-None-Match: *; deletes; knows no other condition", async () => {
    const bucket = newBucket();
    const url = urlOf(bucket, "key");
    await put(url, "one");
    await put(url, "two");
    expect(await codeOf(await put(url, "three", { "if-none-match": "*" }))).toBe("412 PreconditionFailed");
    expect(await codeOf(await put(url, "three", { "if-none-match": '"abc"' }))).toBe("501 NotImplemented");
    expect(server.puts(bucket).map(({ version, size }) => [version, size])).toEqual([
      [1, 3],
      [2, 3],
    ]);
    expect(server.objects(bucket)).toMatchObject([{ key: "key", puts: 2, sha256: sha256("two") }]);
    expect([1, 2, undefined].map((version) => String(server.object(bucket, "key", version)))).toEqual([
      "one",
      "two",
      "two",
    ]);
    expect((await send(url, { method: "DELETE" })).status).toBe(204);
    expect(await codeOf(await send(url))).toBe("404 NoSuchKey");
    expect((await put(url, "three", { "if-none-match": "*" })).status).toBe(200);
    expect(server.requests(bucket).filter(({ headers }) => headers["if-none-match"] === "*")).toHaveLength(2);
  });

  it("lists 1,000 keys a page, in the order of their bytes, below a prefix", async () => {
    const bucket = newBucket();
    const keys = ["🚢", "\uffee", "a&b", ...Array.from({ length: 1000 }, (_, n) => `n/${String(n).padStart(4, "0")}`)];
    await Promise.all(keys.map((key) => put(urlOf(bucket, key), "x")));
    const first = await (await send(`${urlOf(bucket)}?list-type=2`)).text();
    const token = /<NextContinuationToken>(.*)<\/Next/.exec(first)?.[1] ?? "";
    const query = new URLSearchParams({ "list-type": "2", "continuation-token": token });
    const second = await (await send(`${urlOf(bucket)}?${query}`)).text();
    const listed = [...`${first}${second}`.matchAll(/<Key>(.*?)<\/Key>/g)].map(([, key]) => key);
    expect(listed).toEqual(["a&amp;b", ...keys.slice(3), "\uffee", "🚢"]);
    expect([first, second].map((page) => /<IsTruncated>true/.test(page))).toEqual([true, false]);
    expect(await (await send(`${urlOf(bucket)}?list-type=2&prefix=n%2F000`)).text()).toContain("<KeyCount>10<");
  });
});

describe("actions", () => {
  it("answers what it is told, with or without storing, as often as it is told", async () => {
    const bucket = newBucket(
      rule({ do: "answer", status: 500, code: "InternalError", store: true }, {}, 1),
      rule({ do: "answer", status: 503, headers: { "retry-after": "7" }, body: "no" }, { method: "put" }, 1),
    );
    expect(await codeOf(await put(urlOf(bucket, "stored")))).toBe("500 InternalError");
    const busy = await put(urlOf(bucket, "not-stored"));
    expect([busy.status, busy.headers.get("retry-after"), await busy.text()]).toEqual([503, "7", "no"]);
    expect((await put(urlOf(bucket, "later"))).status).toBe(200);
    expect(server.puts(bucket).map(({ key }) => key)).toEqual(["stored", "later"]);
    expect(server.requests(bucket).map(({ action, stored }) => [action, stored])).toEqual([
      ["answer", true],
      ["answer", false],
      [null, true],
    ]);
  });

  it("lets the first matching rule win, by method, key and condition", async () => {
    const refuse = (status: number): Action => ({ do: "answer", status });
    const bucket = newBucket(
      rule(refuse(500), { method: "PUT", keyIncludes: "/a", keyExcludes: "spare" }),
      rule(refuse(501), { conditional: true }),
      rule(refuse(503), { conditional: false, keyIncludes: "bare" }),
    );
    const answers = [
      put(urlOf(bucket, "x/a"), BODY, { "if-none-match": "*" }),
      put(urlOf(bucket, "x/a-spare"), BODY, { "if-none-match": "*" }),
      put(urlOf(bucket, "bare")),
      send(urlOf(bucket, "x/a")),
    ];
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([500, 501, 503, 404]);
  });

  it.for([
    ["before", 0],
    ["during", 0],
    ["after", 1],
  ] as const)("resets the connection %s the body is taken in, with %i object stored", async ([when, stored]) => {
    const bucket = newBucket(rule({ do: "reset", when }));
    await expect(put(urlOf(bucket, "key"), "x".repeat(300_000))).rejects.toThrow("fetch failed");
    expect(server.puts(bucket)).toHaveLength(stored);
    expect(server.requests(bucket)).toMatchObject([{ state: "reset", status: null, stored: stored === 1 }]);
  });

  it("holds requests until they are released, and then carries them out", async () => {
    const bucket = newBucket(rule({ do: "hold" }));
    const puts = [put(urlOf(bucket, "a")), put(urlOf(bucket, "b"))];
    await server.whenHeld(bucket, 2);
    expect(server.puts(bucket)).toEqual([]);
    expect(server.requests(bucket)).toMatchObject([{ state: "held" }, { state: "held" }]);
    expect(server.release(bucket)).toBe(2);
    expect((await Promise.all(puts)).map(({ status }) => status)).toEqual([200, 200]);
    expect(server.puts(bucket)).toHaveLength(2);
  });

  it("carries a held request out although its sender has gone", async () => {
    const bucket = newBucket(rule({ do: "hold" }, {}, 1));
    const gone = new AbortController();
    const abandoned = fetch(await signed(urlOf(bucket, "key"), { method: "PUT", body: BODY }), { signal: gone.signal });
    await server.whenHeld(bucket, 1);
    gone.abort();
    await expect(abandoned).rejects.toThrow("aborted");
    server.release(bucket);
    expect((await send(urlOf(bucket, "key"), { method: "HEAD" })).status).toBe(200);
  });

  it("forgets a bucket: what it held is reset and never stored", async () => {
    const bucket = newBucket(rule({ do: "hold" }));
    const dropped = expect(put(urlOf(bucket, "key"))).rejects.toThrow("fetch failed");
    await server.whenHeld(bucket, 1);
    server.forget(bucket);
    await dropped;
    expect([server.requests(bucket), server.puts(bucket)]).toEqual([[], []]);
    expect((await put(urlOf(bucket, "key"))).status).toBe(200);
  });

  it("ignores conditions, truncates, lies about an ETag, redirects", async () => {
    const bucket = newBucket();
    const url = urlOf(bucket, "key");
    const conditional = { "if-none-match": "*" };
    await put(url, "old");
    server.script(bucket, [rule({ do: "ignore-conditional" })]);
    expect((await put(url, BODY, conditional)).status).toBe(200);
    expect(server.objects(bucket)).toMatchObject([{ puts: 2, sha256: sha256(BODY) }]);

    server.script(bucket, [rule({ do: "truncate" })]);
    expect((await put(url)).status).toBe(200);
    expect(String(server.object(bucket, "key"))).toBe(BODY.slice(0, BODY.length / 2));

    server.script(bucket, [rule({ do: "wrong-etag" }, { method: "PUT" })]);
    const lie = (await put(url)).headers.get("etag");
    const truth = (await send(url, { method: "HEAD" })).headers.get("etag");
    expect([lie === truth, truth === server.objects(bucket)[0]?.etag]).toEqual([false, true]);

    server.script(bucket, [rule({ do: "redirect", location: "http://127.0.0.1:1/trap" })]);
    const redirect = await put(url);
    expect([redirect.status, redirect.headers.get("location")]).toEqual([307, "http://127.0.0.1:1/trap"]);
    expect(server.puts(bucket)).toHaveLength(4);
  });
});

describe("controls", () => {
  it("does over HTTP all that it does by method", async () => {
    const bucket = newBucket();
    const control = bucketControl(server.url, bucket);
    const url = urlOf(bucket);
    await control.script([rule({ do: "hold" }, {}, 1)]);
    const held = put(`${url}/key`, "one");
    await control.whenHeld(1);
    expect(await control.requests()).toMatchObject([{ method: "PUT", key: "key", state: "held", status: null }]);
    expect(await control.release()).toBe(1);
    expect((await held).status).toBe(200);
    await put(`${url}/key`, "two");
    expect(await control.puts()).toEqual(server.puts(bucket));
    expect(await control.objects()).toEqual(server.objects(bucket));
    expect(await control.objects()).toMatchObject([{ key: "key", puts: 2 }]);
    expect(new TextDecoder().decode(await control.object("key", 1))).toBe("one");
    expect(await control.contents()).toEqual([{ key: "key", bytes: new TextEncoder().encode("two") }]);
    expect(await control.object("other")).toBeUndefined();
    await control.forget();
    expect(await control.requests()).toEqual([]);
  });

  it.for([
    ["{}", "an array of rules"],
    ["[{}]", "[0].then: an object"],
    ['[{"then":{"do":"nap"}}]', "[0].then.do: one of answer, reset, hold"],
    ['[{"then":{"do":"answer"}}]', "[0].then.status: bad value"],
    ['[{"then":{"do":"hold","store":true}}]', "[0].then.store: no such field"],
    [
      '[{"then":{"do":"hold"}},{"match":{"keyInclude":"x"},"then":{"do":"hold"}}]',
      "[1].match.keyInclude: no such field",
    ],
    ['[{"times":0,"then":{"do":"hold"}}]', "[0].times: bad value 0"],
  ] as const)("refuses the malformed script %s", async ([script, words]) => {
    await expect(bucketControl(server.url, newBucket()).script(JSON.parse(script))).rejects.toThrow(words);
  });

  it("notes a sender that goes away in the middle of its body", async () => {
    const bucket = newBucket();
    const { headers } = await signed(urlOf(bucket, "key"), { method: "PUT", body: BODY });
    const lines = [...headers].map(([name, value]) => `${name}: ${value}\r\n`).join("");
    const socket = connect(server.port, "127.0.0.1");
    const length = `host: 127.0.0.1:${server.port}\r\ncontent-length: ${BODY.length}\r\n`;
    socket.write(`PUT /${bucket}/key HTTP/1.1\r\n${length}${lines}\r\n${BODY.slice(0, 5)}`);
    await expect.poll(() => server.requests(bucket).length).toBe(1);
    socket.destroy();
    await expect.poll(() => server.requests(bucket)).toMatchObject([{ state: "aborted", status: null, stored: false }]);
  });

  it("ends every connection on close, held ones included", async () => {
    const short = await startS3Server();
    short.script("b", [rule({ do: "hold" })]);
    const cut = expect(put(urlOf("b", "key", short))).rejects.toThrow("fetch failed");
    await short.whenHeld("b", 1);
    await short.close();
    await cut;
    await expect(fetch(short.url)).rejects.toThrow("fetch failed");
  });
});
