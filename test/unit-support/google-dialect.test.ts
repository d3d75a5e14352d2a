import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { signGoog4 } from "../../src/ship/destinations/gs/sign.ts";
import { BODY, codeOf, KEYS, newBucket, server, urlOf, withServer } from "./s3-client.ts";

withServer();

const sha256 = createHash("sha256").update(BODY).digest("hex");

/** A PUT as the product signs it. @param changed after it was signed. */
async function put(
  bucket: string,
  headers: Record<string, string> = {},
  changed: Record<string, string> = {},
): Promise<Response> {
  const url = new URL(urlOf(bucket, "a/b.gz"));
  const request = { method: "PUT", host: url.host, path: url.pathname, headers, sha256, nowMs: Date.now() };
  return fetch(url, { method: "PUT", headers: { ...signGoog4(KEYS, request), ...changed }, body: BODY });
}

const createOnly = { "x-goog-if-generation-match": "0" };

describe("the endpoint as Google's", () => {
  it("creates by the generation alone, and ignores If-None-Match", async () => {
    const bucket = newBucket();
    const first = await put(bucket, createOnly);
    expect([first.status, first.headers.get("x-goog-hash")]).toEqual([200, expect.stringMatching(/,md5=.{22}==$/)]);
    expect((await put(bucket, createOnly)).status).toBe(412);
    expect((await put(bucket, { "if-none-match": "*" })).status).toBe(200);
    expect(server.puts(bucket)).toHaveLength(2);
  });

  it("refuses headers of two families, what was changed on its way, and what is not signed", async () => {
    const bucket = newBucket();
    const refusals: [headers: Record<string, string>, changed: Record<string, string>, said: string][] = [
      [{ "x-amz-meta-a": "b" }, {}, "400 ExcessHeaderValues"],
      [{}, { "x-amz-date": "20261120T120000Z" }, "400 ExcessHeaderValues"],
      [{ "accept-encoding": "gzip" }, {}, "403 SignatureDoesNotMatch"],
      [createOnly, { "x-goog-if-generation-match": "1" }, "403 SignatureDoesNotMatch"],
      [{}, createOnly, "403 AccessDenied"],
      [{}, { authorization: "GOOG4-HMAC-SHA256 Credential=x" }, "400 AuthorizationHeaderMalformed"],
      [{ "content-md5": "AAAAAAAAAAAAAAAAAAAAAA==" }, {}, "400 BadDigest"],
    ];
    for (const [headers, changed, said] of refusals) {
      const answer = await put(bucket, headers, changed);
      expect(await codeOf(answer)).toBe(said);
    }
    expect(server.objects(bucket)).toEqual([]);
  });
});
