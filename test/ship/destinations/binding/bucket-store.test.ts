import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { encodeUtf8 } from "../../../../src/base/bytes.ts";
import { BucketStore } from "../../../../src/ship/destinations/binding/bucket-store.ts";
import { fixed } from "../objects.ts";

const BYTES = encodeUtf8("fixed bytes");
const object = fixed(BYTES);
const put = { ...object, body: BYTES, conditional: true };

/** The real binding of the runtime. */
const bucket = env.TRACES;
const store = new BucketStore(bucket);

describe("a bound bucket", () => {
  it("takes an object once, and shows it", async () => {
    expect(await store.put(put)).toMatchObject({ status: 200, etag: object.md5, bytes: 11, sha256: object.sha256 });
    const other = encodeUtf8("other bytes");
    const refused = { status: 412, code: "PreconditionFailed" };
    expect(await store.put({ ...put, ...fixed(other), body: other })).toMatchObject(refused);
    expect(await (await bucket.get(object.key))?.text()).toBe("fixed bytes");
    expect(await store.put({ ...put, conditional: false })).toMatchObject({ status: 200 });
    expect(await store.head(object.key)).toMatchObject({
      status: 200,
      etag: object.md5,
      bytes: 11,
      sha256: object.sha256,
    });
    const { answer, body } = await store.get(object.key);
    expect(answer).toMatchObject({ status: 200, bytes: 11 });
    expect(new Uint8Array(await new Response(body).arrayBuffer())).toEqual(BYTES);
    expect((await bucket.head(object.key))?.httpMetadata).toEqual({ contentType: "application/x-ndjson" });
    expect(await store.head("logs/none")).toMatchObject({ status: 404, code: "NoSuchKey" });
    expect(await store.get("logs/none")).toMatchObject({ answer: { status: 404 }, body: null });
  });

  it("takes a stream of known length, and refuses what is not what it should be", async () => {
    const { readable, writable } = new FixedLengthStream(BYTES.length);
    const writer = writable.getWriter();
    void writer.write(BYTES).then(() => writer.close());
    expect(await store.put({ ...put, body: readable })).toMatchObject({ status: 200, etag: object.md5 });
    const other = { ...put, key: "logs/other", body: encodeUtf8("fixed bytez") };
    expect(await store.put(other)).toMatchObject({ status: 400, code: "BadDigest", means: "moment" });
    expect(await bucket.head("logs/other")).toBeNull();
  });

  it("gives nothing half: a body that breaks off leaves nothing", async () => {
    const { readable, writable } = new FixedLengthStream(BYTES.length);
    const writer = writable.getWriter();
    void writer.write(BYTES.subarray(0, 5)).then(() => writer.abort(new Error("died")));
    expect(await store.put({ ...put, key: "logs/half", body: readable })).toMatchObject({ kind: "unreachable" });
    expect(await bucket.head("logs/half")).toBeNull();
  });
});

describe("what R2 throws", () => {
  const failing = (error: Error) => {
    const call = () => Promise.reject(error);
    return new BucketStore({ put: call, head: call, get: call } as unknown as R2Bucket);
  };

  it.each([
    ["put: We encountered an internal error. (10001)", 500, "InternalError"],
    ["put: Reduce your concurrent request rate for the same object. (10058)", 429, "TooManyRequests"],
    ["put: The specified bucket does not exist. (10006)", 404, "NoSuchBucket"],
    ["put: The specified object is protected. (10069)", 403, "ObjectLockedByBucketPolicy"],
    ["put: Your proposed upload exceeds the maximum allowed object size. (100100)", 400, "EntityTooLarge"],
  ])("is an answer: %s", async (message, status, code) => {
    const answer = { kind: "answer", status, code };
    expect(await failing(new Error(message)).put(put)).toMatchObject(answer);
    expect(await failing(new Error(message)).head("k")).toMatchObject(answer);
    expect(await failing(new Error(message)).get("k")).toMatchObject({ answer, body: null });
  });

  it("is none where it says no number, and nothing of its words is kept", async () => {
    const secret = "secret-of-the-tests";
    for (const error of [new Error(secret), new TypeError(`${secret} (99999)`), new Error("(10001) in the middle")])
      expect(await failing(error).put(put)).toEqual({ kind: "unreachable", cause: "connection failed" });
  });
});

describe("an R2 that does not answer", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  it("is given up after a minute", async () => {
    const never = () => new Promise<never>(() => {});
    const silent = new BucketStore({ put: never, head: never, get: never } as unknown as R2Bucket);
    const all = Promise.all([silent.put(put), silent.head("k"), silent.get("k")]);
    await vi.advanceTimersByTimeAsync(61_000);
    const late = { kind: "unreachable", cause: "timeout" };
    expect(await all).toEqual([late, late, { answer: late, body: null }]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
