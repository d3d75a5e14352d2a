/** The scripted endpoint takes what is signed as the product signs it, and nothing else. */
import { createHash } from "node:crypto";
import { AwsClient } from "aws4fetch";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ACCESS_KEY, SECRET_KEY } from "../support/constants.ts";
import { type Rule, rule } from "../support/s3-script.ts";
import { type S3Server, startS3Server } from "../support/s3-server.ts";

const KEYS = { accessKeyId: ACCESS_KEY, secretAccessKey: SECRET_KEY, service: "s3", region: "auto" };
const BODY = "a body";

let server: S3Server;
beforeAll(async () => {
  server = await startS3Server();
});
afterAll(() => server.close());

let buckets = 0;
function newBucket(...rules: Rule[]): string {
  buckets += 1;
  server.script(`bucket-${buckets}`, rules);
  return `bucket-${buckets}`;
}

const encodeStrictly = (segment: string): string =>
  encodeURIComponent(segment).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
const urlOf = (bucket: string, key: string): string =>
  `${server.url}/${bucket}/${key.split("/").map(encodeStrictly).join("/")}`;
const sha256 = (body: string): string => createHash("sha256").update(body).digest("hex");

interface Sending {
  method?: string;
  body?: string;
  headers?: Record<string, string>;
  keys?: Partial<typeof KEYS>;
  datetime?: string;
}

/** A correctly signed request, as the product sends it. */
function signed(url: string, { headers = {}, keys = {}, datetime, ...init }: Sending = {}): Promise<Request> {
  return new AwsClient({ ...KEYS, ...keys }).sign(url, {
    ...init,
    headers: { "x-amz-content-sha256": sha256(init.body ?? ""), ...headers },
    ...(datetime !== undefined && { aws: { datetime } }),
  });
}

const send = async (url: string, sending: Sending = {}): Promise<Response> => fetch(await signed(url, sending));

async function codeOf(response: Response): Promise<string> {
  return `${response.status} ${/<Code>(\w+)<\/Code>/.exec(await response.text())?.[1]}`;
}

describe("signatures", () => {
  it.for(["plain", "date=20261120/a b", "a+b/ü/日本/🚢", "it's (very)!*/~_-.log.gz", "a//b", "100%25"])(
    "takes a signed PUT, GET and HEAD of %j and keeps the key as it was",
    async (key) => {
      const bucket = newBucket();
      expect((await send(urlOf(bucket, key), { method: "PUT", body: BODY })).status).toBe(200);
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
});

function withHeader(request: Request, name: string, value: string): Request {
  const headers = new Headers(request.headers);
  headers.set(name, value);
  return new Request(request, { headers });
}

function otherSignature(request: Request): string {
  return (request.headers.get("authorization") ?? "").replace(/.$/, (digit) => (digit === "0" ? "1" : "0"));
}
