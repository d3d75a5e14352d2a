/** A job whose path tells hours and scripts apart: its log dies between cut and upload. */
import { abortAllDurableObjects } from "cloudflare:test";
import { describe, expect } from "vitest";
import { rule } from "../support/s3-script.ts";
import { row } from "./row.ts";
import { arrive, controlOf, PUTS, pass } from "./stores.ts";

const HOUR_MS = 3_600_000;

describe("the parts of a day", () => {
  for (const [what, action] of [
    ["the store takes nothing", { do: "answer", status: 503 }],
    ["every answer of the store is lost", { do: "reset", when: "after" }],
  ] as const)
    row(`the log dies after the cuts of six parts, while ${what}`, async (world) => {
      const job = await world.createJob({ path: "logs/{SCRIPT}/dt={DATE_ISO}/hour={HOUR}" });
      const control = controlOf(job);
      await control.script([rule(action, PUTS)]);
      const at = world.clock.nowMs();
      const mixed = ["shop", "cart", "a b"].flatMap((scriptName) =>
        [at, at - HOUR_MS].flatMap((from) => world.mint(3, { scriptName, at: from })),
      );
      // Each request has several parts.
      const turns = [0, 1, 2].flatMap((n) => mixed.filter((_, i) => i % 3 === n));
      await arrive(world, turns, 5);
      await pass(world, 60_000);
      await abortAllDurableObjects();
      await control.script([]);
      await world.settle();
      const objects = (await control.objects()).filter(({ key }) => key.endsWith(".log.gz"));
      expect(objects).toHaveLength(6);
    });
});
