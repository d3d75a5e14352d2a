import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { World } from "./world.ts";

async function ready(): Promise<World> {
  const world = new World();
  await world.setup();
  world.platform.buckets.get("traces")?.add("logs/20261120/a=b.log.gz").add("logs/00010101/test.txt.gz");
  world.said.length = 0;
  world.calls.length = 0;
  return world;
}

it("takes the Worker out of service, keeps all data, and setup puts it back", async () => {
  const world = await ready();
  const before = world.state();
  for (let time = 0; time < 2; time++) {
    expect(await world.teardown()).toBe(true);
    const { queues, buckets, scripts } = world.platform;
    expect([...queues.values()].map(({ consumers }) => consumers)).toEqual([[], []]);
    expect(scripts.get("logship")).toMatchObject({ schedules: [], isOnWorkersDev: false });
    expect([scripts.get("logship")?.secrets.size, buckets.get("traces")?.size]).toEqual([3, 2]);
  }
  expect(world.said.join("\n")).toContain("Kept: the Worker logship with the state of its Durable Objects");
  await world.setup();
  expect(world.state()).toEqual(before);
});

it("deletes everything when told to, and again without complaint", async () => {
  const world = await ready();
  for (let time = 0; time < 2; time++) {
    expect(await world.teardown({ deleteData: true })).toBe(true);
    const { queues, buckets, scripts } = world.platform;
    expect([queues.size, buckets.size, scripts.size, existsSync(world.secretsPath)]).toEqual([0, 0, 0, false]);
  }
});

it("goes on after breaking off at any call", async () => {
  const whole = await ready();
  await whole.teardown({ deleteData: true });
  expect(whole.calls.length).toBeGreaterThan(10);
  for (const when of ["before", "after"] as const)
    for (let call = 1; call <= whole.calls.length; call++) {
      const world = await ready();
      world.breakAt = { call, when };
      await expect(world.teardown({ deleteData: true }), `broken ${when} ${whole.calls[call - 1]}`).rejects.toThrow();
      world.breakAt = null;
      await world.teardown({ deleteData: true });
      const { queues, buckets, scripts } = world.platform;
      expect([queues.size, buckets.size, scripts.size]).toEqual([0, 0, 0]);
    }
});

it("asks before it changes anything, and takes nothing else for a yes", async () => {
  const world = await ready();
  const before = world.state();
  for (const [deleteData, answer] of [
    [false, null],
    [false, "no"],
    [false, ""],
    [true, "yes"],
    [true, "Logship"],
  ] as const) {
    if (answer !== null) world.answers.push(answer);
    expect(await world.teardown({ deleteData, isConfirmed: false })).toBe(false);
    expect(world.state()).toEqual(before);
  }
  expect(await world.teardown({ deleteData: true, isDry: true, isConfirmed: false })).toBe(true);
  expect(world.state()).toEqual(before);
  expect(world.said.join("\n")).toContain(
    "would DELETE /accounts/0123456789abcdef0123456789abcdef/workers/scripts/logship",
  );
  world.answers.push("logship");
  expect(await world.teardown({ deleteData: true, isConfirmed: false })).toBe(true);
  expect(world.platform.scripts.size).toBe(0);
});

it("refuses while Workers are attached: their events would be lost", async () => {
  const world = await ready();
  const before = world.state();
  world.platform.tails = [{ producer: { service: "shop" }, consumer: "logship" }];
  await expect(world.teardown()).rejects.toThrow("Workers are attached and would lose their events: shop.");
  expect(world.state()).toEqual(before);
});

it("does not empty a bucket of many records call by call", async () => {
  const world = await ready();
  const objects = world.platform.buckets.get("traces");
  for (let i = 0; i < 1_000; i++) objects?.add(`logs/${i}`);
  await expect(world.teardown({ deleteData: true })).rejects.toThrow('The bucket "traces" has more objects');
  expect(objects?.size).toBe(1_002);
});
