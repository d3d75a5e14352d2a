import type { ReactNode } from "react";
import { holdPacket, placeOrder, restock, subscribe } from "../shop/functions.ts";
import { sayOrder } from "../shop/order-form.tsx";
import { Ask, BreakBrowser, Get, Watch } from "./controls.tsx";

export interface Row {
  readonly kind: string;
  /** Its record: event type and outcome, then what else there is. */
  readonly record: string;
  readonly says: string;
  readonly control: ReactNode;
}

export interface Group {
  readonly name: string;
  readonly rows: readonly Row[];
}

/** The tea that all controls use. */
const TEA = "assam";

async function order(to: string): Promise<string> {
  return sayOrder(await placeOrder({ data: { tea: TEA, packets: 1, to } }));
}

async function hold(): Promise<string> {
  return (await holdPacket({ data: TEA })) ? "Held; it comes back in a second." : "There is none.";
}

export const GROUPS: readonly Group[] = [
  {
    name: "Requests",
    rows: [
      {
        kind: "A page with a part that follows in its stream",
        record: "fetch, ok",
        says: "Status 200; one record for all of it. Logs: server function readTea, server function readReviews.",
        control: <Get path="/teas/sencha" />,
      },
      {
        kind: "A page that is not there",
        record: "fetch, ok",
        says: "Status 404. For the platform all went well.",
        control: <Get path="/nowhere" />,
      },
      {
        kind: "A prerendered page",
        record: "none",
        says: "A static file: no function runs.",
        control: <Get path="/about" />,
      },
      {
        kind: "An answer whose reader leaves before its end",
        record: "fetch, canceled",
        says: "No status. On a developer's machine the outcome is ok. Stop it while it is loading.",
        control: <Get path="/api/catalogue" />,
      },
      {
        kind: "More logs than an event can hold (256 KB)",
        record: "fetch, ok",
        says: "The first 16,384 characters of them, and a marker where they were cut.",
        control: <Get path="/api/stocktaking" />,
      },
      {
        kind: "An uncaught exception",
        record: "fetch, exception",
        says: "No status. Exceptions: SyntaxError.",
        control: <code>{`curl -H "Authorization: Bearer $PAYMENT_TOKEN" -d 'no JSON' $SHOP/payments`}</code>,
      },
    ],
  },
  {
    name: "Errors that a framework swallows",
    rows: [
      {
        kind: "In a loader",
        record: "fetch, ok",
        says: "Status 500. Exceptions: Error: the loader gave up.",
        control: <Get path="/trouble/loader" />,
      },
      {
        kind: "In a server function",
        record: "fetch, ok",
        says: "Status 500. Exceptions: Error: the server function gave up.",
        control: <Get path="/trouble/function" />,
      },
      {
        kind: "In a component, while it is rendered",
        record: "fetch, ok",
        says: "Status 200. No exception: a line of React's own is all there is, in Logs. The browser tries once more, and reports.",
        control: <Get path="/trouble/component" />,
      },
      {
        kind: "In what follows in the stream",
        record: "fetch, ok",
        says: "Status 200, long since sent. Exceptions: Error: the late server function gave up.",
        control: <Get path="/trouble/late" />,
      },
      {
        kind: "In a route's own handler",
        record: "fetch, ok",
        says: "Status 500. Exceptions: Error: the route gave up.",
        control: <Get path="/api/trouble" />,
      },
      {
        kind: "In a promise after the answer (waitUntil)",
        record: "fetch, ok",
        says: "Status 200. Exceptions: Error: the mail server is full.",
        control: <Ask name="Subscribe" question={() => subscribe()} />,
      },
      {
        kind: "In a method called over RPC",
        record: "worker_rpc, ok",
        says: "Entrypoint Prices, method quote, Exceptions: RangeError; and the same of the request that called it.",
        control: <Get path="/api/prices/coffee" />,
      },
      {
        kind: "In the browser",
        record: "browser, exception",
        says: "A record of tea-shop-browser, made by the shop itself and handed to the shipper over RPC.",
        control: <BreakBrowser />,
      },
    ],
  },
  {
    name: "Everything else that runs",
    rows: [
      {
        kind: "A server function and a queue",
        record: "fetch, ok; worker_rpc, ok; queue, ok",
        says: "Path /_serverFn/REDACTED; Entrypoint Stock, method take; queue tea-shop-orders, BatchSize 1.",
        control: <Ask name="Order a packet" question={() => order("home")} />,
      },
      {
        kind: "A queue whose message fails each time",
        record: "queue, exception",
        says: "Three times, with attempt 1, 2 and 3 in Logs; then one record of tea-shop-orders-dead, ok.",
        control: <Ask name="Order to the moon" question={() => order("the moon")} />,
      },
      {
        kind: "A method called over RPC",
        record: "worker_rpc, ok",
        says: "Entrypoint Prices, method quote; beside the request that called it.",
        control: <Get path={`/api/prices/${TEA}`} />,
      },
      {
        kind: "A request to a durable object",
        record: "fetch, ok",
        says: "Twice: of the request, and of the object, with Entrypoint Stock.",
        control: <Get path={`/stock/${TEA}`} />,
      },
      {
        kind: "An alarm",
        record: "alarm, ok",
        says: "Entrypoint Stock; a second after the call of method hold.",
        control: <Ask name="Hold a packet" question={hold} />,
      },
      {
        kind: "A web socket",
        record: "hibernatable_web_socket, ok",
        says: "Entrypoint Stock; one record for each message and one for the close, with its code. The upgrade is two of fetch, without a status.",
        control: <Watch tea={TEA} />,
      },
      {
        kind: "A workflow",
        record: "worker_rpc, ok",
        says: "Entrypoint Restock, method run; and method add of Stock.",
        control: <Ask name="Restock" question={async () => `Run ${await restock({ data: TEA })} has started.`} />,
      },
      {
        kind: "A schedule",
        record: "scheduled, ok",
        says: "Cron 0 3 * * *. The address works on a developer's machine only; deployed, the platform calls it every night.",
        control: <Get path="/cdn-cgi/handler/scheduled?cron=0+3+*+*+*" />,
      },
    ],
  },
];
