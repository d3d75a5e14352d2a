/** A small shop, as an example of a function whose trace events are shipped: it knows nothing of the shipper. */

class PaymentError extends Error {
  override name = "PaymentError";
}

export default {
  async fetch(request, _env, ctx): Promise<Response> {
    const { pathname } = new URL(request.url);
    switch (pathname.split("/")[1]) {
      case "orders":
        console.log("order looked up", { path: pathname, items: 3 });
        return Response.json({ order: pathname.slice("/orders/".length), items: 3 });
      case "checkout":
        console.log("charging the card");
        // Nobody catches it: the visitor gets a 500, the trace event the outcome `exception`.
        throw new PaymentError("the bank did not answer");
      case "report":
        for (let row = 1; row <= 120; row++) console.debug(`row ${row} of 120: turnover ${(row * 37) % 1000} coins`);
        console.warn("the report is slow");
        return new Response("120 rows\n");
      case "newsletter":
        console.info("signed up; the mail goes out after the answer");
        // Goes wrong after the answer: the outcome stays `ok`, the exception is in the event all the same.
        ctx.waitUntil(Promise.reject(new Error("the mail server is full")));
        return new Response("welcome\n", { status: 202 });
      default:
        return new Response("try /orders/1, /checkout, /report or /newsletter\n", { status: 404 });
    }
  },
} satisfies ExportedHandler;
