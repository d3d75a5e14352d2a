/** Server functions: called by pages, they run on the server, within the page's own request while that is rendered, and by a request of their own later. */

import { env, waitUntil } from "cloudflare:workers";
import { createServerFn } from "@tanstack/react-start";
import { readNote } from "../server/notes.ts";
import { findTea, isTea, TEAS, type Tea } from "./teas.ts";

const PACKETS_MAX = 10;
/** How long reviews take to come, in ms: they are asked elsewhere, which is slow. */
const REVIEWS_MS = 300;
/** How long a packet is held, in ms. */
const HELD_MS = 1_000;

export const listTeas = createServerFn().handler(() => TEAS);

/** The address, which only those who deploy the shop know. */
export const readAddress = createServerFn().handler(() => env.SHOP_ADDRESS);

export interface TeaOnShelf extends Tea {
  readonly note: string | null;
}

export const readTea = createServerFn()
  .validator(text)
  .handler(async ({ data: id }): Promise<TeaOnShelf | null> => {
    const tea = findTea(id);
    return tea === undefined ? null : { ...tea, note: await readNote(id, env) };
  });

export const readReviews = createServerFn()
  .validator(text)
  .handler(async ({ data: id }): Promise<string[]> => {
    await new Promise((resolve) => setTimeout(resolve, REVIEWS_MS));
    const name = findTea(id)?.name ?? id;
    return [`I have never had a better ${name}.`, `${name} again? Always.`];
  });

interface Wish {
  readonly tea: string;
  readonly packets: number;
  readonly to: string;
}

/** @returns the order's id; null if there is not as much. */
export const placeOrder = createServerFn({ method: "POST" })
  .validator((wish: Wish): Wish => {
    const { tea, packets, to } = wish;
    if (!isTea(tea)) throw new RangeError("there is no such tea");
    if (!Number.isInteger(packets) || packets < 1 || packets > PACKETS_MAX)
      throw new RangeError(`packets: 1 to ${PACKETS_MAX}`);
    return { tea, packets, to: text(to) };
  })
  .handler(async ({ data: wish }): Promise<string | null> => {
    if (!(await env.STOCK.getByName(wish.tea).take(wish.packets))) return null;
    const id = crypto.randomUUID();
    await env.ORDERS.send({ id, ...wish });
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

/** Signs up for the newsletter. The mail goes out after the answer, and fails: the visitor never learns, the record does. */
export const subscribe = createServerFn({ method: "POST" }).handler((): string => {
  console.info("signed up; the mail goes out after the answer");
  waitUntil(Promise.reject(new Error("the mail server is full")));
  return "welcome";
});

/** Fails at once, for the page of troubles. */
export const fail = createServerFn().handler((): string => {
  throw new Error("the server function gave up");
});

/** Fails when the page is on its way already. */
export const failLate = createServerFn().handler(async (): Promise<string> => {
  await new Promise((resolve) => setTimeout(resolve, 100));
  throw new Error("the late server function gave up");
});

function text(value: string): string {
  if (typeof value !== "string" || value.length > 100) throw new TypeError("a text of at most 100 characters");
  return value;
}

function tea(id: string): string {
  if (!isTea(id)) throw new RangeError("there is no such tea");
  return id;
}
