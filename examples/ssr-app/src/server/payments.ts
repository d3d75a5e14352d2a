import { timingSafeEqual } from "node:crypto";

interface Payment {
  readonly order: string;
  readonly coins: number;
}

/** Of an order's id, in characters. */
const ORDER_MAX = 100;

/** The bank's message about a payment, with the shared token. */
export async function takePayment(request: Request, env: Env): Promise<Response> {
  if (request.method !== "POST") return new Response(null, { status: 405, headers: { Allow: "POST" } });
  if (!(await isBank(request, env))) return new Response("who are you?\n", { status: 401 });
  // Uncaught on purpose: for a body that is no JSON the bank gets a 500, and the record the outcome
  // `exception`.
  console.log("paid", readPayment(await request.json()));
  return new Response(null, { status: 204 });
}

/**
 * Only the logged fields: other content would be in the record and in the bucket. @throws TypeError
 */
function readPayment(body: unknown): Payment {
  const { order, coins }: Record<string, unknown> = Object(body);
  if (typeof order !== "string" || order.length > ORDER_MAX) throw new TypeError("order: its id");
  if (typeof coins !== "number" || !Number.isSafeInteger(coins)) throw new TypeError("coins: a whole number");
  return { order, coins };
}

/** Compares hashes, which have one length, so the time says nothing about the token. */
async function isBank(request: Request, env: Env): Promise<boolean> {
  // Otherwise `Bearer undefined` would pass.
  if (!env.PAYMENT_TOKEN) throw new Error("PAYMENT_TOKEN is not set: see .dev.vars.example");
  const hash = (text: string) => crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const [sent, agreed] = await Promise.all([
    hash(request.headers.get("Authorization") ?? ""),
    hash(`Bearer ${env.PAYMENT_TOKEN}`),
  ]);
  return timingSafeEqual(new Uint8Array(sent), new Uint8Array(agreed));
}
