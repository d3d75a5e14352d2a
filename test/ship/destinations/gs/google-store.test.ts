import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { encodeUtf8 } from "../../../../src/base/bytes.ts";
import { platform } from "../../../../src/base/platform.ts";
import { type GoogleDestination, googleStore } from "../../../../src/ship/destinations/gs/google-store.ts";
import { signGoog4 } from "../../../../src/ship/destinations/gs/sign.ts";
import { openDestination } from "../../../../src/ship/destinations/kinds.ts";
import { parseDestination } from "../../../../src/ship/destinations/parse.ts";
import { googleConf } from "../../../support/runtime/api.ts";
import { bucketControl } from "../../../support/s3-control.ts";
import { rule } from "../../../support/s3-script.ts";
import { LOCAL } from "../context.ts";
import { fixed } from "../objects.ts";

const BYTES = encodeUtf8("fixed bytes");
const object = fixed(BYTES, { key: "logs/20261120/a=b c+d'(1)*!.log.gz" });
const put = { ...object, body: BYTES, conditional: true };

describe("a GOOG4 signature", () => {
  /** Calculated apart from this code, step by step as Google's page says. */
  it("is the one that the published algorithm gives", () => {
    const sha256 = "8aeffa3ed0e35c8422ada48ee1b8daf1b56f293caf1e312e9dd64f678b45ef25";
    const signed = signGoog4(
      { accessKeyId: "GOOG1EXAMPLE", secretAccessKey: "bGoa+V7g/yqDXvKRqq+JTFn4uQZbPiQJo4pf9RzJ" },
      {
        method: "PUT",
        host: "storage.googleapis.com",
        path: "/traces/logs/20261120/a%3Db%20c%2Bd.log.gz",
        headers: {
          "content-type": "application/x-ndjson",
          "content-md5": "+JGDyDd5FC41z+vidCvFkQ==",
          "x-goog-meta-logship-sha256": sha256,
          "x-goog-if-generation-match": "0",
        },
        sha256,
        nowMs: Date.UTC(2026, 10, 20, 12, 0, 0, 999),
      },
    );
    expect(signed).toEqual({
      authorization:
        "GOOG4-HMAC-SHA256 Credential=GOOG1EXAMPLE/20261120/auto/storage/goog4_request, SignedHeaders=content-md5;content-type;host;x-goog-content-sha256;x-goog-date;x-goog-if-generation-match;x-goog-meta-logship-sha256, Signature=b619bdad798e87cd89347a7e2cb27fb46e7a23b6053d2404375cbf1f15ebf65a",
      "content-type": "application/x-ndjson",
      "content-md5": "+JGDyDd5FC41z+vidCvFkQ==",
      "x-goog-content-sha256": sha256,
      "x-goog-date": "20261120T120000Z",
      "x-goog-if-generation-match": "0",
      "x-goog-meta-logship-sha256": sha256,
    });
  });
});

let names = 0;
let control = bucketControl(inject("s3Url"), "none");
function open() {
  const parsed = parseDestination(googleConf(`google-${names}`, "logs"), LOCAL);
  if (!parsed.ok) throw new Error(parsed.why);
  return {
    store: googleStore(parsed.value as GoogleDestination, platform),
    to: openDestination(parsed.value, platform),
  };
}
beforeEach(() => {
  names += 1;
  control = bucketControl(inject("s3Url"), `google-${names}`);
});
afterEach(() => control.forget());

describe("a bucket of Google", () => {
  it("takes an object once, by its own condition and signature, with no header of another family", async () => {
    const { store } = open();
    expect(await store.put(put)).toMatchObject({ status: 200, etag: object.md5 });
    expect(await store.put(put)).toMatchObject({ status: 412, code: "PreconditionFailed" });
    expect(await store.head(object.key)).toMatchObject({
      status: 200,
      etag: object.md5,
      bytes: BYTES.length,
      sha256: object.sha256,
    });
    const { answer, body } = await store.get(object.key);
    expect(answer).toMatchObject({ status: 200 });
    expect(new Uint8Array(await new Response(body).arrayBuffer())).toEqual(BYTES);
    expect((await control.objects()).map(({ key }) => key)).toEqual([object.key]);
    const [first] = await control.requests();
    expect(Object.keys(first?.headers ?? {}).sort()).toEqual([
      "content-length",
      "content-md5",
      "content-type",
      "x-goog-content-sha256",
      "x-goog-date",
      "x-goog-if-generation-match",
      "x-goog-meta-logship-sha256",
    ]);
  });

  it.each([
    [400, "ExcessHeaderValues", "misconfigured"],
    [400, "UserProjectMissing", "misconfigured"],
    [400, "InvalidBucketName", "misconfigured"],
    [404, "NoSuchBucket", "misconfigured"],
    [403, "AccessDenied", "misconfigured"],
    [400, "EntityTooLarge", "refused"],
    [400, "KeyTooLong", "refused"],
    [400, "BadDigest", "busy"],
    [429, "SlowDown", "busy"],
    [503, "ServiceUnavailable", "busy"],
  ] as const)("means by HTTP %i %s that it is %s", async (status, code, kind) => {
    const { to } = open();
    await control.script([rule({ do: "answer", status, code }, { keyIncludes: "a=b" })]);
    const outcome = await to.write(object, () => BYTES, { doubtful: false, leaveOut: 4 });
    expect(outcome).toMatchObject({ kind: "failed", error: { kind, words: `HTTP ${status} ${code}` } });
  });
});
