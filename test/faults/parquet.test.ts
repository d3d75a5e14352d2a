/** A job that writes Parquet: its log dies between cut and upload, and it shares messages. */
import { abortAllDurableObjects } from "cloudflare:test";
import { describe, expect } from "vitest";
import { rule } from "../support/s3-script.ts";
import { row } from "./row.ts";
import { controlOf, pass } from "./stores.ts";

const DAY_MS = 86_400_000;
const PUTS = { method: "PUT", keyIncludes: ".parquet" } as const;
const PARQUET = { output_options: { output_type: "parquet" } };

describe("an object of Parquet", () => {
  for (const [what, action] of [
    ["the store takes nothing", { do: "answer", status: 503 }],
    ["every answer of the store is lost", { do: "reset", when: "after" }],
  ] as const)
    row(`the log dies with what waits raw and what is cut, of two days, while ${what}`, async (world) => {
      const job = await world.createJob({ fields: PARQUET });
      await world.createJob();
      const control = controlOf(job);
      await control.script([rule(action, PUTS)]);
      const at = world.clock.nowMs();
      await world.take([...world.mint(40, { padding: 3_000 }), ...world.mint(5, { at: at - DAY_MS })]);
      await world.deliverDue();
      await world.take(world.mint(4));
      await world.deliverDue();
      await pass(world, 60_000);
      await world.take(world.mint(3, { at: at - DAY_MS }));
      await world.deliverDue();
      await abortAllDurableObjects();
      world.injected();
      await control.script([]);
      await world.settle();
      const objects = (await control.objects()).filter(({ key }) => key.endsWith(".parquet"));
      expect(objects.length).toBeGreaterThan(2);
    });

  row("is as it was cut, and NDJSON follows it, where the output changes while the store fails", async (world) => {
    const job = await world.createJob({ fields: PARQUET });
    const control = controlOf(job);
    await control.script([rule({ do: "answer", status: 503 }, PUTS)]);
    await world.take(world.mint(3));
    await world.deliverDue();
    await pass(world, 60_000);
    world.injected();
    await world.jobs.change(job, { output_options: null });
    await world.take(world.mint(3));
    await world.deliverDue();
    await control.script([]);
    await world.settle();
    const keys = (await control.objects()).map(({ key }) => key).filter((key) => !key.includes("test"));
    expect(keys.map((key) => key.slice(key.indexOf(".")))).toEqual(expect.arrayContaining([".parquet", ".log.gz"]));
  });
});
