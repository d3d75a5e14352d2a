import { timingSafeEqual } from "node:crypto";

interface Payment {
  readonly order: string;
  readonly coins: number;
}

/** Of an order's id, in characters. */
const ORDER_MAX = 100;

/** What the bank says of a payment, with the token that was agreed upon. */
export async function takePayment(request: Request, env: Env): Promise<Response> {
  if (request.method !== "POST") return new Response(null, { status: 405, headers: { Allow: "POST" } });
  if (!(await isBank(request, env))) return new Response("who are you?\n", { status: 401 });
  // The bank has promised JSON, and nobody catches what is thrown if it breaks its word: it gets a 500, and the record the outcome `exception`.
  console.log("paid", readPayment(await request.json()));
  return new Response(null, { status: 204 });
}

/** Only what is logged: whatever else a sender sends would be in the record, and in the bucket. @throws TypeError */
function readPayment(body: unknown): Payment {
  const { order, coins }: Record<string, unknown> = Object(body);
  if (typeof order !== "string" || order.length > ORDER_MAX) throw new TypeError("order: its id");
  if (typeof coins !== "number" || !Number.isSafeInteger(coins)) throw new TypeError("coins: a whole number");
  return { order, coins };
}

/** Over hashes, which are of one length: how long it takes says nothing of the token. */
async function isBank(request: Request, env: Env): Promise<boolean> {
  // Or `Bearer undefined` would do.
  if (!env.PAYMENT_TOKEN) throw new Error("PAYMENT_TOKEN is not set: see .dev.vars.example");
  const hash = (text: string) => crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const [sent, agreed] = await Promise.all([
    hash(request.headers.get("Authorization") ?? ""),
    hash(`Bearer ${env.PAYMENT_TOKEN}`),
  ]);
  return timingSafeEqual(new Uint8Array(sent), new Uint8Array(agreed));
}
