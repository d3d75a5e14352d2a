/**
 * Tests the example's durable object inside another's storage: cases that tests over HTTP cannot
 * cause.
 */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { Stock } from "../../examples/ssr-app/src/server/stock.ts";

const HOUR_MS = 3_600_000;

/** Runs with 20 packets in stock. */
async function inStock(run: (stock: Stock, state: DurableObjectState) => Promise<void>): Promise<void> {
  // Any object with SQLite storage will do.
  await runInDurableObject(env.LIVE.getByName("stock"), (_, state) => run(new Stock(state, env as never), state));
}

async function packetsOf(stock: Stock): Promise<number> {
  return (await stock.fetch(new Request("http://shop/")).json<{ packets: number }>()).packets;
}

const watch = (stock: Stock): Response =>
  stock.fetch(new Request("http://shop/", { headers: { Upgrade: "websocket" } }));

it("adds a delivery once, however often it comes, and each other one as well", async () => {
  await inStock(async (stock, state) => {
    expect([stock.add(5, "ship 1"), stock.add(5, "ship 1")]).toEqual([5, 5]);
    // The same after a restart.
    expect(new Stock(state, env as never).add(5, "ship 1")).toBe(5);
    expect(await packetsOf(stock)).toBe(25);
    stock.add(5, "ship 2");
    expect(await packetsOf(stock)).toBe(30);
  });
});

it("takes what is there, and never more", async () => {
  await inStock(async (stock) => {
    expect([stock.take(21), stock.take(20), stock.take(1)]).toEqual([false, true, false]);
    expect(await packetsOf(stock)).toBe(0);
    expect(await stock.hold(HOUR_MS)).toBe(false);
  });
});

it("gives back what was held, once, and at the time of the first", async () => {
  await inStock(async (stock, state) => {
    await stock.hold(HOUR_MS);
    const first = await state.storage.getAlarm();
    await stock.hold(2 * HOUR_MS);
    expect(await state.storage.getAlarm()).toBe(first);
    expect(await packetsOf(stock)).toBe(18);
    stock.alarm();
    // The platform repeats an alarm if it did not see it end.
    stock.alarm();
    expect(await packetsOf(stock)).toBe(20);
  });
});

it("is watched by a thousand, and no more", async () => {
  await inStock(async (stock) => {
    const answers = Array.from({ length: 1_001 }, () => watch(stock));
    expect(answers.slice(0, 1_000).every(({ status, webSocket }) => status === 101 && webSocket !== null)).toBe(true);
    expect(answers[1_000]?.status).toBe(503);
    for (const { webSocket } of answers) {
      webSocket?.accept();
      webSocket?.close();
    }
  });
});

it("answers a watcher twenty times, and then ends the socket", async () => {
  await inStock(async (stock, state) => {
    const { webSocket } = watch(stock);
    let answers = 0;
    webSocket?.accept();
    webSocket?.addEventListener("message", () => {
      answers += 1;
    });
    const closed = new Promise<CloseEvent>((resolve) => webSocket?.addEventListener("close", resolve));
    const [socket] = state.getWebSockets();
    if (socket === undefined) expect.unreachable();
    for (let n = 0; n < 21; n++) stock.webSocketMessage(socket, "how many?");
    expect([(await closed).code, answers]).toEqual([1008, 20]);
  });
});
