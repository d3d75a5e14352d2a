import { beforeAll, expect, it, onTestFailed } from "vitest";
import type { KnownFunction } from "../../tools/client/api-results.ts";
import { SHOP_NAME } from "../../tools/example/app.ts";
import { until } from "../../tools/until.ts";
import { fetched } from "./shop-records.ts";
import { closeOf, socketFrom } from "./sockets.ts";
import { Watch } from "./watch.ts";
import { theWorld, type World } from "./world.ts";

/** Of one socket, as in the shop's stock. */
const MESSAGES_MAX = 20;

/** Two requests, the messages, one more that closes it, and the close. */
const EVENTS_OF_A_SOCKET = 2 + MESSAGES_MAX + 1 + 1;

let world: World;
beforeAll(() => {
  world = theWorld();
});

async function visit(query: string): Promise<string> {
  const url = `${world.shop}/nowhere?${query}`;
  await (await fetch(url)).arrayBuffer();
  return url;
}

/**
 * Sends more messages over a web socket than the shop takes. Here, as the runtime may record its
 * requests in more than one way once the other side has closed it.
 */
async function talk(): Promise<void> {
  const socket = await socketFrom(`${world.shop}/stock/oolong`, "192.0.2.5");
  if (socket === null) throw new Error("the web socket failed");
  let answers = 0;
  socket.onmessage = () => {
    answers += 1;
  };
  for (let n = 0; n <= MESSAGES_MAX; n++) socket.send("how many?");
  expect([await closeOf(socket), answers]).toEqual([1008, MESSAGES_MAX]);
}

/** The shop as the API lists it. */
async function known(): Promise<KnownFunction | undefined> {
  return (await world.api.functions()).find(({ id }) => id === SHOP_NAME);
}

it("ships nothing of a shop that is opted out, says why, and goes on when it is opted in again", async () => {
  onTestFailed(() => console.log(world.said()));
  const watch = await Watch.begin(world, "opt-out");
  const offBefore = (await known())?.dropped.logging_off ?? 0;
  const dropped = 2 + EVENTS_OF_A_SOCKET;
  await world.api.setLogging(SHOP_NAME, false);
  try {
    await visit("while it is off");
    await visit("while it is off");
    await talk();
    watch.expectDropped(dropped);
    const shop = await until({
      what: `${dropped} events to be dropped`,
      withinMs: 45_000,
      look: known,
      enough: (shop) => (shop?.dropped.logging_off ?? 0) >= offBefore + dropped,
    });
    expect(shop).toMatchObject({ logging: "off", dropped: { logging_off: offBefore + dropped } });
  } finally {
    await world.api.setLogging(SHOP_NAME, true);
  }
  watch.expect(fetched(await visit("after"), 404));
  expect(await watch.end()).toEqual([]);
  expect(await known()).toMatchObject({ logging: "on", dropped: { logging_off: offBefore + dropped } });
});
