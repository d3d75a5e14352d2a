import { beforeAll, expect, it, onTestFailed } from "vitest";
import type { KnownFunction } from "../../tools/client/api-results.ts";
import { SHOP_NAME } from "../../tools/example/app.ts";
import { until } from "../../tools/until.ts";
import { fetched } from "./shop-records.ts";
import { Watch } from "./watch.ts";
import { theWorld, type World } from "./world.ts";

let world: World;
beforeAll(() => {
  world = theWorld();
});

async function visit(query: string): Promise<string> {
  const url = `${world.shop}/nowhere?${query}`;
  await (await fetch(url)).arrayBuffer();
  return url;
}

/** The shop as the API lists it. */
async function known(): Promise<KnownFunction | undefined> {
  return (await world.api.functions()).find(({ id }) => id === SHOP_NAME);
}

it("ships nothing of a shop that is opted out, says why, and goes on when it is opted in again", async () => {
  onTestFailed(() => console.log(world.said()));
  const watch = await Watch.begin(world, "opt-out");
  const offBefore = (await known())?.dropped.logging_off ?? 0;
  await world.api.setLogging(SHOP_NAME, false);
  try {
    await visit("while it is off");
    await visit("while it is off");
    watch.expectDropped(2);
    const shop = await until({
      what: "two events to be dropped",
      withinMs: 30_000,
      look: known,
      enough: (shop) => (shop?.dropped.logging_off ?? 0) >= offBefore + 2,
    });
    expect(shop).toMatchObject({ logging: "off", dropped: { logging_off: offBefore + 2 } });
  } finally {
    await world.api.setLogging(SHOP_NAME, true);
  }
  watch.expect(fetched(await visit("after"), 404));
  expect(await watch.end()).toEqual([]);
  expect(await known()).toMatchObject({ logging: "on", dropped: { logging_off: offBefore + 2 } });
});
