/**
 * A small shop: a function whose trace events are shipped, one for each invocation of any kind. It
 * knows nothing of the shipper. It passes `?event=` along, so that its logs say which request a
 * batch, a call or an alarm belongs to.
 */
import { Prices } from "./prices.ts";
import { Reservation } from "./reservation.ts";

export { Prices, Reservation };

/** Bindings of wrangler.jsonc. */
export interface Env {
  readonly PARCELS: Queue<Parcel>;
  readonly RESERVATION: DurableObjectNamespace<Reservation>;
}

export interface Parcel {
  readonly order: string;
  /** Id of the request. */
  readonly event: string;
}

declare global {
  namespace Cloudflare {
    interface GlobalProps {
      /** Types `ctx.exports`. */
      mainModule: typeof import("./index.ts");
    }
  }
}

class PaymentError extends Error {
  override name = "PaymentError";
}

export default {
  async fetch(request, env, ctx): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const [, folder, name = ""] = pathname.split("/");
    const event = searchParams.get("event") ?? "";
    switch (folder) {
      case "orders":
        console.log("order looked up", { path: pathname, items: 3 });
        return Response.json({ order: name, items: 3 });
      case "checkout":
        console.log("charging the card");
        // Not caught: the visitor gets a 500, the trace event the outcome `exception`.
        throw new PaymentError("the bank did not answer");
      case "report":
        for (let row = 1; row <= 120; row++) console.debug(`row ${row} of 120: turnover ${(row * 37) % 1000} coins`);
        console.warn("the report is slow");
        return new Response("120 rows\n");
      case "newsletter":
        console.info("signed up; the mail goes out after the answer");
        // Fails after the answer: the outcome stays `ok`, but the event has the exception.
        ctx.waitUntil(Promise.reject(new Error("the mail server is full")));
        return new Response("welcome\n", { status: 202 });
      case "prices":
        // Another function would call it by a service binding with `"entrypoint": "Prices"`.
        return Response.json({ item: name, coins: await ctx.exports.Prices.quote(name, event) });
      case "parcels":
        await env.PARCELS.send({ order: name, event });
        console.log("order handed to the packers");
        return new Response("on its way\n", { status: 202 });
      case "reservations":
        await env.RESERVATION.getByName(name).hold(name, event);
        return new Response("held for a moment\n", { status: 202 });
      default:
        return new Response(
          "try /orders/1, /checkout, /report, /newsletter, /prices/tea, /parcels/1 or /reservations/tea\n",
          {
            status: 404,
          },
        );
    }
  },

  /** One invocation, and one trace event, for each batch. */
  async queue(batch): Promise<void> {
    for (const { body } of batch.messages) console.log("parcel packed", body);
  },

  async scheduled({ cron }): Promise<void> {
    console.log("counting the stock", cron);
    // Not caught: the outcome is `exception`, as for a request.
    if (cron === "0 4 1 * *") throw new Error("the warehouse is closed");
  },
} satisfies ExportedHandler<Env, Parcel>;
