import { createHash } from "node:crypto";
import { connect } from "node:net";
import { AwsV4Signer } from "aws4fetch";
import { describe, expect, it } from "vitest";
import { bucketControl } from "../support/s3-control.ts";
import { rule } from "../support/s3-script.ts";
import { startS3Server } from "../support/s3-server.ts";
import {
  BODY,
  codeOf,
  KEYS,
  newBucket,
  put,
  type Sending,
  send,
  server,
  sha256,
  signed,
  urlOf,
  withServer,
} from "./s3-client.ts";

withServer();

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
    ['[{"then":{"do":"nap"}}]', "[0].then.do: one of answer, reset, hold, withhold, trickle"],
    ['[{"then":{"do":"answer"}}]', "[0].then.status: bad value"],
    ['[{"then":{"do":"hold","store":true}}]', "[0].then.store: no such field"],
    ['[{"then":{"do":"withhold","status":200}}]', "[0].then.status: no such field"],
    ['[{"then":{"do":"trickle","status":200,"everyMs":0}}]', "[0].then.everyMs: bad value 0"],
    ['[{"then":{"do":"trickle"}}]', "[0].then.status: bad value"],
    ['[{"then":{"do":"answer","status":101}}]', "[0].then.status: bad value 101"],
    ['[{"then":{"do":"discard","etag":"x"}}]', "[0].then.etag: no such field"],
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
