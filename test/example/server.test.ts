/**
 * Every handler of the built shop, called from outside. Each invocation becomes exactly one record,
 * with the expected fields, in the bucket.
 */
import { beforeAll, expect, it, onTestFailed } from "vitest";
import { SHOP_NAME } from "../../tools/example/app.ts";
import { DURING, type Json, log, recordOf, thrown } from "../support/expected-records.ts";
import { browserError, fetched, inReact, rendered, rpc, STACK, watched } from "./shop-records.ts";
import { truncatedLogs } from "./truncated.ts";
import { Watch } from "./watch.ts";
import { theWorld, type World } from "./world.ts";

/** The framework streams to browsers only. */
const BROWSER = {
  "User-Agent": "Mozilla/5.0 (X11; Linux x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36",
};

/** As in its project file, per address. */
const REPORTS_A_MINUTE = 30;
const SOCKETS_A_MINUTE = 30;

let world: World;
let watch: Watch;

beforeAll(async () => {
  world = theWorld();
  watch = await Watch.begin(world, "server");
});

/** Requests a page of the shop and checks its status. @returns the body. */
async function ask(path: string, status: number, init: RequestInit = {}): Promise<string> {
  const answer = await fetch(world.shop + path, { ...init, headers: { ...BROWSER, ...init.headers } });
  const body = await answer.text();
  expect([path, answer.status]).toEqual([path, status]);
  return body;
}

const at = (path: string): string => world.shop + path;

/** Opens a web socket from an address, as Cloudflare would state it. @returns null: refused. */
async function socketFrom(url: string, address: string): Promise<WebSocket | null> {
  const init = { headers: { "CF-Connecting-IP": address } };
  const socket = new WebSocket(url.replace(/^http/, "ws"), init as unknown as string[]);
  return new Promise((resolve) => {
    socket.onerror = () => resolve(null);
    socket.onopen = () => resolve(socket);
  });
}

/** The code that a socket is closed with. */
const closeOf = (socket: WebSocket): Promise<number> =>
  new Promise((resolve) => {
    socket.onclose = ({ code }) => resolve(code);
  });

// First: the upgrade is recorded when the durable object has been idle for ten seconds.
it("records a web socket's messages and its close", async () => {
  const url = at("/stock/oolong");
  const socket = new WebSocket(url.replace(/^http/, "ws"));
  const told = await new Promise((resolve, reject) => {
    socket.onerror = () => reject(new Error("the web socket failed"));
    socket.onopen = () => socket.send("how many?");
    socket.onmessage = ({ data }) => resolve(data);
  });
  expect(told).toBe('{"packets":20}');
  socket.close(4_000, "bye");
  watch.expect(...watched(url, ["how many?"], 4_000));
});

it("opens only so many web sockets for one address", async () => {
  const url = at("/stock/assam");
  let opened = 0;
  for (;;) {
    const socket = await socketFrom(url, "192.0.2.4");
    // The limit is per clock minute: if one ends in between, a second minute's worth is accepted.
    if (socket === null || opened > 2 * SOCKETS_A_MINUTE) break;
    opened += 1;
    const answered = new Promise((resolve) => {
      socket.onmessage = resolve;
    });
    socket.send("how many?");
    await answered;
    socket.close(1000);
    await closeOf(socket);
    watch.expect(...watched(url, ["how many?"], 1000));
  }
  watch.expect(fetched(url, 429));
  expect(opened).toBeGreaterThanOrEqual(SOCKETS_A_MINUTE);
  expect(opened).toBeLessThanOrEqual(2 * SOCKETS_A_MINUTE);
});

it("serves the prerendered page and other assets, of which there is no record", async () => {
  const about = await ask("/about", 200);
  expect(about).toContain("<address>Tea &amp; Co., Quay 7 &lt;east&gt;</address>");
  await ask("/favicon.svg", 200);
  const script = /src="(\/assets\/[^"]+\.js)"/.exec(about)?.[1] ?? /href="(\/assets\/[^"]+\.js)"/.exec(about)?.[1];
  await ask(script ?? "no script", 200);
});

it("records a page, one that is not there, and one whose tea is not", async () => {
  expect(await ask("/", 200)).toContain("<h1>Teas</h1>");
  await ask("/nowhere", 404);
  await ask("/teas/nothing", 404);
  watch.expect(
    rendered(at("/"), 200, "listTeas"),
    rendered(at("/nowhere"), 404),
    rendered(at("/teas/nothing"), 404, "readTea"),
  );
});

it("records a streamed page once, whose reviews follow in the same answer", async () => {
  const answer = await fetch(at("/teas/oolong"), { headers: BROWSER });
  const chunks: string[] = [];
  for await (const chunk of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) chunks.push(chunk);
  const firstWith = (text: string): number =>
    chunks.findIndex((_, last) =>
      chunks
        .slice(0, last + 1)
        .join("")
        .includes(text),
    );
  const [fallback, reviews] = [
    firstWith("Reviews are coming …"),
    firstWith("<li>I have never had a better Oolong.</li>"),
  ];
  expect(fallback).toBeGreaterThanOrEqual(0);
  expect(reviews).toBeGreaterThan(fallback);
  watch.expect(rendered(at("/teas/oolong"), 200, "readTea", "readReviews"));
});

it("records what the framework swallows", async () => {
  const swallowed = (path: string, status: number, message: string, ...Logs: Json[]): void =>
    watch.expect(fetched(at(path), status, { Logs, Exceptions: [thrown("Error", message)] }));
  await ask("/trouble/loader", 500);
  swallowed(
    "/trouble/loader",
    500,
    "the loader gave up",
    log("error", `loading /trouble/$kind: Error: the loader gave up${STACK}`),
  );
  await ask("/trouble/function", 500);
  swallowed(
    "/trouble/function",
    500,
    "the server function gave up",
    log("debug", "server function fail"),
    log("error", `server function fail: Error: the server function gave up${STACK}`),
  );
  await ask("/trouble/late", 200);
  swallowed(
    "/trouble/late",
    200,
    "the late server function gave up",
    log("debug", "server function failLate"),
    log("error", `server function failLate: Error: the late server function gave up${STACK}`),
    inReact("the late server function gave up"),
  );
  await ask("/api/trouble", 500);
  swallowed(
    "/api/trouble",
    500,
    "the route gave up",
    log("error", `request for /api/trouble: Error: the route gave up${STACK}`),
    log("error", "Error: the route gave up"),
  );
  // Only React logs this error.
  await ask("/trouble/component", 200);
  watch.expect(fetched(at("/trouble/component"), 200, { Logs: [inReact("the component gave up")] }));
});

it("records what nobody catches, and what is refused before", async () => {
  const pay = (body: string, token: string): RequestInit => ({
    method: "POST",
    body,
    headers: { Authorization: `Bearer ${token}` },
  });
  await ask("/payments", 405);
  await ask("/payments", 401, pay("not json", "a wrong one"));
  await ask("/payments", 500, pay("not json", world.paymentToken));
  // Invalid payments are not logged.
  await ask("/payments", 500, pay('{"order":"1","coins":"5","card":"4111"}', world.paymentToken));
  await ask("/payments", 204, pay('{"order":"1","coins":5}', world.paymentToken));
  const paid = (status: number | null, more: Json = {}): Json =>
    fetched(at("/payments"), status, { Method: "POST", ...more });
  watch.expect(
    fetched(at("/payments"), 405),
    paid(401),
    paid(null, {
      Outcome: "exception",
      Exceptions: [thrown("SyntaxError", `Unexpected token 'o', "not json" is not valid JSON`)],
    }),
    paid(null, { Outcome: "exception", Exceptions: [thrown("TypeError", "coins: a whole number")] }),
    paid(204, { Logs: [log("log", "paid", '{"order":"1","coins":5}')] }),
  );
});

it("records a call over RPC beside its caller, also one that throws", async () => {
  expect(JSON.parse(await ask("/api/prices/assam?packets=3", 200))).toEqual({ tea: "assam", packets: 3, coins: 15 });
  await ask("/api/prices/coffee", 500);
  const message = "there is no tea coffee";
  const text = `RangeError: ${message}`;
  const Exceptions = [thrown("RangeError", message)];
  watch.expect(
    fetched(at("/api/prices/assam?packets=3"), 200),
    rpc("Prices", "quote", [log("log", "price asked", '{"tea":"assam","packets":3}')]),
    fetched(at("/api/prices/coffee"), 500, {
      Logs: [log("error", `request for /api/prices/coffee: ${text}${STACK}`), log("error", text)],
      Exceptions,
    }),
    rpc(
      "Prices",
      "quote",
      [log("log", "price asked", '{"tea":"coffee","packets":1}'), log("error", `Prices.quote: ${text}${STACK}`)],
      Exceptions,
    ),
  );
});

it("records a request to a durable object twice: of the function, and of the object", async () => {
  expect(JSON.parse(await ask("/stock/rooibos", 200))).toEqual({ packets: 20 });
  await ask("/stock/coffee", 404);
  watch.expect(
    fetched(at("/stock/rooibos"), 200),
    fetched(at("/stock/rooibos"), 200, { Entrypoint: "Stock", Logs: [log("log", "stock asked")] }),
    rendered(at("/stock/coffee"), 404),
  );
});

it("records a visitor who leaves in the middle of an answer", async () => {
  const leaving = new AbortController();
  const answer = await fetch(at("/api/catalogue"), { headers: BROWSER, signal: leaving.signal });
  const { value } = (await answer.body?.getReader().read()) ?? {};
  expect(new TextDecoder().decode(value)).toBe("tea 1\n");
  leaving.abort();
  // When deployed, the outcome is `canceled`.
  watch.expect(fetched(at("/api/catalogue"), null, { Logs: [log("log", "printing the catalogue")] }));
});

it("records more than an event can hold, cut", async () => {
  expect(await ask("/api/stocktaking", 200)).toBe("3000 shelves\n");
  const lines = Array.from({ length: 3_000 }, (_, before) => `shelf ${before + 1}: ${"tea, ".repeat(20)}and dust`);
  // The platform's own limit.
  expect(lines.join("").length).toBeGreaterThan(256 * 1_024);
  const Logs = truncatedLogs(lines).map((text) => log("debug", text));
  expect(Logs.length).toBeGreaterThan(100);
  watch.expect(fetched(at("/api/stocktaking"), 200, { Logs }));
});

it("records a run of the schedule, whose notes the page then shows", async () => {
  expect(await ask("/teas/rooibos", 200)).toContain("No note yet.");
  await ask("/cdn-cgi/handler/scheduled?cron=0+3+*+*+*", 200);
  expect(await ask("/teas/rooibos", 200)).toMatch(/Rooibos: tasted on \d{4}-\d\d-\d\d, and good\./);
  const page = rendered(at("/teas/rooibos"), 200, "readTea", "readReviews");
  watch.expect(
    page,
    page,
    recordOf(
      SHOP_NAME,
      "scheduled",
      { Cron: "0 3 * * *", ScheduledTimeMs: DURING },
      { Logs: [log("log", "notes renewed", '{"cron":"0 3 * * *","notes":4}')] },
    ),
  );
});

it("ships an event that the shop makes of what a browser says", async () => {
  const body = JSON.stringify({ name: "TypeError", message: "x is undefined", page: "/teas/sencha" });
  await ask("/browser-errors", 403, { method: "POST", body });
  await ask("/browser-errors", 202, { method: "POST", body, headers: { "Sec-Fetch-Site": "same-origin" } });
  watch.expect(
    fetched(at("/browser-errors"), 403, { Method: "POST" }),
    ...browserError(world.shop, "/teas/sencha", "TypeError", "x is undefined"),
  );
});

it("makes no event of what is none, or too large, whoever says it", async () => {
  const error = { name: "Error", message: "x", page: "/" };
  const refused: [status: number, body: string][] = [
    [400, "no JSON"],
    [400, "null"],
    [400, JSON.stringify({ ...error, message: 7 })],
    [400, JSON.stringify({ ...error, message: "x".repeat(1_001) })],
    [400, JSON.stringify({ ...error, page: "javascript:alert(1)" })],
    [413, JSON.stringify({ ...error, more: "x".repeat(8_192) })],
  ];
  const headers = { "Sec-Fetch-Site": "same-origin", "CF-Connecting-IP": "192.0.2.3" };
  for (const [status, body] of refused) {
    await ask("/browser-errors", status, { method: "POST", body, headers });
    watch.expect(fetched(at("/browser-errors"), status, { Method: "POST" }));
  }
  await ask("/browser-errors", 405, { headers });
  watch.expect(fetched(at("/browser-errors"), 405));
});

it("takes only so many errors of browsers from one address, of which each is an event", async () => {
  const body = JSON.stringify({ name: "Error", message: "again and again", page: "/" });
  const headers = { "Sec-Fetch-Site": "same-origin", "CF-Connecting-IP": "192.0.2.1" };
  const tell = async (): Promise<number> =>
    (await fetch(at("/browser-errors"), { method: "POST", body, headers })).status;
  let taken = 0;
  // The limit is per clock minute: if one ends in between, a second minute's worth is accepted.
  while (taken <= 2 * REPORTS_A_MINUTE && (await tell()) === 202) {
    taken += 1;
    watch.expect(...browserError(world.shop, "/", "Error", "again and again"));
  }
  watch.expect(fetched(at("/browser-errors"), 429, { Method: "POST" }));
  expect(taken).toBeGreaterThanOrEqual(REPORTS_A_MINUTE);
  expect(taken).toBeLessThanOrEqual(2 * REPORTS_A_MINUTE);
  // Errors from another address are still accepted.
  await ask("/browser-errors", 202, { method: "POST", body, headers: { ...headers, "CF-Connecting-IP": "192.0.2.2" } });
  watch.expect(...browserError(world.shop, "/", "Error", "again and again"));
});

it("has each of these in the bucket exactly once, nothing else, and ledgers that balance", async () => {
  onTestFailed(() => console.log(world.said()));
  expect(await watch.end()).toEqual([]);
});
