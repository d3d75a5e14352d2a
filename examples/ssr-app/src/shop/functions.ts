/**
 * Server functions: they run on the server, in the page's request while it is rendered, and in a
 * request of their own later.
 */

import { env, waitUntil } from "cloudflare:workers";
import { createServerFn } from "@tanstack/react-start";
import { readNote } from "../server/notes.ts";
import { findTea, isOrderable, isTea, PACKETS_MAX, PLACES, TEAS, type Tea } from "./teas.ts";

/** How long reviews take, in ms. */
const REVIEWS_MS = 300;
/** How long a packet is held, in ms. */
const HELD_MS = 1_000;

export const listTeas = createServerFn().handler(() => TEAS);

/** The address, from the environment. It goes into a page at build time: no build without it. */
export const readAddress = createServerFn().handler((): string => {
  if (!env.SHOP_ADDRESS) throw new Error("SHOP_ADDRESS is not set: see .dev.vars.example");
  return env.SHOP_ADDRESS;
});

export interface TeaOnShelf extends Tea {
  readonly note: string | null;
}

/** @returns null if there is no such tea. */
export const readTea = createServerFn()
  .validator((id: string) => id)
  .handler(async ({ data: id }): Promise<TeaOnShelf | null> => {
    const tea = findTea(id);
    return tea === undefined ? null : { ...tea, note: await readNote(id, env) };
  });

export const readReviews = createServerFn()
  .validator(tea)
  .handler(async ({ data: id }): Promise<string[]> => {
    await new Promise((resolve) => setTimeout(resolve, REVIEWS_MS));
    const name = findTea(id)?.name;
    return [`I have never had a better ${name}.`, `${name} again? Always.`];
  });

interface Wish {
  readonly tea: string;
  readonly packets: number;
  readonly to: string;
}

/** @returns the order's id; null if there are too few packets. */
export const placeOrder = createServerFn({ method: "POST" })
  // The type is what the page sends; other clients may send anything.
  .validator((wish: Wish): Wish => {
    if (typeof wish !== "object" || wish === null) throw new TypeError("an order is an object");
    const { packets, to } = wish;
    if (!isOrderable(packets)) throw new RangeError(`packets: 1 to ${PACKETS_MAX}`);
    if (!PLACES.includes(to)) throw new RangeError(`to: ${PLACES.join(" or ")}`);
    return { tea: tea(wish.tea), packets, to };
  })
  .handler(async ({ data: wish }): Promise<string | null> => {
    const stock = env.STOCK.getByName(wish.tea);
    if (!(await stock.take(wish.packets))) return null;
    const id = crypto.randomUUID();
    try {
      await env.ORDERS.send({ id, ...wish });
    } catch (error) {
      // The queue has not confirmed the order, so the packets go back.
      await stock.add(wish.packets, id);
      throw error;
    }
    console.log("order placed", { id, ...wish });
    return id;
  });

/** Holds a packet for a moment. @returns whether there is one. */
export const holdPacket = createServerFn({ method: "POST" })
  .validator(tea)
  .handler(({ data: id }): Promise<boolean> => env.STOCK.getByName(id).hold(HELD_MS));

/** @returns the id of the workflow's run. */
export const restock = createServerFn({ method: "POST" })
  .validator(tea)
  .handler(async ({ data: id }): Promise<string> => (await env.RESTOCK.create({ params: { tea: id, packets: 5 } })).id);

/**
 * Signs up for the newsletter. The mail goes out after the answer, and fails: only the record shows
 * it.
 */
export const subscribe = createServerFn({ method: "POST" }).handler((): string => {
  console.info("signed up; the mail goes out after the answer");
  waitUntil(Promise.reject(new Error("the mail server is full")));
  return "welcome";
});

/** Fails at once, for the page of troubles. */
export const fail = createServerFn().handler((): string => {
  throw new Error("the server function gave up");
});

/** Fails when the page has already been sent. */
export const failLate = createServerFn().handler(async (): Promise<string> => {
  await new Promise((resolve) => setTimeout(resolve, 100));
  throw new Error("the late server function gave up");
});

function tea(id: string): string {
  if (!isTea(id)) throw new RangeError("there is no such tea");
  return id;
}
