import { createHash } from "node:crypto";
import { afterEach, beforeEach, describe, expect, inject, it, vi } from "vitest";
import { platform } from "../../../../src/base/platform.ts";
import { objectStore, type S3Destination } from "../../../../src/ship/destinations/s3/object-store.ts";
import type { PutRequest, StoreAnswer } from "../../../../src/ship/destinations/store/client.ts";
import { ACCESS_KEY, SECRET_KEY } from "../../../support/constants.ts";
import { bucketControl } from "../../../support/s3-control.ts";
import { type Action, rule } from "../../../support/s3-script.ts";
import { until } from "../../../support/until.ts";
import { destination, LOCAL } from "../context.ts";

const NOW = Date.UTC(2026, 10, 20, 12);

function at(bucket: string, more: string | Partial<S3Destination> = ""): S3Destination {
  const keys = `access-key-id=${ACCESS_KEY}&secret-access-key=${SECRET_KEY}`;
  const query = typeof more === "string" ? more : "";
  const read = destination(
    `s3://${bucket}/logs/{DATE}?region=auto&endpoint=${encodeURIComponent(inject("s3Url"))}&${keys}${query}`,
    LOCAL,
  );
  return typeof more === "string" ? read : { ...read, ...more };
}

function request(key: string, text = "hello", fields: Partial<PutRequest> = {}): PutRequest {
  const body = new TextEncoder().encode(text);
  return {
    key,
    body,
    bytes: body.length,
    sha256: createHash("sha256").update(body).digest("hex"),
    contentType: "application/x-ndjson",
    md5: null,
    conditional: true,
    ...fields,
  };
}

let names = 0;
let bucket = "";
let control = bucketControl(inject("s3Url"), "none");
beforeEach(() => {
  names += 1;
  bucket = `object-store-${names}`;
  control = bucketControl(inject("s3Url"), bucket);
});
afterEach(async () => {
  vi.useRealTimers();
  await control.forget();
});

const store = (more: Parameters<typeof at>[1] = "") => objectStore(at(bucket, more), platform);

/** A store behind a `fetch` that gives these answers, and notes what it was asked. */
function scripted(...answers: (Response | Error)[]) {
  const asked: { url: string; init: RequestInit }[] = [];
  const opened = objectStore(at("scripted"), {
    now: () => NOW,
    sleep: async () => {},
    fetch: (url, init) => {
      asked.push({ url, init });
      const next = answers.shift() ?? new Error("asked too often");
      return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
    },
  });
  return { opened, asked };
}

const ok = { kind: "answer", status: 200, code: null, retryAfterS: null };

describe("an object in a store that verifies signatures", () => {
  it("is there with its bytes, its type and our checksum", async () => {
    const answer = await store().put(request("logs/20261120/a.log.gz"));
    expect(answer).toMatchObject({ ...ok, etag: '"5d41402abc4b2a76b9719d911017c592"' });
    expect(await control.objects()).toMatchObject([
      {
        key: "logs/20261120/a.log.gz",
        size: 5,
        contentType: "application/x-ndjson",
        contentEncoding: null,
        meta: { "x-amz-meta-logship-sha256": request("").sha256 },
        puts: 1,
      },
    ]);
    const [seen] = await control.requests();
    expect(seen?.headers).toMatchObject({
      "x-amz-content-sha256": request("").sha256,
      "if-none-match": "*",
      "content-length": "5",
    });
    expect(seen).toMatchObject({ region: "auto", accessKeyId: ACCESS_KEY });
  });

  const keys: [what: string, key: string][] = [
    ["an equals sign", "date=20261120/x.log.gz"],
    ["a space", "a b/c d.log.gz"],
    ["a plus", "a+b/c+d.log.gz"],
    ["what encodeURIComponent leaves bare", "a!b'c(d)e*f~g-h_i.j"],
    ["unicode", "ü€/\u{1f600}/日本.log.gz"],
    ["a percent sign", "100%/a%2fb/%41"],
    ["a question mark and a number sign", "a?b=c&d/#e"],
    ["an ampersand, a colon, a semicolon, an at sign", "a&b:c;d@e,f$g"],
    ["brackets and braces", "[a]{b}<c>"],
    ["a backslash and quotes", 'a\\b"c`d^e|f'],
    ["empty segments", "a//b///c"],
    ["dots in names", "a/.hidden/..b/c..d/..."],
    ["a name in no folder", "x.log.gz"],
  ];

  it.each(keys)("is under exactly its key when that has %s", async (_what, key) => {
    expect(await store().put(request(key))).toMatchObject(ok);
    expect((await control.objects()).map((object) => object.key)).toEqual([key]);
    expect(await store().head(key)).toMatchObject({ ...ok, bytes: 5 });
  });

  it("is encrypted at rest where that is asked for, and not otherwise", async () => {
    await store("&sse=AES256").put(request("a"));
    await store().put(request("b"));
    const [first, second] = await control.requests();
    expect(first?.headers["x-amz-server-side-encryption"]).toBe("AES256");
    expect(second?.headers).not.toHaveProperty("x-amz-server-side-encryption");
  });

  it("may come as a stream of known length", async () => {
    const text = "x".repeat(300_000);
    const { readable, writable } = new FixedLengthStream(text.length);
    const written = new Response(text).body?.pipeTo(writable);
    expect(await store().put(request("k", text, { body: readable }))).toMatchObject(ok);
    await written;
    expect(await control.objects()).toMatchObject([{ size: 300_000, sha256: request("", text).sha256 }]);
  });

  it("goes below an endpoint's path prefix", async () => {
    // The bucket of the scripted endpoint is the first segment: here it is the prefix.
    const answer = await store({ endpoint: new URL(`${inject("s3Url")}/${bucket}`), bucket: "inner" }).put(
      request("a/b"),
    );
    expect(answer).toMatchObject(ok);
    expect((await control.objects()).map((object) => object.key)).toEqual(["inner/a/b"]);
  });
});

describe("what a store answers", () => {
  const answers: [what: string, action: Action, expected: Partial<StoreAnswer>][] = [
    [
      "a code",
      { do: "answer", status: 503, code: "SlowDown", message: "secret words" },
      { status: 503, code: "SlowDown" },
    ],
    ["no body", { do: "answer", status: 500 }, { status: 500, code: null }],
    [
      "a page of a proxy",
      { do: "answer", status: 502, body: "<html><h1>Bad gateway</h1></html>" },
      { status: 502, code: null },
    ],
  ];

  it.each(answers)("is known by status, code and delay alone: %s", async (_what, action, expected) => {
    await control.script([rule(action, { method: "PUT" })]);
    expect(await store().put(request("k"))).toMatchObject({ kind: "answer", ...expected });
  });

  const REGION = "<Region>eu-west-1</Region>";
  it.each<[what: string, body: string, status: number, headers: Record<string, string>, region: string | undefined]>([
    ["in its body", `<Error><Code>AuthorizationHeaderMalformed</Code>${REGION}</Error>`, 400, {}, "eu-west-1"],
    [
      "of its own spelling",
      "<Code>AuthorizationHeaderMalformed</Code><Region>RegionOne</Region>",
      400,
      {},
      "RegionOne",
    ],
    ["in a header", "", 301, { "x-amz-bucket-region": "eu-central-1" }, "eu-central-1"],
    ["about another refusal", `<Error><Code>AccessDenied</Code>${REGION}</Error>`, 403, {}, undefined],
    ["that was asked for", "<Code>AuthorizationHeaderMalformed</Code><Region>auto</Region>", 400, {}, undefined],
    ["that is none", "<Code>AuthorizationHeaderMalformed</Code><Region>AKIA5EXAMPLE://x</Region>", 400, {}, undefined],
    ["that is far too long", "", 301, { "x-amz-bucket-region": `eu-${"x".repeat(99)}` }, undefined],
  ])(
    "may name a region, which is kept as far as it looks like one: %s",
    async (_what, body, status, headers, region) => {
      const { opened } = scripted(new Response(body === "" ? null : body, { status, headers }));
      const answer = await opened.put(request("a"));
      expect(answer.kind === "answer" && answer.region).toBe(region);
    },
  );

  it("may have a code with a dot", async () => {
    const { opened } = scripted(new Response("<Code>KMS.DisabledException</Code>", { status: 400 }));
    expect(await opened.put(request("a"))).toMatchObject({ code: "KMS.DisabledException" });
  });

  it.each(["-5", "1.5", "soon", "", "120, 120", "1000000000000", "Infinity"])(
    "asks for no wait: Retry-After: %j",
    async (header) => {
      const { opened } = scripted(new Response(null, { status: 503, headers: { "retry-after": header } }));
      expect(await opened.put(request("k"))).toMatchObject({ status: 503, retryAfterS: null });
    },
  );

  it("is given longer to arrive the larger the object is, but never longer than an alarm may run", async () => {
    const timers = vi.spyOn(globalThis, "setTimeout");
    for (const bytes of [5, 10_000_000, 1_000_000_000])
      await scripted(new Response()).opened.put(request("k", "hello", { bytes }));
    const [small, large, largest] = timers.mock.calls.map(([, ms]) => ms);
    expect(small).toBe(60_000);
    expect(large).toBe(260_000);
    expect(largest).toBeLessThan(15 * 60_000);
  });

  it("leaves no timer behind, answered or not: it would keep a durable object awake", async () => {
    const [set, cleared] = [vi.spyOn(globalThis, "setTimeout"), vi.spyOn(globalThis, "clearTimeout")];
    await scripted(new Response()).opened.put(request("k"));
    await scripted(new Error("reset")).opened.put(request("k"));
    expect(set.mock.results.map(({ value }) => value)).toEqual(cleared.mock.calls.map(([timer]) => timer));
    expect(set).toHaveBeenCalledTimes(2);
  });

  it.each(["PUT", "HEAD"])(
    "is hung up on, so that the store sees it: a %s whose answer is withheld",
    async (method) => {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
      await control.script([rule({ do: "withhold" })]);
      const answer = method === "PUT" ? store().put(request("k")) : store().head("k");
      await control.whenHeld(1);
      vi.advanceTimersByTime(60_000);
      expect(await answer).toEqual({ kind: "unreachable", cause: "timeout" });
      await until(async () => (await control.requests())[0]?.state === "aborted");
    },
  );

  it.each([503, 200])("is not read on for ever when its body comes byte by byte: %i", async (status) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    await control.script([rule({ do: "trickle", status, everyMs: 1 })]);
    const answer = store().put(request("k"));
    // The deadline of the request, and that of its body.
    await until(() => status === 200 || vi.getTimerCount() === 2);
    vi.advanceTimersByTime(5_000);
    expect(await answer).toMatchObject({ kind: "answer", status, retryAfterS: null });
    await until(async () => (await control.requests())[0]?.state === "aborted");
  });

  it.each([204, 206, 304, 600, 999])("may have a status that makes no sense: %i", async (status) => {
    await control.script([rule({ do: "answer", status })]);
    expect(await store().put(request("k"))).toMatchObject({ kind: "answer", status });
    expect(await store().head("k")).toMatchObject({ kind: "answer", status });
  });

  it.each(["5, 5", "five", "-5", "0x5", "1e3", ""])("has a length only if it is a number: %j", async (length) => {
    const { opened } = scripted(new Response(null, { headers: { "content-length": length } }));
    expect(await opened.head("k")).toMatchObject({ kind: "answer", status: 200, bytes: null });
  });

  it("is known by its status even if nothing more comes of it", async () => {
    const never = new Promise<never>(() => {});
    const bodies: [what: string, pull: (controller: ReadableStreamDefaultController) => void | Promise<void>][] = [
      ["it breaks off", (controller) => controller.error(new Error("reset"))],
      ["it hangs, even when it is given up", () => never],
    ];
    vi.useFakeTimers();
    for (const [what, pull] of bodies)
      for (const status of [200, 403]) {
        const start = (controller: ReadableStreamDefaultController) =>
          controller.enqueue(new TextEncoder().encode("<Code>AccessDenied</Code><Mess"));
        const body = new ReadableStream({ start, pull, cancel: () => never }, { highWaterMark: 0 });
        const answer = scripted(new Response(body, { status })).opened.put(request("k"));
        await vi.advanceTimersByTimeAsync(5_000);
        const code = status === 403 ? "AccessDenied" : null;
        expect(await answer, what).toMatchObject({ kind: "answer", status, code });
      }
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("what is sent", () => {
  it("carries no secret, is signed for its moment, and follows no redirect", async () => {
    const { opened, asked } = scripted(new Response());
    await opened.put(request("date=x/k"));
    const [{ url, init } = { url: "", init: {} }] = asked;
    const headers = new Headers(init.headers);
    expect(url).toBe(`${inject("s3Url")}/scripted/date%3Dx/k`);
    expect(init).toMatchObject({ method: "PUT", redirect: "manual" });
    expect(headers.get("authorization")).toMatch(
      new RegExp(`^AWS4-HMAC-SHA256 Credential=${ACCESS_KEY}/20261120/auto/s3/aws4_request, `),
    );
    expect(headers.get("x-amz-date")).toBe("20261120T120000Z");
    expect(JSON.stringify([url, [...headers]])).not.toContain(SECRET_KEY);
  });

  it("has every header signed on which something depends", async () => {
    const { opened, asked } = scripted(new Response());
    await opened.put(request("k"));
    const signed = /SignedHeaders=([^,]*)/
      .exec(new Headers(asked[0]?.init.headers).get("authorization") ?? "")?.[1]
      ?.split(";");
    expect(signed).toEqual(
      expect.arrayContaining([
        "host",
        "if-none-match",
        "x-amz-content-sha256",
        "x-amz-date",
        "x-amz-meta-logship-sha256",
      ]),
    );
  });
});
