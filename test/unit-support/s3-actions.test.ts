import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { type Action, rule } from "../support/s3-script.ts";
import { BODY, codeOf, newBucket, put, send, server, sha256, signed, urlOf, withServer } from "./s3-client.ts";

withServer();

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

  it("withholds an answer: the object is there before anything is said of it", async () => {
    const bucket = newBucket(rule({ do: "withhold" }));
    const answer = put(urlOf(bucket, "key"));
    await server.whenHeld(bucket, 1);
    expect(server.puts(bucket)).toHaveLength(1);
    expect(server.requests(bucket)).toMatchObject([{ state: "held", status: null, stored: true }]);
    expect(server.release(bucket)).toBe(1);
    expect((await answer).headers.get("etag")).toBe(server.puts(bucket)[0]?.etag);
  });

  it.for([
    ["a withheld", { do: "withhold" }],
    ["a trickled", { do: "trickle", status: 200, everyMs: 1 }],
  ] as const)("notes a client that hangs up on %s answer, and holds it no longer", async ([, action]) => {
    const bucket = newBucket(rule(action));
    const hangUp = new AbortController();
    const request = await signed(urlOf(bucket, "key"), { method: "PUT", body: BODY });
    const abandoned = fetch(request, { signal: hangUp.signal }).then((response) => response.text());
    await server.whenHeld(bucket, 1);
    hangUp.abort();
    await expect(abandoned).rejects.toThrow("aborted");
    await expect.poll(() => server.requests(bucket)).toMatchObject([{ state: "aborted" }]);
    expect(server.release(bucket)).toBe(0);
  });

  it("trickles a body, byte by byte, and never ends it; stores only if it is told to", async () => {
    const bucket = newBucket(
      rule({ do: "trickle", status: 503, code: "SlowDown", everyMs: 1, headers: { "retry-after": "7" } }, {}, 1),
      rule({ do: "trickle", status: 200, store: true }),
    );
    const slow = await put(urlOf(bucket, "key"));
    expect([slow.status, slow.headers.get("retry-after")]).toEqual([503, "7"]);
    const reader = slow.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.endsWith("</Error>     ")) text += (await reader?.read())?.value;
    expect(text).toContain("<Code>SlowDown</Code>");
    await reader?.cancel();
    expect(server.puts(bucket)).toEqual([]);

    const endless = await put(urlOf(bucket, "key"));
    expect(endless.status).toBe(200);
    expect(server.puts(bucket)).toHaveLength(1);
    const cut = expect(endless.text()).rejects.toThrow("terminated");
    server.release(bucket);
    await cut;
  });

  it("keeps nothing and says 200; keeps no metadata; gives no ETag", async () => {
    const bucket = newBucket(rule({ do: "discard" }));
    const url = urlOf(bucket, "key");
    const kept = await put(url);
    expect([kept.status, kept.headers.get("etag"), server.puts(bucket)]).toEqual([200, null, []]);
    expect(await codeOf(await send(url))).toBe("404 NoSuchKey");

    const meta = { "x-amz-meta-job": "7" };
    server.script(bucket, [rule({ do: "drop-meta" }, { method: "PUT" })]);
    await put(url, BODY, meta);
    expect(server.objects(bucket)).toMatchObject([{ meta: {}, sha256: sha256(BODY) }]);
    server.script(bucket, [rule({ do: "drop-meta" }, { method: "HEAD" }), rule({ do: "no-etag" }, { method: "GET" })]);
    await put(url, BODY, meta);
    expect(server.objects(bucket)).toMatchObject([{ meta }]);
    const head = await send(url, { method: "HEAD" });
    expect([head.headers.has("x-amz-meta-job"), head.headers.has("etag")]).toEqual([false, true]);
    const get = await send(url);
    expect([get.headers.has("x-amz-meta-job"), get.headers.has("etag"), await get.text()]).toEqual([true, false, BODY]);
    server.script(bucket, [rule({ do: "no-etag" })]);
    const silent = await put(url);
    expect([silent.status, silent.headers.has("etag")]).toEqual([200, false]);
  });

  it.for([204, 206, 304, 600, 999])("answers with the status %i as it is told", async (status) => {
    const bucket = newBucket(rule({ do: "answer", status }));
    // A raw socket: fetch does not pass on every one of these statuses.
    const socket = connect(server.port, "127.0.0.1");
    const { headers } = await signed(urlOf(bucket, "key"));
    const lines = [...headers].map(([name, value]) => `${name}: ${value}\r\n`).join("");
    socket.write(`GET /${bucket}/key HTTP/1.1\r\nhost: 127.0.0.1:${server.port}\r\n${lines}\r\n`);
    const [answer] = (await once(socket, "data")) as [Buffer];
    socket.destroy();
    expect(String(answer)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });
});
