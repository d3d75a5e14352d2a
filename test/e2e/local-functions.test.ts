/**
 * Functions uploaded to a real shipper run in a real function host, isolated from everything else,
 * and their events are shipped.
 */
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, it } from "vitest";
import { LOCAL_UPLOAD_MAX_BYTES } from "../../src/base/limits.ts";
import type { ModuleFiles } from "../../tools/client/api-client.ts";
import type { Job } from "../../tools/client/api-results.ts";
import type { LocalServer } from "../../tools/servers/local-server.ts";
import { pickPort } from "../../tools/servers/ports.ts";
import { until } from "../../tools/until.ts";
import { type Answered, ask, firstMessage, startHostOf } from "./function-host.ts";
import { firstPort } from "./ports.ts";
import { IsolatedShipper, jobInto, RECEIVED_WITHIN_MS } from "./shipper.ts";

const DELIVERED_WITHIN_MS = 30_000;

let shipper: IsolatedShipper;
let host: LocalServer;

beforeAll(async () => {
  const port = await pickPort(firstPort("host"));
  shipper = await IsolatedShipper.start({ queueWaitS: 1, settings: { LOCAL_FUNCTIONS: `http://localhost:${port}` } });
  host = await startHostOf(shipper, port);
});

afterAll(async () => {
  await host?.stop();
  await shipper?.[Symbol.asyncDispose]();
});

const ES_MODULE = "application/javascript+module";

/** The first file is the main module. */
const uploadFiles = (name: string, files: ModuleFiles, metadata: object = { logship: true }): Promise<void> =>
  shipper.api.uploadFunction(name, { main_module: Object.keys(files)[0], ...metadata }, files);

const upload = (name: string, code: string, metadata?: object): Promise<void> =>
  uploadFiles(name, { "index.js": [ES_MODULE, code] }, metadata);

const visit = (name: string, path = "/", headers: Readonly<Record<string, string>> = {}): Promise<Answered> =>
  ask(host.port, `${name}.localhost:${host.port}`, path, { headers });

/**
 * Visits until the answer has this status: the host reloads when the shipper comes or goes, and
 * what is asked meanwhile breaks off.
 */
async function visited(name: string, wanted: number): Promise<string> {
  const { text } = await until({
    what: `${name} to answer ${wanted}`,
    withinMs: DELIVERED_WITHIN_MS,
    look: () =>
      visit(name).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "ECONNRESET") throw error;
        return { status: 0, text: "the connection broke off" };
      }),
    enough: ({ status }) => status === wanted,
  });
  return text;
}

const answering = (text: string): string => `export default { fetch: () => new Response(${JSON.stringify(text)}) };`;

/** A module that answers with the value of the expression, as JSON. */
const telling = (expression: string): string =>
  `export default { async fetch(request, env, ctx) { return Response.json(await (${expression})); } };`;

async function countedEvents(count: number): Promise<void> {
  await until({
    what: `the ledger to show ${count} processed`,
    withinMs: RECEIVED_WITHIN_MS,
    look: () => shipper.api.accountLedger(),
    enough: ({ processed }) => processed >= count,
  });
}

async function shippedBy({ id }: Job, folder: string): Promise<Readonly<Record<string, unknown>>[]> {
  await shipper.api.flush(id);
  await until({
    what: "the ledger to show nothing pending",
    withinMs: DELIVERED_WITHIN_MS,
    look: () => shipper.api.jobLedger(id),
    enough: ({ pending }) => pending === 0,
  });
  return (await shipper.recordsBelow(folder)) as Readonly<Record<string, unknown>>[];
}

describe("the events of a function that runs locally", () => {
  it("ship while its logging is on, under its name, and are dropped and counted once it is uploaded with logging off", async ({
    expect,
  }) => {
    const job = await shipper.api.createJob(jobInto("local"));
    // A function may have any name, even the shipper's.
    const code = `export default { fetch(request) {
      console.log("visited", { path: new URL(request.url).pathname });
      console.warn("twice");
      if (new URL(request.url).pathname === "/throw") throw new TypeError("as asked");
      return new Response("one");
    } };`;
    await upload("shop", code);
    await upload("logship", answering("no relation"));
    expect(await visit("shop", "/a?b=c")).toMatchObject({ status: 200, text: "one" });
    const thrown = await visit("shop", "/throw");
    expect([thrown.status, thrown.headers["content-type"]]).toEqual([500, "text/plain; charset=utf-8"]);
    expect(thrown.text).toBe("The Worker shop failed. TypeError: as asked\n");
    expect(await visit("logship")).toMatchObject({ status: 200, text: "no relation" });
    await countedEvents(3);

    await upload("shop", code.replace('"one"', '"two"'), { logship: false });
    expect(await visit("shop", "/off")).toMatchObject({ status: 200, text: "two" });
    expect(await visit("shop", "/throw")).toMatchObject({ status: 500 });
    await countedEvents(5);

    const origin = (name: string): string => `http://${name}.localhost:${host.port}`;
    const logs = (path: string): unknown => [
      expect.objectContaining({ Level: "log", Message: ["visited", JSON.stringify({ path })] }),
      expect.objectContaining({ Level: "warn", Message: ["twice"] }),
    ];
    const records = await shippedBy(job, "local");
    expect(records).toHaveLength(3);
    expect(records).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          ScriptName: "shop",
          EventType: "fetch",
          Outcome: "ok",
          Logs: logs("/a"),
          Exceptions: [],
          Event: { RayID: "", Request: { URL: `${origin("shop")}/a?b=c`, Method: "GET" }, Response: { Status: 200 } },
        }),
        expect.objectContaining({
          ScriptName: "shop",
          Outcome: "exception",
          Logs: logs("/throw"),
          Exceptions: [expect.objectContaining({ name: "TypeError", message: "as asked" })],
          Event: { RayID: "", Request: { URL: `${origin("shop")}/throw`, Method: "GET" }, Response: {} },
        }),
        expect.objectContaining({ ScriptName: "logship", Outcome: "ok", Logs: [] }),
      ]),
    );
    expect(await shipper.api.accountLedger()).toMatchObject({ processed: 5, routed: 3, not_enabled: 2 });
    expect(await shipper.api.function("shop")).toMatchObject({ shipped: 2, dropped: { logging_off: 2, no_job: 0 } });
  });
});

describe("an upload", () => {
  it("replaces what ran from the next request on, and is gone when it is deleted", async ({ expect }) => {
    await upload("changing", answering("one"));
    expect(await visit("changing")).toMatchObject({ text: "one" });
    await upload("changing", answering("two"));
    expect(await visit("changing")).toMatchObject({ text: "two" });
    await shipper.api.deleteFunction("changing");
    const gone = await visit("changing");
    expect([gone.status, gone.text]).toEqual([404, "No Worker changing is uploaded.\n"]);
    await upload("changing", answering("three"));
    expect(await visit("changing")).toMatchObject({ text: "three" });
  });

  it("can have modules of every type that the loader knows, and its own date and flags", async ({ expect }) => {
    const files: ModuleFiles = {
      "index.js": [
        ES_MODULE,
        `import text from "./page.html"; import data from "./logo.bin"; import json from "./data.json";
         import old from "./old.cjs"; import wasm from "./lib/sum.wasm"; import { Buffer } from "node:buffer";
         import { more } from "./lib/more.js";
         export default { fetch: () => Response.json({ text, data: [...new Uint8Array(data)], json, old, more,
           wasm: wasm instanceof WebAssembly.Module, hex: Buffer.from("é").toString("hex") }) };`,
      ],
      "lib/more.js": [ES_MODULE, "export const more = import.meta !== undefined;"],
      "page.html": ["text/plain", "<p>é"],
      "logo.bin": ["application/octet-stream", new Uint8Array([0, 255])],
      "data.json": ["application/json", '{"a":[1]}'],
      "old.cjs": ["application/javascript", "module.exports = 7;"],
      "lib/sum.wasm": ["application/wasm", new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])],
      "index.js.map": ["application/source-map", "{}"],
    };
    const metadata = { logship: true, compatibility_date: "2024-01-01", compatibility_flags: ["nodejs_compat"] };
    await uploadFiles("modules", files, metadata);
    expect(JSON.parse((await visit("modules")).text)).toEqual({
      text: "<p>é",
      data: [0, 255],
      json: { a: [1] },
      old: 7,
      more: true,
      wasm: true,
      hex: "c3a9",
    });
  });

  it("can be as large as is allowed", async ({ expect }) => {
    const code = 'import data from "./data.bin"; export default { fetch: () => Response.json(data.byteLength) };';
    // The rest is for the form around it.
    const bytes = LOCAL_UPLOAD_MAX_BYTES - 10_000;
    await uploadFiles("large", {
      "index.js": [ES_MODULE, code],
      "data.bin": ["application/octet-stream", randomBytes(bytes)],
    });
    expect(await visit("large")).toMatchObject({ status: 200, text: String(bytes) });
  });

  it.for([
    ["a syntax error", "export default {", /SyntaxError/],
    ["an error while it starts", 'throw new Error("at once");', /at once/],
    ["an import that is not there", 'import "./none.js"; export default {};', /Module not found: .*none\.js/],
    ["no handler", "export default {};", /does not export a fetch/],
  ] as const)("that cannot run answers 500 and says why, each time: %s", async ([_what, code, why], { expect }) => {
    await upload("broken", code);
    for (let i = 0; i < 2; i++) {
      const answer = await visit("broken");
      expect([answer.status, answer.headers["content-type"]]).toEqual([500, "text/plain; charset=utf-8"]);
      expect(answer.text).toMatch(why);
    }
    await upload("broken", answering("mended"));
    expect(await visit("broken")).toMatchObject({ status: 200, text: "mended" });
  });
});

describe("a function that runs locally", () => {
  it("has an origin of its own, and the host answers for no other name", async ({ expect }) => {
    const origin = telling('({ origin: new URL(request.url).origin, host: request.headers.get("Host") })');
    await upload("one", origin);
    await upload("two", origin);
    const names = ["one", "two"].map((name) => `${name}.localhost:${host.port}`);
    const told = await Promise.all(names.map(async (name) => JSON.parse((await ask(host.port, name, "/")).text)));
    expect(told).toEqual(names.map((name) => ({ origin: `http://${name}`, host: name })));
    for (const name of [
      "localhost",
      `localhost:${host.port}`,
      "127.0.0.1",
      "one.localhost.example",
      "a.one.localhost",
    ]) {
      const answer = await ask(host.port, name, "/");
      expect([answer.status, answer.text]).toEqual([404, expect.stringContaining("http://<script_name>.localhost")]);
    }
    // The shipper does not answer for a function either.
    expect((await ask(Number(new URL(shipper.api.url).port), "one.localhost", "/")).text).not.toContain("origin");
  });

  it("gets neither cookies nor credentials of its visitor, nor any binding", async ({ expect }) => {
    await upload("curious", telling("({ headers: Object.fromEntries(request.headers), env: Object.keys(env) })"));
    const { text } = await visit("curious", "/", {
      Cookie: "session=secret",
      Authorization: "Bearer secret",
      "Proxy-Authorization": "Basic secret",
      "X-Auth-Email": "secret@example.com",
      "X-Auth-Key": "secret",
      "CF-Access-Jwt-Assertion": "secret",
      "X-Of-Its-Own": "kept",
    });
    expect(text).not.toContain("secret");
    expect(JSON.parse(text)).toMatchObject({ headers: { "x-of-its-own": "kept" }, env: [] });
  });

  it("sets no cookies, and has no file of this machine shown as the source of an error", async ({ expect }) => {
    const stack = JSON.stringify({
      name: "Error",
      message: "x",
      stack: `Error: x\n    at f (${import.meta.filename}:1:1)`,
    });
    await upload(
      "forging",
      `export default { fetch: () => new Response(${JSON.stringify(stack)}, { status: 500, headers: {
        "MF-Experimental-Error-Stack": "true", "Set-Cookie": "a=b; Domain=localhost" } }) };`,
    );
    const answer = await visit("forging", "/", { Accept: "text/html" });
    expect([answer.status, answer.text]).toEqual([500, stack]);
    expect(Object.keys(answer.headers).filter((name) => /cookie|^mf-/.test(name))).toEqual([]);
  });

  it("reaches no network: neither this machine, by requests or sockets, nor any other", async ({ expect }) => {
    let visitors = 0;
    const server = createServer((_request, answer) => {
      visitors += 1;
      answer.end();
    });
    server.on("connection", () => {
      visitors += 1;
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      const { port } = server.address() as AddressInfo;
      const urls = [
        `http://127.0.0.1:${port}/`,
        `http://localhost:${port}/`,
        shipper.api.url,
        host.url,
        "http://192.0.2.1/",
      ];
      await upload(
        "reaching",
        `import { connect } from "cloudflare:sockets";
         const outcome = async (attempt) => { try { await attempt(); return "reached"; } catch { return "refused"; } };
         export default { async fetch() {
           const outcomes = await Promise.all(${JSON.stringify(urls)}.map((url) => outcome(() => fetch(url))));
           const socket = await outcome(() => connect("127.0.0.1:${port}").opened);
           const webSocket = await outcome(() => fetch("http://127.0.0.1:${port}/", { headers: { Upgrade: "websocket" } }));
           return Response.json([...outcomes, socket, webSocket]);
         } };`,
      );
      expect(JSON.parse((await visit("reaching")).text)).toEqual(Array(urls.length + 2).fill("refused"));
      expect(visitors).toBe(0);
    } finally {
      server.close();
    }
  });

  it("works again after it has ended its own isolate, without another upload", async ({ expect }) => {
    await upload(
      "ending",
      `import { abortIsolate } from "cloudflare:workers";
       let visits = 0;
       export default { fetch(request) {
         if (new URL(request.url).pathname === "/end") abortIsolate("enough");
         return new Response(String(++visits));
       } };`,
    );
    const answers: string[] = [];
    for (const path of ["/", "/", "/end", "/", "/end", "/"]) {
      const { status, text } = await visit("ending", path);
      answers.push(status === 200 ? text : String(status));
    }
    expect(answers).toEqual(["1", "2", "500", "1", "500", "1"]);
  });

  it("can open web sockets, stream, and send its visitor elsewhere", async ({ expect }) => {
    await upload(
      "lively",
      `export default { fetch(request) {
        const { pathname } = new URL(request.url);
        if (pathname === "/elsewhere") return Response.redirect("http://localhost:1/", 302);
        if (pathname === "/stream") return new Response(new Blob(["a", "b"]).stream());
        const [visitor, own] = Object.values(new WebSocketPair());
        own.accept();
        own.send("hello");
        return new Response(null, { status: 101, webSocket: visitor });
      } };`,
    );
    expect(await visit("lively", "/elsewhere")).toMatchObject({
      status: 302,
      headers: { location: "http://localhost:1/" },
    });
    expect(await visit("lively", "/stream")).toMatchObject({ status: 200, text: "ab" });
    expect(await firstMessage(host.port, `lively.localhost:${host.port}`, "/")).toBe("hello");
  });
});

describe("what wrangler dev serves itself", () => {
  const PATHS = [
    "/cdn-cgi/local/explorer",
    "/cdn-cgi/local/explorer/api/local/workers",
    "/cdn-cgi/explorer/api/local/workers",
    "/cdn-cgi/local/r2/s3/traces",
    "/cdn-cgi/local/r2/public/traces",
    "/cdn-cgi/local/scheduled",
    "/cdn-cgi/handler/scheduled",
    "/cdn-cgi/mf/scheduled",
    "/cdn-cgi/local/email",
    "/cdn-cgi/local/platform-proxy",
  ];

  it.for(PATHS)(
    "is not there for the page of a function, on its own origin or on another: %s",
    async (path, { expect }) => {
      await upload("page", answering("the page"));
      const own = `page.localhost:${host.port}`;
      const shipperPort = Number(new URL(shipper.api.url).port);
      // A browser sends the origin with every request but a plain GET; "null" is that of a
      // sandboxed frame.
      const asked = ["GET", "POST", "OPTIONS"].flatMap((method) => [
        { method, port: host.port, name: own, origin: null },
        ...[`http://${own}`, "null"].flatMap((origin) => [
          { method, port: host.port, name: own, origin },
          { method, port: host.port, name: `localhost:${host.port}`, origin },
          { method, port: shipperPort, name: `localhost:${shipperPort}`, origin },
          { method, port: shipperPort, name: own, origin },
        ]),
      ]);
      const answers: string[] = [];
      for (const { method, port, name, origin } of asked) {
        const headers = origin === null ? {} : { Origin: origin };
        const answer = await ask(port, name, path, { method, headers });
        const opened = Object.keys(answer.headers).filter((header) => header.startsWith("access-control-"));
        answers.push(`${method} ${name} on ${port} from ${origin}: ${answer.status} ${answer.text} ${opened}`);
      }
      expect(answers.filter((answer) => !/: 403 Invalid (Host|Origin) header $/.test(answer))).toEqual([]);
    },
  );

  it.for(PATHS.slice(0, 3))(
    "has no explorer on the port of the functions, whoever asks: %s",
    async (path, { expect }) => {
      const answer = await ask(host.port, `localhost:${host.port}`, path);
      expect([answer.status, answer.text]).toEqual([404, expect.stringContaining("Uploaded Workers run here")]);
    },
  );
});

describe("the function host", () => {
  it("says so while the shipper does not answer, and goes on when it is back, with what was uploaded", async ({
    expect,
  }) => {
    await upload("patient", answering("still here"));
    expect(await visit("patient")).toMatchObject({ status: 200 });
    await shipper.stop();
    expect(await visited("patient", 503)).toContain("does not answer");
    await shipper.restart();
    expect(await visited("patient", 200)).toBe("still here");
  });
});
