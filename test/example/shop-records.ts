/** The records of what the shop does. */
import { BROWSER_NAME, SHOP_NAME } from "../../tools/example/app.ts";
import { DURING, type Json, log, recordOf, requestEvent, thrown } from "../support/expected-records.ts";

/** A stack, as {@link ./watch.ts} leaves it. */
export const STACK = "\n    at …";

/** The line that React logs for an error while it renders; nothing else logs it. */
export function inReact(message: string): Json {
  return log("error", "Error in renderToReadableStream:", `Error: ${message}`, '{"componentStack":"\\n    at …"}');
}

/** A request. @param status null: it was not answered. */
export function fetched(
  url: string,
  status: number | null,
  { Method, ...more }: Json & { Method?: string } = {},
): Json {
  return recordOf(SHOP_NAME, "fetch", requestEvent(url, status, Method === undefined ? {} : { Method }), more);
}

/** A page whose server functions log that they were called. */
export function rendered(url: string, status: number, ...functions: readonly string[]): Json {
  return fetched(url, status, { Logs: functions.map(called) });
}

/** A server function called by a page. The platform redacts the long id in its URL. */
export function asked(shop: string, name: string, { argument = false, logs = [], exceptions = [] }: Asked = {}): Json {
  return fetched(`${shop}/_serverFn/REDACTED${argument ? "?payload=…" : ""}`, 200, {
    ...(!argument && { Method: "POST" }),
    Logs: [called(name), ...logs],
    Exceptions: exceptions,
  });
}

interface Asked {
  /** A call that changes nothing has its argument in the URL. */
  readonly argument?: boolean;
  readonly logs?: readonly Json[];
  readonly exceptions?: readonly Json[];
}

function called(name: string): Json {
  return log("debug", `server function ${name}`);
}

/** A method called over RPC, or a workflow's run. */
export function rpc(
  Entrypoint: string,
  RPCMethod: string,
  Logs: readonly Json[],
  Exceptions: readonly Json[] = [],
): Json {
  return recordOf(SHOP_NAME, "worker_rpc", { RPCMethod }, { Entrypoint, Exceptions, Logs });
}

export function taken(packets: number): Json {
  return rpc("Stock", "take", [log("log", "stock taken", JSON.stringify({ packets, isThere: true }))]);
}

export interface Order {
  readonly id: string;
  readonly tea: string;
  readonly packets: number;
  readonly to: string;
}

/** The records of an order: of the call, the stock and the queue. */
export function ordered(shop: string, order: Order): Json[] {
  const placed = asked(shop, "placeOrder", { logs: [log("log", "order placed", JSON.stringify(order))] });
  return [placed, taken(order.packets), ...(order.to === "the moon" ? givenUp(order) : [packed(order, 1)])];
}

function packed(order: Order, attempt: number, more: Json = {}): Json {
  const Logs = [log("log", "packing an order", JSON.stringify({ ...order, attempt }))];
  return recordOf(SHOP_NAME, "queue", { Queue: "tea-shop-orders", BatchSize: 1 }, { Logs, ...more });
}

/** Three attempts, and the dead-letter queue. */
function givenUp(order: Order): Json[] {
  const failed = { Outcome: "exception", Exceptions: [thrown("Error", `no courier goes to ${order.to}`)] };
  const Logs = [log("error", "order given up", JSON.stringify(order))];
  return [
    ...[1, 2, 3].map((attempt) => packed(order, attempt, failed)),
    recordOf(SHOP_NAME, "queue", { Queue: "tea-shop-orders-dead", BatchSize: 1 }, { Logs }),
  ];
}

/**
 * A web socket that watches the stock, from upgrade to close. Neither of its two requests is
 * answered with a status.
 */
export function watched(url: string, asks: readonly string[], Code: number): Json[] {
  const socket = (Event: Json, text: Json): Json =>
    recordOf(SHOP_NAME, "hibernatable_web_socket", Event, { Entrypoint: "Stock", Logs: [text] });
  return [
    fetched(url, null),
    fetched(url, null, { Entrypoint: "Stock", Logs: [log("log", "stock watched")] }),
    ...asks.map((ask) => socket({ WebSocketEventType: "message" }, log("log", "watcher asks", ask))),
    socket(
      { WebSocketEventType: "close", Code, WasClean: true },
      log("log", "watcher left", JSON.stringify({ code: Code })),
    ),
  ];
}

/** A packet that is held, and comes back. */
export function held(shop: string): Json[] {
  return [
    asked(shop, "holdPacket"),
    rpc("Stock", "hold", [log("log", "stock held", '{"isThere":true}')]),
    recordOf(
      SHOP_NAME,
      "alarm",
      { ScheduledTimeMs: DURING },
      { Entrypoint: "Stock", Logs: [log("warn", "nobody came for it", '{"packets":1}')] },
    ),
  ];
}

export function restocked(shop: string, tea: string): Json[] {
  return [
    asked(shop, "restock"),
    rpc("Restock", "run", [
      log("log", "restocking", JSON.stringify({ tea, packets: 5 })),
      log("log", "restocked", JSON.stringify({ tea, packets: 5 })),
    ]),
    rpc("Stock", "add", [log("log", "stock added", '{"packets":5}')]),
  ];
}

/**
 * An error in a visitor's browser: the request that reports it, and the event that the shop makes
 * of it.
 */
export function browserError(shop: string, Page: string, name: string, message: string): Json[] {
  const more = { Outcome: "exception", Exceptions: [thrown(name, message)] };
  return [
    fetched(`${shop}/browser-errors`, 202, { Method: "POST" }),
    recordOf(BROWSER_NAME, "browser", { Page }, more),
  ];
}
